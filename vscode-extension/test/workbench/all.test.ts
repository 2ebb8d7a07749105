/** All tests in the real VS Code, one after the other in one server and one browser: starting those takes
 * longer than most of the tests. */
import { after } from "node:test";
import { Editor } from "./editor";
import "./dotnet.story";
import "./builds.story";
import "./python.story";
import "./join.story";
import "./files.story";
import "./programs.story";
import "./attach.story";
import "./agents.story";
import "./console.story";
import "./consoles.story";
import "./site.story";
import "./launch-json.story";
import "./filters.story";
import "./log.story";
import "./disassembly.story";
import "./tests.story";
import "./website.story";

after(() => Editor.close());
