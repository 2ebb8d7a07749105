/** The Test Explorer: discovers projects with tests, lists their tests, and runs or debugs them. */
import { readFileSync } from "node:fs";
import * as vscode from "vscode";
import { log } from "./log";
import { SKIPPED_FOLDERS } from "./languages";
import type { Programs } from "./programs";
import { ProjectTests } from "./test-items";
import { TEST_FILE_GLOBS, TEST_LANGUAGES, isTestFile, findProjectOfFile, findTestAt, findTestProjects, type TestLanguage, type TestSetting } from "./test-languages";
import { TestProcess, type ListedTest } from "./test-process";
import { TestDebugSessions, formatDiagnostics, runTests } from "./test-run";
import { t } from "./l10n";

/** Maximum number of files that a search returns per glob. */
const MAX_TEST_FILES = 4000;

export class TestExplorer implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("tandem", "Tandem");
  private readonly debugSessions = new TestDebugSessions();
  private readonly profiles: Readonly<Record<"run" | "debug", vscode.TestRunProfile>>;
  private projects: ProjectTests[] = [];
  private discovery: Promise<void> | undefined;
  private readonly listings = new Map<ProjectTests, Promise<void>>();
  private readonly listEmitter = new vscode.EventEmitter<void>();
  /** Fires when tests are listed or their presentation changes. */
  public readonly onDidList = this.listEmitter.event;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly programs: Programs) {
    const profile = (label: string, kind: vscode.TestRunProfileKind) =>
      this.controller.createRunProfile(label, kind, (request, token) => this.run(request, token, kind === vscode.TestRunProfileKind.Debug), true);
    this.profiles = { run: profile(t("Run"), vscode.TestRunProfileKind.Run), debug: profile(t("Debug"), vscode.TestRunProfileKind.Debug) };
    this.controller.resolveHandler = async (item) => {
      await this.ensureDiscovered();
      const project = this.projects.find((one) => one.item === item);
      if (project !== undefined) {
        await this.ensureListed(project);
      }
    };
    this.controller.refreshHandler = async () => {
      const before = new Set(this.projects.filter((one) => one.isListed).map((one) => one.project.path));
      this.discovery = undefined;
      await this.ensureDiscovered();
      await Promise.all(this.projects.filter((one) => before.has(one.project.path)).map((one) => this.ensureListed(one, true)));
    };
    this.subscriptions = [
      this.controller, this.debugSessions, this.listEmitter,
      vscode.debug.registerDebugAdapterTrackerFactory("tandem", this.debugSessions),
      vscode.window.onDidChangeActiveTextEditor((editor) => void this.handleOpenedDocument(editor?.document)),
      vscode.workspace.onDidSaveTextDocument((document) => void this.handleSavedDocument(document)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("tandem.tests")) {
          this.updateItems();
          this.listEmitter.fire();
        }
      }),
    ];
    void this.handleOpenedDocument(vscode.window.activeTextEditor?.document);
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Returns where VS Code shows the tests of a language. */
  public getPresentation(language: TestLanguage): "explorer" | "codeLens" | "nothing" {
    switch (vscode.workspace.getConfiguration("tandem").get<TestSetting>(language.setting, "auto")) {
      case "on":
        return "explorer";
      case "codeLens":
        return "codeLens";
      case "off":
        return "nothing";
      case "auto":
        return language.otherExtensions.some((other) => vscode.extensions.getExtension(other) !== undefined) ? "nothing" : "explorer";
    }
  }

  /** Returns the tests of a file; lists those of its project first if necessary. */
  public async listTests(document: vscode.TextDocument): Promise<ReturnType<ProjectTests["listInFile"]>> {
    const project = await this.findProject(document);
    if (project === undefined) {
      return [];
    }
    await this.ensureListed(project);
    return project.listInFile(document.uri.fsPath);
  }

  /** Debugs the test at the cursor, or all tests of the project, and shows a notification. Returns false if the file is not a test file. */
  public async debugAtCursor(editor: vscode.TextEditor): Promise<boolean> {
    const { document, selection } = editor;
    const project = await this.findProject(document);
    const isTested = project !== undefined && (project.project.language.id === "csharp" || isTestFile(document.uri.fsPath));
    if (!isTested) {
      return false;
    }
    await this.ensureListed(project);
    const here = findTestAt(project.listInFile(document.uri.fsPath), selection.active.line);
    const item = here?.item ?? project.item;
    void vscode.window.showInformationMessage(here === undefined
      ? t("Tandem debugs the tests of {0}: no test is at the cursor.", project.item.label)
      : t("Tandem debugs the test {0}.", project.getLabel(item)));
    this.startTests([item], true);
    return true;
  }

  /** Runs or debugs tests as the Test Explorer's buttons do. */
  public startTests(items: readonly vscode.TestItem[], debugs: boolean): void {
    const profile = debugs ? this.profiles.debug : this.profiles.run;
    const source = new vscode.CancellationTokenSource();
    void this.run(new vscode.TestRunRequest(items, undefined, profile), source.token, debugs);
  }

  private async handleOpenedDocument(document: vscode.TextDocument | undefined): Promise<void> {
    const isEnabled = vscode.workspace.getConfiguration("tandem").get<boolean>("tests.listOnOpen", true);
    const isTestLanguage = document?.uri.scheme === "file" && TEST_LANGUAGES.some((one) => one.languages.includes(document.languageId));
    if (!isEnabled || document === undefined || !isTestLanguage || !vscode.workspace.isTrusted) {
      return;
    }
    const project = await this.findProject(document);
    if (project !== undefined && this.getPresentation(project.project.language) !== "nothing") {
      await this.ensureListed(project);
    }
  }

  /** Lists the tests of a saved file again: their lines may differ, and tests may have been added or removed. */
  private async handleSavedDocument(document: vscode.TextDocument): Promise<void> {
    const project = await this.findProject(document);
    if (project?.isListed === true && project.listInFile(document.uri.fsPath).length > 0) {
      await this.ensureListed(project, true);
    }
  }

  private async findProject(document: vscode.TextDocument): Promise<ProjectTests | undefined> {
    await this.ensureDiscovered();
    const found = findProjectOfFile(document.uri.fsPath, document.languageId, this.projects.map((one) => one.project));
    return this.projects.find((one) => one.project === found);
  }

  private ensureDiscovered(): Promise<void> {
    this.discovery ??= this.discoverProjects().catch((error: unknown) => log().error(`tests: ${String(error)}`));
    return this.discovery;
  }

  private async discoverProjects(): Promise<void> {
    const found: ProjectTests[] = [];
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      const skipped = new vscode.RelativePattern(folder, SKIPPED_FOLDERS);
      const search = (glob: string) => vscode.workspace.findFiles(new vscode.RelativePattern(folder, glob), skipped, MAX_TEST_FILES);
      const files = (await Promise.all(TEST_FILE_GLOBS.map(search))).flat().map((file) => file.fsPath);
      for (const project of findTestProjects(files, folder.uri.fsPath, readText)) {
        found.push(new ProjectTests(this.controller, project, folder));
      }
    }
    this.projects = found;
    this.updateItems();
  }

  private updateItems(): void {
    const shown = this.projects.filter((one) => this.getPresentation(one.project.language) === "explorer");
    this.controller.items.replace(shown.map((one) => one.item));
  }

  private async ensureListed(project: ProjectTests, reload = false): Promise<void> {
    if (project.isListed && !reload) {
      return;
    }
    const before = this.listings.get(project);
    if (before !== undefined) {
      return before;
    }
    const work = this.listProject(project).finally(() => this.listings.delete(project));
    this.listings.set(project, work);
    return work;
  }

  private async listProject(project: ProjectTests): Promise<void> {
    const program = this.programs.findMcpServer().file;
    if (program === undefined) {
      return;
    }
    project.item.busy = true;
    const tests: ListedTest[] = [];
    const request = { action: "list" as const, folder: project.folder.uri.fsPath, projectPath: project.project.path };
    const testProcess = new TestProcess(program, request, (event) => {
      if (event.event === "test") {
        tests.push(event);
      }
    });
    const end = await testProcess.end;
    if (end.error === undefined || tests.length > 0) {
      project.replace(tests);
    }
    project.item.error = end.error === undefined ? undefined : [end.error.message, ...formatDiagnostics(end)].join("\n");
    project.item.busy = false;
    log().info(`tests: ${tests.length} in ${project.project.path}${end.error === undefined ? "" : `: ${end.error.message}`}`);
    this.listEmitter.fire();
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken, debugs: boolean): Promise<void> {
    const program = this.programs.findMcpServer().file;
    if (program === undefined || (debugs && (await this.programs.findUsableAdapter()) === undefined)) {
      return;
    }
    const run = this.controller.createTestRun(request);
    const cancellation = new vscode.CancellationTokenSource();
    const subscriptions = [token, run.token].map((one) => one.onCancellationRequested(() => cancellation.cancel()));
    for (const project of this.projects) {
      if (cancellation.token.isCancellationRequested) {
        break;
      }
      const isWholeProject = request.include === undefined ? this.getPresentation(project.project.language) === "explorer" : request.include.includes(project.item);
      const excluded = new Set((request.exclude ?? []).flatMap((item) => project.collectTests(item)));
      const candidates = isWholeProject ? project.listAll() : (request.include ?? []).filter((item) => item !== project.item).flatMap((item) => project.collectTests(item));
      const selected = [...new Set(candidates)].filter((item) => !excluded.has(item));
      if (isWholeProject || selected.length > 0) {
        await runTests({ program, project, tests: isWholeProject && excluded.size === 0 ? undefined : selected, debugs }, run, cancellation.token, this.debugSessions);
      }
    }
    subscriptions.forEach((one) => one.dispose());
    run.end();
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
