const { test, assert, open, signIn, view, findings } = require("./browser.cjs");

/** A pump with a remaining life: one or another may be under repair. */
const answering = (page) => page.getByRole("row").filter({ has: page.getByRole("img") }).getByRole("link").first().innerText();

test("a prediction says how far it can be trusted, and a model is trained again", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await page.getByRole("link", { name: "Predictions" }).click();
  const pump = await answering(page);
  await page.getByRole("row").nth(6).getByRole("img").waitFor();
  for (const life of await page.locator(".life").evaluateAll((all) => all.map((e) => e.getAttribute("aria-label")))) {
    const [days, low, high] = life.match(/[\d.]+/g).map(Number);
    assert.ok(high === undefined || (days >= low && days <= high), `${life}: the most likely life is outside its interval`);
  }
  await page.getByRole("searchbox", { name: "Search equipment" }).fill(pump);
  await page.getByText("1 of 6").waitFor();
  await page.getByRole("grid", { name: "Predictions" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const detail = page.getByRole("complementary", { name: pump });
  await detail.getByRole("img", { name: /\d+ d/ }).first().waitFor();
  await detail.getByRole("button", { name: `${pump}.vibration` }).click();
  await detail.locator(".plot canvas").waitFor();

  await page.getByRole("link", { name: "Models" }).click();
  const model = page.getByRole("region", { name: "Remaining useful life" });
  await model.getByText("RMSE").waitFor();
  await model.getByRole("button", { name: "Train again" }).click();
  await model.getByRole("progressbar").waitFor();
  await model.getByRole("button", { name: "Cancel" }).click();
  await model.getByText("Training canceled").waitFor();
  await done();
});

for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }]) {
  test(`the views of predictions can be used by everybody, ${JSON.stringify(options)}`, async () => {
    const { context, done } = await open(options);
    const page = await context.newPage();
    await signIn(page);
    await view(page, "#/predictions");
    const pump = await answering(page);
    for (const [hash, ready] of [["#/predictions", ".life"], [`#/predictions/equipment/${pump}`, ".detail .expand"], ["#/predictions/models", ".card dd"]]) {
      await view(page, hash);
      await page.locator(ready).first().waitFor();
      await findings(page, hash);
    }
    await done();
  });
}
