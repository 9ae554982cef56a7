const { test, assert, password, open, signIn, view, findings } = require("./browser.cjs");

const secret = "the orchard is behind 4 mills";

test("an admin adds a user, who may do less", async () => {
  const { context } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/users");
  await page.getByRole("button", { name: "Add user" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("User name").fill("minji");
  await dialog.getByLabel("Password").fill("short");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").getByText(/password/).waitFor();
  await dialog.getByLabel("Role").selectOption("Operator");
  assert.equal(await dialog.getByText(/writes values/).count(), 0, "an operator does not");
  await dialog.getByLabel("Role").selectOption("Viewer");
  await dialog.getByLabel("Password").fill(secret);
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /^minji/ });
  await row.getByText("Viewer").waitFor();

  const other = await open();
  const hers = await other.context.newPage();
  await signIn(hers, "minji", secret);
  await hers.getByText("More", { exact: true }).click();
  await hers.getByRole("link", { name: "Drivers", exact: true }).waitFor();
  assert.equal(await hers.getByRole("link", { name: "Users", exact: true }).count(), 0);
  await view(hers, "#/audit");
  await hers.getByText("This view does not exist.").waitFor();
  await view(hers, "#/account");
  await hers.getByLabel("Current password").fill(secret);
  await hers.getByLabel("New password", { exact: true }).fill(secret + "!");
  await hers.getByLabel("New password again").fill(secret + "?");
  await hers.getByRole("button", { name: "Change password" }).click();
  await hers.getByText("The two new passwords differ.").waitFor();
  await hers.getByLabel("New password again").fill(secret + "!");
  await hers.getByRole("button", { name: "Change password" }).click();
  await hers.getByText("The password is changed.").waitFor();

  // Her session is seen, and ended.
  await view(page, "#/users/sessions");
  await page.getByRole("button", { name: /^End the session of minji/ }).first().click();
  await page.getByText("A session of minji has ended.").waitFor();
  await hers.getByLabel("User name").waitFor({ timeout: 120_000 });
  await other.context.close(); // with an error 401 that the browser reports

  await view(page, "#/users");
  await row.getByRole("button", { name: "Change minji" }).click();
  await dialog.getByLabel("May sign in").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("Disabled").waitFor();
  await row.getByRole("button", { name: "Remove minji" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
  await context.close(); // with the refused password as an error
});

test("the last admin stays", async () => {
  const { context } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/users");
  await page.getByRole("button", { name: "Remove admin" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await dialog.getByText("The last administrator must remain.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("row", { name: /^admin/ }).waitFor();
  await context.close();
});

test("what was changed is in the audit log", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/audit");
  await page.getByPlaceholder("Action").fill("createUser");
  await page.getByRole("button", { name: "Find" }).click();
  const row = page.getByRole("row", { name: /createUser/ }).filter({ hasText: "Succeeded" });
  await row.getByText("minji").waitFor();
  await row.getByRole("button").click();
  await page.getByRole("row", { name: /^roles\[0\]/ }).getByText("Viewer").waitFor();
  const [beneath, all] = [await page.locator(".beneath > td").boundingBox(), await page.locator("table.wide").boundingBox()];
  assert.ok(beneath.width > all.width - 2, `the details are ${beneath.width} wide, the table ${all.width}`);
  assert.ok(!(await page.content()).includes(secret));
  await page.getByRole("button", { name: "Check the chain" }).click();
  await page.getByText(/The chain is intact/).waitFor();
  const loading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  assert.equal((await loading).suggestedFilename(), "audit.csv");
  await done();
});

test("the audit log is read and filtered on a small phone", async () => {
  const { context, done } = await open({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/audit");
  const row = await page.locator("tbody tr").first().boundingBox();
  const bar = await page.locator("nav.views").boundingBox();
  assert.ok(row.y + 40 < bar.y, `the first entry is at ${row.y}, the bar at ${bar.y}`);
  await page.getByText("Filter", { exact: true }).click();
  await page.getByPlaceholder("Action").fill("login");
  for (const field of await page.locator(".filter :is(input, select, button)").all()) {
    const box = await field.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 360, `a field of the filter is at ${JSON.stringify(box)}`);
  }
  await findings(page, "audit-phone");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("login", { exact: true }).first().waitFor();
  await done();
});

for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }]) {
  test(`the views of an admin can be used by everybody, ${JSON.stringify(options)}`, async () => {
    const { context, done } = await open(options);
    const page = await context.newPage();
    await signIn(page);
    for (const hash of ["#/users", "#/users/sessions", "#/audit", "#/account"]) {
      await view(page, hash);
      await page.locator("tbody tr").first().waitFor();
      await findings(page, hash);
    }
    await done();
  });
}
