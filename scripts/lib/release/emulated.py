"""Runs the programs for AArch64 under qemu-user: their version, a DAP handshake, the refusal of .NET, and a Python program through a child
adapter. Only an AArch64 machine shows more; qemu-user has no ptrace, so native debuggers are not tried."""
import json, os, pathlib, select, subprocess, tarfile, time

from setup.network import ensure_program, ensure_file

from .facts import ARM64, VERSION

TIMEOUT_SECONDS = 60
SYSROOT = "/usr/aarch64-linux-gnu"
# The kernel then runs AArch64 programs by qemu, in this namespace alone: tandem-dap starts itself.
REGISTER = ("mount -t binfmt_misc none /proc/sys/fs/binfmt_misc\n"
            r"printf ':aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:"
            r"\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:/usr/bin/qemu-aarch64-static:F'"
            " > /proc/sys/fs/binfmt_misc/register\nexec \"$@\"")


def get_archive_path(out):
    return out / f"tandem-{VERSION}-{ARM64.name}.tar.gz"


def run(out, scratch, python):
    """Raises RuntimeError if a step fails. `python` is a Python with debugpy."""
    ensure_program("qemu-aarch64-static", "qemu-user-static")
    ensure_file(f"{SYSROOT}/lib/ld-linux-aarch64.so.1", "libc6-arm64-cross")
    with tarfile.open(get_archive_path(out)) as tar:
        tar.extractall(scratch, filter="data")
    programs = scratch / get_archive_path(out).name.removesuffix(".tar.gz") / "bin"
    for name in ("tandem-dap", "tandem-mcp"):
        printed = subprocess.run(wrap_command(programs / name, "--version"), stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_SECONDS, env=create_environment())
        expect_equal(printed.stdout.strip(), f"{name} {VERSION}", f"the version of {name}")
    program, interpreter = scratch / "program.py", scratch / "python"
    program.write_text("total = 0\nfor number in range(3):\n    total += number\nprint('total', total)\n")
    # A script: a Python for this machine itself would be refused as one for another.
    interpreter.write_text(f"#!/bin/sh\nexec '{python}' \"$@\"\n")
    interpreter.chmod(0o755)
    with DapClient(programs / "tandem-dap") as adapter:
        adapter.send_request("initialize", clientID="try-release", adapterID="tandem")
        refused = adapter.wait_for_response(adapter.send("launch", program="/app/tour.dll"))
        expect_equal(refused["body"]["error"]["variables"]["code"], "UNSUPPORTED", f"a .NET program ({refused})")
    with DapClient(programs / "tandem-dap") as adapter:
        adapter.send_request("initialize", clientID="try-release", adapterID="tandem")
        launch = adapter.send("launch", program=str(program), python=str(interpreter))
        adapter.wait_for_message(lambda message: message.get("event") == "initialized", "`initialized`")
        adapter.send_request("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 4}])
        adapter.send_request("configurationDone")
        adapter.wait_for_response(launch)
        stopped = adapter.wait_for_message(lambda message: message.get("event") == "stopped", "a stop")["body"]
        frame = adapter.send_request("stackTrace", threadId=stopped["threadId"])["stackFrames"][0]
        expect_equal(frame["line"], 4, "the line of the stop")
        expect_equal(adapter.send_request("evaluate", expression="total", frameId=frame["id"])["result"], "3", "a value")
        adapter.send_request("continue", threadId=stopped["threadId"])
        ended = adapter.wait_for_message(lambda message: message.get("event") == "exited", "the end")["body"]
        expect_equal(ended["exitCode"], 0, "the exit code")
        adapter.send_request("disconnect")


def create_environment():
    return {**os.environ, "QEMU_LD_PREFIX": SYSROOT}


def wrap_command(*command):
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", REGISTER, "sh", *map(str, command)]


def expect_equal(found, expected, what):
    if found != expected:
        raise RuntimeError(f"{what}: {found!r}, not {expected!r}")


class DapClient:
    """A DAP client of `tandem-dap` over its stdin and stdout."""

    def __init__(self, program):
        self.process = subprocess.Popen(wrap_command(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=create_environment(), bufsize=0)
        self.pending, self.messages, self.last = b"", [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send(self, command, **arguments):
        self.last += 1
        body = json.dumps({"seq": self.last, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self.last

    def wait_for_response(self, seq):
        return self.wait_for_message(lambda message: message.get("request_seq") == seq, "a response")

    def send_request(self, command, **arguments):
        response = self.wait_for_response(self.send(command, **arguments))
        if not response["success"]:
            raise RuntimeError(f"{command}: {response}")
        return response.get("body")

    def wait_for_message(self, matches, what):
        """Returns the first message that matches, including earlier ones."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            for index, message in enumerate(self.messages):
                if matches(message):
                    return self.messages.pop(index)
            self.read(deadline, what)

    def read(self, deadline, what):
        if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            raise RuntimeError(f"{what} did not come within {TIMEOUT_SECONDS} s; there were {self.messages}")
        chunk = os.read(self.process.stdout.fileno(), 65536)
        if not chunk:
            raise RuntimeError(f"the adapter ended before {what}; there were {self.messages}")
        self.pending += chunk
        while b"\r\n\r\n" in self.pending:
            head, rest = self.pending.split(b"\r\n\r\n", 1)
            length = int(head.rsplit(b":", 1)[1])
            if len(rest) < length:
                return
            self.messages.append(json.loads(rest[:length]))
            self.pending = rest[length:]
