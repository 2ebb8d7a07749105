# What Python runs instead of the module bash_dap itself: its adapter with corrections.
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import builtins, os, re, runpy, tempfile
import bash_dap.adapter as bash_dap


# The adapter reads what its half in the shell writes as UTF-8 and ends at a byte that is none, such as one
# in the name of a sourced file: it is to read such bytes as lone surrogates, which it then writes to Tandem.
def opened(path, mode="r", *rest, **more):
    if "b" not in mode:
        more.setdefault("errors", "surrogateescape")
    return builtins.open(path, mode, *rest, **more)


bash_dap.open = opened
plain_unquote = bash_dap.unquote


# Bash quotes bytes as numbers where its locale cannot show them: together they are UTF-8, not a character
# each.
def unquote(text):
    def characters(match):
        if match[1] is None:
            return match[0]
        data = bytes(int(number, 8) for number in match[1][1:].split("\\"))
        return data.decode("utf-8", "surrogateescape")

    return plain_unquote(re.sub(r"\\\\|((?:\\[23][0-7]{2})+)", characters, text))


bash_dap.unquote = unquote


# The adapter takes any text with "not found" for a variable that is not set, and the shell's error messages
# for values.
def on_evaluate(self, request):
    expression = request.get("arguments", {}).get("expression", "").strip()
    lines = self.ask("print " + expression)
    if lines is None:
        return self.respond(request, success=False, message="the script is not stopped")
    text = next((bash_dap.unquote(rest) for kind, rest in lines if kind == "value"), "")
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", expression):
        if bash_dap.parse_declare(text) is None:
            return self.respond(request, success=False, message=expression + " is not set")
        item = self.variable(expression, text, expression)
        return self.respond(request, {"result": item["value"],
                                      "variablesReference": item["variablesReference"]})
    error = re.match(re.escape(bash_dap.HARNESS) + r": (?:eval: )?line \d+: (.*)", text, re.S)
    if error:
        return self.respond(request, success=False, message=error[1].strip())
    self.respond(request, {"result": text, "variablesReference": 0})


bash_dap.Adapter.on_evaluate = on_evaluate

plain_variable = bash_dap.Adapter.variable


# The adapter joins the elements of an array with spaces, so ("a b" c) looks like (a b c), and leaves the keys
# out. They are shown as a script writes them.
def word(text):
    if re.fullmatch(r"[\w@%+=:,./-]+", text):
        return text
    return '"' + re.sub(r'([\\"$`])', r"\\\1", text) + '"'


def variable(self, name, text, evaluate_name):
    item = plain_variable(self, name, text, evaluate_name)
    rows = self.refs.get(item["variablesReference"])
    if rows is not None:
        keys = [row["name"][1:-1] for row in rows]
        has_keys = keys != [str(index) for index in range(len(keys))]
        # bash writes a key with control characters as `$'…'`.
        shown_keys = [key if key.startswith("$'") else word(key) for key in keys]
        shown = [("[%s]=" % key if has_keys else "") + word(row["value"]) for key, row in zip(shown_keys, rows)]
        item["value"] = "(" + " ".join(shown) + ")"
    return item


bash_dap.Adapter.variable = variable

# A script names the files that it sources: relative to the folder that it is in then, with `..`, or by a
# link. Breakpoints have the whole path, so a file gets its whole path when its first command runs. Of a file
# of functions that is a function's, and the script may be in another folder by then: it is looked for in the
# folders in which files were sourced.
CORRECTIONS = {
    "\n__bdap_resume () {\n": """
declare -A __bdap_files=()
__bdap_folders=("$PWD")
__bdap_whole () {
    local __bdap_folder
    __bdap_real=${__bdap_files["=$1"]-}
    [[ -n $__bdap_real ]] && return 0
    if [[ $1 != /* ]]; then
        for __bdap_folder in "${__bdap_folders[@]}"; do
            [[ -f $__bdap_folder/$1 ]] || continue
            __bdap_real=$(realpath -- "$__bdap_folder/$1" 2>/dev/null) && break
        done
    fi
    [[ -n $__bdap_real ]] || __bdap_real=$(realpath -- "$1" 2>/dev/null) || __bdap_real=
    [[ -n $__bdap_real || $1 != /* ]] || __bdap_real=$1
    [[ -n $__bdap_real ]] || __bdap_real=$PWD/${1#./}
    __bdap_files["=$1"]=$__bdap_real
}

__bdap_resume () {
""",
    """    if [[ $1 == /* ]]; then
        printf '%s' "$1"
    else
        printf '%s' "$PWD/${1#./}"
    fi
""": """    __bdap_whole "$1"
    printf '%s' "$__bdap_real"
""",
    "    [[ $__bdap_file == /* ]] || __bdap_file=$PWD/${__bdap_file#./}\n": """    __bdap_whole "$__bdap_file"
    __bdap_file=$__bdap_real
""",
    "__bdap_trap='[[ -n $__bdap_inside": """__bdap_trap='[[ $BASH_COMMAND != @(.|source)[[:space:]]*'
__bdap_trap+=' || $PWD == "${__bdap_folders[0]}" ]]'
__bdap_trap+=' || __bdap_folders=("$PWD" "${__bdap_folders[@]:0:99}"); '
__bdap_trap+='[[ -n $__bdap_inside""",
    "__bdap_trap+=' && ! -e $__bdap_state": """__bdap_trap+=' && ( ${BASH_SOURCE[0]-} == /* || -z ${BASH_SOURCE[0]-}'
__bdap_trap+=' || -n ${__bdap_files["=${BASH_SOURCE[0]-}"]-} )'
__bdap_trap+=' && ! -e $__bdap_state""",
}


def correct_harness():
    with builtins.open(bash_dap.HARNESS, encoding="utf-8") as file:
        text = file.read()
    if any(text.count(before) != 1 for before in CORRECTIONS):
        return  # another version of the package
    for before, after in CORRECTIONS.items():
        text = text.replace(before, after)
    harness = os.path.join(tempfile.mkdtemp(prefix="bash-dap-"), "harness.sh")
    with builtins.open(harness, "w", encoding="utf-8") as file:
        file.write(text)
    bash_dap.HARNESS = harness


correct_harness()
runpy.run_module("bash_dap", run_name="__main__", alter_sys=True)
