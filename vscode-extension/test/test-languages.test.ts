/** Projects with tests, test files, and the test at a line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isTestFile, findProjectOfFile, findTestAt, findTestProjects } from "../src/test-languages";

function findProjects(files: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(files).map((name) => `/w/${name}`);
  const projects = findTestProjects(names, "/w", (file) => files[file.slice(3)] ?? "");
  return projects.map((one) => `${one.language.id} ${one.path.slice(2)}`).sort();
}

test("projects with tests are found by their files", () => {
  assert.deepEqual(findProjects({ "app/app.csproj": "<Project/>", "tests/t.csproj": '<PackageReference Include="Microsoft.NET.Test.Sdk" />' }), ["csharp /tests/t.csproj"]);
  assert.deepEqual(findProjects({ "Cargo.toml": "", "inner/Cargo.toml": "" }), ["rust "]);
  assert.deepEqual(findProjects({ "a/go.mod": "", "a/deep/x_test.go": "", "b/go.mod": "" }), ["go /a"]);
  assert.deepEqual(findProjects({ "a/package.json": '{"scripts":{"test":"node --test"}}', "b/package.json": '{"scripts":{"test":"mocha"}}' }), ["javascript /a"]);
  assert.deepEqual(findProjects({ "CMakeLists.txt": "enable_testing()", "lib/CMakeLists.txt": "enable_testing()" }), ["cpp "]);
  assert.deepEqual(findProjects({ "a/pyproject.toml": "", "a/tests/conftest.py": "", "a/tests/test_x.py": "", "b/tests/test_y.py": "" }), ["python /a", "python /b"]);
  assert.deepEqual(findProjects({ "Gemfile": "", "spec/a_spec.rb": "" }), ["ruby "]);
});

test("a file belongs to the innermost project of its language", () => {
  const files = ["/w/Cargo.toml", "/w/t/t.csproj", "/w/t/u/u.csproj"];
  const projects = findTestProjects(files, "/w", () => "xunit.v3");
  assert.equal(findProjectOfFile("/w/t/u/A.cs", "csharp", projects)?.path, "/w/t/u/u.csproj");
  assert.equal(findProjectOfFile("/w/t/A.cs", "csharp", projects)?.path, "/w/t/t.csproj");
  assert.equal(findProjectOfFile("/w/t/a.rs", "rust", projects)?.path, "/w");
  assert.equal(findProjectOfFile("/w/a.py", "python", projects), undefined);
});

test("test files are recognized by their names", () => {
  for (const file of ["/w/test_a.py", "/w/a_test.go", "/w/a.test.tsx", "/w/a_spec.rb"]) {
    assert.ok(isTestFile(file), file);
  }
  for (const file of ["/w/a.py", "/w/contest.ts", "/w/main.go"]) {
    assert.ok(!isTestFile(file), file);
  }
});

test("the test at a line is the last that begins at or above it", () => {
  const tests = [{ line: 3 }, { line: 10 }, { line: undefined }, { line: 7 }];
  assert.deepEqual([findTestAt(tests, 8), findTestAt(tests, 3), findTestAt(tests, 2), findTestAt(tests, 99)], [{ line: 7 }, { line: 3 }, undefined, { line: 10 }]);
});
