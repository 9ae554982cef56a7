// Drives the console of a bridge without accounts in a browser: node bridge.cjs CHROMIUM URL SETUPCODE [PICTURES]
const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [executablePath, base, code, pictures] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve("axe-core"), "utf8");
const password = "correct horse battery";
const stranger = { "X-Forwarded-For": "192.0.2.7" }; // who came by way of something that is not trusted is not on this machine
let browser;

test.before(async () => {
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});
test.after(() => browser?.close());

/** A window of the browser, whose pages must stay without errors and violations of the policy. */
async function open(options = {}) {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(30_000);
  const faults = [];
  context.on("page", (page) => {
    page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
    // A free bridge is not well, and what is refused is a part of the test.
    page.on("console", (m) => m.type() === "error" && !m.text().startsWith("Failed to load resource") && faults.push(`console: ${m.text()}`));
  });
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  const page = await context.newPage();
  await page.goto(base + "/");
  return { page, done: async () => { await context.close(); assert.deepEqual(faults, []); } };
}

async function look(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document)).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`));
  assert.deepEqual(found, [], name);
  if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

const panel = (page, name) => page.getByRole("region", { name, exact: true });

async function signIn(page, username, word) {
  await page.getByRole("button", { name: "Sign in" }).click();
  const form = panel(page, "Sign in");
  await form.getByLabel("User name").fill(username);
  await form.getByLabel("Password").fill(word);
  await form.getByRole("button", { name: "Sign in" }).click();
}

const api = (method, path, body, token) => fetch(base + path, { method, headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) }, body: body && JSON.stringify(body) });

test("a stranger in the network sets nothing up without the code", async () => {
  const { page, done } = await open({ extraHTTPHeaders: stranger });
  const form = panel(page, "Make the first account");
  await form.getByLabel("Set-up code").fill("AAAAAAAAAAAAAAAA");
  await form.getByLabel("User name").fill("admin");
  await form.getByLabel("Password", { exact: true }).fill(password);
  await form.getByLabel("Password again").fill(password + "s");
  await form.getByRole("button", { name: "Make the account" }).click();
  await form.getByText("The two passwords differ.").waitFor();
  await form.getByLabel("Password again").fill(password);
  await form.getByRole("button", { name: "Make the account" }).click();
  await form.getByText(/The set-up code is wrong/).waitFor();
  assert.equal((await (await api("GET", "/api/bridge/auth/state")).json()).setupRequired, true);
  await panel(page, "Binding").getByText("Not bound").waitFor();
  assert.equal(await page.getByRole("table").count(), 0, "values are for accounts");
  await look(page, "setup");
  await done();
});

test("whoever has the code makes the first account, and then sees the driver", async () => {
  const { page, done } = await open({ extraHTTPHeaders: stranger, colorScheme: "dark" });
  const form = panel(page, "Make the first account");
  await form.getByLabel("Set-up code").fill(code.toLowerCase());
  await form.getByLabel("User name").fill("admin");
  await form.getByLabel("Password", { exact: true }).fill(password);
  await form.getByLabel("Password again").fill(password);
  await form.getByRole("button", { name: "Make the account" }).click();
  await panel(page, "Driver").getByText("Online").waitFor();
  assert.equal(await form.count(), 0);
  await page.getByText(/^otctl bridges bind \S+ http/).waitFor();
  await page.getByRole("searchbox", { name: "Search tags" }).fill("temperature");
  const row = page.getByRole("row", { name: /temperature/ });
  await row.getByText("Good").waitFor();
  const time = row.getByRole("cell").last();
  const before = await time.innerText();
  for (const end = Date.now() + 120_000; (await time.innerText()) === before; await new Promise((r) => setTimeout(r, 100))) assert.ok(Date.now() < end, "the value stays");
  await look(page, "driver-dark");
  await done();
});

test("the binding is shown, and released in two steps by an admin only", async () => {
  const { accessToken } = await (await api("POST", "/api/bridge/auth/login", { username: "admin", password })).json();
  assert.equal((await api("POST", "/api/bridge/auth/accounts", { username: "eve", password: "zebra tractor lamp 83", role: "viewer" }, accessToken)).status, 201);
  assert.equal((await api("POST", "/api/bridge/bind", { engineId: "engine-7", engineUrl: "http://127.0.0.1:9" })).status, 200);

  const { page, done } = await open();
  const binding = panel(page, "Binding");
  await binding.getByText("engine-7").waitFor();
  await binding.getByText("Not open").waitFor();
  assert.equal(await page.getByRole("table").count(), 0, "values are for accounts");
  await look(page, "open");
  await signIn(page, "admin", "wrong wrong wrong");
  await page.getByText("The user name or the password is wrong.").waitFor();
  await page.getByLabel("User name").fill("eve");
  await page.getByLabel("Password").fill("zebra tractor lamp 83");
  await panel(page, "Sign in").getByRole("button").click();
  await page.getByRole("table").waitFor();
  await binding.getByText("http://127.0.0.1:9", { exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Release" }).count(), 0, "a viewer releases nothing");

  await page.reload(); // nothing of the session is kept
  await signIn(page, "admin", password);
  await panel(page, "Buffer").getByText("Waiting samples").waitFor();
  await look(page, "bound");
  await binding.getByRole("button", { name: "Release the binding" }).click();
  await binding.getByText(/engine-7 gets no more values/).waitFor();
  await binding.getByRole("button", { name: "Cancel" }).click();
  await binding.getByRole("button", { name: "Release the binding" }).click();
  await binding.getByRole("button", { name: "Release now" }).click();
  await binding.getByText("Not bound").waitFor();
  await page.getByText("admin", { exact: true }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.equal((await (await api("GET", "/api/bridge/status")).json()).status, "free");
  await done();
});

test("a phone in Korean", async () => {
  const { page, done } = await open({ locale: "ko-KR", viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true });
  await page.getByRole("button", { name: "로그인" }).click();
  await page.getByLabel("사용자 이름").fill("admin");
  await page.getByLabel("비밀번호").fill(password);
  await panel(page, "로그인").getByRole("button").click();
  await page.getByRole("row", { name: /temperature/ }).first().waitFor();
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest(".sr, .scroll, pre") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120)).slice(0, 3)), [], "wider than the phone");
  await look(page, "phone-ko");
  await done();
});
