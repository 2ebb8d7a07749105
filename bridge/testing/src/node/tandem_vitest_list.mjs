// Lists the tests of vitest: `node FILE VITEST_NODE ARGUMENT…`, with the path of the module `vitest/node`.
import { pathToFileURL } from "node:url";
import tandem from "./tandem_reports.cjs";
import { describeTest, moveTemporaryFolders, reportBroken } from "./tandem_vitest.mjs";

const [path, ...files] = process.argv.slice(2);
const { createVitest, parseCLI } = await import(pathToFileURL(path));
const { options } = parseCLI(["vitest", "run", ...JSON.parse(process.env.TANDEM_TEST_SETTINGS)], { allowUnknownOptions: true });
const vitest = await createVitest("test", { ...options, watch: false, includeTaskLocation: true, reporters: [{}] });
moveTemporaryFolders(vitest);
// Newer versions otherwise parse the files, and do not know the names that code builds.
const { testModules } = await vitest.collect(files, { staticParse: false });
for (const module of testModules) {
  reportBroken(module);
  for (const test of module.children.allTests()) tandem.report("test", describeTest(test));
}
await vitest.close();
process.exit(0);
