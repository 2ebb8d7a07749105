# What Python runs instead of the module bash_dap itself: its adapter with corrections. The arguments are
# commands for the script's bash: those before its debugger, and those that set its options.
import sys
STARTUP, SETTINGS = sys.argv[1:]
del sys.argv[1:]
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
#
# The script's settings are for its own commands: `IFS` would split the adapter's commands, `noclobber` keeps
# the file of a step, and with `nocasematch` the letter `E` of `$-` reads as `errexit`. A function `rm`, and
# `PATH`, hide commands. A match of a regular expression would replace the script's `BASH_REMATCH`. Expressions
# have the script's parameters and status, not those of a function of the debugger.
#
# bash reads its debugger from `BASH_ENV`, and then the script. Sourced by the debugger, a script would see
# that, and have other values of `BASH_SOURCE`, `caller` and `$-`, and another trace. `extdebug` would start
# bashdb there, and have functions inherit the trap ERR. A trap for EXIT seems to be in the first line.
#
# `$_` is the last argument of the command before, which the trap's own commands would replace.
#
# `set -x` would trace the trap DEBUG, too. While the script traces, the trap has no stderr. That costs time,
# so the trap is another one while the script does not trace, and changes before `set -x`.
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
            __bdap_real=$(command -p realpath -- "$__bdap_folder/$1" 2>/dev/null) && break
        done
    fi
    [[ -n $__bdap_real ]] || __bdap_real=$(command -p realpath -- "$1" 2>/dev/null) || __bdap_real=
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
    """
    { local __bdap_opts=$- __bdap_command=$1; set +eux; } 2>/dev/null
""": """
    {
        local __bdap_opts=- __bdap_command=$1 __bdap_status=$__bdap_last __bdap_ifs=${IFS-$' \\t\\n'}
        local -a __bdap_arguments=("${@:2}")
        [[ ! -o errexit ]] || __bdap_opts+=e
        [[ ! -o nounset ]] || __bdap_opts+=u
        [[ ! -o noclobber ]] || __bdap_opts+=C
        [[ ! -o xtrace ]] || __bdap_opts+=x
        set +euxC
        local IFS=$' \\t\\n'
    } 2>/dev/null
""",
    """
    [[ $__bdap_opts == *e* ]] && set -e
    [[ $__bdap_opts == *u* ]] && set -u
    [[ $__bdap_opts == *x* ]] && set -x
""": """
    [[ $__bdap_opts == - ]] || set "$__bdap_opts"
""",
    "[[ $__bdap_argument =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]]":
        "[[ $__bdap_argument == [A-Za-z_]* && $__bdap_argument != *[!A-Za-z0-9_]* ]]",
    '"$(declare -p "$__bdap_argument" 2>&1)"': '"$(__bdap_own_ifs; declare -p "$__bdap_argument" 2>&1)"',
    """ "$(eval "printf '%s' $__bdap_argument" 2>&1)\"""":
        """ "$(__bdap_own "printf '%s' $__bdap_argument" 2>&1)\"""",
    '__bdap_hook "$BASH_COMMAND";': '__bdap_hook "$BASH_COMMAND" "$@";',
    '( eval "$1" )': '( __bdap_own "$1" )',
    """
__bdap_check () {
""": """
__bdap_own_ifs () {
    [[ $IFS == "${__bdap_ifs-$IFS}" ]] || IFS=$__bdap_ifs
}

# In a subshell: as the script would execute it now
__bdap_own () {
    local __bdap_code=$1
    set -- ${__bdap_arguments+"${__bdap_arguments[@]}"}
    __bdap_own_ifs
    __bdap_return "${__bdap_status:-0}"
    eval "$__bdap_code"
}

__bdap_return () {
    return "$1"
}

__bdap_check () {
""",
    'rm -f "$__bdap_state"': 'command -p rm -f -- "$__bdap_state"',
    "unset BASH_DAP_DIR BASH_DAP_HARNESS\n": """__bdap_script=$BASH_DAP_SCRIPT
unset BASH_DAP_DIR BASH_DAP_HARNESS BASH_DAP_SCRIPT BASH_ENV
STARTUP
""",
    '$(__bdap_path "$0")"': '$(__bdap_path "$__bdap_script")"',
    "shopt -s extdebug\n": "",
    "    [[ -n $__bdap_inside ]] && return 0\n":
        "    [[ -n $__bdap_inside || $__bdap_command == __bdap_* ]] && return 0\n",
    "    [[ -n $__bdap_reason ]] && __bdap_fenter=\n": """
    [[ -z $__bdap_reason || $__bdap_line != 1 ]] || __bdap_on_line || return 0
    [[ -n $__bdap_reason ]] && __bdap_fenter=
""",
    'trap "$__bdap_trap" DEBUG\n': """
__bdap_traced="{ __bdap_last=\\$? __bdap_argument_before=\\$_; $__bdap_trap;"
__bdap_traced+=' [[ $- == *x* || $BASH_COMMAND == set[[:space:]]*x* ]]'
__bdap_traced+=' || trap "$__bdap_trap" DEBUG; builtin : "$__bdap_argument_before"; } 2>/dev/null'
__bdap_trap='[[ $BASH_COMMAND != set[[:space:]]*x* && $- != *x* ]] || trap "$__bdap_traced" DEBUG; '$__bdap_trap
__bdap_trap='__bdap_last=$? __bdap_argument_before=$_; '$__bdap_trap'; builtin : "$__bdap_argument_before"'
SETTINGS
{ trap "$__bdap_traced" DEBUG; } 2>/dev/null
""",
    '. "$0" "$@"\n': "",
}


def correct_harness():
    with builtins.open(bash_dap.HARNESS, encoding="utf-8") as file:
        text = file.read()
    if any(text.count(before) != 1 for before in CORRECTIONS):
        return  # another version of the package
    for before, after in CORRECTIONS.items():
        text = text.replace(before, after)
    text = text.replace("\nSTARTUP\n", "\n" + STARTUP, 1).replace("\nSETTINGS\n", "\n" + SETTINGS, 1)
    harness = os.path.join(tempfile.mkdtemp(prefix="bash-dap-"), "harness.sh")
    with builtins.open(harness, "w", encoding="utf-8") as file:
        file.write(text)
    bash_dap.HARNESS = harness
    plain_send = bash_dap.Adapter.send

    def send(self, message):
        if message.get("command") == "runInTerminal":
            arguments = message["arguments"]
            bash, _, _, program, *rest = arguments["args"]
            arguments["args"] = [bash, program, *rest]
            arguments["env"].update(BASH_ENV=harness, BASH_DAP_SCRIPT=program)
        return plain_send(self, message)

    bash_dap.Adapter.send = send


correct_harness()
runpy.run_module("bash_dap", run_name="__main__", alter_sys=True)
