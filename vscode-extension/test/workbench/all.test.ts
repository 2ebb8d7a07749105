/** All tests in the real VS Code. They share one server and one browser, whose start takes longer than most tests. */
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
