/** Rust: hexyl, which cargo builds and which shows the bytes of its input. */
import { setVariable, waitForVariable, addWatch } from "../values";
import { setBreakpointAtText, getFetchedPath, realScenario } from "./program";

realScenario("F5 builds hexyl, which reads input and shows the number of bytes that the user sets", () => ({
  folder: getFetchedPath("crates/hexyl"),
  launch: {
    type: "tandem", request: "launch", name: "hexyl", program: "${workspaceFolder}/Cargo.toml",
    args: ["--color", "never", "--border", "none"],
  },
}), async (bench) => {
  const { page } = bench;
  const line = await setBreakpointAtText(bench, "src/lib.rs", "let mut leftover = n;");
  await bench.openDebugView();
  await page.keyboard.press("F5");
  await page.getByText("hexyl (waits for input)").first().waitFor();
  await bench.typeIntoTerminal("hello\n");
  await bench.waitForStopAt(line);
  await bench.debugRow("Call Stack", "print_all").first().waitFor();
  await waitForVariable(bench, "n", "6");
  await addWatch(bench, "self.panels", "2");
  await bench.takeScreenshot("real-hexyl");
  await page.keyboard.press("F10");
  await bench.waitForStopAt(line + 2);
  await waitForVariable(bench, "leftover", "6");
  await setVariable(bench, "leftover", "3");
  await page.keyboard.press("F5");
  await page.getByText("hexyl (waits for input)").first().waitFor();
  await bench.typeIntoTerminal("\x04");
  await bench.waitForTerminalText("68 65 6c   ");
  await bench.waitForTerminalText("the program ended with exit code 0");
  await bench.statusItem().waitFor({ state: "hidden" });
});
