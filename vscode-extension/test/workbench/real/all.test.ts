/** Tests with programs of other projects, in one real VS Code, one after the other. */
import { after } from "node:test";
import { Editor } from "../editor";
import "./flask.story";
import "./jest.story";
import "./hexyl.story";
import "./go.story";
import "./dotnet.story";

after(() => Editor.close());
