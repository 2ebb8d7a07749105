/** Languages whose tests Tandem supports, other extensions that show them, and the projects with tests. Independent of VS Code. */
import * as path from "node:path";

export interface TestLanguage {
  readonly id: string;
  /** Setting below `tandem` that selects where VS Code shows the tests. */
  readonly setting: string;
  /** Language ids of VS Code. */
  readonly languages: readonly string[];
  /** Ids of other extensions that show such tests. */
  readonly otherExtensions: readonly string[];
}

export const TEST_LANGUAGES: readonly TestLanguage[] = [
  { id: "csharp", setting: "tests.csharp", languages: ["csharp", "fsharp", "vb"], otherExtensions: ["ms-dotnettools.csdevkit"] },
  { id: "python", setting: "tests.python", languages: ["python"], otherExtensions: ["ms-python.python"] },
  { id: "rust", setting: "tests.rust", languages: ["rust"], otherExtensions: ["rust-lang.rust-analyzer"] },
  { id: "go", setting: "tests.go", languages: ["go"], otherExtensions: ["golang.go"] },
  {
    id: "javascript", setting: "tests.javascript", languages: ["javascript", "typescript", "javascriptreact", "typescriptreact"],
    otherExtensions: ["vitest.explorer", "orta.vscode-jest", "connor4312.nodejs-testing"],
  },
  { id: "ruby", setting: "tests.ruby", languages: ["ruby"], otherExtensions: ["shopify.ruby-lsp", "connorshea.vscode-ruby-test-adapter"] },
  { id: "cpp", setting: "tests.cpp", languages: ["c", "cpp"], otherExtensions: ["ms-vscode.cmake-tools", "matepek.vscode-catch2-test-adapter"] },
];

/** Value of a setting `tandem.tests.*`. */
export type TestSetting = "auto" | "on" | "codeLens" | "off";

export interface TestProject {
  /** Project file, or folder of the project. */
  readonly path: string;
  readonly language: TestLanguage;
}

/** Globs of project files and test files. */
export const TEST_FILE_GLOBS = [
  "**/{*.csproj,*.fsproj,*.vbproj,Cargo.toml,go.mod,package.json,CMakeLists.txt,Gemfile,.rspec,Rakefile}",
  "**/{pyproject.toml,setup.py,setup.cfg,pytest.ini,tox.ini,conftest.py,requirements.txt}",
  "**/{test_*.py,*_test.py,*_test.rb,*_spec.rb,*_test.go}",
];

const DOTNET_PROJECT = /\.(cs|fs|vb)proj$/;
/** Markers in the file of a .NET test project. */
const DOTNET_TEST_MARKERS = /Microsoft\.NET\.Test\.Sdk|xunit\.v3|"TUnit|MSTest\.Sdk|<IsTestProject>\s*true|EnableNUnitRunner|EnableMSTestRunner/i;
const PYTHON_PROJECT_FILES = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py", "requirements.txt"];
const RUBY_PROJECT_FILES = ["Gemfile", ".rspec", "Rakefile"];
/** Names of test folders: their project is the parent folder. */
const TEST_FOLDER_NAMES = ["test", "tests", "spec"];

/** Finds the projects with tests by the files of a workspace folder. */
export function findTestProjects(files: readonly string[], folder: string, read: (file: string) => string): TestProject[] {
  const found = new Map<string, TestProject>();
  const add = (id: string, path: string) =>
    TEST_LANGUAGES.filter((one) => one.id === id).forEach((language) => found.set(`${id} ${path}`, { path, language }));
  const findNamed = (name: string) => files.filter((file) => path.basename(file) === name);
  files.filter((file) => DOTNET_PROJECT.test(file) && DOTNET_TEST_MARKERS.test(read(file))).forEach((file) => add("csharp", file));
  selectOutermost(findNamed("Cargo.toml").map((file) => path.dirname(file))).forEach((root) => add("rust", root));
  const hasGoTests = (root: string) => files.some((file) => file.endsWith("_test.go") && isInside(file, root));
  findNamed("go.mod").map((file) => path.dirname(file)).filter(hasGoTests).forEach((root) => add("go", root));
  findNamed("package.json").filter((file) => hasNodeTests(read(file))).forEach((file) => add("javascript", path.dirname(file)));
  const ctestFiles = findNamed("CMakeLists.txt").filter((file) => /enable_testing|include\s*\(\s*CTest/i.test(read(file)));
  selectOutermost(ctestFiles.map((file) => path.dirname(file))).forEach((root) => add("cpp", root));
  for (const file of files) {
    const name = path.basename(file);
    if (/^test_.*\.py$|_test\.py$/.test(name)) {
      add("python", findRoot(file, PYTHON_PROJECT_FILES, folder, files));
    } else if (/_(test|spec)\.rb$/.test(name)) {
      add("ruby", findRoot(file, RUBY_PROJECT_FILES, folder, files));
    }
  }
  return [...found.values()].sort((one, other) => one.path.localeCompare(other.path));
}

function hasNodeTests(manifest: string): boolean {
  return /"test"\s*:\s*"[^"]*(\bjest\b|\bvitest\b|--test\b)|"(jest|vitest)"\s*:/.test(manifest);
}

export function isInside(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder + path.sep);
}

/** Selects the folders that are not inside another. */
function selectOutermost(folders: readonly string[]): string[] {
  return folders.filter((one) => !folders.some((other) => other !== one && isInside(one, other)));
}

/** Finds the outermost folder, up to `top`, that contains one of these files; otherwise the file's folder, or the parent of a test folder. */
function findRoot(file: string, names: readonly string[], top: string, files: readonly string[]): string {
  const rootFolders = new Set(files.filter((one) => names.includes(path.basename(one))).map((one) => path.dirname(one)));
  let found: string | undefined;
  for (let current = path.dirname(file); isInside(current, top); current = path.dirname(current)) {
    found = rootFolders.has(current) ? current : found;
    if (current === path.dirname(current)) {
      break;
    }
  }
  const own = path.dirname(file);
  return found ?? (TEST_FOLDER_NAMES.includes(path.basename(own)) && own !== top ? path.dirname(own) : own);
}

/** Finds the innermost project of a file. */
export function findProjectOfFile(file: string, languageId: string, projects: readonly TestProject[]): TestProject | undefined {
  const folder = (project: TestProject) => (DOTNET_PROJECT.test(project.path) ? path.dirname(project.path) : project.path);
  return projects
    .filter((project) => project.language.languages.includes(languageId) && isInside(file, folder(project)))
    .sort((one, other) => folder(other).length - folder(one).length)[0];
}

/** Whether a file is a test file by its name. */
export function isTestFile(file: string): boolean {
  return /^test_.*\.py$|_test\.(py|go|rb|cc|cpp)$|_spec\.rb$|\.(test|spec)\.[cm]?[jt]sx?$/.test(path.basename(file));
}

/** Finds the test at a line (from 0): the last one that begins at or above it. */
export function findTestAt<T extends { readonly line: number | undefined }>(tests: readonly T[], line: number): T | undefined {
  const above = tests.filter((one) => one.line !== undefined && one.line <= line);
  return above.reduce<T | undefined>((best, one) => (best === undefined || (one.line ?? 0) >= (best.line ?? 0) ? one : best), undefined);
}
