/** CodeLens *Run Test* and *Debug Test* above each test, for languages whose setting is `codeLens`. */
import * as vscode from "vscode";
import type { TestExplorer } from "./test-explorer";
import { TEST_LANGUAGES } from "./test-languages";
import { t } from "./l10n";

export class TestCodeLensProvider implements vscode.CodeLensProvider, vscode.Disposable {
  public readonly onDidChangeCodeLenses: vscode.Event<void>;
  private readonly subscriptions: vscode.Disposable[];

  public constructor(private readonly explorer: TestExplorer) {
    this.onDidChangeCodeLenses = explorer.onDidList;
    const files = TEST_LANGUAGES.flatMap((one) => one.languages).map((language) => ({ language, scheme: "file" }));
    const command = (name: string, debugs: boolean) =>
      vscode.commands.registerCommand(`tandem.${name}`, (item: vscode.TestItem | undefined) => {
        if (item !== undefined) {
          explorer.startTests([item], debugs);
        }
      });
    this.subscriptions = [vscode.languages.registerCodeLensProvider(files, this), command("runTest", false), command("debugTest", true)];
  }

  public async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const language = TEST_LANGUAGES.find((one) => one.languages.includes(document.languageId));
    if (language === undefined || this.explorer.getPresentation(language) !== "codeLens") {
      return [];
    }
    const tests = await this.explorer.listTests(document);
    return tests.flatMap(({ item, framework }) => {
      const range = item.range;
      const suffix = framework === undefined ? "" : ` (${framework})`;
      const lens = (title: string, command: string) =>
        new vscode.CodeLens(range ?? new vscode.Range(0, 0, 0, 0), { title: `${title}${suffix}`, command, arguments: [item] });
      return range === undefined ? [] : [lens(t("Run Test"), "tandem.runTest"), lens(t("Debug Test"), "tandem.debugTest")];
    });
  }

  public dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }
}
