// A browser that drives the console of an engine: node SCRIPT CHROMIUM URL USER PASSWORD
const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { chromium } = require("playwright-core");

const [executablePath, engine, user, password] = process.argv.slice(2);
// Pages are opened by plain HTTP under a name, as in the network of a plant: that is no secure context, so browsers lack much there.
const base = engine.replace("//127.0.0.1:", "//plant.test:");
const patience = 120_000; // ends a wait that hangs. How long something takes says nothing on a loaded machine.
const axe = fs.readFileSync(require.resolve("axe-core"), "utf8");
let browser;
let shots = 0; // pictures of what is checked are kept in the folder SCREENSHOTS, for somebody who looks at them

test.before(async () => {
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--host-resolver-rules=MAP plant.test 127.0.0.1"] });
});
test.after(() => browser?.close());

/** A window of the browser, whose pages must stay without errors and violations of the policy. */
async function open(options = {}) {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1366, height: 820 }, ...options });
  context.setDefaultTimeout(patience);
  const faults = [];
  context.on("page", (page) => {
    page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
    // On a loaded machine a link may take so long that the console gives it up for another one.
    page.on("console", (m) => m.type() === "error" && !/closed before the connection is established/.test(m.text()) && faults.push(`console: ${m.text()} ${m.location().url}`));
  });
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  return { context, faults, done: async () => { await context.close(); assert.deepEqual(faults, []); } };
}

async function signIn(page, name = user, secret = password, at = base) {
  await page.goto(at + "/");
  assert.equal(await page.evaluate(() => isSecureContext), base === engine);
  await page.getByLabel("User name").fill(name);
  await page.getByLabel("Password").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Needs attention").waitFor();
}

/** Opens a view of the page that is there. */
const view = (page, hash) => page.evaluate((h) => void (location.hash = h), hash);

async function changes(locator, what) {
  const before = await locator.innerText();
  const end = Date.now() + patience;
  while ((await locator.innerText()) === before) {
    assert.ok(Date.now() < end, `${what} stays ${before}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function findings(page, name) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name.replace(/[^a-z0-9]+/gi, "-")}-${shots++}.png` });
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document)).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`));
  assert.deepEqual(found, [], name);
}

module.exports = { test, assert, engine, base, user, password, patience, open, signIn, view, changes, findings };
