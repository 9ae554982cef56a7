const { test, assert, engine, base, user, password, patience, open, signIn, view, changes, findings } = require("./browser.cjs");

/** Raises or ends alarms of sources. */
async function signal(page, sources, status = "firing") {
  const alerts = sources.map((instance) => ({ status, labels: { alertname: "Many", severity: "critical", instance }, annotations: { summary: "too hot" }, startsAt: new Date().toISOString() }));
  assert.ok((await page.request.post(engine + "/api/v1.0/alertsource/webhook", { data: { version: "4", status, alerts } })).ok());
}

/** Raises alarms of so many sources. */
const raise = (page, count) => signal(page, Array.from({ length: count }, (_, i) => `press-${i}`));

test("an operator's first minutes", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);

  // Two plants that are open are told apart.
  await page.waitForFunction(() => /^(\(\d+\) )?Plant North · Overview · otkit$/.test(document.title));
  await page.getByText(user, { exact: true }).first().click();
  await page.getByText(/^otkit \S+/).waitFor();
  assert.match(await page.locator(".menu .engine").innerText(), /^Plant North\s+otkit \S+$/);
  await page.getByText(user, { exact: true }).first().click();

  await view(page, "#/tags");
  await page.getByRole("searchbox", { name: "Search tags" }).fill("sim.temperature");
  const row = page.getByRole("row", { name: /sim\.temperature/ });
  await changes(row.getByRole("gridcell").nth(1), "the temperature");

  // Rows are reached by the keyboard.
  await page.getByRole("searchbox", { name: "Search tags" }).fill("sim.setpoint");
  await page.getByText(/^1 of/).waitFor();
  await page.getByRole("grid", { name: "Tags" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Write value" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("New value").fill("500");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByText("Enter a value from 20 to 95.").waitFor();
  await dialog.getByLabel("New value").fill("61.5");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByRole("button", { name: "Write now" }).click();
  await dialog.getByText("Confirmed", { exact: true }).waitFor();
  await dialog.getByText("61.50").first().waitFor(); // the present value follows
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("table", { name: "Last writes" }).getByRole("row", { name: /61\.50 admin Confirmed/ }).waitFor();

  // What the write raises is acknowledged, with a comment.
  await view(page, "#/tags/sim.running");
  await page.getByRole("button", { name: "Write value" }).click();
  await dialog.getByLabel("New value").selectOption("false");
  await dialog.getByRole("button", { name: "Review" }).click();
  await dialog.getByRole("button", { name: "Write now" }).click();
  await dialog.getByText("Confirmed", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await view(page, "#/alarms");
  await page.getByRole("searchbox", { name: "Search alarms" }).fill("sim.running");
  const alarm = page.getByRole("row", { name: /sim\.running/ }).filter({ hasText: /Unacknowledged/ }).first();
  await alarm.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Acknowledge 1" }).click();
  await dialog.getByLabel("Comment").fill("seen from the console");
  await dialog.getByRole("button", { name: "Acknowledge" }).click();
  const acknowledged = page.getByRole("row", { name: /sim\.running/ }).filter({ hasText: /Acknowledged/ }).filter({ hasText: user }).first();
  await acknowledged.getByText(/sim\.running/).first().click();
  await page.getByText("seen from the console").first().waitFor();
  await done();
});

test("a write whose answer is lost is not called refused", async () => {
  const { context } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/tags/sim.setpoint");
  await page.route("**/write", async (route) => {
    const r = route.request();
    await route.fetch({ url: r.url().replace(base, engine), headers: { ...r.headers(), origin: engine } }); // the engine does it, and the answer is lost
    await route.abort();
  });
  await page.getByRole("button", { name: "Write value" }).click();
  const dialog = page.getByRole("dialog");
  const write = async (value) => {
    await dialog.getByLabel("New value").fill(value);
    await dialog.getByRole("button", { name: "Review" }).click();
    await dialog.getByRole("button", { name: "Write now" }).click();
  };
  await write("63");
  await dialog.getByText("Confirmed", { exact: true }).waitFor(); // its outcome is found by its id
  await dialog.getByText("63.00").nth(1).waitFor();
  assert.equal(await dialog.getByText("Refused").count(), 0);
  await dialog.getByRole("button", { name: "Close" }).last().click();

  // What cannot be read for a while is read when it can be.
  await page.unroute("**/write");
  let cut = true;
  await page.route("**/tags/writes/*", (route) => (cut ? route.abort() : route.continue()));
  await page.getByRole("button", { name: "Write value" }).click();
  await write("64");
  await dialog.getByText(/The outcome cannot be read now/).waitFor();
  cut = false;
  await dialog.getByText("Confirmed", { exact: true }).waitFor();
  assert.equal(await dialog.getByText(/cannot be read/).count(), 0);
  await context.close(); // with the aborted calls as errors
});

test("only alarms in sight are chosen together", async () => {
  const { context, done } = await open({ viewport: { width: 1366, height: 420 } });
  const page = await context.newPage();
  await signIn(page);
  await raise(page, 20);
  await view(page, "#/alarms");
  await page.locator(".rows .row").nth(5).waitFor();
  await page.getByRole("button", { name: "Select visible" }).click();
  const outside = await page.locator(".grid").evaluate((grid) => {
    const box = grid.getBoundingClientRect();
    return [...grid.querySelectorAll("[aria-selected=true]")].filter((row) => row.getBoundingClientRect().bottom > box.bottom + 1).length;
  });
  assert.ok((await page.locator("[aria-selected=true]").count()) > 0);
  assert.equal(outside, 0, "alarms are chosen that nobody has seen");
  await done();
});

test("a shelved alarm says until when", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/alarms");
  await page.locator(".rows .row").first().click();
  await page.getByRole("button", { name: "Shelve" }).last().click();
  await page.getByRole("dialog").getByRole("button", { name: "Shelve" }).click();
  await page.getByRole("definition").getByText(/^Shelved until \d/).waitFor();
  await view(page, "#/alarms/suppressed");
  await page.getByRole("row").getByText(/^Shelved until \d/).waitFor();
  await page.getByRole("status").getByText("1 alarm", { exact: true }).waitFor();
  await page.getByRole("row").getByText(/^Shelved until \d/).click();
  await page.getByRole("button", { name: "Unshelve" }).click();
  await page.getByText("The alarm is back.").waitFor();
  await done();
});

