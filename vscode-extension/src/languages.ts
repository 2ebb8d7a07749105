/** The languages F5 works in, and how a program of each is found. Knows nothing of VS Code. The table is made from what the adapter
 * knows of each engine (adapter/src/engines/tables.rs). */
import * as path from "node:path";

export interface Language {
  /** As VS Code calls it. */
  readonly id: string;
  /** As people call it. */
  readonly name: string;
  /** Names of files that make a folder a project of it: `*.csproj` by ending, others by name. */
  readonly projects: readonly string[];
  /** Endings by which a folder without a project is known to have programs of it, without the dot. */
  readonly endings: readonly string[];
  /** Whether a single file can be run. */
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

/** Files that tell what a workspace holds, as globs. Braces in braces find nothing: VS Code's search does not take them. */
export const TELLING_FILES = [
  `**/{${[...new Set(LANGUAGES.flatMap((language) => language.projects))].join(",")}}`,
  `*.{${LANGUAGES.flatMap((language) => language.endings).join(",")}}`,
];
/** Folders without the user's own programs. */
export const SKIPPED_FOLDERS = "**/{node_modules,bin,obj,target,.git,.venv,venv,dist,vendor}/**";

/** The language of a file that can be run by itself, by its name. */
export function languageOf(file: string): Language | undefined {
  const ending = path.extname(file).slice(1);
  return LANGUAGES.find((language) => language.endings.includes(ending));
}

/** Whether a file's name makes its folder a project of this language. */
export function isProject(language: Language, file: string): boolean {
  const name = path.basename(file);
  return language.projects.some((project) => (project.startsWith("*") ? name.endsWith(project.slice(1)) : name === project));
}

/** The nearest folder above a file, up to `top`, that holds a project; `list` returns a folder's file names.
 * */
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
