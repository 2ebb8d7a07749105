/** Launch configurations: offered, completed, and made up when there is no launch.json. */
import { readFileSync, readdirSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { forOpenFile, initialConfigurations, programsOfSolution, type Configuration, type Workspace } from "./detect";
import { isSolution } from "./dotnet-projects";
import { SKIPPED_FOLDERS, TELLING_FILES } from "./languages";
import { serverReadyAction } from "./launch-profiles";
import { ORIGINAL_TYPE } from "./other-debuggers";
import type { Programs } from "./programs";
import { withHosts } from "./source-permission";
import type { TestExplorer } from "./test-explorer";
import { t } from "./l10n";

/** A workspace with more telling files than this tells enough. */
const MAX_FILES = 400;
/** One of these must be in a launch. */
const WHAT_TO_RUN = ["program", "project", "module", "code"];

export class Configurations implements vscode.DebugConfigurationProvider {
  public constructor(
    private readonly programs: Programs,
    private readonly tests: TestExplorer,
  ) {}

  public async provideDebugConfigurations(folder: vscode.WorkspaceFolder | undefined): Promise<vscode.DebugConfiguration[]> {
    if (folder === undefined) {
      return [];
    }
    return initialConfigurations(folder.uri.fsPath, await tellingFiles(folder));
  }

  /** Before variables are replaced: an empty configuration is F5 without a launch.json. */
  public async resolveDebugConfiguration(
    folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | null | undefined> {
    let complete = configuration;
    if (!configuration.type && !configuration.request && !configuration.name) {
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined && (await this.tests.debugHere(editor))) {
        return undefined;
      }
      const choices = await this.forOpenEditor(folder);
      const made = choices.length > 1 ? await chosen(choices) : choices[0];
      if (made === undefined && choices.length > 0) {
        return undefined;
      }
      if (made === undefined) {
        // Null opens a launch.json to write one.
        void vscode.window.showInformationMessage(t("Tandem does not know what to run here: open a program's file, or describe it in launch.json."));
        return null;
      }
      complete = { ...configuration, ...made };
    }
    // `tandem-dap` validates the configurations of other debuggers.
    if (complete.request === "launch" && complete[ORIGINAL_TYPE] === undefined && !WHAT_TO_RUN.some((attribute) => complete[attribute])) {
      void vscode.window.showErrorMessage(t("`{0}` in launch.json has neither `program` nor `project`. Add one of them.", complete.name));
      return null;
    }
    // Joining is not a launch: the client that launched has decided.
    if (complete["session"] === undefined) {
      complete["agentAccess"] ??= vscode.workspace.getConfiguration("tandem").get("agentAccess", "full");
      // VS Code does not say by itself which folder is open, and starts adapters where it runs.
      complete["__workspaceFolder"] ??= home(folder)?.uri.fsPath;
      const sources = withHosts(vscode.workspace.getConfiguration("tandem").get("sourceHosts"), complete["sourceLinkOptions"]);
      Object.assign(complete, Object.keys(sources).length > 0 ? { sourceLinkOptions: sources } : {});
    }
    // The program's terminal takes input, which the Debug Console cannot.
    if (vscode.workspace.getConfiguration("tandem").get("programTerminal") === "always") {
      complete["internalConsoleOptions"] ??= "neverOpen";
    }
    if (complete.request === "launch" && ["piped", "internalConsole"].includes(String(complete["console"] ?? "piped"))) {
      // Programs look for a terminal before they prompt, colour or edit a line, and C's library buffers lines only for one.
      complete["pty"] ??= vscode.workspace.getConfiguration("tandem").get<boolean>("pty", true);
      // Only this extension can show the text that a person types into the program's terminal.
      complete["__ptyEcho"] ??= true;
    }
    return complete;
  }

  public async resolveDebugConfigurationWithSubstitutedVariables(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const processId: unknown = configuration["processId"];
    if (typeof processId === "string") {
      const pid = Number(processId);
      if (!Number.isInteger(pid) || pid <= 0) {
        void vscode.window.showErrorMessage(t("`processId` of `{0}` is `{1}`, which is not a process id.", configuration.name, processId));
        return undefined;
      }
      configuration["processId"] = pid;
    }
    const program: unknown = configuration["program"];
    if (typeof program === "string" && isSolution(program)) {
      const programs = programsOfSolution(program, read).map((file) => ({ name: path.basename(file, path.extname(file)), program: file }));
      const one = programs.length > 1 ? await chosen(programs) : programs[0];
      if (one === undefined && programs.length > 0) {
        return undefined;
      }
      configuration["program"] = one?.program ?? program;
    }
    // VS Code itself waits for the server and opens the page. An action that the user has set wins, even one
    // that does nothing.
    if (configuration.request === "launch" && configuration["serverReadyAction"] === undefined) {
      const action = serverReadyAction(configuration, { list, read });
      Object.assign(configuration, action === undefined ? {} : { serverReadyAction: action });
    }
    // Joining needs no adapter of ours: the session has one.
    if (configuration["session"] === undefined && (await this.programs.usableAdapter()) === undefined) {
      return undefined;
    }
    return configuration;
  }

  private async forOpenEditor(folder: vscode.WorkspaceFolder | undefined): Promise<Configuration[]> {
    const document = vscode.window.activeTextEditor?.document;
    const file = document?.uri.scheme === "file" ? document.uri.fsPath : undefined;
    const open = home(folder);
    const files = open === undefined ? [] : await tellingFiles(open);
    const workspace: Workspace = { folder: open?.uri.fsPath, files, list, read };
    return forOpenFile(file, document?.languageId, workspace);
  }
}

/** The folder that a configuration belongs to, which none does that is made up or is of a workspace of several: then the open file's. */
function home(folder: vscode.WorkspaceFolder | undefined): vscode.WorkspaceFolder | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return folder ?? (document && vscode.workspace.getWorkspaceFolder(document.uri)) ?? vscode.workspace.workspaceFolders?.[0];
}

/** Which of several programs the person means; undefined when the list is dismissed. */
async function chosen<T extends { readonly name: string; readonly program?: unknown }>(choices: readonly T[]): Promise<T | undefined> {
  const items = choices.map((choice) => ({ label: choice.name, description: String(choice.program), choice }));
  return (await vscode.window.showQuickPick(items, { placeHolder: t("Which program do you want to run?") }))?.choice;
}

async function tellingFiles(folder: vscode.WorkspaceFolder): Promise<string[]> {
  const skipped = new vscode.RelativePattern(folder, SKIPPED_FOLDERS);
  const search = (glob: string) => vscode.workspace.findFiles(new vscode.RelativePattern(folder, glob), skipped, MAX_FILES);
  return (await Promise.all(TELLING_FILES.map(search))).flat().map((file) => file.fsPath);
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