test("the keyboard stays at its alarm when one before it goes", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  const login = await page.request.post(engine + "/api/v1/auth/login", { data: { username: user, password } });
  const headers = { Authorization: `Bearer ${(await login.json()).accessToken}` };
  await view(page, "#/alarms");
  const grid = page.getByRole("grid", { name: "Active" });
  await grid.locator(".row").nth(5).waitFor();
  await grid.focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
  const at = page.locator(".row.active");
  const [index, text] = [await at.getAttribute("aria-rowindex"), await at.innerText()];
  const [first] = (await grid.locator(".rows .row").first().innerText()).match(/press-\d+/);
  const { alarms } = await (await page.request.get(engine + "/api/v1/alarms?state=all&pageSize=500", { headers })).json();
  assert.ok((await page.request.post(engine + "/api/v1/alarms:acknowledge", { headers, data: { alarmIds: [alarms.find((a) => a.source === first).id] } })).ok());
  await signal(page, [first], "resolved");
  for (const end = Date.now() + patience; (await at.getAttribute("aria-rowindex")) === index; assert.ok(Date.now() < end)) await new Promise((done) => setTimeout(done, 200));
  assert.equal(await at.innerText(), text);
  await done();
});

test("a seventh tab lives, and reloading signs no tab out", async () => {
  const { context, done } = await open();
  const tabs = [];
  for (let i = 0; i < 7; i++) {
    const page = await context.newPage();
    if (i === 0) await signIn(page);
    tabs.push(page);
    await page.goto(`${base}/#/tags/sim.counter`);
  }
  await Promise.all(tabs.map((p) => p.reload()));
  for (const page of tabs) await changes(page.locator(".big .figure"), "the counter");
  await done();
});

