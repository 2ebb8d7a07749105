/** Tests with programs of other projects, in one real VS Code, one after the other. */
import { after } from "node:test";
import { Editor } from "../editor";
import "./flask.scenario";
import "./jest.scenario";
import "./hexyl.scenario";
import "./go.scenario";
import "./dotnet.scenario";

after(() => Editor.close());
