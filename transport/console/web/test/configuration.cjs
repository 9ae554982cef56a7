const fs = require("node:fs");
const { test, assert, base, user, password, open, signIn, view, findings } = require("./browser.cjs");

test("an admin edits the configuration of tags in a grid, sees what it changes and applies it", async () => {
  const { context, faults, done } = await open({ acceptDownloads: true });
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/configuration");
  const grid = page.getByRole("grid"), dialog = page.getByRole("dialog");
  await page.getByRole("searchbox").fill("sim.temp");
  const discard = async () => {
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await dialog.getByRole("button", { name: "Discard changes" }).click();
    await page.getByRole("button", { name: "Review 0" }).waitFor();
  };
  const row = grid.getByRole("row", { name: /sim\.temperature/ });
  await row.waitFor();
  await findings(page, "configuration");
  const cell = (name) => row.getByRole("gridcell").nth(["tagId", "driverId", "address", "dataType", "nativeType", "unit", "description", "minValue", "maxValue"].indexOf(name));
  await cell("maxValue").click();
  await page.keyboard.type("abc");
  await page.keyboard.press("Enter");
  await page.getByText("maxValue cannot be abc.").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await cell("maxValue").innerText(), "120");
  await page.keyboard.type("130");
  await page.keyboard.press("Enter");
  assert.equal(await cell("maxValue").innerText(), "130");

  // A block of cells of a spreadsheet, of which one does not fit.
  await page.getByRole("searchbox").fill("sim.s");
  await grid.getByRole("row", { name: /sim\.setpoint/ }).getByRole("gridcell").nth(6).click();
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "Set value\t10\r\nPicture\tlow\r\n");
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  });
  await grid.getByText("Picture").waitFor();
  await page.getByText(/^1 cell was not pasted/).waitFor();
  await page.getByRole("button", { name: "Review 3" }).waitFor();
  await page.getByRole("button", { name: "Discard" }).click();
  await dialog.getByText("3 changes that were not applied will be lost.").waitFor();
  await findings(page, "configuration-discard");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Review 3" }).waitFor();
  await discard();
  await page.getByRole("searchbox").fill("sim.temp");
  await cell("maxValue").click();
  await page.keyboard.type("130");
  await page.keyboard.press("Enter");

  // Lines that are pasted at a new tag are new tags too, and none of those that are there.
  await discard();
  await page.getByRole("button", { name: "Add tag" }).click();
  await page.keyboard.press("Escape");
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "sim.a\tsim\tpressure\nsim.b\tsim\tpressure\nsim.c\tsim\tpressure\n");
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
  });
  await page.getByRole("button", { name: "Review 3" }).click();
  await dialog.getByText("3 added, 0 changed, 0 removed").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await discard();
  await page.getByRole("searchbox").fill("sim.temp");
  await cell("maxValue").click();
  await page.keyboard.type("130");
  await page.keyboard.press("Enter");

  // A new tag by the keyboard alone, of a driver that knows it by its address.
  await page.getByRole("button", { name: "Add tag" }).click();
  for (const text of ["sim.twin", "sim", "temperature", "Int", "", "K"]) {
    await page.keyboard.type(text, { delay: 20 });
    await page.keyboard.press(text ? "Tab" : "ArrowRight");
  }
  const twin = grid.getByRole("row", { name: /sim\.twin/ });
  assert.equal(await twin.getByRole("gridcell").nth(3).innerText(), "Int");
  assert.equal(await twin.getByRole("gridcell").nth(5).innerText(), "K");
  await twin.getByRole("gridcell").nth(3).dblclick();
  await page.keyboard.type("flo");
  await page.keyboard.press("Enter");
  assert.equal(await twin.getByRole("gridcell").nth(3).innerText(), "Float");
  await page.getByRole("button", { name: "Review 2" }).click();
  await dialog.getByText("1 added, 1 changed, 0 removed").waitFor();
  await dialog.getByText("+ sim.twin").waitFor();
  await dialog.getByText("maxValue 120 130").waitFor();
  await findings(page, "configuration-review");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("The configuration is changed.").waitFor();
  await page.getByRole("searchbox").fill("sim.twin");
  await grid.getByRole("row", { name: /sim\.twin/ }).waitFor();
  await view(page, "#/tags/sim.twin");
  await page.getByRole("heading", { name: "sim.twin" }).waitFor();

  // The spreadsheet that was exported comes back with one cell changed.
  await view(page, "#/configuration");
  const [sheet] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as CSV" }).click()]);
  const csv = fs.readFileSync(await sheet.path(), "utf8");
  assert.match(csv, /sim\.twin,sim,temperature/);
  await page.getByRole("button", { name: "Import", exact: true }).click();
  const upload = (text) => dialog.getByLabel(/^Spreadsheet/).setInputFiles({ name: "tags.csv", mimeType: "application/vnd.ms-excel", buffer: Buffer.from(text) });
  await upload("tagId,driverId,dataType,minValue\nsim.twin,sim,Float,low\n");
  await dialog.getByRole("button", { name: "Compare" }).click();
  await dialog.getByRole("alert").getByText(/minValue/).first().waitFor();
  await upload(csv.replace(/^(sim\.twin,sim,temperature,Float),[^,]*,[^,]*/m, "$1,K,The same in kelvin"));
  await dialog.getByRole("button", { name: "Compare" }).click();
  await dialog.getByText("0 added, 1 changed, 0 removed").waitFor();
  await findings(page, "configuration-import");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("1 tag is added, changed or removed.").waitFor();
  await page.getByRole("searchbox").fill("sim.twin");
  await grid.getByText("The same in kelvin").click();
  await page.keyboard.press("Shift+Delete");
  await page.getByRole("button", { name: "Review 1" }).click();
  await dialog.getByText("0 added, 0 changed, 1 removed").waitFor();
  await dialog.getByRole("button", { name: "Apply" }).click();
  await page.getByText("No tag matches.").waitFor();
  faults.splice(0, faults.length, ...faults.filter((f) => !/status of 400/.test(f))); // a browser tells of every refusal
  await done();
});

test("a tag is configured on a phone", async () => {
  const { context, done } = await open({ viewport: { width: 375, height: 740 }, colorScheme: "dark", locale: "ko-KR" });
  const page = await context.newPage();
  await page.goto(base + "/");
  await page.locator("input").nth(0).fill(user);
  await page.locator("input").nth(1).fill(password);
  await page.keyboard.press("Enter");
  await page.locator("nav").first().waitFor();
  await view(page, "#/configuration");
  await page.getByRole("searchbox").fill("sim.speed");
  await findings(page, "configuration-korean");
  await page.getByRole("row", { name: /sim\.speed/ }).click();
  await page.getByRole("dialog").getByLabel("unit").fill("1/min");
  await findings(page, "configuration-phone");
  await page.getByRole("dialog").getByRole("button", { name: "반영" }).click();
  await page.getByRole("button", { name: "1건 검토" }).click();
  await page.getByRole("dialog").getByText("추가 0, 변경 1, 삭제 0").waitFor();
  await done();
});
