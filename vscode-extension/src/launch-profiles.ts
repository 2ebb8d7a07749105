/** The part of an ASP.NET Core launch profile that the editor applies: opens a browser when the server listens. The adapter applies the rest.
 * Independent of VS Code. */
import * as path from "node:path";
import { FILE_BASED_PROGRAM, listSolutionPrograms } from "./detect";
import { isDotnetProjectFile, isSolutionFile } from "./dotnet-projects";
import { asObject, asString, type JsonObject } from "./json";
import { LANGUAGES, findProjectFolder } from "./languages";

/** Launch attribute `serverReadyAction` of VS Code. */
export interface ServerReadyAction {
  readonly action: "openExternally";
  /** Regular expression; its group matches the server's address, or a part of it. */
  readonly pattern: string;
  /** Address to open; `%s` is replaced by that group. */
  readonly uriFormat?: string;
}

/** Access to files; returns empty values for missing ones. */
export interface FileReader {
  list(folder: string): readonly string[];
  read(file: string): string;
}

const LAUNCH_SETTINGS_PATH = "Properties/launchSettings.json";
/** Message of ASP.NET Core when it listens. */
const LISTENING_PATTERN = String.raw`\bNow listening on:\s+`;
/** URLs whose host means all addresses of the machine. Browsers cannot open them. */
const ANY_ADDRESS_URL = /^(https?):\/\/(?:\*|\+|0\.0\.0\.0|\[::\])(?::|\/|$)/i;

/** Creates the action for a web project; undefined if its profile opens no browser. */
export function createServerReadyAction(launch: JsonObject, files: FileReader): ServerReadyAction | undefined {
  const profile = findProfile(launch, files);
  if (profile?.["launchBrowser"] !== true) {
    return undefined;
  }
  const launchUrl = asString(profile["launchUrl"]).trim();
  if (/^https?:\/\//i.test(launchUrl)) {
    return { action: "openExternally", pattern: `${LISTENING_PATTERN}https?://\\S+`, uriFormat: launchUrl };
  }
  const variables = { ASPNETCORE_URLS: profile["applicationUrl"], ...asObject(profile["environmentVariables"]), ...asObject(launch["env"]) };
  const scheme = ANY_ADDRESS_URL.exec(asString(variables["ASPNETCORE_URLS"]).trim())?.[1]?.toLowerCase();
  // VS Code replaces `%s` in the address: escape other percent signs.
  const urlPath = launchUrl === "" ? "" : `/${launchUrl.replace(/^\//, "").replace(/%(?![\da-f]{2})/gi, "%25")}`;
  return {
    action: "openExternally",
    pattern: LISTENING_PATTERN + (scheme === undefined ? "(https?://\\S+)" : `${scheme}://\\S+:(\\d+)`),
    ...(scheme !== undefined ? { uriFormat: `${scheme}://localhost:%s${urlPath}` } : urlPath === "" ? {} : { uriFormat: `%s${urlPath}` }),
  };
}

/** Finds the profile of a launch: the one that it names, otherwise the first that runs the project. */
function findProfile(launch: JsonObject, files: FileReader): JsonObject | undefined {
  const profileName = launch["launchSettingsProfile"] ?? launch["launchProfile"];
  const file = profileName === "" || !["auto", "coreclr", "netcoredbg"].includes(asString(launch["engine"] ?? "auto")) ? undefined : findSettingsFile(launch, files);
  const profiles = file === undefined ? {} : asObject(asObject(parseJsonWithComments(files.read(file)))["profiles"]);
  const found = typeof profileName === "string" ? [profiles[profileName]] : Object.values(profiles);
  return found.map(asObject).find((profile) => profile["commandName"] === "Project");
}

/** Finds the file with the launch profiles of a program; undefined if it is not a .NET program. */
function findSettingsFile(launch: JsonObject, files: FileReader): string | undefined {
  const workspace = asString(launch["__workspaceFolder"]);
  const base = path.resolve(workspace, asString(launch["cwd"]));
  const project = asString(launch["project"]);
  const program = asString(launch["program"]) || project;
  if (program === "") {
    return undefined;
  }
  const configured = asString(launch["launchSettingsFilePath"]);
  if (configured !== "") {
    return path.resolve(base, configured);
  }
  const named = path.resolve(base, program);
  const target = findProject(named, workspace, files) ?? (isAssembly(named) ? path.resolve(base, project) : undefined);
  if (target === undefined) {
    return undefined;
  }
  if (target.endsWith(".cs")) {
    const own = `${path.basename(target, ".cs")}.run.json`;
    return path.join(path.dirname(target), files.list(path.dirname(target)).includes(own) ? own : LAUNCH_SETTINGS_PATH);
  }
  return path.join(isDotnetProjectFile(target) ? path.dirname(target) : target, LAUNCH_SETTINGS_PATH);
}

/** Finds the project file, project folder or C# file that a path means. The path may also name a solution. */
function findProject(named: string, workspace: string, files: FileReader): string | undefined {
  if (isDotnetProjectFile(named)) {
    return named;
  }
  if (isSolutionFile(named)) {
    const [program, other] = listSolutionPrograms(named, (file) => files.read(file));
    return other === undefined ? program : undefined;
  }
  if (named.endsWith(".cs")) {
    const [csharp] = LANGUAGES;
    const isProgram = csharp === undefined || FILE_BASED_PROGRAM.test(files.read(named));
    return (isProgram ? undefined : findProjectFolder(csharp, named, workspace || path.dirname(named), (folder) => files.list(folder))) ?? named;
  }
  const inside = files.list(named);
  const own = inside.find(isDotnetProjectFile) ?? inside.find(isSolutionFile);
  return own === undefined ? undefined : findProject(path.join(named, own), workspace, files);
}

/** Whether a file is an assembly or an apphost, which has no extension. */
function isAssembly(file: string): boolean {
  return ["", ".dll", ".exe"].includes(path.extname(file).toLowerCase());
}

/** Parses JSON that may have comments, trailing commas and a byte order mark; undefined if it is invalid. */
function parseJsonWithComments(text: string): unknown {
  const string = String.raw`"(?:[^"\\]|\\.)*"`;
  const without = (from: string, what: string) => from.replace(new RegExp(`(${string})|${what}`, "g"), (_, kept: string | undefined) => kept ?? "");
  const plain = without(without(text.replace(/^\ufeff/, ""), String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`), String.raw`,(?=\s*[}\]])`);
  try {
    return JSON.parse(plain);
  } catch {
    return undefined; // The adapter rejects the launch and reports the reason.
  }
}
