/** The Problems view's entries of a build that a launch ran and that failed. It starts no build. */
import * as vscode from "vscode";

/** One entry of `body.error.data.diagnostics`; lines and columns count from 1. */
interface Finding {
  readonly file?: unknown;
  readonly line?: unknown;
  readonly column?: unknown;
  readonly severity?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

interface Answer {
  readonly type?: string;
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: { readonly error?: { readonly data?: { readonly diagnostics?: unknown } } };
}

/** A project with more errors than this has one cause. */
const MAX_FINDINGS = 1000;
/** VS Code brings the debug console of a launch that failed to the front, right after its answer, ms. */
const AFTER_THE_CONSOLE = 500;

export class BuildProblems implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly collection = vscode.languages.createDiagnosticCollection("tandem");

  public createDebugAdapterTracker(): vscode.DebugAdapterTracker {
    return {
      onWillReceiveMessage: (message: Answer) => {
        if (message.command === "launch" || message.command === "restart") {
          this.collection.clear();
        }
      },
      onDidSendMessage: (message: Answer) => {
        // An expression that does not compile has diagnostics too; they are shown where it was evaluated.
        const isBuild = message.type === "response" && (message.command === "launch" || message.command === "restart");
        const findings = message.body?.error?.data?.diagnostics;
        if (isBuild && message.success === false && Array.isArray(findings) && findings.length > 0) {
          this.show(findings as readonly Finding[]);
        }
      },
    };
  }

  public dispose(): void {
    this.collection.dispose();
  }

  private show(findings: readonly Finding[]): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const finding of findings.slice(0, MAX_FINDINGS)) {
      if (typeof finding.file === "string" && typeof finding.message === "string") {
        const found = byFile.get(finding.file) ?? [];
        found.push(diagnostic(finding, finding.message));
        byFile.set(finding.file, found);
      }
    }
    byFile.forEach((found, file) => this.collection.set(vscode.Uri.file(file), found));
    setTimeout(() => void vscode.commands.executeCommand("workbench.actions.view.problems"), AFTER_THE_CONSOLE);
  }
}

function diagnostic(finding: Finding, message: string): vscode.Diagnostic {
  const start = new vscode.Position(fromOne(finding.line), fromOne(finding.column));
  const severity = finding.severity === "warning" ? vscode.DiagnosticSeverity.Warning : vscode.DiagnosticSeverity.Error;
  const made = new vscode.Diagnostic(new vscode.Range(start, start), message, severity);
  made.source = "Tandem";
  if (typeof finding.code === "string") {
    made.code = finding.code;
  }
  return made;
}

function fromOne(value: unknown): number {
  return typeof value === "number" && value > 0 ? value - 1 : 0;
}
