"""Runs the programs for AArch64 under qemu-user: their version, a DAP handshake, the refusal of .NET, and a Python program through a child
adapter. Only an AArch64 machine shows more; qemu-user has no ptrace, so native debuggers are not tried."""
import json, os, pathlib, select, subprocess, tarfile, time

from setup.network import need, need_files

from .facts import ARM64, VERSION

SECONDS = 60
SYSROOT = "/usr/aarch64-linux-gnu"
# The kernel then runs AArch64 programs by qemu, in this namespace alone: tandem-dap starts itself.
REGISTER = ("mount -t binfmt_misc none /proc/sys/fs/binfmt_misc\n"
            r"printf ':aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:"
            r"\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:/usr/bin/qemu-aarch64-static:F'"
            " > /proc/sys/fs/binfmt_misc/register\nexec \"$@\"")


def archive_in(out):
    return out / f"tandem-{VERSION}-{ARM64.name}.tar.gz"


def run(out, scratch, python):
    """Raises RuntimeError where something fails. `python` has debugpy."""
    need("qemu-aarch64-static", "qemu-user-static")
    need_files(f"{SYSROOT}/lib/ld-linux-aarch64.so.1", "libc6-arm64-cross")
    with tarfile.open(archive_in(out)) as tar:
        tar.extractall(scratch, filter="data")
    programs = scratch / archive_in(out).name.removesuffix(".tar.gz") / "bin"
    for name in ("tandem-dap", "tandem-mcp"):
        said = subprocess.run(emulated(programs / name, "--version"), stdout=subprocess.PIPE, text=True, timeout=SECONDS, env=environment())
        expect(said.stdout.strip(), f"{name} {VERSION}", f"the version of {name}")
    program, interpreter = scratch / "program.py", scratch / "python"
    program.write_text("total = 0\nfor number in range(3):\n    total += number\nprint('total', total)\n")
    # A script: a Python for this machine itself would be refused as one for another.
    interpreter.write_text(f"#!/bin/sh\nexec '{python}' \"$@\"\n")
    interpreter.chmod(0o755)
    with Adapter(programs / "tandem-dap") as adapter:
        adapter.ask("initialize", clientID="try-release", adapterID="tandem")
        refused = adapter.answer(adapter.send("launch", program="/app/tour.dll"))
        expect(refused["body"]["error"]["variables"]["code"], "UNSUPPORTED", f"a .NET program ({refused})")
    with Adapter(programs / "tandem-dap") as adapter:
        adapter.ask("initialize", clientID="try-release", adapterID="tandem")
        launch = adapter.send("launch", program=str(program), python=str(interpreter))
        adapter.until(lambda message: message.get("event") == "initialized", "`initialized`")
        adapter.ask("setBreakpoints", source={"path": str(program)}, breakpoints=[{"line": 4}])
        adapter.ask("configurationDone")
        adapter.answer(launch)
        stopped = adapter.until(lambda message: message.get("event") == "stopped", "a stop")["body"]
        frame = adapter.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"][0]
        expect(frame["line"], 4, "the line of the stop")
        expect(adapter.ask("evaluate", expression="total", frameId=frame["id"])["result"], "3", "a value")
        adapter.ask("continue", threadId=stopped["threadId"])
        ended = adapter.until(lambda message: message.get("event") == "exited", "the end")["body"]
        expect(ended["exitCode"], 0, "the exit code")
        adapter.ask("disconnect")


def environment():
    return {**os.environ, "QEMU_LD_PREFIX": SYSROOT}


def emulated(*command):
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", REGISTER, "sh", *map(str, command)]


def expect(found, wanted, what):
    if found != wanted:
        raise RuntimeError(f"{what}: {found!r}, not {wanted!r}")


class Adapter:
    """A DAP client of `tandem-dap` over its stdin and stdout."""

    def __init__(self, program):
        self.process = subprocess.Popen(emulated(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), bufsize=0)
        self.pending, self.seen, self.last = b"", [], 0

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

    def answer(self, seq):
        return self.until(lambda message: message.get("request_seq") == seq, "an answer")

    def ask(self, command, **arguments):
        answer = self.answer(self.send(command, **arguments))
        if not answer["success"]:
            raise RuntimeError(f"{command}: {answer}")
        return answer.get("body")

    def until(self, fits, what):
        """The first message that fits, also one that came before."""
        deadline = time.monotonic() + SECONDS
        while True:
            for index, message in enumerate(self.seen):
                if fits(message):
                    return self.seen.pop(index)
            self.read(deadline, what)

    def read(self, deadline, what):
        if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
            raise RuntimeError(f"{what} did not come within {SECONDS} s; there were {self.seen}")
        chunk = os.read(self.process.stdout.fileno(), 65536)
        if not chunk:
            raise RuntimeError(f"the adapter ended before {what}; there were {self.seen}")
        self.pending += chunk
        while b"\r\n\r\n" in self.pending:
            head, rest = self.pending.split(b"\r\n\r\n", 1)
            length = int(head.rsplit(b":", 1)[1])
            if len(rest) < length:
                return
            self.seen.append(json.loads(rest[:length]))
            self.pending = rest[length:]
