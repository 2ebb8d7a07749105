/** The tests of the workspace as VS Code's Test Explorer has them: projects, the target frameworks of one that is built for several, the
 * classes in them, and tests. It runs none. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { ListedTest } from "./test-lines";
import type { TestProject } from "./test-languages";

const BETWEEN = "\u001f";

/** Identity of a test in its project: the same for each target framework. */
type TestName = Pick<ListedTest, "id" | "framework">;

function keyOf({ id, framework }: TestName): string {
  return framework === undefined ? id : `${id}${BETWEEN}${framework}`;
}

/** A project with its tests. */
export class ProjectTests {
  public readonly item: vscode.TestItem;
  /** By id and target framework. */
  private readonly tests = new Map<string, vscode.TestItem>();
  private readonly names = new WeakMap<vscode.TestItem, TestName>();
  public listed = false;

  public constructor(
    private readonly controller: vscode.TestController,
    public readonly project: TestProject,
    public readonly folder: vscode.WorkspaceFolder,
  ) {
    const name = path.basename(project.path, path.extname(project.path));
    this.item = controller.createTestItem(project.path, name, vscode.Uri.file(project.path));
    this.item.canResolveChildren = true;
    this.item.description = project.language.id;
  }

  /** Replaces what was listed before. */
  public replace(tests: readonly ListedTest[]): void {
    this.tests.clear();
    this.item.children.replace([]);
    // The newest framework is the last: of the tests at a cursor the last is debugged.
    const older = (one: ListedTest, other: ListedTest) =>
      (one.framework ?? "").localeCompare(other.framework ?? "", undefined, { numeric: true });
    [...tests].sort(older).forEach((test) => this.add(test));
    this.listed = true;
  }

  /** The item of a test, made when there is none: some tests are known only when they run. */
  public add(test: ListedTest): vscode.TestItem {
    const known = this.tests.get(keyOf(test));
    if (known !== undefined) {
      return known;
    }
    const owner = this.ownerOf(test);
    const label = shortened(test.name ?? test.id, test.class);
    const uri = test.file === undefined ? undefined : vscode.Uri.file(test.file);
    const item = this.controller.createTestItem(`${this.project.path}${BETWEEN}test${BETWEEN}${keyOf(test)}`, label, uri);
    if (test.line !== undefined) {
      item.range = new vscode.Range(test.line - 1, 0, test.line - 1, 0);
    }
    item.tags = (test.traits ?? []).map((one) => new vscode.TestTag(one));
    item.description = test.skipped ?? "";
    owner.children.add(item);
    this.tests.set(keyOf(test), item);
    this.names.set(item, { id: test.id, ...(test.framework === undefined ? {} : { framework: test.framework }) });
    return item;
  }

  private ownerOf(test: ListedTest): vscode.TestItem {
    // A subtest is beneath its test.
    const parent = test.class === undefined ? [...this.tests.keys()].filter((id) => test.id.startsWith(`${id}/`)).sort().at(-1) : undefined;
    if (parent !== undefined) {
      return this.tests.get(parent) ?? this.item;
    }
    const place = test.framework === undefined ? this.item : this.group(this.item, "framework", test.framework);
    return test.class === undefined || test.class === "" ? place : this.group(place, "class", test.class, test.file);
  }

  private group(parent: vscode.TestItem, kind: "framework" | "class", name: string, file?: string): vscode.TestItem {
    const id = [parent.id, kind, name].join(BETWEEN);
    const known = parent.children.get(id);
    if (known !== undefined) {
      return known;
    }
    const group = this.controller.createTestItem(id, name, file === undefined ? undefined : vscode.Uri.file(file));
    parent.children.add(group);
    return group;
  }

  /** All tests. */
  public all(): vscode.TestItem[] {
    return [...this.tests.values()];
  }

  /** The tests of this project that an item is, or has beneath it. */
  public beneath(item: vscode.TestItem): vscode.TestItem[] {
    return this.names.has(item) ? [item] : [...item.children].flatMap(([, child]) => this.beneath(child));
  }

  /** Groups tests by target framework, with their ids, to run them. */
  public byFramework(items: readonly vscode.TestItem[]): Map<string | undefined, { readonly ids: string[]; readonly items: vscode.TestItem[] }> {
    const found = new Map<string | undefined, { readonly ids: string[]; readonly items: vscode.TestItem[] }>();
    for (const item of items) {
      const name = this.names.get(item);
      if (name !== undefined) {
        const own = found.get(name.framework) ?? { ids: [], items: [] };
        own.ids.push(name.id);
        own.items.push(item);
        found.set(name.framework, own);
      }
    }
    return found;
  }

  /** Label of a test: with its target framework, if its project is built for several. */
  public shown(item: vscode.TestItem): string {
    const framework = this.names.get(item)?.framework;
    return framework === undefined ? item.label : `${item.label} (${framework})`;
  }

  /** The tests of a file, with their lines from 0, and their target framework where the project is built for several. */
  public inFile(file: string): { readonly item: vscode.TestItem; readonly line: number | undefined; readonly framework: string | undefined }[] {
    const own = this.all().filter((item) => item.uri?.fsPath === file);
    return own.map((item) => ({ item, line: item.range?.start.line, framework: this.names.get(item)?.framework }));
  }
}

/** A name without the class that it is shown beneath. */
function shortened(name: string, owner: string | undefined): string {
  for (const between of [".", "::", " > ", "#", " "]) {
    const prefix = `${owner ?? ""}${between}`;
    if (owner !== undefined && owner !== "" && name.startsWith(prefix) && name.length > prefix.length) {
      return name.slice(prefix.length);
    }
  }
  return name;
}
