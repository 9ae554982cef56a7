const fs = require("node:fs");
const { test, assert, engine, user, password, open, signIn, view, changes, findings } = require("./browser.cjs");

test("a shell is downloaded, changed and uploaded again", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await page.getByRole("link", { name: "Shells" }).click();
  await page.getByRole("link", { name: "PumpP102" }).click();
  const detail = page.getByRole("complementary", { name: "PumpP102" });
  const pressure = detail.getByRole("listitem").filter({ hasText: "Tag sim.pressure" }).last().locator(".figure");
  await changes(pressure, "the live pressure");
  const asked = [];
  page.on("request", (r) => { if (/submodel-elements/.test(r.url())) asked.push(r.url()); });
  for (let i = 0; i < 4; i++) await changes(pressure, "the live pressure");
  assert.deepEqual(asked, [], "live values come without being asked for");
  await pressure.and(page.locator(".qGood")).waitFor();

  // Uploaded as JSON under another id, the shell is seen beside the old one.
  let loading = page.waitForEvent("download");
  await detail.getByRole("button", { name: "JSON" }).click();
  const text = fs.readFileSync(await (await loading).path(), "utf8");

  // What is added to a submodel that is open is seen in it.
  const of = JSON.parse(text).submodels.find((m) => m.idShort === "OperationalData");
  const post = async (path, body, token) => (await fetch(engine + path, { method: "POST", headers: { "Content-Type": "application/json", Authorization: token }, body: JSON.stringify(body) })).json();
  const { accessToken } = await post("/api/v1/auth/login", { username: user, password });
  await post(`/api/v3.1/submodels/${Buffer.from(of.id).toString("base64url")}/submodel-elements`, { modelType: "Property", idShort: "Added", valueType: "xs:string", value: "new here" }, `Bearer ${accessToken}`);
  await detail.getByText("new here").waitFor();
  const copied = text.replaceAll("PumpP102", "PumpP902");
  assert.notEqual(copied, text);
  await page.getByRole("button", { name: "Upload" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("File").setInputFiles({ name: "pump.json", mimeType: "application/json", buffer: Buffer.from(copied) });
  await dialog.getByRole("button", { name: "Upload now" }).click();
  await dialog.getByText("Imported", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("link", { name: "PumpP902" }).click();

  // As AASX it comes back only where documents may be replaced.
  const copy = page.getByRole("complementary", { name: "PumpP902" });
  loading = page.waitForEvent("download");
  await copy.getByRole("button", { name: "AASX" }).click();
  const file = await (await loading).path();
  await page.getByRole("button", { name: "Upload" }).click();
  await dialog.getByLabel("File").setInputFiles({ name: "pump.aasx", mimeType: "application/octet-stream", buffer: fs.readFileSync(file) });
  await dialog.getByLabel("Replace documents that exist").check();
  await dialog.getByRole("button", { name: "Upload now" }).click();
  await dialog.getByText(/[1-9]\d* replaced/).waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();

  await page.getByRole("searchbox").fill("PumpP902");
  await page.getByRole("link", { name: "PumpP102" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "PumpP902" }).waitFor();
  await done();
});

test("what is refused to be imported says why", async () => {
  const { context } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/shells");
  await page.getByRole("button", { name: "Upload" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("File").setInputFiles({ name: "no.aasx", mimeType: "application/octet-stream", buffer: Buffer.from("no package") });
  await dialog.getByRole("button", { name: "Upload now" }).click();
  assert.match(await dialog.getByRole("alert").innerText(), /\w{4}/);
  await context.close(); // with the refusal as an error
});

for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }]) {
  test(`shells can be used by everybody, ${JSON.stringify(options)}`, async () => {
    const { context, done } = await open(options);
    const page = await context.newPage();
    await signIn(page);
    await view(page, "#/shells");
    await page.locator(".rows .row").first().waitFor();
    await findings(page, "shells");
    await page.getByRole("link", { name: "PumpP102" }).click();
    await page.getByText("Tag sim.pressure").waitFor();
    await page.getByRole("button", { name: "GeneralInformation" }).click();
    await findings(page, "shell");
    await done();
  });
}
