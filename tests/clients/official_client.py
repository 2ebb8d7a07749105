"""Tests tandem-mcp with the official Python client: lists and calls tools, receives progress, cancels.

    official_client.py stdio MODE COMMAND [ARGUMENT…]
    official_client.py http MODE URL TOKEN

MODE is the client's own way to negotiate the protocol: auto, legacy or a version. Prints one JSON object; the test
checks what is in it. The server's root must be an empty folder and commands allowed.
"""
import asyncio, json, os, sys, time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

SLOWNESS = float(os.environ.get("TANDEM_TEST_SLOWNESS") or 1)

TESTS = f"""import pathlib, time, unittest


class Own(unittest.TestCase):
    def test_a_fails(self):
        self.assertEqual(3, 4)

    def test_b_waits(self):
        until = time.monotonic() + {40 * SLOWNESS}
        while not pathlib.Path("heard").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
"""


async def drive(client):
    results = {"version": client.protocol_version, "server": client.server_info.name}
    tools = (await client.list_tools()).tools
    results["tools"] = sorted(tool.name for tool in tools)
    results["withoutSchema"] = [tool.name for tool in tools if not tool.output_schema]

    async def call(name, arguments, **more):
        result = await client.call_tool(name, arguments, **more)
        # The client checks structured results against the tool's schema.
        assert json.loads(result.content[0].text) == result.structured_content
        return {"isError": result.is_error, **result.structured_content}

    results["written"] = await call("write_file", {"path": "a.txt", "content": "one\ntwo\n"})
    results["read"] = await call("read_file", {"path": "a.txt"})
    results["outside"] = await call("read_file", {"path": "../x"})
    results["status"] = await call("debug_status", {})
    progress = []

    async def count_progress(done, total, message):
        progress.append(message)

    await call("run_command", {"command": "sleep 2.5"}, progress_callback=count_progress)
    results["progress"] = len(progress)
    # A build reports its lines while it runs.
    await call("write_file", {"path": "Makefile", "content": "all:\n\t@echo compiling; sleep 2.5; echo done\n"})
    lines = []

    async def collect_line(done, total, message):
        lines.append(message)

    built = await call("build", {}, progress_callback=collect_line)
    results["built"] = [built["output"], any("compiling" in line for line in lines)]
    # Results of tests arrive while others still run: the second test waits for the result of the first.
    await call("write_file", {"path": "test_own.py", "content": TESTS})

    async def report_failure(done, total, message):
        if "1 failed" in message and "test_own.Own.test_a_fails: AssertionError: 3 != 4" in message:
            open("heard", "w").close()

    tests = await call("run_tests", {"projectPath": "test_own.py"}, progress_callback=report_failure)
    results["tests"] = [tests["tests"][key] for key in ("passed", "failed")]
    # A cancelled call ends its program.
    task = asyncio.create_task(call("run_command", {"command": "sh -c", "args": ["echo $$ > pid; sleep 1000"]}))
    while not (await call("file_exists", {"path": "pid"}))["exists"]:
        await asyncio.sleep(0.05)
    pid = (await call("read_file", {"path": "pid"}))["content"].strip()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    until = time.monotonic() + 30 * SLOWNESS
    while time.monotonic() < until:
        probe = await call("run_command", {"command": f"test -d /proc/{pid}"})
        if probe["exitCode"] != 0:
            break
        await asyncio.sleep(0.1)
    results["left"] = probe["exitCode"] == 0
    results["after"] = await call("file_exists", {"path": "a.txt"})
    return results


async def main(kind, mode, target, *rest):
    if kind == "stdio":
        server = StdioServerParameters(command=target, args=list(rest), cwd=".")
        async with Client(server, mode=mode) as client:
            return await drive(client)
    headers = {"Authorization": f"Bearer {rest[0]}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60 * SLOWNESS) as http:
        async with Client(streamable_http_client(target, http_client=http), mode=mode) as client:
            return await drive(client)


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
