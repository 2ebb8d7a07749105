#!/usr/bin/env python3
"""The ruler: runs each product's script for each question, and prints what that cost and whether the answers are right.

Not here: the questions (`questions.json`), the scripts (`scripts/`), or any model."""
import argparse
import importlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = Path(os.environ.get("TANDEM_CACHE", ROOT / ".cache"))
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

PRODUCTS = ["tandem", "prints", "mcp_pdb"]


def settings():
    """What set-up has found."""
    return json.loads((CACHE / "env.json").read_text())


def copy_and_build(target):
    """Copies the programs and builds those that are compiled; returns the folder."""
    env = settings()
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(HERE / "programs", target)
    build(target, env, ["c", "cpp", "rust", "go", "csharp"])
    return target


def build(target, env, languages):
    """Builds programs in their folders; returns what the compilers print."""
    go = {**os.environ, "GOEXPERIMENT": "nodwarf5", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
    steps = {
        "c": [(["gcc", "-g", "-O0", "-pthread", "c/parchment.c", "-o", "c/parchment"], None)],
        "cpp": [(["g++", "-std=c++17", "-g", "-O0", "cpp/gannet.cpp", "-o", "cpp/gannet"], None)],
        "rust": [(["rustc", "-g", "-A", "warnings", "rust/tarnhow.rs", "-o", "rust/tarnhow"], None)],
        "go": [([env["tools"]["go"], "build", "-C", "go", "-gcflags=all=-N -l", "-o", "fernlock", "."], go)],
        "csharp": [
            (["dotnet", "build", "-v", "q", "--nologo", f"csharp/{name}"], None) for name in ("Ostwick", "Drasken")
        ],
    }
    printed = ""
    for language in languages:
        for command, environment in steps[language]:
            done = subprocess.run(command, cwd=target, env=environment, capture_output=True, text=True, timeout=300)
            printed += done.stdout + done.stderr
            if done.returncode:
                raise SystemExit(f"{' '.join(command)}\n{printed}")
    return printed


class Question:
    """A question, and where its program is."""

    def __init__(self, row, programs):
        self.id, self.language, self.answer = row["id"], row["language"], row["answer"]
        self.programs = Path(programs)
        self.args = [self.port(arg) for arg in row.get("args", [])]
        self.source = self.programs / row["program"]
        self.stdin = (self.programs / row["stdin"]).read_text() if "stdin" in row else None
        if self.language == "csharp":
            self.source = self.source / (self.source.name + ".cs")
        if self.language == "go":
            self.source = self.source / "main.go"

    @staticmethod
    def port(arg):
        if "PORT" not in arg:
            return arg
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return arg.replace("PORT", str(free.getsockname()[1]))

    @property
    def program(self):
        """What runs."""
        built = {
            "csharp": lambda: next(self.source.parent.glob(f"bin/Debug/*/{self.source.stem}.dll")),
            "go": lambda: self.source.parent / "fernlock",
        }
        make = built.get(self.language, lambda: self.source.with_suffix(""))
        return make() if self.language in ("csharp", "go", "c", "cpp", "rust") else self.source


def plain(text):
    """A value as it compares: without quotes and the decoration of debuggers."""
    text = str(text).strip()
    return re.sub(r"""^(0x[0-9a-f]+ )?["'](.*)["']$""", r"\2", text, flags=re.S)


def measure(product, question, programs):
    """Runs one script; returns its row."""
    scripts = importlib.import_module(f"scripts.{product}")
    script = getattr(scripts, question.id.replace("-", "_"), None)
    row = {"id": question.id, "right": False, "calls": 0, "in": 0, "out": 0, "ms": 0}
    if script is None:
        return {**row, "why": "no script"}
    began = time.monotonic()
    tool = None
    try:
        tool = scripts.Tool(question, settings())
        answer = [plain(part) for part in script(tool)]
        row["right"] = answer == question.answer
        if not row["right"]:
            row["why"] = f"{answer} instead of {question.answer}"
    except Exception as error:
        row["why"] = f"{type(error).__name__}: {error}" if not os.environ.get("RULER_TRACE") else traceback.format_exc()
    finally:
        if tool is not None:
            row.update(calls=tool.calls, ms=round((time.monotonic() - began) * 1000))
            row["in"], row["out"] = tool.sent // 4, tool.received // 4
            if os.environ.get("RULER_TRACE") and not row["right"]:
                for entry in tool.log:
                    print(json.dumps(entry)[:3000], file=sys.stderr)
            tool.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--product", action="append", choices=PRODUCTS, help="only these; default: all")
    parser.add_argument("--question", action="append", help="only these, by id")
    parser.add_argument("--json", action="store_true", help="each row as JSON")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they were built last")
    flags = parser.parse_args()
    programs = CACHE / "ruler"
    if not flags.no_build or not programs.is_dir():
        copy_and_build(programs)
    questions = json.loads((HERE / "questions.json").read_text())
    chosen = [row for row in questions if not flags.question or row["id"] in flags.question]
    print("| product | right | calls | tokens in | tokens out | seconds |\n|---|---|---|---|---|---|")
    for product in flags.product or PRODUCTS:
        rows = [measure(product, Question(row, programs), programs) for row in chosen]
        total = {key: sum(row[key] for row in rows) for key in ("right", "calls", "in", "out", "ms")}
        print(
            f"| {product} | {total['right']} of {len(rows)} | {total['calls']} | {total['in']} | {total['out']} "
            f"| {total['ms'] / 1000:.1f} |",
            flush=True,
        )
        for row in rows:
            if flags.json:
                print(json.dumps(row), file=sys.stderr)
            elif not row["right"]:
                print(f"{product}: {row['id']}: {row.get('why')}"[:400], file=sys.stderr)


if __name__ == "__main__":
    main()
