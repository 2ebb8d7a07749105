"""An MCP client on a server's stdio that counts what a model would read and write."""
import json
import os
import select
import subprocess
import time


class Failed(Exception):
    """The server did not answer."""


class Client:
    """One server. `calls`, `sent` and `received` (bytes of arguments and answers) count its tools' calls."""

    def __init__(self, command, cwd=None, env=None, seconds=90):
        self.seconds = seconds
        self.calls = self.sent = self.received = 0
        self.log = []
        environment = {**os.environ, **(env or {})}
        self.server = subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.buffer = b""
        self.number = 0
        self.request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ruler", "version": "1"}},
        )
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()

    def line(self, until):
        while b"\n" not in self.buffer:
            ready = select.select([self.server.stdout], [], [], max(0, until - time.monotonic()))[0]
            part = os.read(self.server.stdout.fileno(), 1 << 16) if ready else b""
            if not part:
                raise Failed("no answer" if not ready else "the server has ended")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def request(self, method, params):
        self.number += 1
        self.write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        until = time.monotonic() + self.seconds
        while True:
            line = self.line(until)
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise Failed(message["error"].get("message", "refused"))
                return message["result"]

    def tokens_of_list(self):
        """What the list of tools costs, tokens."""
        return len(json.dumps(self.request("tools/list", {})["tools"], separators=(",", ":"))) // 4

    def call(self, tool, **arguments):
        """Calls a tool; returns its structured answer, or its text."""
        began = time.monotonic()
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        texts = [part.get("text", "") for part in result.get("content", [])]
        self.calls += 1
        self.sent += len(json.dumps({"name": tool, "arguments": arguments}, separators=(",", ":")))
        self.received += sum(len(text.encode()) for text in texts)
        answer = result.get("structuredContent")
        if answer is None:
            answer = "\n".join(texts)
            try:
                answer = json.loads(answer)
            except ValueError:
                pass
        self.log.append((tool, arguments, answer, round((time.monotonic() - began) * 1000)))
        return answer

    def close(self):
        self.server.stdin.close()
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
