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
const profiles = (...all: readonly (readonly [string, Readonly<Record<string, unknown>>])[]) => JSON.stringify({
  profiles: Object.fromEntries(all.map(([name, profile]) => [name, { commandName: "Project", launchBrowser: true, ...profile }])),
});
const LISTENING = String.raw`\bNow listening on:\s+(https?://\S+)`;
const action = (launch: Readonly<Record<string, unknown>>) => createServerReadyAction({ __workspaceFolder: "/w", ...launch }, files);

/** Address that VS Code would open when the program prints this. */
function opened(launch: Readonly<Record<string, unknown>>, printed: string): string | undefined {
  const { pattern, uriFormat } = action(launch) ?? { pattern: "$^" };
  const found = new RegExp(pattern, "i").exec(printed);
  return found === null ? undefined : found[1] === undefined ? uriFormat : (uriFormat ?? "%s").replace("%s", found[1]);
}

function project(settings: string): void {
  FILES.clear();
  FILES.set("/w/site/site.csproj", WEB);
  FILES.set("/w/site/Pages/Index.cs", "class Index {}");
  FILES.set("/w/site/Properties/launchSettings.json", settings);
}

test("a project whose launch profile wants a browser gets VS Code's action, however the project is named", () => {
  project(profiles(["site", {}]));
  FILES.set("/w/all.slnx", '<Solution><Project Path="site/site.csproj" /></Solution>');
  for (const launch of [{ program: "/w/site/site.csproj" }, { program: "/w/site" }, { project: "/w/site" }, { program: "/w/site/Pages/Index.cs" }, { program: "/w/all.slnx" },
    { program: "/w" }, { program: "/w/site/bin/site.dll", cwd: "/w/site" }, { program: "bin/site", cwd: "/w/site" }, { program: "site", engine: "coreclr" }]) {
    assert.deepEqual(action(launch), { action: "openExternally", pattern: LISTENING }, JSON.stringify(launch));
  }
});

test("no browser without a profile that wants one, and none for other languages", () => {
  project(profiles(["site", {}]));
  assert.equal(action({ program: "/w/site", launchSettingsProfile: "" }), undefined);
  assert.equal(action({ program: "/w/site", launchProfile: "another" }), undefined);
  assert.equal(action({ program: "/w/site/app.py", cwd: "/w/site" }), undefined);
  assert.equal(action({ program: "/w/site", engine: "lldb" }), undefined);
  assert.equal(action({ module: "flask", cwd: "/w/site" }), undefined);
  for (const settings of [profiles(["site", { launchBrowser: false }]), profiles(["IIS", { commandName: "IISExpress" }]), "{", "[]", '{"profiles": 3}', ""]) {
    project(settings);
    assert.equal(action({ program: "/w/site" }), undefined, settings);
  }
});

test("the profile is the one that is named, else the first that runs the project", () => {
  project(profiles(["IIS", { commandName: "IISExpress", launchUrl: "iis" }], ["http", { launchUrl: "first" }], ["https", { launchUrl: "second" }]));
  const printed = "      Now listening on: http://localhost:5000\n";
  assert.equal(opened({ program: "/w/site" }, printed), "http://localhost:5000/first");
  assert.equal(opened({ program: "/w/site", launchSettingsProfile: "https" }, printed), "http://localhost:5000/second");
  assert.equal(opened({ program: "/w/site", launchProfile: "https" }, printed), "http://localhost:5000/second");
  assert.equal(action({ program: "/w/site", launchSettingsProfile: "IIS" }), undefined);
});

test("the page of a profile is a path of the server, or an address of its own", () => {
  const printed = "info: Microsoft.Hosting.Lifetime[14]\r\n      Now listening on: https://localhost:7001\r\n";
  for (const [launchUrl, wanted] of [["swagger", "https://localhost:7001/swagger"], ["/a%20b?c=%s", "https://localhost:7001/a%20b?c=%25s"], ["", "https://localhost:7001"],
    ["https://example.com/%s", "https://example.com/%s"]]) {
    project(profiles(["site", { launchUrl }]));
    assert.equal(opened({ program: "/w/site" }, printed), wanted);
  }
  assert.equal(opened({ program: "/w/site" }, "Now running\n"), undefined);
});

test("a server on all addresses of the machine is opened on this one", () => {
  project(profiles(["site", { applicationUrl: "http://*:5000;https://localhost:7001", launchUrl: "api" }]));
  assert.equal(opened({ program: "/w/site" }, "Now listening on: http://[::]:5000\n"), "http://localhost:5000/api");
  assert.equal(opened({ program: "/w/site", env: { ASPNETCORE_URLS: "http://127.0.0.1:1" } }, "Now listening on: http://127.0.0.1:1\n"), "http://127.0.0.1:1/api");
});

test("launch profiles may have comments, last commas and a byte order mark", () => {
  project(`\ufeff{ // of "the, }" site\n "profiles": { "a//b": { "commandName": "Project", /* } */ "launchBrowser": true, "launchUrl": "x\\",}", }, }, }`);
  assert.equal(opened({ program: "/w/site" }, "Now listening on: http://h:1"), 'http://h:1/x",}');
});

test("a C# file that is a program by itself has its profiles beside itself", () => {
  FILES.clear();
  FILES.set("/w/tool.cs", "#:sdk Microsoft.NET.Sdk.Web\n");
  FILES.set("/w/site.csproj", WEB);
  FILES.set("/w/tool.run.json", profiles(["tool", { launchUrl: "tool" }]));
  assert.equal(opened({ program: "/w/tool.cs" }, "Now listening on: http://h:1"), "http://h:1/tool");
  assert.equal(action({ program: "/w/site.csproj" }), undefined);
  assert.equal(opened({ program: "/w/site.csproj", launchSettingsFilePath: "tool.run.json" }, "Now listening on: http://h:1"), "http://h:1/tool");
});
