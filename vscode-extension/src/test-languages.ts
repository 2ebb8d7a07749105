/** The languages whose tests Tandem knows, which projects of a workspace have tests, and whose own extension shows them already. Knows
 * nothing of VS Code. */
import * as path from "node:path";

export interface TestLanguage {
  readonly id: string;
  /** Setting that decides where its tests are shown, below `tandem`. */
  readonly setting: string;
  /** As VS Code calls its files. */
  readonly languages: readonly string[];
  /** Extensions that show such tests by themselves. */
  readonly others: readonly string[];
}

export const TEST_LANGUAGES: readonly TestLanguage[] = [
  { id: "csharp", setting: "tests.csharp", languages: ["csharp", "fsharp", "vb"], others: ["ms-dotnettools.csdevkit"] },
  { id: "python", setting: "tests.python", languages: ["python"], others: ["ms-python.python"] },
  { id: "rust", setting: "tests.rust", languages: ["rust"], others: ["rust-lang.rust-analyzer"] },
  { id: "go", setting: "tests.go", languages: ["go"], others: ["golang.go"] },
  {
    id: "javascript", setting: "tests.javascript", languages: ["javascript", "typescript", "javascriptreact", "typescriptreact"],
    others: ["vitest.explorer", "orta.vscode-jest", "connor4312.nodejs-testing"],
  },
  { id: "ruby", setting: "tests.ruby", languages: ["ruby"], others: ["shopify.ruby-lsp", "connorshea.vscode-ruby-test-adapter"] },
  { id: "cpp", setting: "tests.cpp", languages: ["c", "cpp"], others: ["ms-vscode.cmake-tools", "matepek.vscode-catch2-test-adapter"] },
];

/** Value of `tandem.tests.*` for a language. */
export type TestSetting = "auto" | "on" | "codeLens" | "off";

export interface TestProject {
  /** The file or folder that names it. */
  readonly path: string;
  readonly language: TestLanguage;
}

/** Files that tell where tests are, as globs. */
export const TEST_FILES = [
  "**/{*.csproj,*.fsproj,*.vbproj,Cargo.toml,go.mod,package.json,CMakeLists.txt,Gemfile,.rspec,Rakefile}",
  "**/{pyproject.toml,setup.py,setup.cfg,pytest.ini,tox.ini,conftest.py,requirements.txt}",
  "**/{test_*.py,*_test.py,*_test.rb,*_spec.rb,*_test.go}",
];

const DOTNET = /\.(cs|fs|vb)proj$/;
/** Markers of a .NET project with tests. */
const DOTNET_TESTS = /Microsoft\.NET\.Test\.Sdk|xunit\.v3|"TUnit|MSTest\.Sdk|<IsTestProject>\s*true|EnableNUnitRunner|EnableMSTestRunner/i;
const PYTHON_ROOTS = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py", "requirements.txt"];
const RUBY_ROOTS = ["Gemfile", ".rspec", "Rakefile"];
/** Folders of tests, whose project is the folder above. */
const TEST_FOLDERS = ["test", "tests", "spec"];

/** Projects with tests, recognized by the files of a folder. */
export function testProjects(files: readonly string[], folder: string, read: (file: string) => string): TestProject[] {
  const found = new Map<string, TestProject>();
  const add = (id: string, place: string) =>
    TEST_LANGUAGES.filter((one) => one.id === id).forEach((language) => found.set(`${id} ${place}`, { path: place, language }));
  const named = (name: string) => files.filter((file) => path.basename(file) === name);
  files.filter((file) => DOTNET.test(file) && DOTNET_TESTS.test(read(file))).forEach((file) => add("csharp", file));
  outermost(named("Cargo.toml").map((file) => path.dirname(file))).forEach((place) => add("rust", place));
  const goes = (place: string) => files.some((file) => file.endsWith("_test.go") && inside(file, place));
  named("go.mod").map((file) => path.dirname(file)).filter(goes).forEach((place) => add("go", place));
  named("package.json").filter((file) => hasNodeTests(read(file))).forEach((file) => add("javascript", path.dirname(file)));
  const tested = named("CMakeLists.txt").filter((file) => /enable_testing|include\s*\(\s*CTest/i.test(read(file)));
  outermost(tested.map((file) => path.dirname(file))).forEach((place) => add("cpp", place));
  for (const file of files) {
    const name = path.basename(file);
    if (/^test_.*\.py$|_test\.py$/.test(name)) {
      add("python", rootOf(file, PYTHON_ROOTS, folder, files));
    } else if (/_(test|spec)\.rb$/.test(name)) {
      add("ruby", rootOf(file, RUBY_ROOTS, folder, files));
    }
  }
  return [...found.values()].sort((one, other) => one.path.localeCompare(other.path));
}

function hasNodeTests(manifest: string): boolean {
  return /"test"\s*:\s*"[^"]*(\bjest\b|\bvitest\b|--test\b)|"(jest|vitest)"\s*:/.test(manifest);
}

export function inside(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder + path.sep);
}

/** Those that are in no other. */
function outermost(folders: readonly string[]): string[] {
  return folders.filter((one) => !folders.some((other) => other !== one && inside(one, other)));
}

/** The outermost folder above a file that has one of these files, up to the top; else that of its tests. */
function rootOf(file: string, names: readonly string[], top: string, files: readonly string[]): string {
  const known = new Set(files.filter((one) => names.includes(path.basename(one))).map((one) => path.dirname(one)));
  let found: string | undefined;
  for (let place = path.dirname(file); inside(place, top); place = path.dirname(place)) {
    found = known.has(place) ? place : found;
    if (place === path.dirname(place)) {
      break;
    }
  }
  const own = path.dirname(file);
  return found ?? (TEST_FOLDERS.includes(path.basename(own)) && own !== top ? path.dirname(own) : own);
}

/** The project that a file of a language belongs to: the innermost one. */
export function projectOfFile(file: string, languageId: string, projects: readonly TestProject[]): TestProject | undefined {
  const folder = (project: TestProject) => (DOTNET.test(project.path) ? path.dirname(project.path) : project.path);
  return projects
    .filter((project) => project.language.languages.includes(languageId) && inside(file, folder(project)))
    .sort((one, other) => folder(other).length - folder(one).length)[0];
}

/** Whether a file is for tests alone, whatever is in it. */
export function isTestFile(file: string): boolean {
  return /^test_.*\.py$|_test\.(py|go|rb|cc|cpp)$|_spec\.rb$|\.(test|spec)\.[cm]?[jt]sx?$/.test(path.basename(file));
}

/** The test that a place (lines from 0) is in: the last that begins at or above it. */
export function testAt<T extends { readonly line: number | undefined }>(tests: readonly T[], line: number): T | undefined {
  const above = tests.filter((one) => one.line !== undefined && one.line <= line);
  return above.reduce<T | undefined>((best, one) => (best === undefined || (one.line ?? 0) >= (best.line ?? 0) ? one : best), undefined);
}
