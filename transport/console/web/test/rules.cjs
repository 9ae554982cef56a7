const { test, assert, base, user, password, open, signIn, view, findings } = require("./browser.cjs");

test("an admin adds a rule, sees its alarm, changes and removes it", async () => {
  const { context, faults, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/rules");
  await page.getByRole("row", { name: /Reactor warm/ }).getByText("Evaluating").waitFor();
  await findings(page, "rules");
  await page.getByRole("button", { name: "Add rule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Tag", { exact: true }).fill("sim.counter");
  await dialog.getByLabel(/^Name/).fill("Counter runs");
  await dialog.getByLabel("Kind").selectOption("Deviation");
  await dialog.getByLabel("Setpoint", { exact: true }).fill("-1000");
  await dialog.getByLabel("Limit", { exact: true }).fill("0");
  await dialog.getByLabel("Severity").selectOption("Info");
  await findings(page, "rule-dialog");
  const save = dialog.getByRole("button", { name: "Save" });
  await save.click();
  await dialog.getByRole("alert").getByText(/above 0/).waitFor();
  await dialog.getByLabel("Limit", { exact: true }).fill("0.5");
  await save.click();
  await dialog.waitFor({ state: "detached" });
  const row = page.getByRole("row", { name: /Counter runs/ });
  await row.getByText("Deviation ± 0.5 · -1,000").waitFor();
  await row.getByRole("link", { name: /Alarm since/ }).click();
  await page.getByRole("heading", { name: "sim.counter" }).waitFor();
  await page.getByRole("button", { name: "Comment" }).click();
  await dialog.getByLabel("Comment").fill("It does what it should");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("listitem").filter({ hasText: "It does what it should" }).waitFor();
  await page.locator('dd a[href^="#/rules/"]').click();
  await row.waitFor();
  assert.equal(await page.getByRole("row").count(), 2, "the others are filtered out");

  await view(page, "#/rules/counter");
  await row.getByRole("button", { name: "Change Counter runs" }).click();
  assert.equal(await dialog.getByLabel("Limit", { exact: true }).inputValue(), "0.5");
  await dialog.getByLabel("Enabled").uncheck();
  await save.click();
  await row.getByText("Disabled").waitFor();
  await row.getByRole("link", { name: /Alarm since/ }).waitFor({ state: "detached" });
  assert.equal(await page.getByRole("row").count(), 2, "the others are filtered out");
  await row.getByRole("button", { name: "Remove Counter runs" }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("No rule matches.").waitFor();
  faults.splice(0, faults.length, ...faults.filter((f) => !/status of 400/.test(f))); // a browser tells of every refusal
  await done();
});

test("of two people who change a rule at the same time, the second is told", async () => {
  const { context, faults, done } = await open();
  const [page, other] = [await context.newPage(), await context.newPage()];
  await signIn(page);
  await other.goto(base + "/");
  const row = (p) => p.getByRole("row", { name: /Reactor warm/ });
  for (const p of [page, other]) {
    await view(p, "#/rules/Reactor warm");
    await row(p).getByRole("button", { name: "Change Reactor warm" }).click();
    await p.getByRole("dialog").getByLabel("Instructions").fill("Open the cooling valve.");
  }
  await other.getByRole("dialog").getByLabel("Instructions").fill("Close the steam valve.");
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("Somebody else has changed it meanwhile. Open it again.").waitFor();
  assert.equal(await page.getByRole("dialog").getByLabel("Instructions").inputValue(), "Open the cooling valve.", "what was typed is kept");
  await page.getByRole("button", { name: "Cancel" }).click();
  await row(page).getByRole("button", { name: "Change Reactor warm" }).click();
  assert.equal(await page.getByRole("dialog").getByLabel("Instructions").inputValue(), "Close the steam valve.");
  await page.getByRole("button", { name: "Cancel" }).click();

  await row(page).getByRole("button", { name: "Remove Reactor warm" }).click();
  await row(other).getByRole("button", { name: "Change Reactor warm" }).click();
  await other.getByRole("dialog").getByLabel("Instructions").fill("Close both valves.");
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("alert").getByText("Somebody else has changed it meanwhile. Open it again.").waitFor();
  faults.splice(0, faults.length, ...faults.filter((f) => !/status of 412/.test(f))); // a browser tells of every refusal
  await done();
});

test("a rule without a name is told by what it waits for, and its tag is offered", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  await view(page, "#/rules");
  await page.getByRole("button", { name: "Add rule" }).click();
  const dialog = page.getByRole("dialog");
  await page.keyboard.type("sim.spe"); // the dialog begins there
  await dialog.locator('datalist option[value="sim.speed"]').waitFor({ state: "attached" });
  await dialog.getByLabel("Tag", { exact: true }).fill("sim.speed");
  await dialog.getByLabel("Limit", { exact: true }).fill("2990");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("The rule sim.speed High > 2,990 is added.").waitFor();
  await page.getByRole("button", { name: "Remove sim.speed High > 2,990" }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("row", { name: /2,990/ }).waitFor({ state: "detached" });
  await done();
});

test("the form is usable on a phone", async () => {
  const { context, done } = await open({ viewport: { width: 375, height: 740 }, colorScheme: "dark", locale: "ko-KR" });
  const page = await context.newPage();
  await page.goto(base + "/");
  await page.locator("input").nth(0).fill(user);
  await page.locator("input").nth(1).fill(password);
  await page.keyboard.press("Enter");
  await page.locator("nav").first().waitFor();
  await view(page, "#/rules");
  await page.getByRole("button", { name: "규칙 추가" }).click();
  await page.getByRole("dialog").getByLabel("한계값").waitFor();
  await findings(page, "rule-dialog-phone");
  await done();
});
