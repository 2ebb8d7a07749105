/** The languages F5 works in, and how a program of each is found. The one table; knows nothing of VS Code. */
import * as path from "node:path";

export interface Language {
  /** As VS Code calls it. */
  readonly id: string;
  /** As people call it. */
  readonly name: string;
  /** Names of files that make a folder a project of it: `*.csproj` by ending, others by name. */
  readonly projects: readonly string[];
  /** Whether a single file can be run. */
  readonly runsFiles: boolean;
}

export const LANGUAGES: readonly Language[] = [
  { id: "csharp", name: "C#", projects: ["*.csproj"], runsFiles: false },
  { id: "fsharp", name: "F#", projects: ["*.fsproj"], runsFiles: false },
  { id: "vb", name: "Visual Basic", projects: ["*.vbproj"], runsFiles: false },
  { id: "python", name: "Python", projects: [], runsFiles: true },
  { id: "rust", name: "Rust", projects: ["Cargo.toml"], runsFiles: false },
  { id: "go", name: "Go", projects: ["go.mod"], runsFiles: true },
  { id: "c", name: "C", projects: ["Makefile", "CMakeLists.txt"], runsFiles: true },
  { id: "cpp", name: "C++", projects: ["Makefile", "CMakeLists.txt"], runsFiles: true },
  { id: "javascript", name: "JavaScript", projects: [], runsFiles: true },
  { id: "typescript", name: "TypeScript", projects: [], runsFiles: true },
  { id: "ruby", name: "Ruby", projects: [], runsFiles: true },
  { id: "shellscript", name: "Shell", projects: [], runsFiles: true },
];

/** Files that tell what a workspace holds, as globs. Braces in braces find nothing: VS Code's search does not take them. */
export const TELLING_FILES = ["**/{*.csproj,*.fsproj,*.vbproj,Cargo.toml,go.mod,Makefile,CMakeLists.txt}", "*.{py,go,c,cpp,cc,js,ts,rb,sh}"];
/** Where nobody keeps his own programs. */
export const SKIPPED_FOLDERS = "**/{node_modules,bin,obj,target,.git,.venv,venv,dist,vendor}/**";

/** Whether a file's name makes its folder a project of this language. */
export function isProject(language: Language, file: string): boolean {
  const name = path.basename(file);
  return language.projects.some((project) => (project.startsWith("*") ? name.endsWith(project.slice(1)) : name === project));
}

/** The folder nearest above a file, up to `top`, that holds a project; `list` gives a folder's file names. */
export function projectOf(
  language: Language,
  file: string,
  top: string,
  list: (folder: string) => readonly string[],
): string | undefined {
  let folder = path.dirname(file);
  for (;;) {
    const found = list(folder).find((name) => isProject(language, name));
    if (found !== undefined) {
      return folder;
    }
    const above = path.dirname(folder);
    if (folder === top || above === folder || !folder.startsWith(top)) {
      return undefined;
    }
    folder = above;
  }
}
