"""Tandem's answers: for each question the shortest sequence of calls, and where in the answers a reader finds it."""
import json
import os
from pathlib import Path

from mcp import Client

BINARY = Path(os.environ.get("TANDEM_MCP", Path(__file__).resolve().parents[3] / "target/debug/tandem-mcp"))


class Tool(Client):
    """`tandem-mcp`, and the launch of a question's program."""

    def __init__(self, question, env):
        super().__init__([str(BINARY)], cwd=question.programs)
        self.question, self.env = question, env

    def launch(self, **more):
        question, env = self.question, self.env
        engine = {
            "python": {"python": env["python"]},
            "c": {"engine": "gdb", "enginePath": env["gdb"]},
            "cpp": {"engine": "gdb", "enginePath": env["gdb"]},
            "rust": {"engine": "gdb", "enginePath": env["gdb"]},
            "go": {"engine": "delve", "enginePath": env["dlv"], "dlvFlags": ["--check-go-version=false"]},
            "javascript": {"enginePath": env["jsDebug"]},
        }.get(question.language, {})
        launch = {"program": str(question.program), **engine, **more}
        if question.args:
            launch["args"] = question.args
        if question.stdin is not None:
            launch["trigger"] = {"input": question.stdin, "close": True}
        return self.good(self.call("debug_launch", **launch))

    def good(self, answer):
        if not isinstance(answer, dict) or answer.get("success") is not True:
            raise ValueError(json.dumps(answer)[:600])
        return answer

    def trace(self, text=None, *expressions, **more):
        place = {"sourceFile": str(self.question.source), "text": text, "expressions": list(expressions)} if text else {}
        self.launch()
        answer = self.good(self.call("debug_trace", **place, **more))
        return answer["rows"]

    def places(self, *places, **more):
        source = str(self.question.source)
        listed = [
            {"sourceFile": source, "text": text, "expressions": list(expressions), **options}
            for text, expressions, options in places
        ]
        return self.trace(places=listed, **more)

    def follow(self, function, **more):
        self.launch()
        return self.good(self.call("debug_follow", function=function, **more))


def in_round(life, name, wanted):
    """The value of a variable after a round of the only loop."""
    at, value = 0, None
    for line in life:
        line = line.strip()
        if line.startswith(("round ", "rounds ")):
            head, _, rest = line.partition(":")
            numbers = head.split()[1].split("-")
            first, last = int(numbers[0]), int(numbers[-1])
            at = first
            columns = dict(part.split("=", 1) for part in rest.strip().split("; ") if "=" in part)
            if name in columns and rest.strip():
                values = columns[name].split(",")
                for number, cell in zip(range(first, last + 1), values):
                    if number <= wanted and cell != "-":
                        value = cell
                at = last
        elif "=>" in line and at <= wanted:
            for part in line.split("=> ", 1)[1].split("; "):
                if part.startswith(name + "="):
                    value = part.split("=", 1)[1]
    return value


def py_round(tool):
    return [in_round(tool.follow("settle", call=3)["life"], "drift", 7)]


def py_none(tool):
    return tool.trace("return None", "vat.name", "force")[0]


def py_writer(tool):
    own = {"condition": "vat.name == 'ambrel'"}
    writes = ["vat.level = (vat.level", "vat.level = drift", "vat.level -= len", "vat.level -= 11", "vat.level += vat"]
    rows = tool.places(*((text, ["vat.level"], own) for text in writes), keep="ends")
    last = max(at for at, row in enumerate(rows) if row[1] == 0)
    return [["nudge", "settle", "leak", "skim", "seal"][rows[last - 1][1]], rows[last][2]]


def py_stdin(tool):
    return [tool.trace("total += handle", "line.strip()", keep="ends")[-1][1]]


def py_stale(tool):
    return tool.trace(
        "return self._seen[name]", "name", "self._seen[name]", "self._values.get(name, 0) * self._scale()",
        condition="self._seen[name] != self._values.get(name, 0) * self._scale()", hits=1,
    )[0]


def py_race(tool):
    rows = tool.trace("tally = seen + amount", "threading.current_thread().name", "seen", "tally")
    at = next(at for at, row in enumerate(rows) if row[1] != row[2])
    return [rows[at - 1][0], rows[at][0]]


