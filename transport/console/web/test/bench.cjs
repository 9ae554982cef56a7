// Figures of the console in a browser: node bench.cjs CHROMIUM URL USER PASSWORD SCENARIO. Each line of the standard input is a round of
// the scenario; its figures are a line of JSON.
const fs = require("node:fs");
const os = require("node:os");
const { chromium } = require("playwright-core");

const [executablePath, base, user, password, scenario] = process.argv.slice(2);
const viewport = { width: 1366, height: 820 };
const patience = 120_000;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let browser, host;

// What is looked for in the page: an element, and how it tells that a view is there with its data.
const overview = ".tile:first-of-type b:not(:empty)";
const alarmRow = ".grid .rows .row.alarm";

async function open(options = {}) {
  const context = await browser.newContext({ locale: "en-GB", viewport, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  page.on("pageerror", (e) => { throw e; });
  return page;
}

/**
 * Opens a page with a clock in it: spent(type, selector, text) resolves to the milliseconds from the next event of a type until an element
 * of the selector, with the text if there is one, is painted; without a type from the start of the page.
 */
async function clocked(page) {
  await page.addInitScript(() => {
    window.spent = (type, selector, text) => new Promise((done) => {
      const from = (start) => {
        const look = () => {
          const found = [...document.querySelectorAll(selector)].some((e) => !text || e.textContent.includes(text));
          if (!found) return void requestAnimationFrame(look);
          const painted = new MessageChannel(); // its message comes behind the frame
          painted.port1.onmessage = () => done(performance.now() - start);
          painted.port2.postMessage(0);
        };
        requestAnimationFrame(look);
      };
      if (type) addEventListener(type, (e) => from(e.timeStamp), { capture: true, once: true });
      else from(0);
    });
  });
  return page;
}

/** Milliseconds from what act does until it is painted. */
async function timed(page, type, act, selector, text = "") {
  const result = page.evaluate(([t, s, x]) => window.spent(t, s, x), [type, selector, text]);
  await pause(50); // the listener is there
  await act();
  return result;
}

async function clickOn(page, selector) {
  const box = await page.locator(selector).first().boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
}

async function signIn(page) {
  await page.goto(base + "/");
  await page.getByLabel("User name").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(overview).filter({ hasNotText: "–" }).waitFor();
}

const view = (page, hash, ready) => page.evaluate((h) => void (location.hash = h), hash).then(() => page.locator(ready).first().waitFor());

/** Processor time in seconds by type of process. */
async function cpu() {
  const { processInfo } = await host.send("SystemInfo.getProcessInfo");
  const sum = {};
  for (const p of processInfo) sum[p.type] = (sum[p.type] ?? 0) + p.cpuTime;
  return sum;
}

/** Calls f and returns the shares of a core in percent that the browser used meanwhile. */
async function used(name, f) {
  const [before, start] = [await cpu(), performance.now()];
  await f();
  const [after, s] = [await cpu(), (performance.now() - start) / 1000];
  return { [`%renderer-${name}`]: (100 * (after.renderer - before.renderer)) / s, [`%drawing-${name}`]: (100 * ((after.GPU ?? 0) - (before.GPU ?? 0))) / s };
}

/** Counts the frames that are drawn to the screen while f runs. */
async function drawn(f) {
  let frames = 0;
  const count = ({ value }) => { frames += value.filter((e) => e.name === "DirectRenderer::DrawFrame").length; };
  host.on("Tracing.dataCollected", count);
  await host.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["viz"] } });
  const start = performance.now();
  await f();
  const s = (performance.now() - start) / 1000;
  const complete = new Promise((done) => host.once("Tracing.tracingComplete", done));
  await host.send("Tracing.end");
  await complete;
  host.off("Tracing.dataCollected", count);
  return frames / s;
}

