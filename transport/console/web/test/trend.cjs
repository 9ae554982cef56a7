const { test, assert, engine, user, password, open, signIn, view } = require("./browser.cjs");

/** The heights, 0 at the foot and 1 at the top, at which the line of the plot is at a part of its width. */
const heights = (page, part) => page.locator(".plot canvas").evaluate((canvas, part) => {
  const over = document.querySelector(".plot .u-over"), r = devicePixelRatio;
  const box = { left: over.offsetLeft * r, top: over.offsetTop * r, width: over.clientWidth * r, height: over.clientHeight * r };
  const { data } = canvas.getContext("2d").getImageData(Math.round(box.left + part * box.width), box.top, 1, box.height);
  const found = [];
  for (let y = 0; y < data.length / 4; y++) if (data[4 * y + 3] > 200 && data[4 * y] < 60) found.push(1 - y / box.height);
  return found;
}, part);

const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();

/** Samples that a tag has stored, the first value that it holds, and what is drawn of them. */
async function drawn(samples, held) {
  const { context, done } = await open({ colorScheme: "light" });
  const page = await context.newPage();
  await page.route("**/api/v1/tags/sim.setpoint/history?*", (route) => route.fulfill({ json: {
    tagName: "sim.setpoint", points: samples.map(([minutes, v]) => ({ timestamp: ago(minutes), value: v === null ? null : { doubleValue: v }, quality: v === null ? "Bad" : "Good" })),
  } }));
  await page.route(/history\/aggregates\?.*interval=1ms/, (route) => route.fulfill({ json: {
    start: ago(15), end: ago(15), interval: "1ms", series: [{ tagName: "sim.setpoint", intervals: held === undefined ? [] : [{ start: ago(15), end: ago(15), quality: "Good", percentGood: 100, timeAverage: held }] }],
  } }));
  await signIn(page);
  await view(page, "#/tags/sim.setpoint");
  await page.locator(".plot canvas").waitFor();
  await page.getByText(/^Min/).waitFor();
  await page.waitForTimeout(300); // to the next frame, in which the plot is drawn
  return { page, done };
}

test("a value that was written is drawn as it was: held, then another", async () => {
  const { page, done } = await drawn([[10, 40], [1, 80]]);
  const [before, after] = [await heights(page, 0.85), await heights(page, 0.98)];
  assert.ok(before.length > 0 && before.every((h) => h < 0.2), `5 minutes ago it was 40: ${before}`);
  assert.ok(after.length > 0 && after.every((h) => h > 0.8), `now it is 80: ${after}`);
  await page.getByText("Min 40.00 · Mean 44.00 · Max 80.00").waitFor(); // 9 minutes and 1
  await done();
});

test("a value that has not changed for an hour is there", async () => {
  const { page, done } = await drawn([], 55);
  for (const part of [0.05, 0.5, 0.97]) assert.ok((await heights(page, part)).length > 0, `nothing is drawn at ${part}`);
  await page.getByText("Min 55.00 · Mean 55.00 · Max 55.00").waitFor();
  await page.getByRole("button", { name: "As table" }).click();
  assert.equal(await page.getByRole("row").filter({ hasText: "55.00" }).filter({ hasNotText: "sim." }).count(), 0, "no sample was stored");
  await done();
});

test("a value holds until it is not good", async () => {
  const { page, done } = await drawn([[10, 40], [5, null], [1, 40]]);
  assert.ok((await heights(page, 0.6)).length > 0, "6 minutes ago it was 40");
  assert.equal((await heights(page, 0.8)).length, 0, "3 minutes ago there was nothing good");
  assert.ok((await heights(page, 0.97)).length > 0, "it is 40 again");
  await done();
});

test("a value that fixed decimals would show as zero has an exponent", async () => {
  const login = await fetch(engine + "/api/v1/auth/login", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username: user, password }) });
  const headers = { Authorization: `Bearer ${(await login.json()).accessToken}`, "Content-Type": "application/json" };
  for (const [id, expression] of [["tiny.least", "1.17549435e-38"], ["tiny.negative", "-2.5e-38"], ["tiny.zero", "0.0"], ["tiny.small", "0.006"]]) {
    const r = await fetch(engine + "/api/v1/derived-tags", { method: "POST", headers, body: JSON.stringify({ id, expression: `tag("sim.setpoint") * 0.0 + ${expression}` }) });
    assert.equal(r.status, 201, await r.text());
  }
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/tags");
  await page.getByRole("searchbox", { name: "Search tags" }).fill("tiny.");
  for (const [id, text] of [["tiny.least", "1.18e-38"], ["tiny.negative", "-2.50e-38"], ["tiny.zero", "0.00"], ["tiny.small", "0.01"]]) {
    await page.getByRole("row", { name: new RegExp(`^${id}`) }).getByRole("gridcell").nth(1).getByText(text, { exact: true }).waitFor();
  }
  await done();
});

test("a tag that could not be read at first is shown when it can be, and a slow engine is asked for its history one time after the other", async () => {
  const { context, faults, done } = await open();
  const page = await context.newPage();
  let away = true, asked = 0;
  await page.route("**/api/v1/tags?*", (route) => route.abort());
  await page.route("**/api/v1/tags/sim.setpoint", (route) => (away ? route.fulfill({ status: 503, json: { code: "UNAVAILABLE", message: "not now" } }) : route.continue()));
  await page.route("**/api/v1/tags/sim.setpoint/history?*", () => void asked++); // never answered
  await signIn(page);
  await view(page, "#/tags/sim.setpoint");
  await page.locator(".detail .error").waitFor();
  away = false;
  await page.locator(".detail .trend").waitFor();
  assert.equal(await page.locator(".detail > .error").count(), 0);
  await page.waitForTimeout(7000); // two intervals
  assert.equal(asked, 1);
  assert.ok(faults.splice(0).every((f) => f.includes("Failed to load resource")));
  await done();
});
