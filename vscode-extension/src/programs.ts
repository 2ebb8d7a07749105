/** Finds `tandem-dap` and `tandem-mcp`, and shows a message if they are missing or do not fit. */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { findProgram, describeVersionMismatch, describeUnsupportedPlatform, type ProgramSearch, type SearchEnvironment } from "./program-search";
import { log } from "./log";
import { t } from "./l10n";

export class Programs {
  /** Results of version checks, by path and modification time; undefined if the version fits. */
  private readonly versionProblems = new Map<string, string | undefined>();

  public constructor(private readonly context: vscode.ExtensionContext) {}

  public findAdapter(): ProgramSearch {
    return findProgram("tandem-dap", getSetting("adapterPath"), this.getSearchEnvironment(), isFile);
  }

  public findMcpServer(): ProgramSearch {
    return findProgram("tandem-mcp", getSetting("bridgePath"), this.getSearchEnvironment(), isFile, this.findAdapter().file);
  }

  /** Returns the adapter if it exists and its version fits. Otherwise shows a message and returns undefined. */
  public async findUsableAdapter(): Promise<string | undefined> {
    const { file, searched } = this.findAdapter();
    if (file === undefined) {
      const platform = describeUnsupportedPlatform(process.platform, process.arch, getGlibcVersion());
      void this.showProblem(searched.length > 1 && platform !== undefined
        ? t("Tandem does not run on {0} yet, only on Linux with glibc, x86-64 or ARM64: open the folder there, in WSL, in a container or over SSH.", platform)
        : searched.length === 1
        ? t("Tandem cannot debug: there is no program at {0}, the path in the setting tandem.adapterPath.", searched[0] ?? "")
        : t("Tandem cannot debug: tandem-dap is neither in the extension nor in PATH."));
      log().error(`tandem-dap was not found; looked for:\n  ${searched.join("\n  ")}`);
      return undefined;
    }
    const reason = await this.findVersionProblem(file);
    if (reason !== undefined) {
      void this.showProblem(t("Tandem cannot use {0}: {1}.", file, reason));
      return undefined;
    }
    return file;
  }

  private async findVersionProblem(file: string): Promise<string | undefined> {
    const key = `${file}@${statSync(file).mtimeMs}`;
    if (!this.versionProblems.has(key)) {
      let reason: string | undefined;
      try {
        const { stdout } = await promisify(execFile)(file, ["--version"], { timeout: 10_000 });
        const version = (this.context.extension.packageJSON as { version: string }).version;
        reason = describeVersionMismatch(stdout, version);
        log().info(`${stdout.trim()} at ${file}${reason === undefined ? "" : `: ${reason}`}`);
      } catch (error) {
        reason = t("it cannot be started ({0})", error instanceof Error ? error.message : String(error));
      }
      this.versionProblems.set(key, reason);
    }
    return this.versionProblems.get(key);
  }

  private async showProblem(text: string): Promise<void> {
    const settingsLabel = t("Open Settings");
    const installLabel = t("How to Install");
    const logLabel = t("Show Log");
    const chosen = await vscode.window.showErrorMessage(text, settingsLabel, installLabel, logLabel);
    if (chosen === settingsLabel) {
      // A path on a remote machine is a setting of that machine.
      const command = vscode.env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
      await vscode.commands.executeCommand(`workbench.action.${command}`, { query: "tandem.adapterPath" });
    } else if (chosen === installLabel) {
      await vscode.commands.executeCommand("markdown.showPreview", this.findReadme());
    } else if (chosen === logLabel) {
      await vscode.commands.executeCommand("tandem.showLog");
    }
  }

  /** vsce renames the file to lower case in packages. */
  private findReadme(): vscode.Uri {
    const file = ["README.md", "readme.md"].map((name) => path.join(this.context.extensionPath, name)).find(isFile);
    return vscode.Uri.file(file ?? path.join(this.context.extensionPath, "README.md"));
  }

  private getSearchEnvironment(): SearchEnvironment {
    return {
      extensionFolder: this.context.extensionPath, pathVariable: process.env["PATH"] ?? "", home: os.homedir(),
      workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    };
  }
}

function getSetting(name: string): string {
  return vscode.workspace.getConfiguration("tandem").get<string>(name, "");
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/** Returns the version of glibc; undefined with another C library, such as musl. */
function getGlibcVersion(): string | undefined {
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}
