/** Shows the diagnostics of a failed build in the Problems view. The adapter runs the build as part of a launch. */
import * as vscode from "vscode";

/** An element of `body.error.data.diagnostics`; lines and columns count from 1. */
interface BuildDiagnostic {
  readonly file?: unknown;
  readonly line?: unknown;
  readonly column?: unknown;
  readonly severity?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

interface ProtocolMessage {
  readonly type?: string;
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: { readonly error?: { readonly data?: { readonly diagnostics?: unknown } } };
}

/** Maximum number of diagnostics in the Problems view. */
const MAX_DIAGNOSTICS = 1000;
/** Delay before the Problems view is shown: VS Code shows the debug console right after the response of a failed launch. */
const SHOW_DELAY_MS = 500;

export class BuildProblems implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly collection = vscode.languages.createDiagnosticCollection("tandem");

  public createDebugAdapterTracker(): vscode.DebugAdapterTracker {
    return {
      onWillReceiveMessage: (message: ProtocolMessage) => {
        if (message.command === "launch" || message.command === "restart") {
          this.collection.clear();
        }
      },
      onDidSendMessage: (message: ProtocolMessage) => {
        // Responses to `evaluate` may contain diagnostics, too. VS Code shows these where the user entered the expression.
        const isBuild = message.type === "response" && (message.command === "launch" || message.command === "restart");
        const diagnostics = message.body?.error?.data?.diagnostics;
        if (isBuild && message.success === false && Array.isArray(diagnostics) && diagnostics.length > 0) {
          this.show(diagnostics as readonly BuildDiagnostic[]);
        }
      },
    };
  }

  public dispose(): void {
    this.collection.dispose();
  }

  private show(reported: readonly BuildDiagnostic[]): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const one of reported.slice(0, MAX_DIAGNOSTICS)) {
      if (typeof one.file === "string" && typeof one.message === "string") {
        const found = byFile.get(one.file) ?? [];
        found.push(toDiagnostic(one, one.message));
        byFile.set(one.file, found);
      }
    }
    byFile.forEach((found, file) => this.collection.set(vscode.Uri.file(file), found));
    setTimeout(() => void vscode.commands.executeCommand("workbench.actions.view.problems"), SHOW_DELAY_MS);
  }
}

function toDiagnostic(reported: BuildDiagnostic, message: string): vscode.Diagnostic {
  const start = new vscode.Position(toZeroBased(reported.line), toZeroBased(reported.column));
  const severity = reported.severity === "warning" ? vscode.DiagnosticSeverity.Warning : vscode.DiagnosticSeverity.Error;
  const diagnostic = new vscode.Diagnostic(new vscode.Range(start, start), message, severity);
  diagnostic.source = "Tandem";
  if (typeof reported.code === "string") {
    diagnostic.code = reported.code;
  }
  return diagnostic;
}

function toZeroBased(value: unknown): number {
  return typeof value === "number" && value > 0 ? value - 1 : 0;
}
