const { test, assert, open, signIn, view, findings } = require("./browser.cjs");

const robot = "#/devices/sim-amr-1";

test("the reason of a refused command is shown", async () => {
  const { context } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/devices");
  await page.getByRole("link", { name: "Pallet robot" }).click();
  const form = page.getByRole("form", { name: "Command" });
  await form.getByLabel("x (m)").fill("25");
  await form.getByLabel("y (m)").fill("15");
  await form.getByRole("button", { name: "Review" }).click();
  await form.getByText("This moves Pallet robot.").waitFor();
  await form.getByRole("button", { name: "Send now" }).click();
  await page.getByRole("alert").getByText(/keep-out zone "press"/).waitFor();
  await page.getByText("Move to: Refused").waitFor();
  await context.close(); // with the refusal as an error that the browser reports
});

test("a device is stopped at once, and what is commanded then is followed to its end", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/devices");
  await page.getByRole("button", { name: "Emergency stop Handling arm" }).click();
  await page.getByText("Emergency stop: Succeeded").waitFor(); // which opens the device
  const detail = page.getByRole("region", { name: "Handling arm" });
  await detail.getByText("Emergency stop latched").waitFor();
  await findings(page, "stopped");
  const form = page.getByRole("form", { name: "Command" });
  await form.getByRole("combobox").selectOption("ResetEmergencyStop");
  await form.getByRole("button", { name: "Review" }).click();
  await form.getByRole("button", { name: "Send now" }).click();
  await page.getByText("Reset emergency stop: Succeeded").waitFor();
  await detail.getByText("No emergency stop").waitFor();
  assert.ok(await detail.getByRole("row", { name: /Reset emergency stop Succeeded admin/ }).count());
  await done();
});

test("the map is moved by the keyboard, and the list says where the devices are", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/devices");
  await page.getByRole("row", { name: /Pallet robot .*\d m, / }).waitFor();
  const map = page.getByRole("group", { name: /^Map demo-hall: 2 devices, 3 zones/ });
  assert.deepEqual(await map.getByRole("list", { name: "Zones" }).getByRole("listitem").allInnerTexts(), ["hall · allowed", "charging · limited speed · at most 1 m/s", "press · keep out"]);
  await map.locator("svg .zones text").getByText(/^press/).waitFor();
  assert.equal(await map.locator("svg .zones > path").count(), 3);
  await map.focus();
  const box = () => map.locator("svg").getAttribute("viewBox");
  const before = await box();
  await page.keyboard.press("+");
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await box(), before);
  await page.getByRole("button", { name: "Show all" }).click();
  await done();
});

for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }]) {
  test(`the view of devices can be used by everybody, ${JSON.stringify(options)}`, async () => {
    const { context, done } = await open(options);
    const page = await context.newPage();
    await signIn(page);
    for (const hash of ["#/devices", robot]) {
      await view(page, hash);
      if (hash === robot) await page.getByRole("region", { name: "Pallet robot" }).getByRole("row").nth(1).waitFor();
      else await page.getByRole("row", { name: /Pallet robot .*\d m, / }).waitFor();
      await findings(page, hash);
    }
    await done();
  });
}

test("the buttons of the map fit on a small phone", async () => {
  const { context, done } = await open({ viewport: { width: 360, height: 560 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/devices");
  const map = await page.locator(".devicemap").boundingBox();
  for (const button of await page.locator(".devicemap .zoom button").all()) {
    const box = await button.boundingBox();
    assert.ok(box.y >= map.y && box.y + box.height <= map.y + map.height && box.x + box.width <= 360, `a button is at ${JSON.stringify(box)}, the map at ${JSON.stringify(map)}`);
    assert.ok(box.width >= 44 && box.height >= 44);
  }
  await done();
});
