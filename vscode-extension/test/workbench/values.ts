/** Values of a stopped program: reads and sets them in Variables, Watch and the debug console. */
import { errors, type Locator } from "playwright-core";
import { STEP_TIMEOUT_MS } from "../environment";
import type { Workbench } from "./workbench";

/** Time limit of an attempt to set a variable. */
const RETRY_TIMEOUT_MS = STEP_TIMEOUT_MS / 12;

/** Waits until a variable of the expanded scope has this value. */
export async function waitForVariable(bench: Workbench, name: string, value: string | RegExp): Promise<void> {
  await variableRow(bench, name).filter({ hasText: value }).waitFor();
}

/** Sets a variable with a double click on its value. Tries again if VS Code redraws the view and closes the input box. */
export async function setVariable(bench: Workbench, name: string, value: string): Promise<void> {
  const row = variableRow(bench, name);
  await bench.waitUntil(`${name} is ${value}`, async () => {
    try {
      await row.locator(".value").dblclick({ timeout: RETRY_TIMEOUT_MS });
      await submitInput(bench.page.locator(".debug-variables .inputBoxContainer input:visible"), value, RETRY_TIMEOUT_MS);
      await row.locator(".value", { hasText: new RegExp(`^${value.replace(/\W/g, "\\$&")}$`) }).waitFor({ timeout: RETRY_TIMEOUT_MS });
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

function variableRow(bench: Workbench, name: string): Locator {
  const nameLabel = bench.page.locator(".name", { hasText: new RegExp(`^${name}( =|:)?\\s*$`) });
  return bench.page.locator(".debug-variables .monaco-list-row", { has: nameLabel }).first();
}

/** Adds an expression to Watch with the button in its header, and waits until its value is shown. */
export async function addWatch(bench: Workbench, expression: string, value: string | RegExp): Promise<void> {
  const { page } = bench;
  const pane = page.locator(".pane", { has: page.locator(".pane-header", { hasText: "Watch" }) });
  await pane.locator(".pane-header").hover();
  await pane.getByRole("button", { name: "Add Expression" }).click();
  await submitInput(pane.locator(".inputBoxContainer input"), expression);
  await pane.locator(".monaco-list-row", { hasText: expression }).filter({ hasText: value }).waitFor();
}

/** Evaluates an expression in the debug console, waits for its value, and focuses the terminal again. */
export async function evaluateInConsole(bench: Workbench, expression: string, value: string | RegExp): Promise<void> {
  const { page } = bench;
  await bench.runCommand("Debug Console: Focus on Debug Console View");
  await page.locator(".repl-input-wrapper .monaco-editor.focused").waitFor();
  await page.keyboard.type(expression, { delay: 10 });
  // Close the list of completions, which would handle Enter.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.locator(".repl-tree .monaco-list-row", { hasText: value }).first().waitFor();
  await page.getByRole("tab", { name: /^Terminal/ }).click();
}

async function submitInput(input: Locator, text: string, timeout?: number): Promise<void> {
  const limit = timeout === undefined ? {} : { timeout };
  await input.fill(text, limit);
  await input.press("Enter", limit);
  await input.waitFor({ state: "hidden", ...limit });
}
