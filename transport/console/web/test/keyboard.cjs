const { test, assert, base, user, password, open, signIn, view } = require("./browser.cjs");

const at = (page) => page.evaluate(() => { const e = document.activeElement; return e.getAttribute("aria-label") ?? e.getAttribute("placeholder") ?? (e.matches("textarea, input, select") ? e.closest("label")?.firstChild.textContent : e.textContent); });

/** Presses Tab until something is reached, with fewer presses than a patient person makes. */
async function reach(page, name, key = "Tab") {
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press(key);
    if (name.test((await at(page)).trim())) return;
  }
  assert.fail(`${name} is not reached; the keyboard is at ${await at(page)}`);
}

/** The keyboard comes to something by itself. */
async function comes(page, name) {
  await page.waitForFunction((s) => { const e = document.activeElement; return new RegExp(s).test((e.getAttribute("aria-label") ?? e.textContent).trim()); }, name.source);
}

test("a shift by the keyboard alone", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await page.goto(base + "/");
  await page.getByLabel("User name").waitFor();
  await page.keyboard.type(user);
  await page.keyboard.press("Tab");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await page.getByText("Needs attention").waitFor();

  // A tag is found, and written in two steps.
  await reach(page, /^Tags$/);
  await page.keyboard.press("Enter");
  await reach(page, /^Search tags$/);
  await page.keyboard.type("sim.setpoint");
  await page.getByText(/^1 of/).waitFor();
  await reach(page, /^Tags$/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Write value" }).waitFor();
  await reach(page, /^Write value$/);
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  await page.keyboard.type("62");
  await page.keyboard.press("Enter");
  await comes(page, /^Write now$/);
  await page.keyboard.press("Enter");
  await dialog.getByText("Confirmed", { exact: true }).waitFor();
  await comes(page, /^Close$/);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await comes(page, /^Write value$/); // where it came from

  // A comment is typed where the dialog opens, and an alarm acknowledged.
  await view(page, "#/alarms");
  await page.locator(".rows .row").first().waitFor();
  await reach(page, /^Search alarms$/);
  await reach(page, /^Active$/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Comment", exact: true }).waitFor();
  await reach(page, /^Comment$/);
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await page.keyboard.type("valve is being repaired");
  await reach(page, /^Save$/);
  await page.keyboard.press("Enter");
  await page.getByRole("listitem").filter({ hasText: "valve is being repaired" }).waitFor();
  await comes(page, /^Comment$/);
  await reach(page, /^Acknowledge$/, "Shift+Tab");
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await page.keyboard.type("I go and look");
  assert.ok(await dialog.isVisible(), "a space in a comment does not acknowledge");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 acknowledged.").waitFor();
  await page.getByRole("listitem").filter({ hasText: "I go and look" }).waitFor();
  await page.getByRole("complementary").getByRole("button", { name: "Acknowledge" }).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.matches("aside *"), undefined);

  // One that is chosen in the list is acknowledged; the keyboard is in the list again behind that.
  await view(page, "#/alarms");
  await page.locator(".rows .row.open").first().waitFor();
  await reach(page, /^Pause list$/);
  await page.keyboard.press("Enter");
  await reach(page, /^Active$/);
  const row = Number(await page.locator(".rows .row.open").first().getAttribute("aria-rowindex")) - 1;
  await page.keyboard.press("Home");
  for (let i = 1; i < row; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press(" ");
  await reach(page, /^Acknowledge 1$/, "Shift+Tab");
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await page.keyboard.press("Control+Enter");
  await dialog.waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.matches(".alarms .grid"), undefined);
  await done();
});

test("a menu closes with Escape, a press elsewhere and another view", async () => {
  const { context, done } = await open();
  const page = await context.newPage();
  await signIn(page);
  for (const name of ["more", "menu"]) {
    const menu = page.locator(`details.${name}`), summary = menu.locator("summary");
    const isOpen = async (open) => assert.equal(await menu.evaluate((e) => e.open), open, `${name} should be ${open ? "open" : "closed"}`);
    const leaving = [
      () => page.keyboard.press("Escape"),
      () => page.mouse.click(4, 816),
      () => view(page, name === "menu" ? "#/tags" : "#/alarms"),
    ];
    for (const leave of leaving) {
      await summary.click();
      await isOpen(true);
      await leave();
      await page.waitForFunction(() => !document.querySelector("header.top details[open]"), undefined, { timeout: 10_000 }).catch(() => {});
      await isOpen(false);
    }
  }
  await done();
});
