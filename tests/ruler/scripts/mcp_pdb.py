"""mcp-pdb 0.6 (PyPI), which debugs Python. Programs that read stdin have none there: pdb reads it; and pdb stops in the main thread only.

`MCP_PDB` names its program, for example of a virtual environment with `mcp-pdb` and `mcp<2`."""
import os

from mcp import Client


class Tool(Client):
    """The server, and pdb's commands."""

    def __init__(self, question, env):
        if question.language != "python":
            raise ValueError(f"it does not debug {question.language}")
        super().__init__([os.environ.get("MCP_PDB", "mcp-pdb")], cwd=question.programs)
        self.question = question

    def start(self, *args):
        self.call("start_debug", file_path=str(self.question.source), args=" ".join(args))

    def pdb(self, command):
        answer = self.call("send_pdb_command", command=command)
        text = answer["result"] if isinstance(answer, dict) else answer
        return text.split("(Pdb) ", 1)[-1]

    def number_of(self, text):
        lines = self.question.source.read_text().splitlines()
        return next(at for at, line in enumerate(lines, 1) if text in line)


def py_stale(tool):
    tool.start()
    wrong = "self._seen[name] != self._values.get(name, 0) * self._scale()"
    tool.pdb(f"b {tool.number_of('return self._seen[name]')}, {wrong}")
    tool.pdb("c")
    return list(eval(tool.pdb("p name, self._seen[name], self._values.get(name, 0) * self._scale()")))


def py_marks(tool):
    tool.start()
    tool.pdb(f"b {tool.number_of('rows.append')}, not all('lore' in part for part in paper['parts'])")
    tool.pdb("c")
    return list(eval(tool.pdb("p name, '%.2f' % score")))


def py_key(tool):
    tool.start()
    tool.pdb(f"b {tool.number_of('print(')}")
    tool.pdb("c")
    record = eval(tool.pdb("p crates[7]"))
    key = next(key for key, value in record.items() if key != "pieces" and isinstance(value, int))
    return [key, record[key]]


def py_two_runs(tool):
    runs = []
    for seed in ("8", "17"):
        tool.start(seed)
        tool.pdb(f"b {tool.number_of('knots.append')}, print('@', lap, strand)")
        lines = [line for line in tool.pdb("c").splitlines() if "@ " in line]
        runs.append([line.split("@ ")[1].split() for line in lines])
        tool.call("end_debug")
    one, two = next((one, two) for one, two in zip(*runs) if one != two)
    return [one[0], one[1], two[1]]
