/** Tests with programs of other projects, which share one real VS Code. */
import { after } from "node:test";
import { Editor } from "../editor";
import "./flask.scenario";
import "./jest.scenario";
import "./hexyl.scenario";
import "./go.scenario";
import "./dotnet.scenario";

after(() => Editor.close());
