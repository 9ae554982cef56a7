const { test, base, open, signIn } = require("./browser.cjs");

const second = process.argv[6].replace("//127.0.0.1:", "//plant.test:"); // another engine on the same host

test("two engines of one host are open in one browser", async () => {
  const { context, done } = await open();
  const [page, other] = [await context.newPage(), await context.newPage()];
  const signedIn = (p) => p.getByText("Needs attention").waitFor();
  await signIn(page);
  await signIn(other, undefined, undefined, second);
  for (const p of [page, other]) {
    await p.reload();
    await signedIn(p);
  }
  await other.getByText("admin", { exact: true }).first().click();
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.getByLabel("User name").waitFor();
  await page.reload();
  await signedIn(page);
  await done();
});
