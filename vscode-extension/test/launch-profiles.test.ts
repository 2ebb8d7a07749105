import assert from "node:assert/strict";
import * as path from "node:path";
import { test } from "node:test";
import { createServerReadyAction } from "../src/launch-profiles";

const WEB = '<Project Sdk="Microsoft.NET.Sdk.Web" />';
const FILES = new Map<string, string>();
const files = {
  list: (folder: string) => [...FILES.keys()].filter((file) => path.dirname(file) === folder).map((file) => path.basename(file)),
  read: (file: string) => FILES.get(file) ?? "",
};
const createSettings = (...all: readonly (readonly [string, Readonly<Record<string, unknown>>])[]) => JSON.stringify({
  profiles: Object.fromEntries(all.map(([name, profile]) => [name, { commandName: "Project", launchBrowser: true, ...profile }])),
});
const LISTENING = String.raw`\bNow listening on:\s+(https?://\S+)`;
const createAction = (launch: Readonly<Record<string, unknown>>) => createServerReadyAction({ __workspaceFolder: "/w", ...launch }, files);

/** Returns the address that VS Code opens when the program prints this. */
function findOpenedUrl(launch: Readonly<Record<string, unknown>>, printed: string): string | undefined {
  const { pattern, uriFormat } = createAction(launch) ?? { pattern: "$^" };
  const found = new RegExp(pattern, "i").exec(printed);
  return found === null ? undefined : found[1] === undefined ? uriFormat : (uriFormat ?? "%s").replace("%s", found[1]);
}

function writeProject(settings: string): void {
  FILES.clear();
  FILES.set("/w/site/site.csproj", WEB);
  FILES.set("/w/site/Pages/Index.cs", "class Index {}");
  FILES.set("/w/site/Properties/launchSettings.json", settings);
}

test("a launch profile that opens a browser creates an action, however the launch names the project", () => {
  writeProject(createSettings(["site", {}]));
  FILES.set("/w/all.slnx", '<Solution><Project Path="site/site.csproj" /></Solution>');
  for (const launch of [{ program: "/w/site/site.csproj" }, { program: "/w/site" }, { project: "/w/site" }, { program: "/w/site/Pages/Index.cs" }, { program: "/w/all.slnx" },
    { program: "/w" }, { program: "/w/site/bin/site.dll", cwd: "/w/site" }, { program: "bin/site", cwd: "/w/site" }, { program: "site", engine: "coreclr" }]) {
    assert.deepEqual(createAction(launch), { action: "openExternally", pattern: LISTENING }, JSON.stringify(launch));
  }
});

test("no action is created without a profile that opens a browser, or for other languages", () => {
  writeProject(createSettings(["site", {}]));
  assert.equal(createAction({ program: "/w/site", launchSettingsProfile: "" }), undefined);
  assert.equal(createAction({ program: "/w/site", launchProfile: "another" }), undefined);
  assert.equal(createAction({ program: "/w/site/app.py", cwd: "/w/site" }), undefined);
  assert.equal(createAction({ program: "/w/site", engine: "lldb" }), undefined);
  assert.equal(createAction({ module: "flask", cwd: "/w/site" }), undefined);
  for (const settings of [createSettings(["site", { launchBrowser: false }]), createSettings(["IIS", { commandName: "IISExpress" }]), "{", "[]", '{"profiles": 3}', ""]) {
    writeProject(settings);
    assert.equal(createAction({ program: "/w/site" }), undefined, settings);
  }
});

test("the launch selects the profile by name, otherwise the first that runs the project", () => {
  writeProject(createSettings(["IIS", { commandName: "IISExpress", launchUrl: "iis" }], ["http", { launchUrl: "first" }], ["https", { launchUrl: "second" }]));
  const printed = "      Now listening on: http://localhost:5000\n";
  assert.equal(findOpenedUrl({ program: "/w/site" }, printed), "http://localhost:5000/first");
  assert.equal(findOpenedUrl({ program: "/w/site", launchSettingsProfile: "https" }, printed), "http://localhost:5000/second");
  assert.equal(findOpenedUrl({ program: "/w/site", launchProfile: "https" }, printed), "http://localhost:5000/second");
  assert.equal(createAction({ program: "/w/site", launchSettingsProfile: "IIS" }), undefined);
});

test("the page of a profile is a path of the server or an absolute address", () => {
  const printed = "info: Microsoft.Hosting.Lifetime[14]\r\n      Now listening on: https://localhost:7001\r\n";
  for (const [launchUrl, expected] of [["swagger", "https://localhost:7001/swagger"], ["/a%20b?c=%s", "https://localhost:7001/a%20b?c=%25s"], ["", "https://localhost:7001"],
    ["https://example.com/%s", "https://example.com/%s"]]) {
    writeProject(createSettings(["site", { launchUrl }]));
    assert.equal(findOpenedUrl({ program: "/w/site" }, printed), expected);
  }
  assert.equal(findOpenedUrl({ program: "/w/site" }, "Now running\n"), undefined);
});

test("a server on all addresses of the machine is opened on localhost", () => {
  writeProject(createSettings(["site", { applicationUrl: "http://*:5000;https://localhost:7001", launchUrl: "api" }]));
  assert.equal(findOpenedUrl({ program: "/w/site" }, "Now listening on: http://[::]:5000\n"), "http://localhost:5000/api");
  assert.equal(findOpenedUrl({ program: "/w/site", env: { ASPNETCORE_URLS: "http://127.0.0.1:1" } }, "Now listening on: http://127.0.0.1:1\n"), "http://127.0.0.1:1/api");
});

test("launch profiles may have comments, trailing commas and a byte order mark", () => {
  writeProject(`\ufeff{ // of "the, }" site\n "profiles": { "a//b": { "commandName": "Project", /* } */ "launchBrowser": true, "launchUrl": "x\\",}", }, }, }`);
  assert.equal(findOpenedUrl({ program: "/w/site" }, "Now listening on: http://h:1"), 'http://h:1/x",}');
});

test("a file-based C# program has its profiles in a file next to it", () => {
  FILES.clear();
  FILES.set("/w/tool.cs", "#:sdk Microsoft.NET.Sdk.Web\n");
  FILES.set("/w/site.csproj", WEB);
  FILES.set("/w/tool.run.json", createSettings(["tool", { launchUrl: "tool" }]));
  assert.equal(findOpenedUrl({ program: "/w/tool.cs" }, "Now listening on: http://h:1"), "http://h:1/tool");
  assert.equal(createAction({ program: "/w/site.csproj" }), undefined);
  assert.equal(findOpenedUrl({ program: "/w/site.csproj", launchSettingsFilePath: "tool.run.json" }, "Now listening on: http://h:1"), "http://h:1/tool");
});
