/** Languages that F5 supports, and their project files. Independent of VS Code. A Rust test generates the table from the adapter's engines
 * (adapter/src/engines/tables.rs). */
import * as path from "node:path";

export interface Language {
  /** Language id of VS Code. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Names of project files; `*.csproj` matches by extension. */
  readonly projects: readonly string[];
  /** Extensions of files that are programs in a folder without a project, without the dot. */
  readonly endings: readonly string[];
  /** Whether Tandem can run a single file. */
  readonly runsFiles: boolean;
}

export const LANGUAGES: readonly Language[] = [
  { id: "csharp", name: "C#", projects: ["*.csproj"], endings: [], runsFiles: false },
  { id: "fsharp", name: "F#", projects: ["*.fsproj"], endings: [], runsFiles: false },
  { id: "vb", name: "Visual Basic", projects: ["*.vbproj"], endings: [], runsFiles: false },
  { id: "python", name: "Python", projects: [], endings: ["py"], runsFiles: true },
  { id: "rust", name: "Rust", projects: ["Cargo.toml"], endings: [], runsFiles: false },
  { id: "c", name: "C", projects: ["Makefile", "CMakeLists.txt"], endings: ["c"], runsFiles: true },
  { id: "cpp", name: "C++", projects: ["Makefile", "CMakeLists.txt"], endings: ["cpp", "cc"], runsFiles: true },
  { id: "go", name: "Go", projects: ["go.mod"], endings: ["go"], runsFiles: true },
  { id: "javascript", name: "JavaScript", projects: [], endings: ["js"], runsFiles: true },
  { id: "typescript", name: "TypeScript", projects: [], endings: ["ts"], runsFiles: true },
  { id: "ruby", name: "Ruby", projects: [], endings: ["rb"], runsFiles: true },
  { id: "perl", name: "Perl", projects: [], endings: ["pl"], runsFiles: true },
  { id: "shellscript", name: "Shell", projects: [], endings: ["sh"], runsFiles: true },
];

/** Globs of project files and programs. VS Code's search does not support nested braces. */
export const PROJECT_FILE_GLOBS = [
  `**/{${[...new Set(LANGUAGES.flatMap((language) => language.projects))].join(",")}}`,
  `*.{${LANGUAGES.flatMap((language) => language.endings).join(",")}}`,
];
/** Glob of folders that do not contain the user's own programs. */
export const SKIPPED_FOLDERS = "**/{node_modules,bin,obj,target,.git,.venv,venv,dist,vendor}/**";

/** Finds the language of a program file by its extension. */
export function findLanguage(file: string): Language | undefined {
  const ending = path.extname(file).slice(1);
  return LANGUAGES.find((language) => language.endings.includes(ending));
}

/** Whether a file is a project file of this language. */
export function isProjectFile(language: Language, file: string): boolean {
  const name = path.basename(file);
  return language.projects.some((project) => (project.startsWith("*") ? name.endsWith(project.slice(1)) : name === project));
}

/** Finds the nearest folder above a file, up to `top`, that contains a project file; `list` returns the names in a folder. */
export function findProjectFolder(
  language: Language,
  file: string,
  top: string,
  list: (folder: string) => readonly string[],
): string | undefined {
  let folder = path.dirname(file);
  for (;;) {
    const found = list(folder).find((name) => isProjectFile(language, name));
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
