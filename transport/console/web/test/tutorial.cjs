// Sees in the consoles what docs/tutorial.md says, when its alarm is active, and takes the pictures of the pages:
// node tutorial.cjs CHROMIUM ENGINE USER PASSWORD BRIDGE BRIDGEPASSWORD FOLDER
const path = require("node:path");
const { test, assert, open, signIn, view } = require("./browser.cjs");

const [bridge, bridgePassword, folder] = process.argv.slice(6);
const look = { viewport: { width: 1200, height: 700 }, colorScheme: "light", reducedMotion: "reduce" };
const picture = (page, name) => page.screenshot({ path: path.join(folder, `${name}.png`) });

test("the console of the engine", async () => {
  const { context, done } = await open(look);
  const page = await context.newPage();
  await signIn(page);
  await page.locator(".gravest").getByText("oven.temperature").waitFor(); // the bar of every view
  await page.getByText(/^bridge-/).first().waitFor();
  await picture(page, "overview");
  await view(page, "#/tags");
  for (const name of ["temperature", "setpoint", "fan"]) await page.getByRole("row", { name: new RegExp(`oven\\.${name}`) }).waitFor();
  await view(page, "#/tags/oven.temperature");
  await page.locator(".plot canvas").waitFor();
  await page.waitForTimeout(1500); // the plot is drawn with the values of a second
  await picture(page, "tag");
  await view(page, "#/tags/oven.setpoint");
  await page.getByRole("button", { name: "Write value" }).waitFor();
  await page.getByRole("table", { name: "Last writes" }).getByRole("row", { name: /62\.50? admin Confirmed/ }).waitFor();
  await view(page, "#/rules");
  await page.getByRole("row", { name: /oven\.temperature .*High > 80 .*Alarm since/ }).waitFor();
  await view(page, "#/shells");
  await page.locator("main").getByText(/bridge-/).first().waitFor();
  await view(page, "#/alarms");
  const row = page.getByRole("row", { name: /oven\.temperature/ });
  await row.getByText(/oven at .* above 80/).first().waitFor();
  await row.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Acknowledge 1" }).waitFor();
  await picture(page, "alarm");
  await done();
});

test("the console of the bridge", async () => {
  const { context, done } = await open(look);
  const page = await context.newPage();
  await page.goto(bridge + "/");
  await page.getByText("Bound", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("User name").fill("admin");
  await page.getByLabel("Password").fill(bridgePassword);
  await page.getByRole("region", { name: "Sign in" }).getByRole("button").click();
  for (const name of ["temperature", "setpoint", "fan"]) await page.getByRole("row", { name: new RegExp(name) }).getByText("Good").waitFor();
  assert.equal(await page.getByRole("row").count(), 4);
  await picture(page, "bridge");
  await done();
});
