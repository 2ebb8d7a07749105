/** `tandem-dap` and `tandem-mcp` as VS Code finds them, and the messages when they are missing or too old. */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { findProgram, misfit, unsupportedPlatform, type Found, type Surroundings } from "./binary";
import { log } from "./log";
import { t } from "./l10n";

export class Programs {
  /** Programs whose version was looked at, by path and time of change. */
  private readonly checked = new Map<string, string | undefined>();

  public constructor(private readonly context: vscode.ExtensionContext) {}

  public adapter(): Found {
    return findProgram("tandem-dap", setting("adapterPath"), this.surroundings(), isFile);
  }

  public bridge(): Found {
    const found = findProgram("tandem-mcp", setting("bridgePath"), this.surroundings(), isFile, this.adapter().file);
    return found;
  }

  /** The adapter, when it exists and its version fits; otherwise shows a message with a remedy and returns
   * undefined. */
  public async usableAdapter(): Promise<string | undefined> {
    const { file, looked } = this.adapter();
    if (file === undefined) {
      const platform = unsupportedPlatform(process.platform, process.arch, cLibrary());
      void this.complain(looked.length > 1 && platform !== undefined
        ? t("Tandem does not run on {0} yet, only on Linux with glibc, x86-64 or ARM64: open the folder there, in WSL, in a container or over SSH.", platform)
        : looked.length === 1
        ? t("Tandem cannot debug: there is no program at {0}, the path in the setting tandem.adapterPath.", looked[0] ?? "")
        : t("Tandem cannot debug: tandem-dap is neither in the extension nor in PATH."));
      log().error(`tandem-dap was not found; looked for:\n  ${looked.join("\n  ")}`);
      return undefined;
    }
    const reason = await this.reasonAgainst(file);
    if (reason !== undefined) {
      void this.complain(t("Tandem cannot use {0}: {1}.", file, reason));
      return undefined;
    }
    return file;
  }

  private async reasonAgainst(file: string): Promise<string | undefined> {
    const key = `${file}@${statSync(file).mtimeMs}`;
    if (!this.checked.has(key)) {
      let reason: string | undefined;
      try {
        const { stdout } = await promisify(execFile)(file, ["--version"], { timeout: 10_000 });
        const version = (this.context.extension.packageJSON as { version: string }).version;
        reason = misfit(stdout, version);
        log().info(`${stdout.trim()} at ${file}${reason === undefined ? "" : `: ${reason}`}`);
      } catch (error) {
        reason = t("it cannot be started ({0})", error instanceof Error ? error.message : String(error));
      }
      this.checked.set(key, reason);
    }
    return this.checked.get(key);
  }

  private async complain(text: string): Promise<void> {
    const settings = t("Open Settings");
    const install = t("How to Install");
    const showLog = t("Show Log");
    const chosen = await vscode.window.showErrorMessage(text, settings, install, showLog);
    if (chosen === settings) {
      // A path on another machine is a setting of that machine: the user's own page does not have it.
      const page = vscode.env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
      await vscode.commands.executeCommand(`workbench.action.${page}`, { query: "tandem.adapterPath" });
    } else if (chosen === install) {
      await vscode.commands.executeCommand("markdown.showPreview", this.readme());
    } else if (chosen === showLog) {
      await vscode.commands.executeCommand("tandem.showLog");
    }
  }

  /** Packages have its name in small letters. */
  private readme(): vscode.Uri {
    const file = ["README.md", "readme.md"].map((name) => path.join(this.context.extensionPath, name)).find(isFile);
    return vscode.Uri.file(file ?? path.join(this.context.extensionPath, "README.md"));
  }

  private surroundings(): Surroundings {
    return {
      extensionFolder: this.context.extensionPath, pathVariable: process.env["PATH"] ?? "", home: os.homedir(),
      workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    };
  }
}

function setting(name: string): string {
  return vscode.workspace.getConfiguration("tandem").get<string>(name, "");
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/** The version of glibc that runs this; undefined with another C library, such as musl. */
function cLibrary(): string | undefined {
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime;
}
