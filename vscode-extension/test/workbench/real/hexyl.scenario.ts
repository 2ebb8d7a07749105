/** Rust: hexyl, built by cargo at F5, which shows the bytes that are typed into its terminal. */
import { sets, shows, watches } from "../values";
import { breaksAt, fetched, real } from "./program";

real("hexyl: built at F5, it reads what is typed, and shows as many bytes as the person says", () => ({
  folder: fetched("crates/hexyl"),
  launch: {
    type: "tandem", request: "launch", name: "hexyl", program: "${workspaceFolder}/Cargo.toml",
    args: ["--color", "never", "--border", "none"],
  },
}), async (bench) => {
  const { page } = bench;
  const line = await breaksAt(bench, "src/lib.rs", "let mut leftover = n;");
  await bench.debugView();
  await page.keyboard.press("F5");
  await page.getByText("hexyl (waits for input)").first().waitFor();
  await bench.typeIntoTerminal("hello\n");
  await bench.stoppedAt(line);
  await bench.debugRow("Call Stack", "print_all").first().waitFor();
  await shows(bench, "n", "6");
  await watches(bench, "self.panels", "2");
  await bench.picture("real-hexyl");
  await page.keyboard.press("F10");
  await bench.stoppedAt(line + 2);
  await shows(bench, "leftover", "6");
  await sets(bench, "leftover", "3");
  await page.keyboard.press("F5");
  await page.getByText("hexyl (waits for input)").first().waitFor();
  await bench.typeIntoTerminal("\x04");
  await bench.terminalShows("68 65 6c   ");
  await bench.terminalShows("the program ended with exit code 0");
  await bench.status().waitFor({ state: "hidden" });
});
