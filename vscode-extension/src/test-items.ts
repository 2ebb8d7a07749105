/** Items of the Test Explorer: a tree of projects, target frameworks (if a project has several), classes and tests. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { ListedTest } from "./test-process";
import type { TestProject } from "./test-languages";

const ID_SEPARATOR = "\u001f";

/** Identifies a test in its project. */
type TestName = Pick<ListedTest, "id" | "framework">;

function createKey({ id, framework }: TestName): string {
  return framework === undefined ? id : `${id}${ID_SEPARATOR}${framework}`;
}

/** The tests of a project. */
export class ProjectTests {
  public readonly item: vscode.TestItem;
  /** Items by id and target framework. */
  private readonly tests = new Map<string, vscode.TestItem>();
  private readonly names = new WeakMap<vscode.TestItem, TestName>();
  public isListed = false;

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

  /** Replaces the tests of the previous list. */
  public replace(tests: readonly ListedTest[]): void {
    this.tests.clear();
    this.item.children.replace([]);
    // The newest framework comes last: `findTestAt` returns the last of several tests at a line.
    const compareByFramework = (one: ListedTest, other: ListedTest) =>
      (one.framework ?? "").localeCompare(other.framework ?? "", undefined, { numeric: true });
    [...tests].sort(compareByFramework).forEach((test) => this.add(test));
    this.isListed = true;
  }

  /** Returns the item of a test. Creates one if necessary: some tests are known only when they run. */
  public add(test: ListedTest): vscode.TestItem {
    const known = this.tests.get(createKey(test));
    if (known !== undefined) {
      return known;
    }
    const owner = this.findOrCreateParent(test);
    const label = shortenName(test.name ?? test.id, test.class);
    const uri = test.file === undefined ? undefined : vscode.Uri.file(test.file);
    const item = this.controller.createTestItem(`${this.project.path}${ID_SEPARATOR}test${ID_SEPARATOR}${createKey(test)}`, label, uri);
    if (test.line !== undefined) {
      item.range = new vscode.Range(test.line - 1, 0, test.line - 1, 0);
    }
    item.tags = (test.traits ?? []).map((one) => new vscode.TestTag(one));
    item.description = test.skipped ?? "";
    owner.children.add(item);
    this.tests.set(createKey(test), item);
    this.names.set(item, { id: test.id, ...(test.framework === undefined ? {} : { framework: test.framework }) });
    return item;
  }

  private findOrCreateParent(test: ListedTest): vscode.TestItem {
    // A subtest is a child of its test.
    const parent = test.class === undefined ? [...this.tests.keys()].filter((id) => test.id.startsWith(`${id}/`)).sort().at(-1) : undefined;
    if (parent !== undefined) {
      return this.tests.get(parent) ?? this.item;
    }
    const group = test.framework === undefined ? this.item : this.findOrCreateGroup(this.item, "framework", test.framework);
    return test.class === undefined || test.class === "" ? group : this.findOrCreateGroup(group, "class", test.class, test.file);
  }

  private findOrCreateGroup(parent: vscode.TestItem, kind: "framework" | "class", name: string, file?: string): vscode.TestItem {
    const id = [parent.id, kind, name].join(ID_SEPARATOR);
    const known = parent.children.get(id);
    if (known !== undefined) {
      return known;
    }
    const group = this.controller.createTestItem(id, name, file === undefined ? undefined : vscode.Uri.file(file));
    parent.children.add(group);
    return group;
  }

  /** Returns all tests. */
  public listAll(): vscode.TestItem[] {
    return [...this.tests.values()];
  }

  /** Returns the item if it is a test of this project, otherwise the tests below it. */
  public collectTests(item: vscode.TestItem): vscode.TestItem[] {
    return this.names.has(item) ? [item] : [...item.children].flatMap(([, child]) => this.collectTests(child));
  }

  /** Groups tests by target framework, with their ids. */
  public groupByFramework(items: readonly vscode.TestItem[]): Map<string | undefined, { readonly ids: string[]; readonly items: vscode.TestItem[] }> {
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

  /** Returns the label of a test, with its target framework if the project has several. */
  public getLabel(item: vscode.TestItem): string {
    const framework = this.names.get(item)?.framework;
    return framework === undefined ? item.label : `${item.label} (${framework})`;
  }

  /** Returns the tests of a file, with their lines from 0, and their target framework if the project has several. */
  public listInFile(file: string): { readonly item: vscode.TestItem; readonly line: number | undefined; readonly framework: string | undefined }[] {
    const own = this.listAll().filter((item) => item.uri?.fsPath === file);
    return own.map((item) => ({ item, line: item.range?.start.line, framework: this.names.get(item)?.framework }));
  }
}

/** Removes the class from the name of a test: it is the parent item. */
function shortenName(name: string, owner: string | undefined): string {
  for (const separator of [".", "::", " > ", "#", " "]) {
    const prefix = `${owner ?? ""}${separator}`;
    if (owner !== undefined && owner !== "" && name.startsWith(prefix) && name.length > prefix.length) {
      return name.slice(prefix.length);
    }
  }
  return name;
}
