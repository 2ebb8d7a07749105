/** Makes the `.vsix`: the extension, bundled, with Tandem's programs for one platform.
 *
 * `npm run package` builds the programs with cargo for this machine. `-- --target linux-x64 --programs DIR` takes them
 * from elsewhere; `-- --target universal` packs none (the extension then finds them in PATH).
 * Writes tandem-TARGET-VERSION.vsix here, or where `--out` says. */
import { execFileSync } from "node:child_process";
import { createWriteStream, readFileSync, readdirSync, statSync } from "node:fs";
import * as path from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import yazl from "yazl";

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const TARGETS = ["linux-x64", "linux-arm64", "alpine-x64", "darwin-x64", "darwin-arm64", "win32-x64", "universal"];
/** Nothing else goes in. */
const KEPT = ["package.json", "README.md", "CHANGELOG.md", "LICENSE.txt", "dist/extension.js"];

const { values } = parseArgs({
  options: { target: { type: "string" }, programs: { type: "string" }, out: { type: "string" } },
});
const target = values.target ?? `${process.platform}-${process.arch}`;
if (!TARGETS.includes(target)) {
  throw new Error(`there is no target \`${target}\`; there are ${TARGETS.join(", ")}`);
}
const manifest = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));
const out = path.resolve(values.out ?? path.join(here, `tandem-${target}-${manifest.version}.vsix`));

execFileSync(process.execPath, [path.join(here, "scripts/build.mjs"), "--minify"], { cwd: here, stdio: "inherit" });
// Before anything is in the zip: building takes minutes, and a file that changes in it between its listing and its reading
// breaks the zip.
const built = programs();
const zip = new yazl.ZipFile();
// The same input makes the same package.
const common = { mtime: new Date("2020-01-01T00:00:00Z") };
const add = (file, name, mode = 0o100644) => zip.addFile(file, name, { ...common, mode });
const images = readdirSync(path.join(here, "images")).filter((name) => name.endsWith(".png")).map((name) => `images/${name}`);
for (const file of [...KEPT, ...images]) {
  add(path.join(here, file), `extension/${file}`);
}
for (const program of built) {
  add(program, `extension/bin/${path.basename(program)}`, 0o100755);
}
zip.addBuffer(Buffer.from(vsixManifest()), "extension.vsixmanifest", common);
zip.addBuffer(Buffer.from(contentTypes()), "[Content_Types].xml", common);
zip.end();
await pipeline(zip.outputStream, createWriteStream(out));
console.log(`${out}: ${(statSync(out).size / 1024).toFixed(0)} KiB`);

/** Paths of the programs that are packed. */
function programs() {
  if (target === "universal") {
    return [];
  }
  let folder = values.programs;
  if (folder === undefined) {
    if (values.target !== undefined && values.target !== `${process.platform}-${process.arch}`) {
      throw new Error(`the programs for ${target} cannot be built here; name their folder with --programs`);
    }
    execFileSync("cargo", ["build", "--release", "--locked", "-p", "tandem-adapter", "-p", "tandem-bridge"], { cwd: path.dirname(here), stdio: "inherit" });
    folder = path.join(process.env.CARGO_TARGET_DIR ?? path.join(path.dirname(here), "target"), "release");
  }
  const ending = target.startsWith("win32") ? ".exe" : "";
  return ["tandem-dap", "tandem-mcp"].map((name) => path.join(folder, name + ending));
}

function vsixManifest() {
  const text = (value) => String(value).replace(/[<&>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const property = (id, value) => `      <Property Id="Microsoft.VisualStudio.${id}" Value="${text(value)}" />`;
  const asset = (type, file) => `    <Asset Type="Microsoft.VisualStudio.${type}" Path="extension/${file}" Addressable="true" />`;
  const platform = target === "universal" ? "" : ` TargetPlatform="${target}"`;
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${manifest.name}" Version="${manifest.version}" Publisher="${manifest.publisher}"${platform} />
    <DisplayName>${text(manifest.displayName)}</DisplayName>
    <Description xml:space="preserve">${text(manifest.description)}</Description>
    <Tags>${text([...manifest.keywords, "debuggers"].join(","))}</Tags>
    <Categories>${text(manifest.categories.join(","))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/${manifest.icon}</Icon>
    <Properties>
${property("Code.Engine", manifest.engines.vscode)}
${property("Code.ExtensionKind", manifest.extensionKind.join(","))}
${property("Services.GitHubFlavoredMarkdown", "true")}
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
${asset("Code.Manifest", "package.json")}
${asset("Services.Content.Details", "README.md")}
${asset("Services.Content.Changelog", "CHANGELOG.md")}
${asset("Services.Content.License", "LICENSE.txt")}
${asset("Services.Icons.Default", manifest.icon)}
  </Assets>
</PackageManifest>
`;
}

function contentTypes() {
  const types = { ".json": "application/json", ".md": "text/markdown", ".txt": "text/plain", ".js": "application/javascript",
    ".png": "image/png", ".vsixmanifest": "text/xml", ".exe": "application/octet-stream" };
  const rows = Object.entries(types).map(([ending, type]) => `<Default Extension="${ending}" ContentType="${type}" />`);
  return `<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${rows.join("")}</Types>\n`;
}
