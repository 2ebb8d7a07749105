/** The part of a web project's launch profile that the editor handles: open a browser once the server
 * listens. Pure: reads `launchSettings.json` as the adapter does, which applies the rest of a profile. */
import * as path from "node:path";
import { IS_PROGRAM, programsOfSolution } from "./detect";
import { isDotnetProject, isSolution } from "./dotnet-projects";
import { LANGUAGES, projectOf } from "./languages";

/** As VS Code's own launch attribute of this name. */
export interface ServerReadyAction {
  readonly action: "openExternally";
  /** A regular expression; its group is the server's address, or a part of it. */
  readonly pattern: string;
  /** The address to open, `%s` being that group. */
  readonly uriFormat?: string;
}

/** Reading of files: nothing where there is none. */
export interface Files {
  list(folder: string): readonly string[];
  read(file: string): string;
}

const SETTINGS = "Properties/launchSettings.json";
/** Where ASP.NET Core says that it listens. */
const LISTENS = String.raw`\bNow listening on:\s+`;
/** Hosts that mean all addresses of the machine, and that no browser can open. */
const EVERYWHERE = /^(https?):\/\/(?:\*|\+|0\.0\.0\.0|\[::\])(?::|\/|$)/i;

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** The action when the server of a launched web project listens; undefined when no profile defines one. */
export function serverReadyAction(launch: Fields, files: Files): ServerReadyAction | undefined {
  const profile = profileOf(launch, files);
  if (profile?.["launchBrowser"] !== true) {
    return undefined;
  }
  const page = word(profile["launchUrl"]).trim();
  if (/^https?:\/\//i.test(page)) {
    return { action: "openExternally", pattern: `${LISTENS}https?://\\S+`, uriFormat: page };
  }
  const variables = { ASPNETCORE_URLS: profile["applicationUrl"], ...fields(profile["environmentVariables"]), ...fields(launch["env"]) };
  const scheme = EVERYWHERE.exec(word(variables["ASPNETCORE_URLS"]).trim())?.[1]?.toLowerCase();
  // In the address to open, only `%s` stands for the server: escape other percent signs.
  const rest = page === "" ? "" : `/${page.replace(/^\//, "").replace(/%(?![\da-f]{2})/gi, "%25")}`;
  return {
    action: "openExternally",
    pattern: LISTENS + (scheme === undefined ? "(https?://\\S+)" : `${scheme}://\\S+:(\\d+)`),
    ...(scheme !== undefined ? { uriFormat: `${scheme}://localhost:%s${rest}` } : rest === "" ? {} : { uriFormat: `%s${rest}` }),
  };
}

/** The profile that holds for a launch: the one it names, else the first that runs the project. */
function profileOf(launch: Fields, files: Files): Fields | undefined {
  const wanted = launch["launchSettingsProfile"] ?? launch["launchProfile"];
  const file = wanted === "" || !["auto", "coreclr", "netcoredbg"].includes(word(launch["engine"] ?? "auto")) ? undefined : settingsOf(launch, files);
  const profiles = file === undefined ? {} : fields(fields(parsed(files.read(file)))["profiles"]);
  const found = typeof wanted === "string" ? [profiles[wanted]] : Object.values(profiles);
  return found.map(fields).find((profile) => profile["commandName"] === "Project");
}

/** Where the launch profiles of a program are; undefined when it is none of .NET's. */
function settingsOf(launch: Fields, files: Files): string | undefined {
  const workspace = word(launch["__workspaceFolder"]);
  const base = path.resolve(workspace, word(launch["cwd"]));
  const project = word(launch["project"]);
  const program = word(launch["program"]) || project;
  if (program === "") {
    return undefined;
  }
  const given = word(launch["launchSettingsFilePath"]);
  if (given !== "") {
    return path.resolve(base, given);
  }
  const named = path.resolve(base, program);
  const place = placeOf(named, workspace, files) ?? (isAssembly(named) ? path.resolve(base, project) : undefined);
  if (place === undefined) {
    return undefined;
  }
  if (place.endsWith(".cs")) {
    const own = `${path.basename(place, ".cs")}.run.json`;
    return path.join(path.dirname(place), files.list(path.dirname(place)).includes(own) ? own : SETTINGS);
  }
  return path.join(isDotnetProject(place) ? path.dirname(place) : place, SETTINGS);
}

/** The place of a project, named by its file, its folder, a solution or a C# file. */
function placeOf(named: string, workspace: string, files: Files): string | undefined {
  if (isDotnetProject(named)) {
    return named;
  }
  if (isSolution(named)) {
    const [program, other] = programsOfSolution(named, (file) => files.read(file));
    return other === undefined ? program : undefined;
  }
  if (named.endsWith(".cs")) {
    const [csharp] = LANGUAGES;
    const isProgram = csharp === undefined || IS_PROGRAM.test(files.read(named));
    return (isProgram ? undefined : projectOf(csharp, named, workspace || path.dirname(named), (folder) => files.list(folder))) ?? named;
  }
  const inside = files.list(named);
  const own = inside.find(isDotnetProject) ?? inside.find(isSolution);
  return own === undefined ? undefined : placeOf(path.join(named, own), workspace, files);
}

/** An assembly, or the file with no ending that starts one. */
function isAssembly(file: string): boolean {
  return ["", ".dll", ".exe"].includes(path.extname(file).toLowerCase());
}

/** JSON that may have comments, last commas and a byte order mark; undefined when it is none. */
function parsed(text: string): unknown {
  const string = String.raw`"(?:[^"\\]|\\.)*"`;
  const without = (from: string, what: string) => from.replace(new RegExp(`(${string})|${what}`, "g"), (_, kept: string | undefined) => kept ?? "");
  const plain = without(without(text.replace(/^\ufeff/, ""), String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`), String.raw`,(?=\s*[}\]])`);
  try {
    return JSON.parse(plain);
  } catch {
    return undefined; // The adapter refuses the launch and says why.
  }
}