def py_marks(tool):
    return tool.trace(
        "rows.append((name, score))", "name", "'%.2f' % score",
        condition="not all('lore' in part for part in paper['parts'])", hits=1,
    )[0]


def py_key(tool):
    row = tool.trace('print("to pay:"', "crates[7]")[0][0]
    record = eval(row)
    key = next(key for key, value in record.items() if key != "pieces" and isinstance(value, int))
    return [key, record[key]]


def py_two_runs(tool):
    runs = []
    for seed in ("8", "17"):
        tool.question.args = [seed]
        runs.append(tool.trace("knots.append", "lap", "strand", hits=40))
    one, two = next((one, two) for one, two in zip(*runs) if one != two)
    return [one[0], one[1], two[1]]


def cs_round(tool):
    return [in_round(tool.follow("Weigh", condition='sack.Name == "hask"')["life"], "heft", 7)]


def cs_null(tool):
    return [tool.trace("return null;", "mass", keep="ends")[-1][1]]


def cs_writer(tool):
    rows = tool.places(
        ("public void Heave", ["pressure"], {}), ("public void Vent", ["pressure"], {}),
        ("public void Seal", ["pressure"], {"condition": "at % 3 == 1"}), keep="ends",
    )
    return [["Heave", "Vent", "Seal"][rows[-1][1]], rows[-1][2]]


def cs_stdin(tool):
    return [tool.trace("var words = line", "line", keep="ends")[-1][1]]


def cs_threads(tool):
    name = 'second == cellar ? "cellar" : second == attic ? "attic" : "larder"'
    rows = tool.trace("lock (second)", name, hits=2, perThread=True)
    threads = tool.good(tool.call("debug_threads"))["threads"]
    names = {thread["id"]: thread["name"] for thread in threads}
    return sorted(f"{names[thread]} {key.strip(chr(34))}" for thread, key in rows)


def cs_depth(tool):
    return tool.trace("return depth * seed;", "depth", "seed")[0]


def cs_threw(tool):
    rows = tool.places(("throw new InvalidOperation", ["size"], {}), ("throw new Argument", ["size"], {}))
    return [f"{row[1]} {['InvalidOperationException', 'ArgumentException'][row[0]]}" for row in rows]


def cs_rebate(tool):
    return [row[0] for row in tool.trace("sum += ware.Due;", "ware.Name", condition="ware.Due == ware.Price")]


def rs_round(tool):
    return [in_round(tool.follow("lift", call=11)["life"], "strain", 7)]


def rs_none(tool):
    return tool.trace("enter(&mut record", "cart.ore", "strain % 7", condition="worth == 0", hits=1)[0]


def rs_panic(tool):
    tool.launch(run=True)
    results = tool.good(tool.call("debug_evaluate", expressions=["ore", "*row"]))["results"]
    return [row["result"] for row in results]


def rs_cart(tool):
    tool.trace("let worth", "shift", condition="shift == 12", hits=1)
    rows = tool.good(tool.call("debug_variables", path="cart", depth=4))["variables"]
    fields = {row["name"]: row for row in rows}
    owner = json.dumps(fields["owner"]).split('digger 36')
    load = ", ".join(row["value"] for row in fields["load"]["children"])
    return ["digger 36" if len(owner) > 1 else owner, load]


def plain(text):
    return str(text).strip("[]\"")


def nests(tool):
    """Keys and values follow each other."""
    rows = tool.good(tool.call("debug_variables", path="cliff.nests", depth=2))["variables"]
    eggs = lambda row: next(child["value"] for child in row["children"] if child["name"] == "eggs")
    return {plain(key["value"]): eggs(nest) for key, nest in zip(rows[::2], rows[1::2])}


def cpp_map(tool):
    tool.trace("found += seen", "round", condition="round == 8", hits=1)
    return [f"{name} {eggs}" for name, eggs in sorted(nests(tool).items())]


