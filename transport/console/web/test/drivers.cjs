// Adds a Modbus driver in the console of an engine: node drivers.cjs CHROMIUM URL USER PASSWORD PORT
const { test, assert, base, user, password, open, signIn, view, findings } = require("./browser.cjs");

const [port] = process.argv.slice(6);

/** What was asked for is seen at once, above the buttons. */
async function inSight(locator, footer) {
  const [a, b] = [await locator.boundingBox(), await footer.boundingBox()];
  assert.ok(a.y >= 0 && a.y + a.height <= b.y, `${JSON.stringify(a)} is below ${JSON.stringify(b)}`);
}

test("an admin tries a device, adds its driver, changes and removes it", async () => {
  const { context, faults, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/drivers");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add driver" }).click();
  await dialog.getByLabel(/^ID/).fill("boiler");
  await dialog.getByLabel(/^Type/).selectOption({ label: "Modbus" });
  // What matters most comes first, and what is missing is said beside its field.
  const names = await dialog.locator("fieldset label").evaluateAll((all) => all.map((e) => e.textContent));
  assert.deepEqual(names.slice(0, 3), ["Protocol", "SlaveId", "Tags"]);
  await dialog.getByLabel("Address of the device").fill("127.0.0.1");
  await dialog.getByLabel("Port", { exact: true }).fill("9"); // nothing answers there
  await dialog.getByLabel("Tags", { exact: true }).fill("[{");
  await dialog.getByRole("button", { name: "Test" }).click();
  await dialog.getByRole("alert").getByText(/^Tags is no JSON/).waitFor();
  await dialog.getByLabel("Tags", { exact: true }).fill('[{"Name": "level", "Address": "HR:10", "Type": "UInt16", "Unit": "mm"}]');
  await dialog.getByRole("button", { name: "Test" }).click();
  await dialog.getByText("No connection").waitFor();
  await dialog.getByLabel("Port", { exact: true }).fill(port);
  await dialog.getByRole("button", { name: "Test" }).click();
  await dialog.getByText(/1 of 1 points read/).waitFor();
  await inSight(dialog.getByText(/1 of 1 points read/), dialog.locator("footer"));
  await dialog.getByRole("row", { name: /boiler\.level.*70.*Good/ }).waitFor();
  await findings(page, "driver-dialog");
  await dialog.getByLabel(/^SlaveId/).fill("300");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Enter a value from 1 to 255.").waitFor();
  assert.equal(await dialog.getByLabel(/^SlaveId/).getAttribute("aria-invalid"), "true");
  assert.match(await page.evaluate(() => document.activeElement.id), /SlaveId$/);
  await findings(page, "driver-dialog-refused");
  await dialog.getByLabel(/^SlaveId/).fill("1");
  await dialog.getByText("Enter a value from 1 to 255.").waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const row = page.locator("tr").filter({ has: page.getByRole("button", { name: "boiler" }) });
  await row.getByText("Online").waitFor();

  await row.getByRole("button", { name: "boiler" }).click();
  const [beneath, all] = [await page.locator(".beneath > td").boundingBox(), await page.locator("table").boundingBox()];
  assert.ok(beneath.width > all.width - 2, `the details are ${beneath.width} wide, the table ${all.width}`);
  await page.getByRole("button", { name: "Change", exact: true }).click();
  assert.equal(await dialog.getByLabel(/^SlaveId/).inputValue(), "1");
  assert.match(await dialog.getByLabel("Tags", { exact: true }).inputValue(), /HR:10/);
  await dialog.getByLabel("Enabled").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("Disabled").waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await row.waitFor({ state: "detached" });
  faults.splice(0, faults.length, ...faults.filter((f) => !/status of 400/.test(f))); // a browser tells of every refusal
  await done();
});

test("an admin looks at what a device has and makes tags of it", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/drivers");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add driver" }).click();
  await dialog.getByLabel(/^ID/).fill("line9");
  await dialog.getByLabel(/^Type/).selectOption({ label: "Simulation" });
  await dialog.getByLabel(/^Scenario/).selectOption("Steady");
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = page.locator("tr").filter({ has: page.getByRole("button", { name: "line9" }) });
  await row.getByText("Online").waitFor();
  await row.getByRole("button", { name: "line9" }).click();
  await page.getByRole("button", { name: "Browse" }).click();
  await dialog.getByRole("checkbox", { name: "device1.tag2", exact: true }).check();
  await findings(page, "browse-dialog");
  await dialog.getByRole("button", { name: "Add as tags" }).click();
  await page.getByText("1 tag is added or changed.").waitFor();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await dialog.getByText(/points read/).waitFor();
  await findings(page, "trial-dialog");
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.locator("button.expand", { hasText: /^sim$/ }).click();
  await page.getByText("From the settings file, where it is changed.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Change", exact: true }).count(), 0);
  await done();
});

test("the settings of a driver are in Korean for who reads Korean", async () => {
  const { context, done } = await open({ locale: "ko-KR" });
  const page = await context.newPage();
  await page.goto(base + "/");
  await page.getByLabel("사용자 이름").fill(user);
  await page.getByLabel("비밀번호").fill(password);
  await page.getByRole("button", { name: "로그인" }).click();
  await page.getByText("조치 필요").waitFor();
  await view(page, "#/drivers");
  await page.getByRole("button", { name: "드라이버 추가" }).click();
  const dialog = page.getByRole("dialog");
  const unit = dialog.getByLabel("유닛 번호 SlaveId"); // with the name that files and the API have
  await unit.waitFor();
  assert.match(await unit.evaluate((e) => document.getElementById(e.getAttribute("aria-describedby")).textContent), /유닛 0은/);
  await dialog.getByLabel("응답 제한 시간 (밀리초) TimeoutMs").waitFor();
  const english = await dialog.locator("fieldset small").evaluateAll((all) => all.map((e) => e.textContent).filter((s) => !/[가-힣]/.test(s)));
  assert.deepEqual(english, []);
  await findings(page, "driver-dialog-ko");
  await dialog.getByRole("button", { name: "저장" }).click();
  await dialog.getByText("값을 입력하세요.").first().waitFor();
  assert.equal(await page.evaluate(() => document.activeElement === document.querySelector("dialog input")), true);
  await done();
});
