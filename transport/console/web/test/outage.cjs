// An operator's console while the engine stands still, is killed, or cannot be reached: node outage.cjs CHROMIUM URL USER PASSWORD PID. What
// the test asks of who started it is a line of the output: "kill" and "start"; each is answered by a line with the engine's process.
const net = require("node:net");
const lines = require("node:readline").createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { test, assert, engine, user, password, patience, open, signIn, view, changes } = require("./browser.cjs");

let pid = Number(process.argv[6]);
const soon = { timeout: 25_000 }; // it takes about six seconds; browsers notice nothing for half a minute
const began = new Date().toISOString();
const port = Number(new URL(engine).port);

async function ask(what) {
  process.stdout.write(`@${what}\n`);
  pid = Number((await lines.next()).value);
}

const alert = (instance, status = "firing") => ({ status, labels: { alertname: "Outage", severity: "critical", instance }, annotations: { summary: "too hot" }, startsAt: began, ...(status === "resolved" ? { endsAt: new Date().toISOString() } : {}) });
async function tell(...alerts) {
  const r = await fetch(engine + "/api/v1.0/alertsource/webhook", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ version: "4", status: alerts[0].status, alerts }) });
  assert.ok(r.ok, String(r.status));
}
async function api(path, method = "GET", body = undefined) {
  const login = await fetch(engine + "/api/v1/auth/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username: user, password }) });
  const r = await fetch(engine + path, { method, headers: { Authorization: `Bearer ${(await login.json()).accessToken}`, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  assert.ok(r.ok, `${path} ${r.status}`);
  return r.json();
}

const banner = (page) => page.getByRole("alert").getByText(/^Not current: the engine has not answered since \d/);
async function lost(...pages) {
  for (const p of pages) {
    await banner(p).waitFor(soon);
    await p.locator(".frame.notcurrent").waitFor(soon);
  }
}
async function back(...pages) {
  for (const p of pages) {
    await banner(p).waitFor({ state: "detached" });
    await p.locator(".frame:not(.notcurrent)").waitFor();
  }
}
const row = (page, source) => page.locator(".rows .row").filter({ hasText: source });
async function onlyOne(page, source) {
  await row(page, source).first().waitFor();
  assert.equal(await row(page, source).count(), 1, `${source} is there more than once`);
}

/** A line to the engine that can be cut without an end: nothing comes through, and nobody is told. */
function line() {
  const pairs = new Set();
  let cut = false;
  const server = net.createServer((near) => {
    const far = net.connect(port, "127.0.0.1");
    for (const [from, to] of [[near, far], [far, near]]) {
      from.on("data", (d) => { if (!cut) to.write(d); }).on("error", () => {}).on("close", () => { if (!cut) to.destroy(); });
    }
    pairs.add([near, far]);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({
    base: `http://plant.test:${server.address().port}`,
    cut: () => { cut = true; },
    mend: () => { for (const p of pairs) for (const s of p) s.destroy(); pairs.clear(); cut = false; },
    close: () => { for (const p of pairs) for (const s of p) s.destroy(); server.close(); },
  })));
}

test("an engine that stands still", async () => {
  const { context } = await open();
  const [page, other] = [await context.newPage(), await context.newPage()];
  await signIn(page);
  await other.goto(new URL(page.url()).origin + "/#/alarms");
  await tell(alert("press-1"), alert("press-2"));
  await view(page, "#/tags/sim.setpoint");
  await page.getByRole("button", { name: "Write value" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("New value").fill("47");
  await dialog.getByRole("button", { name: "Review" }).click();
  await row(other, "press-1").waitFor();
  const writes = async () => (await api("/api/v1/tags/writes?tagName=sim.setpoint")).totalCount;
  const before = await writes();

  process.kill(pid, "SIGSTOP");
  try {
    // What is sent to it fails clearly, and is not called refused or done.
    await dialog.getByRole("button", { name: "Write now" }).click();
    await row(other, "press-1").getByRole("button").click();
    await lost(page, other);
    await dialog.getByText(/The answer was lost/).waitFor();
    await other.getByText(/did not answer. It may have been done/).waitFor();
    assert.equal(await dialog.getByText(/Refused|Confirmed/).count(), 0);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await back(page, other);
  // What became of it is found by its id: the engine may have taken it, or found that nobody waits for the answer.
  const [taken, none] = [dialog.getByText("Confirmed", { exact: true }), dialog.getByText(/^The engine knows no such write so far/)];
  await taken.or(none).waitFor();
  assert.equal(await writes(), before + (await taken.count()), "a write was sent twice");
  await onlyOne(other, "press-1");
  await context.close();
});

test("a line that is dead without an end", async () => {
  const l = await line();
  const { context } = await open();
  try {
    const page = await context.newPage();
    await tell(alert("line-goes"), alert("line-stays"));
    await signIn(page, user, password, l.base);
    await view(page, "#/alarms");
    await page.getByRole("searchbox", { name: "Search alarms" }).fill("line-");
    await row(page, "line-goes").waitFor();
    l.cut();
    await lost(page);
    // Alarms come, go and are acknowledged meanwhile.
    await tell(alert("line-new"), alert("line-brief"));
    const { alarms } = await api("/api/v1/alarms?state=all&pageSize=500");
    await tell(alert("line-goes", "resolved"), alert("line-brief", "resolved"));
    await api("/api/v1/alarms:acknowledge", "POST", { alarmIds: alarms.filter((a) => ["line-goes", "line-stays"].includes(a.source)).map((a) => a.id) });
    l.mend();
    await back(page);
    await onlyOne(page, "line-new");
    await onlyOne(page, "line-brief");
    await row(page, "line-brief").getByText("Returned").waitFor();
    await row(page, "line-stays").getByText(user).waitFor();
    await row(page, "line-goes").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Silence" }).waitFor(); // what came meanwhile is heard
  } finally {
    l.close();
    await context.close();
  }
});

test("an engine that is killed and started again", async () => {
  const { context } = await open();
  const page = await context.newPage();
  const sent = []; // the names whose values are to come, of each connection the last
  page.on("websocket", (w) => {
    const at = sent.push(undefined) - 1;
    w.on("framesent", (f) => { const m = /"target":"Tags","arguments":\[(\[.*?\])|"arguments":\[(\[.*?\]),500\].*"target":"Tags"/.exec(String(f.payload)); if (m) sent[at] = JSON.parse(m[1] ?? m[2]); });
  });
  await signIn(page);
  await view(page, "#/tags");
  await page.getByRole("searchbox", { name: "Search tags" }).fill("sim.temperature");
  const value = page.getByRole("row", { name: /sim\.temperature/ }).getByRole("gridcell").nth(1);
  await changes(value, "the temperature");
  await ask("kill");
  await lost(page);
  await ask("start");
  await back(page);
  await changes(value, "the temperature");
  // What is no longer on the screen is not sent any more.
  await view(page, "#/alarms");
  const end = Date.now() + patience;
  while (sent[sent.length - 1]?.length !== 0) {
    assert.ok(Date.now() < end, `still sent: ${sent[sent.length - 1]}`);
    await new Promise((done) => setTimeout(done, 100));
  }
  await context.close();
});

test.after(() => process.stdin.destroy());
