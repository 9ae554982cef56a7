// Acknowledges in the console what an Alertmanager has raised: node alert.cjs CHROMIUM URL USER PASSWORD ALERTMANAGER
const { test, assert, user, open, signIn, view } = require("./browser.cjs");

const alertmanager = process.argv[6];

async function post(alert) {
  const r = await fetch(`${alertmanager}/api/v2/alerts`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify([alert]) });
  assert.equal(r.status, 200, await r.text());
}

test("an alert comes, is acknowledged and goes while the list is open", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/alarms");
  await page.getByText("No alarm is active").first().waitFor();
  const alert = { labels: { alertname: "Plant", plant: "north", severity: "critical", instance: "reactor-7" }, annotations: { summary: "Reactor is too hot" } };
  await post(alert);

  const row = page.getByRole("row", { name: /reactor-7/ });
  await row.getByText("Reactor is too hot").first().waitFor();
  await page.locator(".gravest").getByText("reactor-7").waitFor(); // the bar of every view
  await row.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Acknowledge 1" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Comment").fill("I am on my way");
  await dialog.getByRole("button", { name: "Acknowledge" }).click();
  await row.filter({ hasText: user }).waitFor();

  await post({ ...alert, endsAt: new Date().toISOString() });
  await row.waitFor({ state: "detached" });
  await view(page, "#/alarms/history");
  await page.getByRole("row", { name: /reactor-7/ }).first().click();
  await page.getByText("I am on my way").first().waitFor();
  await done();
});
