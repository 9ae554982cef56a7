// Consoles that sleep for longer than their tokens live: node asleep.cjs CHROMIUM URL USER PASSWORD PID OPERATOR, where PID is the engine's
// process and tokens live for a minute.
const { test, assert, engine, user, password, open, signIn, view, changes } = require("./browser.cjs");

const [pid, operator] = process.argv.slice(6);
const life = 60_000;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const value = (page) => page.getByRole("row", { name: /sim\.temperature/ }).getByRole("gridcell").nth(1);

async function api(path, method = "GET") {
  const login = await fetch(engine + "/api/v1/auth/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username: user, password }) });
  const r = await fetch(engine + path, { method, headers: { Authorization: `Bearer ${(await login.json()).accessToken}` } });
  assert.ok(r.ok, `${method} ${path} ${r.status}`);
  return r.status === 204 ? undefined : r.json();
}

/** Sends a signal to processes of the browser, which ends some that it does not need any more by itself. */
function signal(pids, name) {
  for (const p of pids) {
    try {
      process.kill(p, name);
    } catch (err) {
      if (err.code !== "ESRCH") throw err;
    }
  }
}

/** A console that shows a value that changes, and the processes that came with it. */
async function watching(name) {
  const { context } = await open();
  const host = await context.browser().newBrowserCDPSession();
  const renderers = async () => (await host.send("SystemInfo.getProcessInfo")).processInfo.filter((p) => p.type === "renderer").map((p) => p.id);
  const before = new Set(await renderers());
  const page = await context.newPage();
  await signIn(page, name);
  await view(page, "#/tags");
  await page.getByRole("searchbox", { name: "Search tags" }).fill("sim.temperature");
  await changes(value(page), "the temperature");
  return { context, page, pids: (await renderers()).filter((p) => !before.has(p)) };
}

/** Counts how often the page is seen without the mark that it is not current, behind a sleep and until it has the mark. */
const watchMarks = (page) => page.evaluate(() => {
  let last = Date.now(), awake = false, marked = false;
  window.unmarked = 0;
  setInterval(() => {
    const now = Date.now();
    awake ||= now - last > 30_000;
    last = now;
    marked ||= awake && !!document.querySelector(".frame.notcurrent");
    if (awake && !marked) window.unmarked++;
  }, 50);
});

test("consoles that slept for longer than their tokens live", async () => {
  const [stopped, frozen, ended] = [await watching(user), await watching(user), await watching(operator)];
  for (const one of [stopped, frozen, ended]) await watchMarks(one.page);
  assert.ok(stopped.pids.length > 0 && ended.pids.length > 0, "the pages have no processes of their own");
  const asleep = [...stopped.pids, ...ended.pids];
  const cdp = await frozen.context.newCDPSession(frozen.page);
  let still = false;
  try {
    await cdp.send("Page.setWebLifecycleState", { state: "frozen" });
    signal(asleep, "SIGSTOP");
    await api(`/api/v1/auth/sessions?account=${operator}`, "DELETE");
    await pause(life + 5000);
    process.kill(pid, "SIGSTOP"); // so that what is shown cannot become current
    still = true;
    await cdp.send("Page.setWebLifecycleState", { state: "active" });
    signal(asleep, "SIGCONT");
    for (const { page } of [stopped, frozen, ended]) {
      await page.locator(".frame.notcurrent").waitFor();
      const unmarked = await page.evaluate(() => window.unmarked);
      assert.ok(unmarked < 10, `old values were seen as current for ${unmarked} moments`);
    }
  } finally {
    if (still) process.kill(pid, "SIGCONT");
    signal(asleep, "SIGCONT");
  }
  // Who may still be signed in sees values of now without doing anything; who may not is asked to sign in.
  for (const { page } of [stopped, frozen]) {
    await page.locator(".frame:not(.notcurrent)").waitFor();
    await changes(value(page), "the temperature");
  }
  await ended.page.getByText("Your session has ended. Sign in again.").waitFor();
  assert.equal(await ended.page.locator(".figure").count(), 0, "values are seen without a session");
  for (const one of [stopped, frozen, ended]) await one.context.close();
});