/** Scrolls the grid up and down for some seconds, and returns the figures of its frames. */
async function scroll(page, name) {
  const cdp = await page.context().newCDPSession(page);
  const box = await page.locator(".grid").first().boundingBox();
  await page.evaluate(() => {
    const at = (window.frames60 = []), grid = document.querySelector(".grid"), rows = grid.querySelector(".rows");
    window.blank = 0;
    const tick = (t) => {
      if (window.frames60 !== at) return;
      at.push(t);
      const [first, last] = [rows.firstElementChild, rows.lastElementChild]; // what the screen showed since the frame before
      if (first.offsetTop > grid.scrollTop || last.offsetTop + last.offsetHeight < Math.min(grid.scrollTop + grid.clientHeight - 32, rows.offsetHeight)) window.blank++;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    window.long = 0;
    window.watcher = new PerformanceObserver((l) => (window.long += l.getEntries().length));
    window.watcher.observe({ type: "longtask" });
  });
  let fps = 0;
  const share = await used(name, async () => {
    fps = await drawn(async () => {
      for (let i = 0; i < 3; i++) for (const yDistance of [-6000, 6000]) await cdp.send("Input.synthesizeScrollGesture", { x: box.x + 300, y: box.y + 300, yDistance, speed: 3000, gestureSourceType: "mouse" });
    });
  });
  const { at, long, blank } = await page.evaluate(() => { const r = { at: window.frames60, long: window.long, blank: window.blank }; window.frames60 = undefined; window.watcher.disconnect(); return r; });
  await cdp.detach();
  const lengths = at.slice(1).map((t, i) => t - at[i]).sort((a, b) => a - b);
  const total = at[at.length - 1] - at[0];
  const dropped = lengths.reduce((n, l) => n + Math.max(0, Math.round(l / (1000 / 60)) - 1), 0);
  return { ...share, [`fps-${name}`]: fps, [`fps-of-page-${name}`]: (1000 * lengths.length) / total, [`ms-frame-p99-${name}`]: lengths[Math.floor(lengths.length * 0.99)], [`%dropped-${name}`]: (100 * dropped) / (lengths.length + dropped), [`longtasks-${name}`]: long, [`%blank-${name}`]: (100 * blank) / at.length };
}

/** What is kept after garbage collection: heap and nodes of the page; and resident memory of the renderer. */
async function kept(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.enable");
  for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
  await cdp.send("HeapProfiler.disable");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const { nodes, jsEventListeners } = await cdp.send("Memory.getDOMCounters");
  await cdp.detach();
  const renderers = (await host.send("SystemInfo.getProcessInfo")).processInfo.filter((p) => p.type === "renderer");
  const resident = Math.max(...renderers.map((p) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${p.id}/status`, "utf8"))[1])));
  return { "MB-heap": usedSize / 1e6, nodes, listeners: jsEventListeners, "MB-resident": resident / 1024 };
}

const scenarios = {
  /** The first paint with an empty cache, behind the sign-in and with a session. */
  async start() {
    return async () => {
      const page = await clocked(await open());
      await page.goto(base + "/");
      await page.getByLabel("User name").fill(user);
      await page.getByLabel("Password").fill(password);
      const answered = page.waitForResponse("**/console/session");
      const shown = await timed(page, "click", () => clickOn(page, "button.primary"), overview);
      const signedIn = (await (await answered).request().timing()).responseEnd;
      await page.locator(overview).filter({ hasNotText: "–" }).waitFor();
      const figures = { "ms-signin-to-overview": shown, "ms-signin-answer": signedIn };
      const load = async (name, p) => {
        await p.goto(base + "/");
        figures[`ms-overview-${name}`] = await p.evaluate((s) => window.spent("", s), overview);
        figures[`ms-first-paint-${name}`] = await p.evaluate(() => new Promise((done) => new PerformanceObserver((l) => l.getEntriesByName("first-contentful-paint").forEach((e) => done(e.startTime))).observe({ type: "paint", buffered: true })));
        figures[`ms-complete-${name}`] = await p.evaluate(() => window.spent("", ".urgent li"));
      };
      await load("session", page);
      const cold = await clocked(await open({ storageState: await page.context().storageState() }));
      await load("cold", cold);
      await cold.context().close();
      await page.context().close();
      return figures;
    };
  },

  /** The load on the browser while values and alarms come. */
  async load() {
    const page = await open();
    await signIn(page);
    return async () => {
      await view(page, "#/alarms", alarmRow);
      await pause(3000);
      const figures = await used("alarms", () => pause(15_000));
      Object.assign(figures, await scroll(page, "scroll-alarms"));
      await view(page, "#/tags", ".grid .rows .row");
      await pause(3000);
      Object.assign(figures, await used("tags", () => pause(10_000)), await scroll(page, "scroll-tags"));
      await view(page, "#/overview", overview);
      await pause(3000);
      return Object.assign(figures, await used("overview", () => pause(10_000)));
    };
  },

  /** A round is a minute of the load, after which the memory is looked at. */
  async memory() {
    const page = await open();
    await signIn(page);
    return async () => {
      const start = performance.now();
      await view(page, "#/tags", ".grid .rows .row");
      await pause(10_000);
      await page.locator(".grid .rows .row").nth(3).click();
      await page.locator(".plot canvas").waitFor();
      await pause(10_000);
      await view(page, "#/alarms", alarmRow);
      await pause(60_000 - (performance.now() - start));
      return kept(page);
    };
  },

  /**
   * A round is a minute in which as much happens as in twenty of a shift: what the page repeats is repeated twenty times as often,
   * values come as often as they change, and another view is opened every second and a half.
   */
  async shift() {
    const page = await open();
    await page.addInitScript(() => {
      const repeat = window.setInterval, send = WebSocket.prototype.send;
      window.setInterval = (f, ms, ...a) => repeat(f, ms / 20, ...a);
      WebSocket.prototype.send = function (data) { send.call(this, typeof data === "string" ? data.replace(/("target":"Tags".*|"arguments":\[\[.*\]),500\]/, "$1,50]") : data); };
    });
    let changes = 0, links = 0;
    page.on("websocket", (w) => { links++; w.on("framereceived", (f) => { changes += String(f.payload).split('"quality":').length - 1; }); });
    await signIn(page);
    const rows = ".grid .rows .row";
    const steps = [
      ["#/tags", rows], ["#/tags/chosen", ".trend"], ["#/tags", rows], ["#/alarms", alarmRow], ["#/alarms/active/chosen", ".journal li"], ["#/alarms/history", rows],
      ["#/overview", overview], ["#/tags", rows], ["#/drivers", "tbody tr"], ["#/alarms", alarmRow], ["#/shells", ".shells .grid"], ["#/devices", "main h1"], ["#/alerts", "main h1"],
      ["#/rules", "main h1"], ["#/configuration", "main h1"], ["#/audit", "main h1"], ["#/predictions", "main h1"], ["#/users", "main h1"],
    ];
    let at = 0;
    return async () => {
      const chosen = () => steps[at % steps.length][0].endsWith("chosen"); // in the list before
      for (const end = performance.now() + 60_000; performance.now() < end || chosen(); at++) {
        const [hash, ready] = steps[at % steps.length];
        if (chosen()) await page.locator(rows).nth(at % 11).click();
        else await page.evaluate((h) => void (location.hash = h), hash);
        await page.locator(ready).first().waitFor();
        await pause(1400);
      }
      await view(page, "#/alarms", alarmRow);
      await pause(1000);
      return { ...(await kept(page)), changes, links, views: at };
    };
  },

  /** Milliseconds from a click until what it is for is painted. */
  async clicks() {
    const page = await clocked(await open());
    await signIn(page);
    const link = (name) => `nav.views a[href="#/${name}"]`;
    let turn = 0;
    return async () => {
      turn++;
      const f = {};
      const click = async (name, selector, done, text) => { f[`ms-${name}`] = await timed(page, "click", () => clickOn(page, selector), done, text); };
      const type = async (name, text, done) => { f[`ms-${name}`] = await timed(page, "input", () => page.locator("input[type=search]").fill(text), done); };
      await click("alarms", link("alarms"), alarmRow);
      await click("open-alarm", `${alarmRow} .message`, ".journal li");
      await click("close-alarm", ".detail header a", ".alarms:not(.split)");
      const row = `${alarmRow}.open`;
      const index = await page.locator(row).first().getAttribute("aria-rowindex");
      await click("acknowledge", `${row} button.ack`, `.row[aria-rowindex="${index}"]:not(.open)`);
      await type("filter-alarms", "unit-00007", '.grid[aria-rowcount="2"]');
      await type("unfilter-alarms", "", '.grid .row[aria-rowindex="5"]');
      await click("history", '.segments a[href="#/alarms/history"]', '.grid[aria-label="History"] .row.alarm');
      await click("overview", link("overview"), ".urgent li");
      await click("tags", link("tags"), ".grid .rows .row");
      await click("shells", link("shells"), ".shells .rows .row a");
      await page.locator(".grid").focus();
      f["ms-more-shells"] = await timed(page, "keydown", () => page.keyboard.press("End"), '.grid[aria-rowcount="201"]');
      await type("find-shell", "Pump000200", '.grid[aria-rowcount="2"]');
      await click("open-shell", ".shells .rows .row a", ".tree .figure");
      await view(page, "#/overview", ".urgent li");
      return f;
    };
  },
};

async function main() {
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  host = await browser.newBrowserCDPSession();
  const round = await scenarios[scenario]();
  for await (const _ of require("node:readline").createInterface({ input: process.stdin })) {
    console.log(JSON.stringify({ ...(await round()), "load-of-machine": os.loadavg()[0] }));
  }
  await browser.close();
}

main().catch((err) => {
  console.error(err, ...(browser?.contexts() ?? []).flatMap((c) => c.pages().map((p) => p.url())));
  process.exit(1);
});
