import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { OTHER_TYPES, otherConfigurations, withTandem } from "../src/other-debuggers";

test("configurations of other debuggers are offered, and no others", () => {
  const csharp = { type: "coreclr", request: "launch", name: "Shop", program: "shop.dll", console: "internalConsole" };
  const odd = [null, 3, "x", {}, { type: "coreclr" }, { type: "php", request: "launch", name: "PHP" }, { type: "tandem", request: "launch", name: "Ours" }];
  assert.deepEqual(otherConfigurations([...odd, csharp]), [csharp]);
  assert.deepEqual(otherConfigurations(undefined), []);
  assert.deepEqual(withTandem(csharp), { ...csharp, type: "tandem", __configurationType: "coreclr" });
});

test("the types are those that the documentation names", () => {
  const text = readFileSync("../docs/launch-configuration.md", "utf8");
  const [, section = ""] = /^## Configurations of other debuggers\n\n([^]*?)The `type` chooses/m.exec(text) ?? [];
  const named = [...section.replace("`type`", "").matchAll(/`([a-z-]+)`/g)].map((match) => match[1]);
  assert.deepEqual(named, OTHER_TYPES);
});

test("Neovim has an adapter for each of them", () => {
  const text = readFileSync("../editors/neovim/tandem.lua", "utf8");
  const [, list = ""] = /^M\.types = \{([^}]*)\}$/m.exec(text) ?? [];
  assert.deepEqual([...list.matchAll(/"([^"]+)"/g)].map((match) => match[1]), OTHER_TYPES);
});
