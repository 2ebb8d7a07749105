/** Launch configurations for the projects and files of a workspace. Independent of VS Code. */
import * as path from "node:path";
import { isDotnetProjectFile, isSolutionFile, findProgramsUsing, parseSolution, readProject, type DotnetProject } from "./dotnet-projects";
import { LANGUAGES, isProjectFile, findLanguage, findProjectFolder } from "./languages";
import { t } from "./l10n";

/** One entry of launch.json. */
export interface Configuration {
  type: "tandem";
  request: "launch" | "attach";
  name: string;
  [attribute: string]: unknown;
}

/** Prefix of Tandem's configuration names. */
const NAME_PREFIX = "Tandem: ";
/** Maximum number of projects in a new launch.json. */
const MAX_PROJECTS = 8;

/** Creates the configurations of a new launch.json; `files` are absolute paths in `folder`. */
export function createInitialConfigurations(folder: string, files: readonly string[]): Configuration[] {
  const found: Configuration[] = [];
  const seen = new Set<string>();
  const languages = new Set<string>();
  /** Languages of the projects in the folder itself: their files are not separate programs. */
  const projectLanguages = new Set<string>();
  for (const file of [...files].sort((one, other) => countPathSegments(one) - countPathSegments(other) || one.localeCompare(other))) {
    const projectFolder = path.dirname(file);
    const isNew = !seen.has(projectFolder) && !hasTestName(file) && found.length < MAX_PROJECTS;
    const owners = LANGUAGES.filter((candidate) => isProjectFile(candidate, file));
    if (path.dirname(file) === folder) {
      owners.forEach((owner) => projectLanguages.add(owner.id));
    }
    if (isNew && owners.length > 0) {
      seen.add(projectFolder);
      found.push(createLaunchConfiguration(`${NAME_PREFIX}${getProjectName(file, folder)}`, toWorkspacePath(projectFolder, folder)));
    }
    const language = findLanguage(file);
    if (language !== undefined) {
      languages.add(language.id);
    }
  }
  for (const language of LANGUAGES.filter((candidate) => languages.has(candidate.id) && !projectLanguages.has(candidate.id))) {
    found.push(createLaunchConfiguration(NAME_PREFIX + t("this {0} file", language.name), "${file}"));
  }
  if (found.length === 0) {
    found.push(createLaunchConfiguration(NAME_PREFIX + t("launch"), "${workspaceFolder}"));
  }
  return found;
}

/** The workspace folder of a launch without launch.json. */
export interface Workspace {
  /** Path of the folder. */
  readonly folder: string | undefined;
  /** Absolute paths of its project files. */
  readonly files: readonly string[];
  /** Lists the names in a folder; none if it cannot be read. */
  list(folder: string): readonly string[];
  /** Reads a file; empty if it cannot be read. */
  read(file: string): string;
}

/** Directives of a file-based C# program (.NET SDK 10). */
export const FILE_BASED_PROGRAM = /^(?:#!|#:\w)/m;

/** Creates the configurations for F5 without a launch.json: the project of the active file (for a library, the programs that use it),
 * otherwise the file, otherwise the only project. The user chooses from several. Names are short because terminal tabs show them. */
export function createConfigurationsForFile(file: string | undefined, languageId: string | undefined, workspace: Workspace): Configuration[] {
  const { folder, files } = workspace;
  if (file !== undefined && isSolutionFile(file)) {
    return listSolutionPrograms(file, workspace.read).map((program) => createLaunchConfiguration(path.basename(program, path.extname(program)), program));
  }
  const language = LANGUAGES.find((candidate) => candidate.id === languageId);
  const fileConfigurations = file !== undefined && language?.id === "csharp" ? [createLaunchConfiguration(path.basename(file), file)] : [];
  if (file !== undefined && fileConfigurations.length > 0 && FILE_BASED_PROGRAM.test(workspace.read(file))) {
    return fileConfigurations;
  }
  if (file !== undefined && language !== undefined) {
    const project = findProjectFolder(language, file, folder ?? path.dirname(file), (folder) => workspace.list(folder));
    if (project !== undefined) {
      return createProjectConfigurations(project, workspace);
    }
    if (language.runsFiles) {
      return [createLaunchConfiguration(path.basename(file), file)];
    }
  }
  if (folder !== undefined) {
    const projects = createInitialConfigurations(folder, files).filter((one) => !String(one["program"]).includes("${file}"));
    const [first, second] = projects;
    if (first !== undefined && second === undefined && files.some((one) => LANGUAGES.some((each) => isProjectFile(each, one)))) {
      return [createLaunchConfiguration(first.name.replace(NAME_PREFIX, ""), String(first["program"]).replace("${workspaceFolder}", folder))];
    }
  }
  return fileConfigurations;
}

/** Lists the programs of a solution, or all of its projects if none of them says that it is a program. */
export function listSolutionPrograms(file: string, read: (file: string) => string): string[] {
  const projects = parseSolution(file, read(file)).map((project) => readProject(project, read(project)));
  const programs = projects.filter((project) => project.makesProgram);
  return (programs.length > 0 ? programs : projects).map((project) => project.file);
}

/** Creates a configuration for a project, or for the programs that use it if it is a library. */
function createProjectConfigurations(project: string, workspace: Workspace): Configuration[] {
  const projectFiles = workspace.list(project).filter(isDotnetProjectFile);
  const file = projectFiles.length === 1 ? path.join(project, projectFiles[0] ?? "") : undefined;
  const known: DotnetProject[] = workspace.files.filter(isDotnetProjectFile).map((one) => readProject(one, workspace.read(one)));
  const users = file === undefined ? [] : findProgramsUsing(file, known);
  if (file === undefined || users.length === 0 || users[0] === file) {
    return [createLaunchConfiguration(path.basename(project), project)];
  }
  return users.map((user) => createLaunchConfiguration(path.basename(user, path.extname(user)), user));
}

function createLaunchConfiguration(name: string, program: string): Configuration {
  return { type: "tandem", request: "launch", name, program };
}

function countPathSegments(file: string): number {
  return file.split(path.sep).length;
}

function hasTestName(file: string): boolean {
  return /(^|[./\\_-])tests?([./\\_-]|$)/i.test(path.basename(file, path.extname(file)));
}

function getProjectName(file: string, folder: string): string {
  const ending = path.extname(file);
  if (ending.endsWith("proj")) {
    return path.basename(file, ending);
  }
  return path.basename(path.dirname(file) === folder ? folder : path.dirname(file));
}

function toWorkspacePath(target: string, folder: string): string {
  const inside = path.relative(folder, target);
  return inside === "" ? "${workspaceFolder}" : `\${workspaceFolder}/${inside.split(path.sep).join("/")}`;
}
