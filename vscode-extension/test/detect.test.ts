import assert from "node:assert/strict";
import { test } from "node:test";
import { createConfigurationsForFile, createInitialConfigurations } from "../src/detect";

const FOLDERS: Record<string, readonly string[]> = {
  "/w": ["README.md"], "/w/shop": ["shop.csproj"], "/w/shop/src": ["Order.cs"], "/w/tool": ["Cargo.toml"],
  "/w/tool/src": ["main.rs"], "/w/web": ["go.mod"], "/w/c": ["main.c"], "/": ["stray.csproj"],
};
const list = (folder: string) => FOLDERS[folder] ?? [];
const TEXTS: Record<string, string> = {};
const all = (file: string | undefined, language: string | undefined, files: readonly string[] = []) =>
  createConfigurationsForFile(file, language, { folder: "/w", files, list, read: (name) => TEXTS[name] ?? "" }).map((one) => one["program"]);
const open = (...asked: Parameters<typeof all>) => all(...asked)[0];

test("F5 runs the nearest project of the open file's language, inside the workspace only", () => {
  assert.equal(open("/w/shop/src/Order.cs", "csharp"), "/w/shop");
  assert.equal(open("/w/tool/src/main.rs", "rust"), "/w/tool");
  assert.equal(open("/w/web/main.go", "go"), "/w/web");
});

test("F5 runs the open file when it is a program by itself", () => {
  assert.equal(open("/w/a.py", "python"), "/w/a.py");
  assert.equal(open("/w/b.js", "javascript"), "/w/b.js");
  assert.equal(open("/w/c/main.c", "c"), "/w/c/main.c");
  assert.equal(open("/w/d.go", "go"), "/w/d.go");
  assert.equal(open("/w/README.md", "markdown"), undefined);
  // Without a project a C# file is one; with a line that only such programs have it is one also beside a project.
  assert.equal(open("/w/loose/Loose.cs", "csharp"), "/w/loose/Loose.cs");
  TEXTS["/w/shop/src/tool.cs"] = "#!/usr/bin/env dotnet\n#:package Dapper@2.1.66\n";
  assert.equal(open("/w/shop/src/tool.cs", "csharp"), "/w/shop/src/tool.cs");
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
    createInitialConfigurations("/w", files).map((one) => [one.name, one["program"]]),
    [
      ["Tandem: c", "${workspaceFolder}/c"],
      ["Tandem: Shop", "${workspaceFolder}/shop"],
      ["Tandem: tool", "${workspaceFolder}/tool"],
      ["Tandem: this Python file", "${file}"],
    ],
  );
  const names = (...found: string[]) => createInitialConfigurations("/w", found).map((one) => one.name);
  assert.deepEqual(names("/w/a.c", "/w/b.go"), ["Tandem: this C file", "Tandem: this Go file"]);
  assert.deepEqual(names("/w/a.c", "/w/Makefile"), ["Tandem: w"]);
  assert.deepEqual(createInitialConfigurations("/w", []).map((one) => one["program"]), ["${workspaceFolder}"]);
  assert.deepEqual(createInitialConfigurations("/w", ["/w/app.csproj"]).map((one) => one["program"]), ["${workspaceFolder}"]);
});

test("F5 in a library runs the programs that use it, also through other libraries", () => {
  const project = (body: string, sdk = "Microsoft.NET.Sdk") => `<Project Sdk="${sdk}">${body}</Project>`;
  const exe = "<PropertyGroup><OutputType>Exe</OutputType></PropertyGroup>";
  TEXTS["/w/shop/shop.csproj"] = project("");
  TEXTS["/w/mid/mid.csproj"] = project('<ItemGroup><ProjectReference Include="..\\shop\\shop.csproj" /></ItemGroup>');
  TEXTS["/w/app/app.csproj"] = project(`${exe}<ItemGroup><ProjectReference Include="../mid/mid.csproj"/></ItemGroup>`);
  TEXTS["/w/site/site.csproj"] = project("<ProjectReference Include='../shop/shop.csproj' />", "Microsoft.NET.Sdk.Web");
  TEXTS["/w/other/other.csproj"] = project(exe);
  FOLDERS["/w/shop"] = ["shop.csproj"];
  const files = ["shop", "mid", "app", "other"].map((name) => `/w/${name}/${name}.csproj`);
  assert.deepEqual(all("/w/shop/src/Order.cs", "csharp", files), ["/w/app/app.csproj"]);
  assert.deepEqual(all("/w/shop/src/Order.cs", "csharp", [...files, "/w/site/site.csproj"]), ["/w/app/app.csproj", "/w/site/site.csproj"]);
  // No project uses it, or nothing is known of it: the library itself is launched, and the error says why
  // that fails.
  assert.deepEqual(all("/w/shop/src/Order.cs", "csharp", ["/w/shop/shop.csproj"]), ["/w/shop"]);
  TEXTS["/w/shop/shop.csproj"] = project(exe);
  assert.deepEqual(all("/w/shop/src/Order.cs", "csharp", files), ["/w/shop"]);
});

test("F5 on a solution offers its programs", () => {
  TEXTS["/w/all.slnx"] = '<Solution><Project Path="app/app.csproj" /><Project Path="mid/mid.csproj" /><Project Path="site/site.csproj" /></Solution>';
  assert.deepEqual(all("/w/all.slnx", "xml"), ["/w/app/app.csproj", "/w/site/site.csproj"]);
  TEXTS["/w/all.sln"] = [
    'Project("{FAE04EC0-301F-11D3-BF4B-00C04F79EFBC}") = "app", "app\\app.csproj", "{1}"',
    'Project("{2150E333-8FDC-42A3-9474-1A3956D46DE8}") = "docs", "docs", "{2}"',
  ].join("\r\n");
  assert.deepEqual(all("/w/all.sln", "plaintext"), ["/w/app/app.csproj"]);
  assert.deepEqual(all("/w/none.sln", "plaintext"), []);
});