def cpp_writer(tool):
    source = str(tool.question.source)
    tool.launch(breakpoints=[{"sourceFile": source, "text": "auto seen =", "condition": "round == 12"}])
    texts = ["nest.visits.push_back", "found->second.eggs -= 9", "nests[name].eggs += tide"]
    places = [{"sourceFile": source, "text": text} for text in texts]
    rows = tool.good(tool.call("debug_trace", places=places, expressions=["name"], hits=100))["rows"]
    last = [row for row in rows if "ruddock" in row[1]][-1]
    return [["lay", "rob", "count"][last[0]], nests(tool)["ruddock"]]


def c_crash(tool):
    stop = tool.launch(run=True)
    values = {row["name"]: row["value"] for row in stop["event"]["locals"]}
    text = values["text"][values["text"].index('"') :].strip('"')
    return [f"{values['first']} {values['last']} {text}"]


def c_threads(tool):
    rows = tool.trace("pthread_mutex_lock(two)", "swapped", "two == &inkwell", hits=2)
    waits = {("null" if row[0] in ("0x0", "NULL", "0x0000000000000000") else "other"): row[1] for row in rows}
    name = lambda inkwell: "inkwell" if inkwell in ("1", "true") else "quillbox"
    return [f"{who} {name(waits[who])}" for who in ("null", "other")]


def c_patch(tool):
    text, patched = tool.trace("patched += count", "text", "patched + count", condition="count < 0", hits=1)[0]
    return [text[text.index('"') :], patched]


def go_round(tool):
    life = tool.follow("main.water", condition="level == 9 && rounds == 5")["life"]
    return [in_round(life, "level", 4)]


def go_errors(tool):
    return [row[0] for row in tool.trace("return 0, errors.New", "stock", hits=100)]


def go_request(tool):
    tool.launch()
    url = f"http://{tool.question.args[0]}/dose?grain=9"
    answer = tool.good(
        tool.call("debug_trace", sourceFile=str(tool.question.source), text="strength := mixture", expressions=["mixture"],
                  hits=1, trigger=url)
    )
    row = answer["rows"][0][0]
    return [row[row.rindex("[") + 1 : row.rindex("]")].replace(",", " ")]


def go_cycle(tool):
    rows = tool.trace("total := bed.Depth", "bed.Name", hits=6)
    seen = []
    for row in rows:
        if row[0] in seen:
            return [row[0]]
        seen.append(row[0])


def go_args(tool):
    return tool.trace("join :=", "stock", "scion", hits=4)[-1]


def js_round(tool):
    return [in_round(tool.follow("weighIn", condition="parcel.label === 'ring 3'")["life"], "burden", 5)]


def js_undefined(tool):
    return tool.trace("return towns[at]", "town", "ring", condition="towns[at] === undefined")[0]


def js_request(tool):
    return tool.trace("return lot.toll", "path", "burden", condition="!lot")[0]


def js_words(tool):
    return tool.trace(
        "return { verb, numbers };", "line", "rest.filter((word) => !numbers.includes(Number(word))).join()",
        condition="rest.length !== numbers.length",
    )[0]


def js_writer(tool):
    rows = tool.places(
        ("function polish", ["shelf.brass", "amount"], {}),
        ("function tarnish", ["shelf.brass"], {"condition": "shelf.brass > 20"}),
        ("function swap", ["shelf.brass"], {"condition": "amount % 4 === 3"}), hits=100,
    )
    at = next(at for at, row in enumerate(rows) if row[0] == 0 and row[2] == "21")
    return [["polish", "tarnish", "swap"][rows[at - 1][0]], rows[at][1]]


def rb_round(tool):
    return [tool.trace("hound.bones << trail", "trail", hits=17)[-1][0]]


def rb_nil(tool):
    return tool.trace("found && found + stick", "hound.name", "stick", condition="found.nil?", keep="ends")[-1][1:]


def rb_failure(tool):
    return tool.trace("hound.bones.sum /", "hound.name", "hound.hunger", keep="ends")[-1][1:]


def rb_branch(tool):
    row = tool.trace("roam(hound, 6)", "hound.name", "hound.hunger", "hound.mood", condition="hound.hunger > 20", hits=1)[0]
    return [row[0], row[1], row[2].lstrip(":")]
