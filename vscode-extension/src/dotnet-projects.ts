/** .NET project and solution files: output types and references. Parses text only; ignores MSBuild conditions and Directory.Build.props. */
import * as path from "node:path";

export interface DotnetProject {
  /** Absolute path of the project file. */
  readonly file: string;
  /** The project file says that the project is a program. An imported file may say so instead. */
  readonly makesProgram: boolean;
  /** Absolute paths of the projects that it refers to. */
  readonly references: readonly string[];
}

/** SDKs whose projects are programs by default. */
const PROGRAM_SDKS = /<Project\b[^>]*\bSdk\s*=\s*["'][^"']*(Microsoft\.NET\.Sdk\.(Web|Worker|BlazorWebAssembly)|Aspire\.AppHost\.Sdk)\b/i;

export function readProject(file: string, text: string): DotnetProject {
  const output = /<OutputType>\s*(\w+)\s*<\/OutputType>/i.exec(text)?.[1]?.toLowerCase();
  const makesProgram = output === undefined ? PROGRAM_SDKS.test(text) : output === "exe" || output === "winexe";
  const references = [...text.matchAll(/<ProjectReference\b[^>]*\bInclude\s*=\s*["']([^"']+)["']/gi)];
  return { file, makesProgram, references: references.map((found) => resolveReference(file, found[1] ?? "")) };
}

/** Lists the projects of a solution in either format. */
export function parseSolution(file: string, text: string): string[] {
  const listed = file.endsWith(".slnx")
    ? [...text.matchAll(/<Project\b[^>]*\bPath\s*=\s*["']([^"']+)["']/gi)].map((found) => found[1] ?? "")
    : [...text.matchAll(/^Project\("[^"]*"\)\s*=\s*"[^"]*",\s*"([^"]+)"/gm)].map((found) => found[1] ?? "");
  return listed.filter(isDotnetProjectFile).map((name) => resolveReference(file, name));
}

/** Finds the programs that refer to a project, directly or indirectly; the project itself if it is a program. */
export function findProgramsUsing(file: string, projects: readonly DotnetProject[]): string[] {
  const own = projects.find((project) => project.file === file);
  if (own?.makesProgram === true) {
    return [file];
  }
  const users = new Set([file]);
  for (let before = 0; before !== users.size;) {
    before = users.size;
    for (const project of projects) {
      if (project.references.some((reference) => users.has(reference))) {
        users.add(project.file);
      }
    }
  }
  return projects.filter((project) => project.makesProgram && users.has(project.file)).map((project) => project.file).sort();
}

export function isDotnetProjectFile(file: string): boolean {
  return /\.(cs|fs|vb)proj$/i.test(file);
}

export function isSolutionFile(file: string): boolean {
  return file.endsWith(".sln") || file.endsWith(".slnx");
}

/** Resolves a path of a project file: MSBuild accepts both slashes on every system. */
function resolveReference(file: string, name: string): string {
  return path.resolve(path.dirname(file), name.replaceAll("\\", "/"));
}
