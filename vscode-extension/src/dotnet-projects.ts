/** .NET project and solution files: which projects make programs, and which refer to which. Pure: reads their text, and knows
 * neither MSBuild's conditions nor what a Directory.Build.props adds. */
import * as path from "node:path";

export interface DotnetProject {
  /** Absolute path of the project file. */
  readonly file: string;
  /** The project says that it makes a program; another file may say so for it. */
  readonly makesProgram: boolean;
  /** Absolute paths of the projects that it refers to. */
  readonly references: readonly string[];
}

/** SDKs whose projects are programs unless they say otherwise. */
const PROGRAM_SDKS = /<Project\b[^>]*\bSdk\s*=\s*["'][^"']*(Microsoft\.NET\.Sdk\.(Web|Worker|BlazorWebAssembly)|Aspire\.AppHost\.Sdk)\b/i;

export function readProject(file: string, text: string): DotnetProject {
  const output = /<OutputType>\s*(\w+)\s*<\/OutputType>/i.exec(text)?.[1]?.toLowerCase();
  const makesProgram = output === undefined ? PROGRAM_SDKS.test(text) : output === "exe" || output === "winexe";
  const references = [...text.matchAll(/<ProjectReference\b[^>]*\bInclude\s*=\s*["']([^"']+)["']/gi)];
  return { file, makesProgram, references: references.map((found) => beside(file, found[1] ?? "")) };
}

/** The projects that a solution lists, in either of its formats. */
export function projectsOfSolution(file: string, text: string): string[] {
  const listed = file.endsWith(".slnx")
    ? [...text.matchAll(/<Project\b[^>]*\bPath\s*=\s*["']([^"']+)["']/gi)].map((found) => found[1] ?? "")
    : [...text.matchAll(/^Project\("[^"]*"\)\s*=\s*"[^"]*",\s*"([^"]+)"/gm)].map((found) => found[1] ?? "");
  return listed.filter(isDotnetProject).map((name) => beside(file, name));
}

/** The programs that use this project, directly or through other projects; itself when it makes one. */
export function programsUsing(file: string, projects: readonly DotnetProject[]): string[] {
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

export function isDotnetProject(file: string): boolean {
  return /\.(cs|fs|vb)proj$/i.test(file);
}

export function isSolution(file: string): boolean {
  return file.endsWith(".sln") || file.endsWith(".slnx");
}

/** MSBuild takes both slashes on every system. */
function beside(file: string, name: string): string {
  return path.resolve(path.dirname(file), name.replaceAll("\\", "/"));
}
