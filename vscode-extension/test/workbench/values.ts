/** The values of a stopped program, as a person reads and sets them: in Variables, in Watch, in the debug console. */
import { errors, type Locator } from "playwright-core";
import { DEADLINE } from "../environment";
import type { Workbench } from "./workbench";

/** After that a person tries again, ms. */
const PATIENCE = DEADLINE / 12;

/** Waits until a variable of the scope that is open has this value. */
export async function shows(bench: Workbench, name: string, value: string | RegExp): Promise<void> {
  await variable(bench, name).filter({ hasText: value }).waitFor();
}

/** Sets a variable as a person does: with a double click on its value, then types. If VS Code redraws the
 * view in between, the input box disappears, and the person tries again. */
export async function sets(bench: Workbench, name: string, value: string): Promise<void> {
  const row = variable(bench, name);
  await bench.until(`${name} is ${value}`, async () => {
    try {
      await row.locator(".value").dblclick({ timeout: PATIENCE });
      await answers(bench.page.locator(".debug-variables .inputBoxContainer input:visible"), value, PATIENCE);
      await row.locator(".value", { hasText: new RegExp(`^${value.replace(/\W/g, "\\$&")}$`) }).waitFor({ timeout: PATIENCE });
      return true;
    } catch (error) {
      if (error instanceof errors.TimeoutError) {
        await bench.page.keyboard.press("Escape");
        return false;
      }
      throw error;
    }
  });
}

function variable(bench: Workbench, name: string): Locator {
  const called = bench.page.locator(".name", { hasText: new RegExp(`^${name}( =|:)?\\s*$`) });
  return bench.page.locator(".debug-variables .monaco-list-row", { has: called }).first();
}

/** Adds an expression to Watch, with the button of its header, and waits until it is shown with this value. */
export async function watches(bench: Workbench, expression: string, value: string | RegExp): Promise<void> {
  const { page } = bench;
  const pane = page.locator(".pane", { has: page.locator(".pane-header", { hasText: "Watch" }) });
  await pane.locator(".pane-header").hover();
  await pane.getByRole("button", { name: "Add Expression" }).click();
  await answers(pane.locator(".inputBoxContainer input"), expression);
  await pane.locator(".monaco-list-row", { hasText: expression }).filter({ hasText: value }).waitFor();
}

/** Types an expression into the debug console, waits until it answers this, and goes back to the terminal. */
export async function evaluates(bench: Workbench, expression: string, value: string | RegExp): Promise<void> {
  const { page } = bench;
  await bench.command("Debug Console: Focus on Debug Console View");
  await page.locator(".repl-input-wrapper .monaco-editor.focused").waitFor();
  await page.keyboard.type(expression, { delay: 10 });
  // A list of completions would take Enter for itself.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.locator(".repl-tree .monaco-list-row", { hasText: value }).first().waitFor();
  await page.getByRole("tab", { name: /^Terminal/ }).click();
}

async function answers(input: Locator, text: string, timeout?: number): Promise<void> {
  const limit = timeout === undefined ? {} : { timeout };
  await input.fill(text, limit);
  await input.press("Enter", limit);
  await input.waitFor({ state: "hidden", ...limit });
}
