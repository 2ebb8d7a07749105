#!/usr/bin/env python3
"""Writes src/types/generated.rs from the official declarations of the Debug Adapter Protocol, which scripts/setup fetches
(`debugProtocol` in the cache's env.json). `--check` writes nothing and fails when the file would change.

Generated are the types of TYPES, and what they refer to of TYPES; fields of other types stay JSON values. A field that the
schema calls optional is an `Option`. Unknown fields are kept in `rest`."""
import json, os, pathlib, re, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = HERE / "src/types/generated.rs"

# Interfaces, and the bodies of events and responses (`StoppedEventBody`). Types that the `dap` crate has
# whole are not here.
TYPES = """
Breakpoint BreakpointEventBody BreakpointLocation BreakpointLocationsArguments BreakpointLocationsResponseBody
CancelArguments CapabilitiesEventBody Checksum CompletionItem CompletionsArguments CompletionsResponseBody
ContinueResponseBody ContinuedEventBody DataBreakpointInfoResponseBody DisassembleArguments
DisassembleResponseBody DisassembledInstruction DisconnectArguments EvaluateArguments EvaluateResponseBody
ExceptionDetails ExceptionFilterOptions ExceptionInfoArguments ExceptionInfoResponseBody GotoTarget
GotoTargetsArguments GotoTargetsResponseBody InitializeRequestArguments InvalidatedEventBody
LoadedSourceEventBody LoadedSourcesResponseBody Module ModuleEventBody ModulesArguments ModulesResponseBody
OutputEventBody ProcessEventBody ProgressEndEventBody ProgressStartEventBody ProgressUpdateEventBody
ReadMemoryArguments ReadMemoryResponseBody RunInTerminalRequestArguments RunInTerminalResponseBody Scope
ScopesArguments ScopesResponseBody SetBreakpointsResponseBody SetExceptionBreakpointsArguments
SetExceptionBreakpointsResponseBody SetVariableArguments SetVariableResponseBody Source SourceArguments
SourceBreakpoint SourceResponseBody StackFrame StackTraceArguments StackTraceResponseBody
StartDebuggingRequestArguments StepInTarget StepInTargetsResponseBody StoppedEventBody Thread ThreadEventBody
ThreadsResponseBody ValueFormat Variable VariablePresentationHint VariablesArguments VariablesResponseBody
WriteMemoryArguments WriteMemoryResponseBody
""".split()

KEYWORDS = {"type": "kind"}

# Names that another type of the project has: these get the prefix.
SHARED = "Checksum Module ModulesArguments Scope SourceArguments Thread Variable".split()


def declarations():
    cache = pathlib.Path(os.environ.get("TANDEM_CACHE") or ROOT / ".cache")
    return pathlib.Path(json.loads((cache / "env.json").read_text())["debugProtocol"]).read_text()


def interfaces(text):
    """Name -> fields (name, optional, TypeScript type), with bodies as separate interfaces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found, bases = {}, {}
    for match in re.finditer(r"^\t(?:export )?interface (\w+)(?: extends (\w+))? \{\n(.*?)^\t\}", text, re.S | re.M):
        name, base, body = match.groups()
        bases[name] = base
        inner = re.search(r"^\t\tbody\??: \{\n(.*?)^\t\t\};", body, re.S | re.M)
        if inner:
            found[name + "Body"] = fields(inner.group(1), 3)
        found[name] = fields(body, 2)
    for name, base in bases.items():
        if base in found and base not in ("Request", "Response", "Event", "ProtocolMessage"):
            found[name] = found[base] + found[name]
    return found


def fields(body, depth):
    return [(name, optional == "?", kind.rstrip(";").strip())
            for name, optional, kind in re.findall(rf"^\t{{{depth}}}(\w+)(\??): (.*)$", body, re.M)]


def type_name(name):
    return f"Dap{name}" if name in SHARED else name


def rust(kind):
    if kind.endswith("[]"):
        return f"Vec<{rust(kind[:-2].strip('()'))}>"
    if kind in TYPES:
        return type_name(kind)
    parts = [part.strip() for part in kind.split("|")]
    if all(part == "string" or part.startswith("'") for part in parts):
        return "String"
    return {"string": "String", "number": "i64", "boolean": "bool"}.get(kind, STRINGS.get(kind, "Value"))


# Types that are only a choice of strings.
STRINGS = dict.fromkeys(["SteppingGranularity", "ChecksumAlgorithm", "InvalidatedAreas", "DataBreakpointAccessType", "ExceptionBreakMode"], "String")


def snake(name):
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", re.sub(r"ANSI|ID\b", lambda word: word.group().capitalize(), name)).lower()
    return KEYWORDS.get(name, name)


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def render(found):
    out = ["//! Types of the Debug Adapter Protocol as its schema has them. Written by `generate.py`; do not edit.",
           "#![allow(missing_docs, reason = \"the specification documents the fields\")]", "",
           "use serde::{Deserialize, Serialize};", "use serde_json::{Map, Value};", "",
           "use super::{optional, required};", ""]
    for name in TYPES:
        out += ["#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]",
                '#[serde(default, rename_all = "camelCase")]', f"pub struct {type_name(name)} {{"]
        for field, is_optional, kind in found[name]:
            rusty, own = rust(kind), snake(field)
            options = [] if camel(own) == field else [f'rename = "{field}"']
            if is_optional:
                options += ['deserialize_with = "optional"', 'skip_serializing_if = "Option::is_none"']
                rusty = f"Option<{rusty}>"
            else:
                options += ['deserialize_with = "required"']
            out += [f"#[serde({', '.join(options)})]", f"pub {own}: {rusty},"]
        out += ["/// Fields that the schema does not know.", "#[serde(flatten)]", "pub rest: Map<String, Value>,", "}", ""]
    done = subprocess.run(["rustfmt", "--edition", "2024", "--config-path", str(ROOT)], input="\n".join(out), text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout


def main():
    text = render(interfaces(declarations()))
    if "--check" in sys.argv[1:]:
        sys.exit(0 if OUT.read_text() == text else f"{OUT} is not what `generate.py` writes")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text)


main()
