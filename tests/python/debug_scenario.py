"""A whole debug session through the official MCP client, over stdio. The client checks each answer against the tool's
output schema. Arguments: the command of the server, then program, source and a folder. Prints one line per step; a
failed assertion is the test's failure."""
import asyncio, json, re, sys

import mcp_types as types
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

SERVER, PROGRAM, SOURCE, PROJECT = sys.argv[1:5]
LINES = open(SOURCE).read().split("\n")


def find_line(marker):
    return next(number for number, text in enumerate(LINES, 1) if text.endswith(f"// BP {marker}"))


class Agent:
    def __init__(self, client):
        self.client, self.calls, self.characters = client, 0, 0

    async def call(self, tool, refused=None, progress=None, **arguments):
        result = await self.client.call_tool(tool, arguments, progress_callback=progress)
        text = json.dumps(result.structured_content)
        self.calls, self.characters = self.calls + 1, self.characters + len(text)
        print(f"{tool} {json.dumps(arguments)}\n  -> {text}", flush=True)
        # Clients without structured content read the same from the text.
        assert json.loads(result.content[0].text) == result.structured_content
        content = result.structured_content
        assert result.is_error == (refused is not None), content
        assert content["success"] == (refused is None)
        if refused:
            assert content["error"]["code"] == refused, content
        return content


async def wait_for_update(updated, uri):
    for _ in range(200):
        if uri in updated:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"no update of {uri}: {updated}")


