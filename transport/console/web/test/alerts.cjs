const { test, assert, engine, user, password, open, signIn, view, findings } = require("./browser.cjs");

async function post(path, body, token) {
  const r = await fetch(engine + path, { method: "POST", headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) }, body: JSON.stringify(body) });
  assert.equal(r.status, 200, path);
  return r.json();
}

test.before(async () => {
  const { accessToken } = await post("/api/v1/auth/login", { username: user, password });
  const alerts = [{ status: "firing", labels: { alertname: "FlameOut", severity: "critical", instance: "boiler-9" }, annotations: { summary: "The boiler is out" }, startsAt: new Date().toISOString() }];
  assert.equal((await post("/api/v1.0/alertsource/webhook", { alerts }, accessToken)).processedCount, 1);
});

test("an operator begins a silence, sees it and ends it", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/alerts/silences");
  await page.getByRole("button", { name: "Add silence" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^Source \(/).fill("*");
  await dialog.getByText("This silences every source.").waitFor();
  await dialog.getByLabel(/^Source \(/).fill("boiler-7*");
  await dialog.getByText("No active alarm matches now.").waitFor();
  await dialog.getByLabel("Reason").fill("The burner is being replaced");
  await findings(page, "silence-dialog");
  await dialog.getByRole("button", { name: "Begin silence" }).click();
  const row = page.getByRole("row", { name: /^boiler-7\*/ });
  await row.getByText("The burner is being replaced").waitFor();
  await row.getByRole("cell", { name: "Active", exact: true }).waitFor();
  await row.getByRole("cell", { name: "admin" }).waitFor();
  await row.getByRole("button", { name: "Change silence of boiler-7*" }).click();
  await dialog.getByLabel("Reason").fill("The burner is late");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await row.getByText("The burner is late").waitFor();
  await row.getByRole("button", { name: "End silence of boiler-7*" }).click();
  await dialog.getByRole("button", { name: "End silence" }).click();
  await row.waitFor({ state: "detached" });
  await done();
});

test("a silence begins with the source of an alert", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/alerts");
  const row = page.getByRole("row", { name: /boiler-9|FlameOut/ }).first();
  const source = await row.getByRole("cell").nth(1).innerText();
  await row.getByRole("button", { name: `Silence ${source}` }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel(/^Source \(/).inputValue(), source);
  await dialog.getByLabel("Reason").fill("known");
  await dialog.getByRole("button", { name: "Begin silence" }).click();
  await dialog.waitFor({ state: "detached" });
  await view(page, "#/alerts/silences");
  await page.getByRole("button", { name: `End silence of ${source}`, exact: true }).first().click();
  await dialog.getByRole("button", { name: "End silence" }).click();
  await dialog.waitFor({ state: "detached" });
  await view(page, "#/alerts");
  await page.getByLabel("State").selectOption("resolved");
  await page.getByPlaceholder("Text").fill("no such text anywhere");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("No alert matches").waitFor();
  await done();
});

for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }]) {
  test(`the views of alerts can be used by everybody, ${JSON.stringify(options)}`, async () => {
    const { context, done } = await open(options);
    const page = await context.newPage();
    await signIn(page);
    for (const [hash, there] of [["#/alerts", /^\d+ of \d+$/], ["#/alerts/silences", /^\d+ active$/], ["#/alerts/channels", /^\d+ channels$/], ["#/alerts/dead", /^\d+ of \d+$/]]) {
      await view(page, hash);
      await page.locator("main").getByRole("status").getByText(there).waitFor();
      await findings(page, hash);
    }
    await done();
  });
}
