import assert from "node:assert/strict";
import { test } from "node:test";
import { forOpenFile, initialConfigurations } from "../src/detect";

const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  "/w": ["README.md"], "/w/shop": ["shop.csproj"], "/w/shop/src": ["Order.cs"], "/w/tool": ["Cargo.toml"],
  "/w/tool/src": ["main.rs"], "/w/web": ["go.mod"], "/w/c": ["main.c"], "/": ["stray.csproj"],
};
const list = (folder: string) => FOLDERS[folder] ?? [];
const open = (file: string | undefined, language: string | undefined, files: readonly string[] = []) =>
  forOpenFile(file, language, "/w", list, files)?.["program"];

test("F5 runs the nearest project of the open file's language, inside the workspace only", () => {
  assert.equal(open("/w/shop/src/Order.cs", "csharp"), "/w/shop");
  assert.equal(open("/w/tool/src/main.rs", "rust"), "/w/tool");
  assert.equal(open("/w/web/main.go", "go"), "/w/web");
  assert.equal(open("/w/loose/Loose.cs", "csharp"), undefined);
});

test("F5 runs the open file when it is a program by itself", () => {
  assert.equal(open("/w/a.py", "python"), "/w/a.py");
  assert.equal(open("/w/b.js", "javascript"), "/w/b.js");
  assert.equal(open("/w/c/main.c", "c"), "/w/c/main.c");
  assert.equal(open("/w/d.go", "go"), "/w/d.go");
  assert.equal(open("/w/README.md", "markdown"), undefined);
});

test("F5 on nothing runs the only project there is, and none of two", () => {
  assert.equal(open(undefined, undefined, ["/w/shop/shop.csproj"]), "/w/shop");
  assert.equal(open("/w/README.md", "markdown", ["/w/shop/shop.csproj"]), "/w/shop");
  assert.equal(open(undefined, undefined, ["/w/shop/shop.csproj", "/w/tool/Cargo.toml"]), undefined);
  assert.equal(open(undefined, undefined, []), undefined);
});

test("a new launch.json holds what the workspace holds: projects but no tests, then files", () => {
  const files = ["/w/x.py", "/w/shop/Shop.csproj", "/w/shop.Tests/Shop.Tests.csproj", "/w/tool/Cargo.toml", "/w/c/Makefile"];
  assert.deepEqual(
    initialConfigurations("/w", files).map((one) => [one.name, one["program"]]),
    [
      ["Tandem: c", "${workspaceFolder}/c"],
      ["Tandem: Shop", "${workspaceFolder}/shop"],
      ["Tandem: tool", "${workspaceFolder}/tool"],
      ["Tandem: this Python file", "${file}"],
    ],
  );
  const names = (...found: string[]) => initialConfigurations("/w", found).map((one) => one.name);
  assert.deepEqual(names("/w/a.c", "/w/b.go"), ["Tandem: this Go file", "Tandem: this C file"]);
  assert.deepEqual(names("/w/a.c", "/w/Makefile"), ["Tandem: w"]);
  assert.deepEqual(initialConfigurations("/w", []).map((one) => one["program"]), ["${workspaceFolder}"]);
  assert.deepEqual(initialConfigurations("/w", ["/w/app.csproj"]).map((one) => one["program"]), ["${workspaceFolder}"]);
});
