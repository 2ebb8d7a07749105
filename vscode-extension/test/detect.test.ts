import assert from "node:assert/strict";
import { test } from "node:test";
import { createConfigurationsForFile, createInitialConfigurations } from "../src/detect";

const FOLDERS: Record<string, readonly string[]> = {
  "/w": ["README.md"], "/w/shop": ["shop.csproj"], "/w/shop/src": ["Order.cs"], "/w/tool": ["Cargo.toml"],
  "/w/tool/src": ["main.rs"], "/w/web": ["go.mod"], "/w/c": ["main.c"], "/": ["stray.csproj"],
};
const list = (folder: string) => FOLDERS[folder] ?? [];
const TEXTS: Record<string, string> = {};
const detectPrograms = (file: string | undefined, language: string | undefined, files: readonly string[] = []) =>
  createConfigurationsForFile(file, language, { folder: "/w", files, list, read: (name) => TEXTS[name] ?? "" }).map((one) => one["program"]);
const detectProgram = (...args: Parameters<typeof detectPrograms>) => detectPrograms(...args)[0];

test("F5 runs the nearest project of the active file's language inside the workspace", () => {
  assert.equal(detectProgram("/w/shop/src/Order.cs", "csharp"), "/w/shop");
  assert.equal(detectProgram("/w/tool/src/main.rs", "rust"), "/w/tool");
  assert.equal(detectProgram("/w/web/main.go", "go"), "/w/web");
});

test("F5 runs the active file if it is a program", () => {
  assert.equal(detectProgram("/w/a.py", "python"), "/w/a.py");
  assert.equal(detectProgram("/w/b.js", "javascript"), "/w/b.js");
  assert.equal(detectProgram("/w/c/main.c", "c"), "/w/c/main.c");
  assert.equal(detectProgram("/w/d.go", "go"), "/w/d.go");
  assert.equal(detectProgram("/w/README.md", "markdown"), undefined);
  // A C# file is a program if there is no project, or if it has the directives of a file-based program.
  assert.equal(detectProgram("/w/loose/Loose.cs", "csharp"), "/w/loose/Loose.cs");
  TEXTS["/w/shop/src/tool.cs"] = "#!/usr/bin/env dotnet\n#:package Dapper@2.1.66\n";
  assert.equal(detectProgram("/w/shop/src/tool.cs", "csharp"), "/w/shop/src/tool.cs");
});

test("F5 without a program file runs the only project, and none of two", () => {
  assert.equal(detectProgram(undefined, undefined, ["/w/shop/shop.csproj"]), "/w/shop");
  assert.equal(detectProgram("/w/README.md", "markdown", ["/w/shop/shop.csproj"]), "/w/shop");
  assert.equal(detectProgram(undefined, undefined, ["/w/shop/shop.csproj", "/w/tool/Cargo.toml"]), undefined);
  assert.equal(detectProgram(undefined, undefined, []), undefined);
});

test("a new launch.json lists the projects of the workspace without tests, then its files", () => {
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

test("F5 in a library runs the programs that use it directly or indirectly", () => {
  const project = (body: string, sdk = "Microsoft.NET.Sdk") => `<Project Sdk="${sdk}">${body}</Project>`;
  const exe = "<PropertyGroup><OutputType>Exe</OutputType></PropertyGroup>";
  TEXTS["/w/shop/shop.csproj"] = project("");
  TEXTS["/w/mid/mid.csproj"] = project('<ItemGroup><ProjectReference Include="..\\shop\\shop.csproj" /></ItemGroup>');
  TEXTS["/w/app/app.csproj"] = project(`${exe}<ItemGroup><ProjectReference Include="../mid/mid.csproj"/></ItemGroup>`);
  TEXTS["/w/site/site.csproj"] = project("<ProjectReference Include='../shop/shop.csproj' />", "Microsoft.NET.Sdk.Web");
  TEXTS["/w/other/other.csproj"] = project(exe);
  FOLDERS["/w/shop"] = ["shop.csproj"];
  const files = ["shop", "mid", "app", "other"].map((name) => `/w/${name}/${name}.csproj`);
  assert.deepEqual(detectPrograms("/w/shop/src/Order.cs", "csharp", files), ["/w/app/app.csproj"]);
  assert.deepEqual(detectPrograms("/w/shop/src/Order.cs", "csharp", [...files, "/w/site/site.csproj"]), ["/w/app/app.csproj", "/w/site/site.csproj"]);
  // No project uses the library: F5 launches the library itself, and the error says why that fails.
  assert.deepEqual(detectPrograms("/w/shop/src/Order.cs", "csharp", ["/w/shop/shop.csproj"]), ["/w/shop"]);
  TEXTS["/w/shop/shop.csproj"] = project(exe);
  assert.deepEqual(detectPrograms("/w/shop/src/Order.cs", "csharp", files), ["/w/shop"]);
});

test("F5 on a solution offers its programs", () => {
  TEXTS["/w/all.slnx"] = '<Solution><Project Path="app/app.csproj" /><Project Path="mid/mid.csproj" /><Project Path="site/site.csproj" /></Solution>';
  assert.deepEqual(detectPrograms("/w/all.slnx", "xml"), ["/w/app/app.csproj", "/w/site/site.csproj"]);
  TEXTS["/w/all.sln"] = [
    'Project("{FAE04EC0-301F-11D3-BF4B-00C04F79EFBC}") = "app", "app\\app.csproj", "{1}"',
    'Project("{2150E333-8FDC-42A3-9474-1A3956D46DE8}") = "docs", "docs", "{2}"',
  ].join("\r\n");
  assert.deepEqual(detectPrograms("/w/all.sln", "plaintext"), ["/w/app/app.csproj"]);
  assert.deepEqual(detectPrograms("/w/none.sln", "plaintext"), []);
});
