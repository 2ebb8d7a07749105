/** Which configurations fit what a workspace holds. Pure: file names in, configurations out. */
import * as path from "node:path";
import { isDotnetProject, isSolution, programsUsing, projectsOfSolution, readProject, type DotnetProject } from "./dotnet-projects";
import { LANGUAGES, isProject, languageOf, projectOf } from "./languages";
import { t } from "./l10n";

/** One entry of launch.json. */
export interface Configuration {
  type: "tandem";
  request: "launch" | "attach";
  name: string;
  [attribute: string]: unknown;
}

/** Prefix of Tandem's configuration names. */
const PREFIX = "Tandem: ";
/** A list of more projects than this is too long to read. */
const MAX_PROJECTS = 8;

/** Initial configurations of a new launch.json; `files` are absolute, inside `folder`. */
export function initialConfigurations(folder: string, files: readonly string[]): Configuration[] {
  const found: Configuration[] = [];
  const seen = new Set<string>();
  const languages = new Set<string>();
  /** Languages of a project in the folder itself: its files are not programs of their own. */
  const owned = new Set<string>();
  for (const file of [...files].sort((one, other) => depth(one) - depth(other) || one.localeCompare(other))) {
    const place = path.dirname(file);
    const isNew = !seen.has(place) && !isTest(file) && found.length < MAX_PROJECTS;
    const owners = LANGUAGES.filter((candidate) => isProject(candidate, file));
    if (path.dirname(file) === folder) {
      owners.forEach((owner) => owned.add(owner.id));
    }
    if (isNew && owners.length > 0) {
      seen.add(place);
      found.push(launch(`${PREFIX}${projectName(file, folder)}`, inWorkspace(place, folder)));
    }
    const language = languageOf(file);
    if (language !== undefined) {
      languages.add(language.id);
    }
  }
  for (const language of LANGUAGES.filter((candidate) => languages.has(candidate.id) && !owned.has(candidate.id))) {
    found.push(launch(PREFIX + t("this {0} file", language.name), "${file}"));
  }
  if (found.length === 0) {
    found.push(launch(PREFIX + t("launch"), "${workspaceFolder}"));
  }
  return found;
}

/** The workspace as F5 sees it. */
export interface Workspace {
  /** Its folder. */
  readonly folder: string | undefined;
  /** Files that tell what it holds, as absolute paths. */
  readonly files: readonly string[];
  /** The names in a folder; none when it cannot be read. */
  list(folder: string): readonly string[];
  /** A file's text; empty when it cannot be read. */
  read(file: string): string;
}

/** A C# file that says it is a program by itself, for .NET SDK 10. */
export const IS_PROGRAM = /^(?:#!|#:\w)/m;

/** What F5 runs without a launch.json: the project of the open file (for a library, the programs that use it), else the file, else
 * the only project there is. Several are for the person to choose from. A name is in the tab of the program's terminal, where there
 * is room for little. */
export function forOpenFile(file: string | undefined, languageId: string | undefined, workspace: Workspace): Configuration[] {
  const { folder, files } = workspace;
  if (file !== undefined && isSolution(file)) {
    return programsOfSolution(file, workspace.read).map((program) => launch(path.basename(program, path.extname(program)), program));
  }
  const language = LANGUAGES.find((candidate) => candidate.id === languageId);
  const alone = file !== undefined && language?.id === "csharp" ? [launch(path.basename(file), file)] : [];
  if (file !== undefined && alone.length > 0 && IS_PROGRAM.test(workspace.read(file))) {
    return alone;
  }
  if (file !== undefined && language !== undefined) {
    const project = projectOf(language, file, folder ?? path.dirname(file), (place) => workspace.list(place));
    if (project !== undefined) {
      return programsOfFolder(project, workspace);
    }
    if (language.runsFiles) {
      return [launch(path.basename(file), file)];
    }
  }
  if (folder !== undefined) {
    const projects = initialConfigurations(folder, files).filter((one) => !String(one["program"]).includes("${file}"));
    const [first, second] = projects;
    if (first !== undefined && second === undefined && files.some((one) => LANGUAGES.some((each) => isProject(each, one)))) {
      return [launch(first.name.replace(PREFIX, ""), String(first["program"]).replace("${workspaceFolder}", folder))];
    }
  }
  return alone;
}

/** The programs that a solution lists; what it lists, where no project says of itself that it makes a program. */
export function programsOfSolution(file: string, read: (file: string) => string): string[] {
  const projects = projectsOfSolution(file, read(file)).map((project) => readProject(project, read(project)));
  const programs = projects.filter((project) => project.makesProgram);
  return (programs.length > 0 ? programs : projects).map((project) => project.file);
}

/** A project's folder, or the programs that use the library which it makes. */
function programsOfFolder(project: string, workspace: Workspace): Configuration[] {
  const own = workspace.list(project).filter(isDotnetProject);
  const file = own.length === 1 ? path.join(project, own[0] ?? "") : undefined;
  const known: DotnetProject[] = workspace.files.filter(isDotnetProject).map((one) => readProject(one, workspace.read(one)));
  const users = file === undefined ? [] : programsUsing(file, known);
  if (file === undefined || users.length === 0 || users[0] === file) {
    return [launch(path.basename(project), project)];
  }
  return users.map((user) => launch(path.basename(user, path.extname(user)), user));
}

function launch(name: string, program: string): Configuration {
  return { type: "tandem", request: "launch", name, program };
}

function depth(file: string): number {
  return file.split(path.sep).length;
}

function isTest(file: string): boolean {
  return /(^|[./\\_-])tests?([./\\_-]|$)/i.test(path.basename(file, path.extname(file)));
}

function projectName(file: string, folder: string): string {
  const ending = path.extname(file);
  if (ending.endsWith("proj")) {
    return path.basename(file, ending);
  }
  return path.basename(path.dirname(file) === folder ? folder : path.dirname(file));
}

function inWorkspace(place: string, folder: string): string {
  const inside = path.relative(folder, place);
  return inside === "" ? "${workspaceFolder}" : `\${workspaceFolder}/${inside.split(path.sep).join("/")}`;
}
