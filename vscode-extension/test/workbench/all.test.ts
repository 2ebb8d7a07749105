/** All tests in the real VS Code, one after the other in one server and one browser: starting those takes
 * longer than most of the tests. */
import { after } from "node:test";
import { Editor } from "./editor";
import "./dotnet.scenario";
import "./builds.scenario";
import "./python.scenario";
import "./join.scenario";
import "./files.scenario";
import "./programs.scenario";
import "./attach.scenario";
import "./agents.scenario";
import "./console.scenario";
import "./consoles.scenario";
import "./site.scenario";
import "./launch-json.scenario";
import "./filters.scenario";
import "./log.scenario";
import "./disassembly.scenario";
import "./tests.scenario";
import "./website.scenario";

after(() => Editor.close());
