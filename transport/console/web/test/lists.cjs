const { test, assert, base, open, signIn, view } = require("./browser.cjs");

const top = (page) => page.locator(".grid").evaluate((e) => e.scrollTop);

/** Scrolls the list. Returns when the page has heard of it: the browser tells it by its own clock, which no test stops. */
async function scroll(page, how) {
  await page.locator(".grid").evaluate((e) => { window.scrolled = new Promise((done) => e.addEventListener("scrollend", () => done(), { once: true })); });
  await how();
  await page.evaluate(() => window.scrolled);
}

/** Raises an alarm as a sender of alerts does. */
async function raise(instance) {
  const alerts = [{ status: "firing", labels: { alertname: "Test", severity: "critical", instance }, annotations: { summary: "too hot" }, startsAt: new Date().toISOString() }];
  const answer = await fetch(`${base.replace("plant.test", "127.0.0.1")}/api/v1.0/alertsource/webhook`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ version: "4", status: "firing", alerts }) });
  assert.equal(answer.status, 200);
}

/** The list of alarms, taller than the window, at a time that passes only as the test says. */
async function still(context) {
  const page = await context.newPage();
  const told = new Map();
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => { for (const [what, done] of told) if (String(payload).includes(what)) done(); }));
  await signIn(page);
  for (let i = 0; i < 40; i++) await raise(`list-${i}`);
  await view(page, "#/alarms");
  await page.locator(".rows .row").filter({ hasText: "list-39" }).first().waitFor();
  await page.clock.install();
  await page.reload();
  await page.locator(".rows .row").filter({ hasText: "list-39" }).first().waitFor();
  await page.clock.pauseAt(Date.now() + 60_000);
  const comes = async (instance) => {
    const arrival = new Promise((done) => told.set(instance, done));
    await raise(instance);
    await arrival;
  };
  return { page, comes };
}

/** Lets time pass, less than the list stands still, until something is there. */
async function until(page, there) {
  for (let i = 0; i < 450 && !(await there()); i++) await page.clock.runFor(2);
  assert.ok(await there());
}

test("the list of alarms stands still for four seconds after it was scrolled, and shows what is new then", async () => {
  const { context, done } = await open();
  const { page, comes } = await still(context);
  const held = page.locator(".held"), row = page.locator(".rows .row").filter({ hasText: "newest-1" });
  await page.locator(".grid").hover();
  await scroll(page, () => page.mouse.wheel(0, 60));
  assert.ok((await top(page)) > 0);
  await page.clock.runFor(3000);
  await comes("newest-1");
  await until(page, () => held.count());
  assert.equal(await row.count(), 0);
  await page.clock.runFor(1000);
  assert.equal(await held.count(), 0, "four seconds are over");
  await scroll(page, () => page.mouse.wheel(0, -60));
  assert.equal(await top(page), 0);
  await page.clock.runFor(200);
  assert.equal(await row.count(), 1);
  await comes("newest-2");
  await until(page, () => held.count());
  await held.focus();
  await page.keyboard.press("Enter");
  await page.clock.runFor(100);
  assert.equal(await page.locator(".rows .row").filter({ hasText: "newest-2" }).count(), 1);
  assert.equal(await page.evaluate(() => document.activeElement.className), "grid", "the keyboard stays at the list");
  await done();
});

test("a list that has become shorter does not stand still for that", async () => {
  const { context, done } = await open();
  const { page, comes } = await still(context);
  await scroll(page, () => page.locator(".grid").evaluate((e) => e.scrollTo(0, e.scrollHeight)));
  await page.clock.runFor(5000);
  await page.getByLabel("Search alarms").fill("shorter");
  await page.clock.runFor(500);
  await page.getByLabel("Search alarms").fill("list-1");
  await page.clock.runFor(500);
  await comes("list-1-more");
  const row = page.locator(".rows .row").filter({ hasText: "list-1-more" });
  await until(page, () => row.count());
  await done();
});

test("the history of another span is there where the list was scrolled", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  const at = (i) => new Date(Date.now() - i * 1000).toISOString();
  await page.route("**/api/v1/alarms/history?*", (r) => {
    const first = (Number(new URL(r.request().url()).searchParams.get("page")) - 1) * 100;
    const alarms = Array.from({ length: 100 }, (_, i) => ({ id: `a${first + i}`, code: 1, source: `unit-${first + i}`, message: "too hot", severity: "Warning", state: "Unacknowledged", isActive: true, triggeredAt: at(first + i) }));
    return r.fulfill({ json: { alarms, totalCount: 600 } });
  });
  await signIn(page);
  await view(page, "#/alarms/history");
  await page.getByText("unit-0", { exact: true }).waitFor();
  await page.locator(".grid").evaluate((e) => e.scrollTo(0, 400 * 30));
  await page.getByText("unit-405", { exact: true }).waitFor();
  const read = page.waitForResponse(/history\?/);
  await page.getByLabel("Span").selectOption("168");
  await read;
  await page.waitForFunction(() => { const sight = document.querySelector(".grid").getBoundingClientRect(); return [...document.querySelectorAll(".rows .row")].every((r) => r.getBoundingClientRect().top > sight.bottom || r.textContent.trim() !== "…"); });
  await done();
});
