// Looks at engines that share a plant, and drains one: node cluster.cjs CHROMIUM URL USER PASSWORD VIEWER
const { test, assert, base, password, open, signIn, view, findings } = require("./browser.cjs");

const viewer = process.argv[6];
const rows = (page) => page.locator("main table").last().locator("tbody > tr");

test("an admin sees what no engine does and why, and drains an engine", async () => {
  const { context, faults, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/engines");
  await page.getByText("2 engines").waitFor();
  await page.getByText(/^Bus: /).waitFor();
  const dialog = page.getByRole("dialog");

  // A driver that needs a network which no engine has.
  await view(page, "#/drivers");
  await page.getByRole("columnheader", { name: "Engine" }).waitFor();
  await page.getByRole("button", { name: "Add driver" }).click();
  await dialog.getByLabel(/^ID/).fill("remote");
  await dialog.getByLabel(/^Type/).selectOption({ label: "Simulation" });
  await dialog.getByLabel(/^Labels that an engine must have/).fill("network=hall-9\n floor = 2 ");
  await findings(page, "driver-with-labels");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const driver = page.locator("tr").filter({ has: page.getByRole("button", { name: "remote" }) });
  await driver.getByText("Stopped").waitFor();

  await view(page, "#/overview");
  await page.getByRole("link", { name: "Done by no engine: 1" }).click();
  const idle = page.getByRole("row", { name: /^Driver remote/ });
  await idle.getByText("it does not have the label floor=2").first().waitFor();
  assert.equal(await idle.getByText("it does not have the label").count(), 2, "each engine has its reason");
  await findings(page, "engines");

  // What is typed is shown again, and kept by who changes something else.
  await view(page, "#/drivers");
  await driver.getByRole("button", { name: "remote" }).click();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  assert.equal(await dialog.getByLabel(/^Labels/).inputValue(), "floor=2\nnetwork=hall-9");
  await dialog.getByLabel(/^Labels/).fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await driver.getByText("Online").waitFor();
  const name = await driver.locator("td[data-label=Engine]").innerText();

  await view(page, "#/engines");
  const row = rows(page).filter({ has: page.locator("button.expand", { hasText: name }) });
  await row.getByText("Active").waitFor();
  await row.locator("button.expand").click();
  await page.locator(".beneath").getByText(/\bremote\b/).waitFor();
  await findings(page, "engine-open");
  await row.getByRole("button", { name: `Drain ${name}` }).click();
  await dialog.getByText(/gives its work to the other engines/).waitFor();
  await findings(page, "drain-dialog");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await row.getByText("Active").waitFor();
  await row.getByRole("button", { name: `Drain ${name}` }).click();
  await dialog.getByRole("button", { name: "Drain", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await row.getByText("Drained").waitFor();
  const other = rows(page).filter({ hasNotText: name }).filter({ has: page.getByRole("button", { name: /^Drain/ }) });
  await other.getByText(/Driver/).waitFor();
  await other.getByRole("button", { name: /^Drain/ }).click();
  await dialog.getByRole("button", { name: "Drain", exact: true }).click();
  await dialog.getByRole("alert").getByText("No other engine is there to take its work over.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await view(page, "#/overview");
  await page.getByRole("row", { name: new RegExp(`^${name} Engine Drained`) }).waitFor();
  await findings(page, "overview-engines");

  await view(page, "#/engines");
  await row.getByRole("button", { name: `Resume ${name}` }).click();
  await dialog.getByRole("button", { name: "Resume", exact: true }).click();
  await row.getByText("Active").waitFor();
  faults.splice(0, faults.length, ...faults.filter((f) => !/status of 409/.test(f))); // a browser tells of every refusal
  await done();
});

test("a viewer sees the engines and cannot drain them, on a telephone in Korean too", async () => {
  const { context, done } = await open({ locale: "ko-KR", viewport: { width: 390, height: 800 } });
  const page = await context.newPage();
  await page.goto(base + "/");
  await page.getByLabel("사용자 이름").fill(viewer);
  await page.getByLabel("비밀번호").fill(password);
  await page.getByRole("button", { name: "로그인" }).click();
  await page.getByText("조치 필요").waitFor();
  await view(page, "#/engines");
  await page.getByText("엔진 2개").waitFor();
  assert.equal(await page.getByRole("button", { name: /비우기/ }).count(), 0);
  assert.equal(await page.locator("main").getByText("동작 중").count(), 2);
  await findings(page, "engines-ko");
  await done();
});
