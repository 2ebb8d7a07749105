/** The Test Explorer: which projects have tests, when they are listed, and what is run or debugged. */
import { readFileSync } from "node:fs";
import * as vscode from "vscode";
import { log } from "./log";
import { SKIPPED_FOLDERS } from "./languages";
import type { Programs } from "./programs";
import { ProjectTests } from "./test-items";
import { TEST_FILES, TEST_LANGUAGES, isTestFile, projectOfFile, testAt, testProjects, type TestLanguage, type TestSetting } from "./test-languages";
import { TestTool, type ListedTest } from "./test-lines";
import { DebuggedTests, placesOf, runTests } from "./test-run";
import { t } from "./l10n";

/** More telling files than this tell enough. */
const MAX_FILES = 4000;

export class TestExplorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("tandem", "Tandem");
  private readonly debugged = new DebuggedTests();
  private readonly profiles: Readonly<Record<"run" | "debug", vscode.TestRunProfile>>;
  private projects: ProjectTests[] = [];
  private discovering: Promise<void> | undefined;
  private readonly listing = new Map<ProjectTests, Promise<void>>();
  private readonly changes = new vscode.EventEmitter<void>();
  /** Tests were listed. */
  public readonly onDidList = this.changes.event;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly programs: Programs) {
    const profile = (label: string, kind: vscode.TestRunProfileKind) =>
      this.controller.createRunProfile(label, kind, (request, token) => this.run(request, token, kind === vscode.TestRunProfileKind.Debug), true);
    this.profiles = { run: profile(t("Run"), vscode.TestRunProfileKind.Run), debug: profile(t("Debug"), vscode.TestRunProfileKind.Debug) };
    this.controller.resolveHandler = async (item) => {
      await this.discover();
      const project = this.projects.find((one) => one.item === item);
      if (project !== undefined) {
        await this.list(project);
      }
    };
    this.controller.refreshHandler = async () => {
      const before = new Set(this.projects.filter((one) => one.listed).map((one) => one.project.path));
      this.discovering = undefined;
      await this.discover();
      await Promise.all(this.projects.filter((one) => before.has(one.project.path)).map((one) => this.list(one, true)));
    };
    this.subscriptions = [
      this.controller, this.debugged, this.changes,
      vscode.debug.registerDebugAdapterTrackerFactory("tandem", this.debugged),
      vscode.window.onDidChangeActiveTextEditor((editor) => void this.opened(editor?.document)),
      vscode.workspace.onDidSaveTextDocument((document) => void this.saved(document)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("tandem.tests")) {
          this.show();
          this.changes.fire();
        }
      }),
    ];
    void this.opened(vscode.window.activeTextEditor?.document);
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Where the tests of a language are shown. */
  public shows(language: TestLanguage): "explorer" | "codeLens" | "nothing" {
    switch (vscode.workspace.getConfiguration("tandem").get<TestSetting>(language.setting, "auto")) {
      case "on":
        return "explorer";
      case "codeLens":
        return "codeLens";
      case "off":
        return "nothing";
      case "auto":
        return language.others.some((other) => vscode.extensions.getExtension(other) !== undefined) ? "nothing" : "explorer";
    }
  }

  /** The tests of a file, listed first where they are not. */
  public async testsOf(document: vscode.TextDocument): Promise<ReturnType<ProjectTests["inFile"]>> {
    const project = await this.projectOf(document);
    if (project === undefined) {
      return [];
    }
    await this.list(project);
    return project.inFile(document.uri.fsPath);
  }

  /** F5 in a file of tests: debugs the test at the cursor, or all of a project that holds only tests, and says so. Whether it did. */
  public async debugHere(editor: vscode.TextEditor): Promise<boolean> {
    const { document, selection } = editor;
    const project = await this.projectOf(document);
    const tests = project !== undefined && (project.project.language.id === "csharp" || isTestFile(document.uri.fsPath));
    if (!tests) {
      return false;
    }
    await this.list(project);
    const here = testAt(project.inFile(document.uri.fsPath), selection.active.line);
    const item = here?.item ?? project.item;
    void vscode.window.showInformationMessage(here === undefined
      ? t("Tandem debugs the tests of {0}: no test is at the cursor.", project.item.label)
      : t("Tandem debugs the test {0}.", project.shown(item)));
    this.start([item], true);
    return true;
  }

  /** Runs or debugs tests as a person does in the explorer. */
  public start(items: readonly vscode.TestItem[], debugs: boolean): void {
    const profile = debugs ? this.profiles.debug : this.profiles.run;
    const source = new vscode.CancellationTokenSource();
    void this.run(new vscode.TestRunRequest(items, undefined, profile), source.token, debugs);
  }

  private async opened(document: vscode.TextDocument | undefined): Promise<void> {
    const wanted = vscode.workspace.getConfiguration("tandem").get<boolean>("tests.listOnOpen", true);
    const known = document?.uri.scheme === "file" && TEST_LANGUAGES.some((one) => one.languages.includes(document.languageId));
    if (!wanted || document === undefined || !known || !vscode.workspace.isTrusted) {
      return;
    }
    const project = await this.projectOf(document);
    if (project !== undefined && this.shows(project.project.language) !== "nothing") {
      await this.list(project);
    }
  }

  /** Lines move, tests come and go. */
  private async saved(document: vscode.TextDocument): Promise<void> {
    const project = await this.projectOf(document);
    if (project?.listed === true && project.inFile(document.uri.fsPath).length > 0) {
      await this.list(project, true);
    }
  }

  private async projectOf(document: vscode.TextDocument): Promise<ProjectTests | undefined> {
    await this.discover();
    const found = projectOfFile(document.uri.fsPath, document.languageId, this.projects.map((one) => one.project));
    return this.projects.find((one) => one.project === found);
  }

  private discover(): Promise<void> {
    this.discovering ??= this.look().catch((error: unknown) => log().error(`tests: ${String(error)}`));
    return this.discovering;
  }

  private async look(): Promise<void> {
    const found: ProjectTests[] = [];
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const skipped = new vscode.RelativePattern(folder, SKIPPED_FOLDERS);
      const search = (glob: string) => vscode.workspace.findFiles(new vscode.RelativePattern(folder, glob), skipped, MAX_FILES);
      const files = (await Promise.all(TEST_FILES.map(search))).flat().map((file) => file.fsPath);
      for (const project of testProjects(files, folder.uri.fsPath, text)) {
        found.push(new ProjectTests(this.controller, project, folder));
      }
    }
    this.projects = found;
    this.show();
  }

  private show(): void {
    const shown = this.projects.filter((one) => this.shows(one.project.language) === "explorer");
    this.controller.items.replace(shown.map((one) => one.item));
  }

  private async list(project: ProjectTests, reload = false): Promise<void> {
    if (project.listed && !reload) {
      return;
    }
    const before = this.listing.get(project);
    if (before !== undefined) {
      return before;
    }
    const work = this.listNow(project).finally(() => this.listing.delete(project));
    this.listing.set(project, work);
    return work;
  }

  private async listNow(project: ProjectTests): Promise<void> {
    const program = this.programs.bridge().file;
    if (program === undefined) {
      return;
    }
    project.item.busy = true;
    const tests: ListedTest[] = [];
    const request = { action: "list" as const, folder: project.folder.uri.fsPath, projectPath: project.project.path };
    const tool = new TestTool(program, request, (event) => {
      if (event.event === "test") {
        tests.push(event);
      }
    });
    const end = await tool.end;
    if (end.error === undefined || tests.length > 0) {
      project.replace(tests);
    }
    project.item.error = end.error === undefined ? undefined : [end.error.message, ...placesOf(end)].join("\n");
    project.item.busy = false;
    log().info(`tests: ${tests.length} in ${project.project.path}${end.error === undefined ? "" : `: ${end.error.message}`}`);
    this.changes.fire();
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken, debugs: boolean): Promise<void> {
    const program = this.programs.bridge().file;
    if (program === undefined || (debugs && (await this.programs.usableAdapter()) === undefined)) {
      return;
    }
    const run = this.controller.createTestRun(request);
    const both = new vscode.CancellationTokenSource();
    const stops = [token, run.token].map((one) => one.onCancellationRequested(() => both.cancel()));
    for (const project of this.projects) {
      if (both.token.isCancellationRequested) {
        break;
      }
      const all = request.include === undefined ? this.shows(project.project.language) === "explorer" : request.include.includes(project.item);
      const excluded = new Set((request.exclude ?? []).flatMap((item) => project.beneath(item)));
      const some = all ? project.all() : (request.include ?? []).filter((item) => item !== project.item).flatMap((item) => project.beneath(item));
      const wanted = [...new Set(some)].filter((item) => !excluded.has(item));
      if (all || wanted.length > 0) {
        await runTests({ program, project, tests: all && excluded.size === 0 ? undefined : wanted, debugs }, run, both.token, this.debugged);
      }
    }
    stops.forEach((one) => one.dispose());
    run.end();
  }
}

function text(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
