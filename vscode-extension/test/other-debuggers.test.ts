import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CONVERTIBLE_TYPES, findConvertibleCompounds, findConvertibleConfigurations, convertToTandem } from "../src/other-debuggers";

test("only valid configurations of other debuggers are convertible", () => {
  const csharp = { type: "coreclr", request: "launch", name: "Shop", program: "shop.dll", console: "internalConsole" };
  const odd = [null, 3, "x", {}, { type: "coreclr" }, { type: "php", request: "launch", name: "PHP" }, { type: "tandem", request: "launch", name: "Ours" }];
  assert.deepEqual(findConvertibleConfigurations([...odd, csharp]), [csharp]);
  assert.deepEqual(findConvertibleConfigurations(undefined), []);
  assert.deepEqual(convertToTandem(csharp), { ...csharp, type: "tandem", __configurationType: "coreclr" });
});

test("a compound is convertible if Tandem can run all its members and one is for another debugger", () => {
  const server = { type: "coreclr", request: "launch", name: "Server", program: "server.dll" };
  const client = { type: "debugpy", request: "launch", name: "Client", program: "client.py" };
  const ours = { type: "tandem", request: "launch", name: "Ours", program: "ours.py" };
  const php = { type: "php", request: "launch", name: "PHP" };
  const compounds = [
    { name: "Both", configurations: ["Server", "Client"], stopAll: true }, { name: "Mixed", configurations: ["Ours", "Server"] },
    { name: "Only ours", configurations: ["Ours"] }, { name: "With PHP", configurations: ["Server", "PHP"] },
    { name: "Missing", configurations: ["Server", "No such"] }, { name: "Elsewhere", configurations: [{ name: "Server", folder: "b" }] },
    { name: "Empty", configurations: [] }, { configurations: ["Server"] }, null, 3,
  ];
  assert.deepEqual(findConvertibleCompounds(compounds, [server, client, ours, php, null]), [
    { name: "Both", members: [server, client] }, { name: "Mixed", members: [ours, server] },
  ]);
  assert.deepEqual(findConvertibleCompounds(undefined, [server]), []);
  assert.deepEqual(convertToTandem(ours as never), ours);
});

test("the documentation names all convertible types", () => {
  const text = readFileSync("../docs/launch-configuration.md", "utf8");
  const [, section = ""] = /^## Configurations of other debuggers\n\n([^]*?)The `type` chooses/m.exec(text) ?? [];
  const named = [...section.replace("`type`", "").matchAll(/`([a-z-]+)`/g)].map((match) => match[1]);
  assert.deepEqual(named, CONVERTIBLE_TYPES);
});

test("Neovim has an adapter for each convertible type", () => {
  const text = readFileSync("../editors/neovim/tandem.lua", "utf8");
  const [, list = ""] = /^M\.types = \{([^}]*)\}$/m.exec(text) ?? [];
  assert.deepEqual([...list.matchAll(/"([^"]+)"/g)].map((match) => match[1]), CONVERTIBLE_TYPES);
});