for (const colorScheme of ["light", "dark"]) {
  test(`every view can be used by everybody, ${colorScheme}`, async () => {
    const { context, done } = await open({ colorScheme });
    const page = await context.newPage();
    await page.goto(base + "/");
    await page.getByLabel("User name").waitFor();
    await findings(page, "sign-in");
    await signIn(page);
    for (const [hash, ready] of [["#/overview", ".urgent"], ["#/tags", ".rows .row"], ["#/tags/sim.temperature", ".plot canvas"], ["#/alarms", ".rows .row"], ["#/alarms/suppressed", ".grid"], ["#/alarms/history", ".rows .row"], ["#/drivers", "tbody tr"], ["#/engines", "tbody tr"]]) {
      await view(page, hash);
      await page.locator(ready).first().waitFor();
      await findings(page, hash);
    }
    await done();
  });
}

test("a phone in Korean", async () => {
  const { context, done } = await open({ locale: "ko-KR", viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  await page.goto(base + "/");
  await page.getByLabel("사용자 이름").fill(user);
  await page.getByLabel("비밀번호").fill(password);
  await page.getByRole("button", { name: "로그인" }).click();
  await page.getByText("조치 필요").waitFor();
  for (const hash of ["#/overview", "#/tags", "#/tags/sim.temperature", "#/alarms", "#/drivers", "#/engines"]) {
    await view(page, hash);
    await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest(".sr, .head, .scroll") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120)).slice(0, 3)), [], `${hash} is wider than the phone`);
    await findings(page, hash);
  }
  await done();
});

test("signing out ends the session of every tab, and so does signing in begin it", async () => {
  const { context, done } = await open();
  const [page, other] = [await context.newPage(), await context.newPage()];
  await other.goto(base + "/");
  await other.getByLabel("User name").waitFor();
  await signIn(page);
  await other.getByText("Needs attention").waitFor();
  await page.getByText("admin", { exact: true }).first().click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("User name").waitFor();
  await other.getByLabel("User name").waitFor();
  await page.reload();
  await page.getByLabel("User name").waitFor();
  await done();
});

test("rows that come into sight by sorting are live", async () => {
  const { context, done } = await open({ viewport: { width: 1366, height: 420 } });
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/tags");
  await page.locator(".rows .row").first().waitFor();
  const row = page.getByRole("row", { name: /sim\.temperature/ });
  await new Promise((done) => setTimeout(done, 500)); // the rows in sight are known
  assert.equal(await row.count(), 0, "it is in sight before");
  await page.getByRole("columnheader", { name: "Name" }).getByRole("button").click();
  await changes(row.getByRole("gridcell").nth(1), "the temperature");
  await done();
});

test("only alarms that can be read are selected together", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await raise(page, 60);
  await view(page, "#/alarms");
  const grid = page.getByRole("grid", { name: "Active" });
  await grid.getByText(/^press-/).nth(15).waitFor();
  await grid.evaluate((g) => (g.scrollTop = 310)); // a third of a row is above the first whole one
  const visible = page.getByRole("button", { name: "Select visible" });
  await new Promise((done) => setTimeout(done, 500));
  await visible.click();
  const places = await grid.evaluate((g) => {
    const top = g.querySelector(".head").getBoundingClientRect().bottom, bottom = g.getBoundingClientRect().bottom;
    return [...g.querySelectorAll(".rows .row")].map((r) => ({ whole: r.getBoundingClientRect().top >= top && r.getBoundingClientRect().bottom <= bottom, selected: r.getAttribute("aria-selected") === "true" }));
  });
  assert.ok(places.filter((r) => r.selected).length > 10);
  assert.deepEqual(places.filter((r) => r.selected !== r.whole), []);
  await done();
});