async def debug_session(client, updated, logged):
    server = await client.initialize()
    for capability in ("tools", "resources", "prompts", "completions", "logging"):
        assert getattr(server.capabilities, capability) is not None, capability
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert len(tools) > 30
    for tool in tools.values():
        assert tool.description and tool.output_schema and tool.annotations, tool.name
    assert tools["debug_variables"].annotations.read_only_hint is True
    assert tools["debug_remove_breakpoint"].annotations.idempotent_hint is True
    assert tools["debug_disconnect"].annotations.destructive_hint is True
    await client.set_logging_level("info")
    agent = Agent(client)

    # Errors contain a hint and do not end the session.
    await agent.call("debug_continue", refused="NO_SESSION")
    await agent.call("debug_launch", refused="INVALID_PARAMETER")
    await agent.call("debug_launch", refused="LAUNCH_FAILED", program="/no/such/program.dll")

    # One call launches and runs to the first stop: a breakpoint by the text of its line.
    launched = await agent.call("debug_launch", program=PROGRAM, run=True,
                             breakpoints=[{"sourceFile": SOURCE, "text": "string name = Console.ReadLine();"}])
    assert launched["event"]["type"] == "breakpointHit" and launched["event"]["line"] == find_line("read"), launched
    assert launched["event"]["breakpointId"] == launched["breakpoints"][0]["id"]
    # Output printed right before a stop may arrive a moment after it.
    prompt = await agent.call("process_read_output", waitFor="name\\? ", stream="stdout")
    assert prompt["matched"] and prompt["stdout"] == "welcome\nname? ", prompt
    session = launched["session"]

    # Resources: read, and notified of a stop.
    uri = f"debug://sessions/{session}/state"
    assert uri in [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert len((await client.list_resource_templates()).resource_templates) == 1
    await client.subscribe_resource(uri)
    state = json.loads((await client.read_resource(uri)).contents[0].text)
    assert state["state"] == "stopped" and state["place"]["line"] == find_line("read"), state

    # The program waits for input, receives it, and stops in the loop, without polling.
    loop = await agent.call("debug_set_breakpoint", source_file=SOURCE, line=find_line("loop"), condition="i == 1")
    assert loop["verified"] and "total = Add(total, i);" in loop["source"]
    waiting = await agent.call("debug_continue")
    assert waiting["event"]["type"] == "waitingForInput" and waiting["state"] == "running"
    written = await agent.call("process_write_input", data="bob\n")
    assert written["bytesWritten"] == 4 and written["stdinClosed"] is False
    stop = await agent.call("debug_continue")
    assert stop["event"]["type"] == "breakpointHit" and stop["event"]["breakpointId"] == loop["id"]
    assert stop["event"]["topFrame"]["line"] == find_line("loop")
    assert any(text.startswith(">") and "Add" in text for text in stop["event"]["lines"])
    assert {"name": "name", "value": '"bob"'} in stop["event"]["locals"]
    await wait_for_update(updated, uri)

    # Inspect: a snapshot, several expressions, a page of variables, a limit of tokens.
    first = await agent.call("debug_snapshot", depth=2)
    assert first["frames"][0]["line"] == find_line("loop") and first["frames"][1]["line"] == find_line("work")
    assert any(row["name"] == "person" and row["children"] for row in first["variables"])
    values = await agent.call("debug_evaluate", expressions=["total + i", "person.Name", "no.such", "words[1]"])
    assert [row.get("result") for row in values["results"]] == ["1", '"bob"', None, '"b"']
    assert values["results"][2]["error"]["code"] == "EVALUATION_FAILED"
    page = await agent.call("debug_variables", count=3)
    assert len(page["variables"]) == 3 and page["next"] == 3
    short = await agent.call("debug_snapshot", maxTokens=150)
    assert short["omitted"]["variables"], short
    source = await agent.call("debug_source", count=5)
    assert source["file"] == SOURCE and any(text.startswith(">") for text in source["lines"])
    await agent.call("debug_source", refused="PATH_NOT_ALLOWED", sourceFile="/etc/passwd")

    # Steps report changes; several in one call; step into and out.
    before = (await agent.call("debug_snapshot"))["snapshot"]
    stepped = await agent.call("debug_step_over")
    assert {"name": "total", "value": "1", "was": "0"} in stepped["event"]["changed"], stepped
    changed = await agent.call("debug_snapshot_diff", **{"from": before})
    assert {"name": "total", "was": "0", "value": "1"} in changed["changed"] and changed["unchanged"] > 5
    await agent.call("debug_step_over", count=4)
    into = await agent.call("debug_step_into")
    assert into["event"]["function"].startswith("Program.Add"), into
    out = await agent.call("debug_step_out")
    assert out["event"]["function"].startswith("Program.Work"), out
    await agent.call("debug_set_variable", name="person.Age", value="7")
    assert (await agent.call("debug_evaluate", expression="person.Doubled"))["result"] == "14"
    threads = await agent.call("debug_threads", places=True)
    assert any(thread.get("stopped") and thread.get("line") for thread in threads["threads"])
    modules = await agent.call("debug_modules", name="tour")
    assert modules["modules"][0]["name"] == "tour.dll"

    # Breakpoints: errors with nearby lines, function breakpoints, removal.
    await agent.call("debug_set_breakpoint", refused="INVALID_PARAMETER", sourceFile=SOURCE, line=9999)
    nowhere = await agent.call("debug_set_breakpoint", refused="INVALID_PARAMETER", sourceFile=SOURCE, text="no such text", line=3)
    assert nowhere["error"]["there"]
    function = await agent.call("debug_set_function_breakpoint", function="Program.Add")
    assert function["verified"] and function["line"], function
    listed = await agent.call("debug_list_breakpoints")
    assert len(listed["breakpoints"]) == 3 and listed["others"] == [], listed
    await agent.call("debug_remove_breakpoint", breakpointId=function["id"])
    await agent.call("debug_remove_breakpoint", refused="BREAKPOINT_NOT_FOUND", id=4711)

    # A client that shows breakpoints is notified of its own, too.
    shown = f"debug://sessions/{session}/breakpoints"
    await client.subscribe_resource(shown)
    extra = await agent.call("debug_set_breakpoint", sourceFile=SOURCE, line=find_line("end"))
    await wait_for_update(updated, shown)
    await agent.call("debug_remove_breakpoint", breakpointId=extra["id"])
    # After unsubscribing there are no more notifications: not of the next stop, which another subscription reports.
    timeline = f"debug://sessions/{session}/timeline"
    await client.subscribe_resource(timeline)
    await client.unsubscribe_resource(uri)
    updated.clear()

    # Run to a line, once; then to the end, and the output stays readable.
    reached = await agent.call("debug_run_to", sourceFile=SOURCE, text="Console.WriteLine($")
    assert reached["event"]["reached"] and reached["event"]["line"] == find_line("after"), reached
    await wait_for_update(updated, timeline)
    assert uri not in updated, updated
    assert len((await agent.call("debug_list_breakpoints"))["breakpoints"]) == 2
    ended = await agent.call("debug_continue")
    assert ended["state"] == "exited" and ended["event"]["exitCode"] == 3, ended
    read = await agent.call("process_read_output", stream="stdout")
    assert read["stdout"].startswith("welcome") and "stderr" not in read
    assert read["stdoutBytes"] == len(read["stdout"].encode())
    await agent.call("process_read_output", refused="INVALID_PARAMETER", stream="x")
    await agent.call("process_write_input", refused="STDIN_CLOSED", data="late\n")
    await agent.call("debug_step_over", refused="NO_SESSION")

    # Restart, and trace: a table without stops.
    again = await agent.call("debug_restart")
    assert again["event"]["reason"] == "entry" and again["session"] != session and again["how"] == "newSession"
    for breakpoint in again["breakpoints"]:
        await agent.call("debug_remove_breakpoint", breakpointId=breakpoint["id"])
    await agent.call("process_write_input", data="eve\n", close_after=True)
    await agent.call("process_write_input", refused="STDIN_CLOSED", data="more")
    table = await agent.call("debug_trace", sourceFile=SOURCE, line=find_line("loop"), expressions=["i", "total", "text"], hits=4)
    assert table["columns"] == ["i", "total", "text"]
    assert [row[:2] for row in table["rows"]] == [["0", "0"], ["1", "0"], ["2", "1"], ["3", "3"]], table
    assert table["rows"][0][2] == '"hello eve"', table
    assert (table["state"], table["ended"]) == ("stopped", "hits"), table
    ended = await agent.call("debug_continue")
    assert ended["state"] == "exited", ended
    timeline = await agent.call("debug_timeline")
    kinds = [entry["kind"] for entry in timeline["entries"]]
    for kind in ("started", "stopped", "resumed", "stdout", "exited"):
        assert kind in kinds, kinds
    assert [entry for entry in timeline["entries"] if entry["kind"] == "resumed"][0]["by"] == "mcp-test"
    assert (await agent.call("debug_disconnect"))["state"] == "idle"

    # Prompts and completions.
    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert names == ["hunt_crash", "hunt_hang", "hunt_wrong_value", "hunt_flaky_test"]
    prompt = await client.get_prompt("hunt_crash", {"program": PROGRAM})
    assert PROGRAM in prompt.messages[0].content.text
    completed = await client.complete(types.PromptReference(name="hunt_crash"), {"name": "program", "value": f"{PROJECT}/tou"})
    assert completed.completion.values == [f"{PROJECT}/tour.csproj"], completed

    assert any("exited" in json.dumps(entry.data) for entry in logged), logged
    print(f"{agent.calls} calls, {agent.characters} characters")


async def wait_ends_early(client):
    """A wait for output ends early when the program waits for input, and the session stays usable."""
    agent = Agent(client)
    await agent.call("debug_launch", program=PROGRAM, stopAtEntry=False)
    messages = []

    async def progress(done, total, message):
        messages.append(message)

    # The program asks for input, so the wait for a text that never arrives ends early.
    waiting = asyncio.create_task(client.call_tool("process_read_output", {"waitFor": "never", "timeoutMs": 600000},
                                                   progress_callback=progress))
    done, _ = await asyncio.wait([waiting], timeout=20)
    assert done, "the wait ends early when the program wants input"
    assert waiting.result().structured_content["waitingForInput"] is True
    await agent.call("process_write_input", data="x\n")
    ended = await agent.call("debug_wait")
    assert ended["state"] == "exited"
    await agent.call("debug_disconnect")


async def main():
    updated, logged = [], []

    async def handle_message(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            updated.append(str(message.params.uri))

    async def handle_log(entry):
        logged.append(entry)

    server = StdioServerParameters(command=SERVER, args=["--root", PROJECT], env=dict(__import__("os").environ))
    async with stdio_client(server) as (reading, writing):
        info = types.Implementation(name="mcp-test", version="1")
        async with ClientSession(reading, writing, message_handler=handle_message, logging_callback=handle_log, client_info=info) as client:
            await asyncio.wait_for(debug_session(client, updated, logged), 100)
            await asyncio.wait_for(wait_ends_early(client), 60)


asyncio.run(main())
