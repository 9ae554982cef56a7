// Binds and unbinds a bridge in the console of an engine: node bridges.cjs CHROMIUM URL USER PASSWORD BRIDGE-URL BRIDGE-ID TAG
const { test, open, signIn, view, changes, findings } = require("./browser.cjs");

const [bridge, id, tag] = process.argv.slice(6);

test("an admin binds a bridge by its address, sees its tags live, and unbinds it", async () => {
  const { context, faults, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/bridges");
  await page.getByText("No bridge is bound.").waitFor();
  await page.getByRole("button", { name: "Bind by address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("ID of the bridge").fill("another-bridge");
  await dialog.getByLabel("Address").fill(bridge);
  await dialog.getByLabel("Bind secret").fill("wrong secret");
  await findings(page, "bind-dialog");
  const bind = dialog.getByRole("button", { name: "Bind", exact: true });
  await bind.click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("ID of the bridge").fill(id);
  await dialog.getByLabel("Bind secret").fill("");
  await bind.click();
  await dialog.waitFor({ state: "detached" });
  const row = page.getByRole("row", { name: new RegExp(`^${id}`) });
  await row.getByText("Online").waitFor();
  await row.getByRole("link", { name: bridge }).waitFor();
  await row.getByRole("cell", { name: / of [\d.,]+ MiB/ }).waitFor(); // it says every 10 s what waits
  await findings(page, "bridges");

  await view(page, "#/tags");
  const live = page.getByRole("row", { name: new RegExp(tag.replace(".", "\\.")) }).first();
  await live.waitFor();
  await changes(live, tag);

  await view(page, "#/bridges");
  await page.getByRole("button", { name: "Scan network" }).click();
  await page.getByText("Found on the network").waitFor();
  await page.getByText("No bridge answers").waitFor();
  await page.getByRole("button", { name: `Unbind ${id}` }).click();
  await dialog.getByText(/tags of the driver .* are removed/).waitFor();
  await dialog.getByRole("button", { name: "Unbind", exact: true }).click();
  await page.getByText("No bridge is bound.").waitFor();
  // A browser tells of every answer that is no success.
  faults.splice(0, faults.length, ...faults.filter((f) => !/status of (400|409|502)/.test(f)));
  await done();
});
