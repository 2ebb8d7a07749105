"""Print debugging: an edit that prints, a build where there must be one, a run whose output is read. Putting the source back is not counted."""
import json
import subprocess
import sys

import ruler


class Tool:
    """Edits and runs the program of a question as an agent with a file tool and a shell would; counts what that costs."""

    def __init__(self, question, env):
        self.question, self.env = question, env
        self.calls = self.sent = self.received = 0
        self.log, self.kept = [], question.source.read_text()

    def edit(self, old, new):
        text = self.question.source.read_text()
        if old not in text:
            raise ValueError(f"no `{old}`")
        self.question.source.write_text(text.replace(old, new, 1))
        self.count({"path": str(self.question.source), "old": old, "new": new}, "edited")

    def run(self, args=None, seconds=20, meanwhile=None):
        """Builds where needed, and runs it."""
        question = self.question
        printed = ""
        compiled = question.language in ("c", "cpp", "rust", "go", "csharp")
        if compiled:
            printed = ruler.build(question.programs, self.env, [question.language])
        interpreter = {"python": sys.executable, "ruby": "ruby", "javascript": "node", "csharp": "dotnet"}
        command = [str(question.program), *(args or question.args)]
        if question.language in interpreter:
            command.insert(0, interpreter[question.language])
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            if meanwhile:
                meanwhile()
                process.terminate()
            printed += process.communicate(question.stdin or "", timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            printed += process.communicate()[0]
        built = "build && " if compiled else ""
        self.count({"command": built + " ".join(command) + (" < input" if question.stdin else "")}, printed)
        return printed

    def count(self, arguments, answer):
        self.calls += 1
        self.sent += len(json.dumps(arguments))
        self.received += len(answer.encode())
        self.log.append((arguments, answer))

    def printed(self, old, new, **more):
        """The lines that begin with `@`, as words."""
        self.edit(old, new)
        return self.lines(**more)

    def lines(self, **more):
        found = [line[1:].strip() for line in self.run(**more).splitlines() if line.startswith("@")]
        return [line.split("|") for line in found]

    def close(self):
        changed = self.question.source.read_text() != self.kept
        self.question.source.write_text(self.kept)
        if changed and self.question.language in ("c", "cpp", "rust", "go", "csharp"):
            ruler.build(self.question.programs, self.env, [self.question.language])


def py_round(tool):
    old = "        drift = (drift * 7 + turn * vat.level + 3) % 997\n"
    return [tool.printed(old, old + '        print(f"@{turn}|{drift}")\n')[2 * 9 + 6][1]]


def py_none(tool):
    return tool.printed("        return None\n", '        print(f"@{vat.name}|{force}"); return None\n')[0]


def py_writer(tool):
    old = "        self.seams = []\n"
    tool.edit(old, old + "\n    def __setattr__(self, key, value):\n        super().__setattr__(key, value)\n"
              "        if key == 'level': print(f\"@{self.name}|{sys._getframe(1).f_code.co_name}|{value}\")\n")
    rows = [row for row in tool.lines() if row[0] == "ambrel"]
    last = max(at for at, row in enumerate(rows) if row[1] == "nudge")
    return rows[last - 1][1:]


def py_stdin(tool):
    old = "        total += handle(line, vats)"
    return tool.printed(old, '        print("@" + line.strip())\n' + old)[-1]


def py_stale(tool):
    old = "        return self._seen[name]"
    new = '        print(f"@{name}|{self._seen[name]}|{self._values.get(name, 0) * self._scale()}")\n' + old
    return next(row for row in tool.printed(old, new) if row[1] != row[2])


def py_race(tool):
    old = "    tally = seen + amount\n"
    rows = tool.printed(old, '    print(f"@{threading.current_thread().name}|{seen}|{tally}")\n' + old)
    at = next(at for at, row in enumerate(rows) if row[1] != row[2])
    return [rows[at - 1][0], rows[at][0]]


def py_marks(tool):
    old = "            rows.append((name, score))\n"
    rows = tool.printed(old, old + '            print(f"@{name}|{score:.2f}|{paper}")\n')
    return next(row[:2] for row in rows if row[2].count("craft") != row[2].count("lore"))


def py_key(tool):
    old = "crates = unpack(PACKED)\n"
    record = eval(tool.printed(old, old + 'print("@", crates[7])\n')[0][0])
    key = next(key for key, value in record.items() if key != "pieces" and isinstance(value, int))
    return [key, record[key]]


def py_two_runs(tool):
    old = '        knots.append("NESW"[turn])\n'
    tool.edit(old, old + '        print(f"@{lap}|{strand}")\n')
    runs = [tool.lines(args=[seed]) for seed in ("8", "17")]
    one, two = next((one, two) for one, two in zip(*runs) if one != two)
    return [one[0], one[1], two[1]]


def cs_round(tool):
    old = "                if (heft % 7 == 0)\n                    heft += 2;\n"
    rows = tool.printed(old, old + '                Console.WriteLine($"@{sack.Name}|{turn}|{heft}");\n')
    return [next(row[2] for row in rows if row[:2] == ["hask", "6"])]


def cs_null(tool):
    return tool.printed("            return null;", '            Console.WriteLine($"@{mass}"); return null;')[-1]


def cs_writer(tool):
    tool.edit("{ pressure = (pressure * 3", '{ Console.WriteLine($"@Heave|{pressure}"); pressure = (pressure * 3')
    tool.edit("{ pressure -= ", '{ Console.WriteLine($"@Vent|{pressure}"); pressure -= ')
    tool.edit("if (at % 3 == 1) pressure += at;", 'if (at % 3 == 1) { Console.WriteLine($"@Seal|{pressure}"); pressure += at; }')
    return tool.lines()[-1]


def cs_stdin(tool):
    old = "            var words = line.Split(' ');"
    return tool.printed(old, '            Console.WriteLine("@" + line);\n' + old)[-1]


def cs_threads(tool):
    old = "                lock (second)\n"
    new = ('                Console.WriteLine($"@{Thread.CurrentThread.Name} {(second == cellar ? "cellar" : second == attic ? "attic" : "larder")}");\n')
    return sorted(row[0] for row in tool.printed(old, new + old, seconds=3))


def cs_depth(tool):
    return tool.printed("                return depth * seed;", '                { Console.WriteLine($"@{depth}|{seed}"); return depth * seed; }')[0]


def cs_threw(tool):
    tool.edit("catch (ArgumentException) { kept", 'catch (ArgumentException e) { Console.WriteLine($"@{grain * pass % 31} {e.GetType().Name}"); kept')
    tool.edit("catch (InvalidOperationException) { kept", 'catch (InvalidOperationException e) { Console.WriteLine($"@{grain * pass % 31} {e.GetType().Name}"); kept')
    return [row[0] for row in tool.lines()]


def cs_rebate(tool):
    old = "                sum += ware.Due;"
    rows = tool.printed(old, '                { Console.WriteLine($"@{ware.Name}|{ware.Price}|{ware.Due}"); sum += ware.Due; }')
    return [row[0] for row in rows if row[1] == row[2]]


def rs_round(tool):
    old = "        strain = (strain * 37 + round * 11) % 769;\n"
    rows = tool.printed(old, old + '        println!("@{}|{}|{}", cart.load[0], round, strain);\n')
    return [next(row[2] for row in rows if row[:2] == ["10", "6"])]


def rs_none(tool):
    old = "    let best = "
    new = '    if !cart.load.iter().any(|piece| piece % 7 == grade) { println!("@{}|{}", cart.ore, grade); }\n' + old
    return tool.printed(old, new)[0]


def rs_panic(tool):
    old = "    if *row < -700 {"
    return tool.printed(old, '    println!("@{}|{}", ore, *row);\n' + old)[-1]


def rs_cart(tool):
    old = "        let worth = "
    rows = tool.printed(old, '        println!("@{}|{:?}|{:?}", shift, cart.owner, cart.load);\n' + old)
    owner, load = next(row[1:] for row in rows if row[0] == "12")
    return [owner.split('"')[1], load.strip("[]")]


def cpp_map(tool):
    tool.edit("    int eggs(const", '    void show() const { for (const auto &[name, nest] : nests) std::printf("@%s %d\\n", name.c_str(), nest.eggs); }\n    int eggs(const')
    tool.edit("        found += ", "        if (round == 8) cliff.show();\n        found += ")
    return sorted(row[0] for row in tool.lines())


def cpp_writer(tool):
    tool.edit("        nest.visits.push_back", '        std::printf("@%s|lay|%d\\n", name.c_str(), nest.eggs);\n        nest.visits.push_back')
    tool.edit("            found->second.eggs -= 9;", '            std::printf("@%s|rob|%d\\n", name.c_str(), found->second.eggs -= 9);')
    tool.edit("            nests[name].eggs += tide % 3;", '            std::printf("@%s|count|%d\\n", name.c_str(), nests[name].eggs += tide % 3);')
    tool.edit("        auto seen", '        std::printf("@round|%d\\n", round);\n        auto seen')
    rows = tool.lines()
    before = rows[: rows.index(["round", "12"])]
    return [row for row in before if row[0] == "ruddock"][-1][1:]


def c_crash(tool):
    old = "    int count = last - first + 1;\n"
    return tool.printed(old, old + '    printf("@%d %d %s\\n", first, last, text); fflush(stdout);\n')[-1]


def c_threads(tool):
    old = "    pthread_mutex_lock(two);"
    new = '    printf("@%s %s\\n", swapped ? "other" : "null", two == &inkwell ? "inkwell" : "quillbox"); fflush(stdout);\n' + old
    return sorted(row[0] for row in tool.printed(old, new, seconds=3))


def c_patch(tool):
    old = "    patched += count;\n"
    rows = tool.printed(old, old + '    if (count < 0) { printf("@%s|%d\\n", text, patched); fflush(stdout); }\n')
    return rows[0]


def go_round(tool):
    old = "\t\tlevel = (level*43"
    rows = tool.printed(old, '\t\tfmt.Printf("@%d|%d|%d\\n", rounds, round, level)\n' + old)
    starts = [at for at, row in enumerate(rows) if row[1] == "0" and row[2] == "9" and row[0] == "5"]
    return [rows[starts[0] + 4][2]]


def go_errors(tool):
    old = "\t\treturn 0, errors.New"
    return [row[0] for row in tool.printed(old, '\t\tfmt.Printf("@%d\\n", stock)\n' + old)]


def go_request(tool):
    import time
    import urllib.request

    def request():
        for _ in range(50):
            try:
                return urllib.request.urlopen(f"http://{tool.question.args[0]}/dose?grain=9").read()
            except OSError:
                time.sleep(0.1)

    old = "\tstrength := "
    rows = tool.printed(old, '\tfmt.Println("@", mixture)\n' + old, meanwhile=request)
    # The request is a separate command.
    tool.count({"command": f"curl -s http://{tool.question.args[0]}/dose?grain=9"}, "ok\n")
    return [rows[0][0].strip("[]")]


def go_cycle(tool):
    old = "\ttotal := bed.Depth\n"
    rows = tool.printed(old, old + '\tfmt.Println("@" + bed.Name)\n')
    seen = []
    for row in rows:
        if row[0] in seen:
            return row
        seen.append(row[0])


def go_args(tool):
    old = "\tjoin := "
    return tool.printed(old, '\tfmt.Printf("@%d|%d\\n", stock, scion)\n' + old)[3]


def js_round(tool):
    old = "    if (burden % 6 === 1) burden += shelf.brass;\n"
    rows = tool.printed(old, old + "    console.log(`@${parcel.label}|${round}|${burden}`);\n")
    return [next(row[2] for row in rows if row[:2] == ["ring 3", "4"])]


def js_undefined(tool):
    old = "  return towns[at];"
    return tool.printed(old, "  if (towns[at] === undefined) console.log(`@${town}|${ring}`);\n" + old)[0]


def js_request(tool):
    old = "  return lot.toll"
    return tool.printed(old, "  if (!lot) console.log(`@${path}|${burden}`);\n" + old)[0]


def js_words(tool):
    old = "  return { verb, numbers };"
    new = "  if (rest.length !== numbers.length) console.log(`@${line}|${rest.filter((word) => !numbers.includes(Number(word)))}`);\n"
    return tool.printed(old, new + old)[0]


def js_writer(tool):
    tool.edit("function polish(amount) { shelf.brass = ", "function polish(amount) { console.log(`@polish|${amount}|${shelf.brass}`); shelf.brass = ")
    tool.edit("if (shelf.brass > 20) shelf.brass -= 7;", "if (shelf.brass > 20) { console.log('@tarnish'); shelf.brass -= 7; }")
    tool.edit("if (amount % 4 === 3) shelf.brass = amount;", "if (amount % 4 === 3) { console.log('@swap'); shelf.brass = amount; }")
    rows = tool.lines()
    at = next(at for at, row in enumerate(rows) if row[0] == "polish" and row[1] == "21")
    return [rows[at - 1][0], rows[at][2]]


def rb_round(tool):
    old = "    hound.bones << trail"
    return [tool.printed(old, '    puts "@#{lap}|#{trail}"\n' + old)[2 * 6 + 4][1]]


def rb_nil(tool):
    old = "  found && found + stick"
    return tool.printed(old, '  puts "@#{hound.name}|#{stick}" if found.nil?\n' + old)[-1]


def rb_failure(tool):
    old = "  hound.bones.sum /"
    return tool.printed(old, '  puts "@#{hound.name}|#{hound.hunger}"\n' + old)[-1]


def rb_branch(tool):
    old = "  roam(hound, 6)"
    return tool.printed(old, '  puts "@#{hound.name}|#{hound.hunger}|#{hound.mood}" if hound.hunger > 20\n' + old)[0]
