//! The table: which attribute of which other debugger's configurations is honoured, mapped, left out or
//! refused. No code but its rows' names; what they do is in the parent.

use super::AttributeTranslation::{self, Editor, Ignored, Mapped, Named, Refused, Same};
use super::{
    console, debug_port, environment, external_console, go_mode, host, mi_mode, port, setup_commands,
};

/// Debuggers whose configurations are of one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebuggerFamily {
    /// `coreclr`, of C# extensions.
    Coreclr,
    /// `debugpy`, and `python` before it.
    Python,
    /// `lldb`, of CodeLLDB, and `lldb-dap`, of LLVM.
    Lldb,
    /// `cppdbg`, of the C/C++ extension.
    Cppdbg,
    Go,
    /// `node` and `pwa-node`, of vscode-js-debug.
    Node,
    Rdbg,
}

use DebuggerFamily::{Coreclr, Cppdbg, Go, Lldb, Node, Python, Rdbg};

impl DebuggerFamily {
    /// All, in the order of the documentation.
    pub(super) const ALL: [Self; 7] = [Coreclr, Python, Lldb, Cppdbg, Go, Node, Rdbg];

    /// The family of debuggers whose configurations have this `type`.
    pub(super) fn of(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.types().contains(&kind))
    }

    /// The values of `type`.
    pub(super) fn types(self) -> &'static [&'static str] {
        match self {
            Coreclr => &["coreclr"],
            Python => &["debugpy", "python"],
            Lldb => &["lldb", "lldb-dap"],
            Cppdbg => &["cppdbg"],
            Go => &["go"],
            Node => &["node", "pwa-node"],
            Rdbg => &["rdbg"],
        }
    }

    /// Its first `type`, which names the family.
    pub(super) fn name(self) -> &'static str {
        self.types().first().copied().unwrap_or_default()
    }

    /// Which engine debugs its programs.
    pub(super) fn engine(self) -> &'static str {
        match self {
            Coreclr => "coreclr",
            Python => "debugpy",
            Lldb => "lldb",
            Cppdbg => "gdb",
            Go => "delve",
            Node => "js",
            Rdbg => "rdbg",
        }
    }
}

/// One attribute of one or several families.
pub(super) struct Attribute {
    pub(super) families: &'static [DebuggerFamily],
    pub(super) name: &'static str,
    pub(super) meaning: AttributeTranslation,
}

const fn row(
    families: &'static [DebuggerFamily],
    name: &'static str,
    meaning: AttributeTranslation,
) -> Attribute {
    Attribute { families, name, meaning }
}

/// The order of the attributes: those that choose an engine come before those that configure one.
#[rustfmt::skip]
pub(super) const TABLE: &[Attribute] = &[
    row(&[Coreclr, Python, Lldb, Cppdbg, Go, Node], "program", Same),
    row(&[Rdbg], "script", Named("program")),
    row(&DebuggerFamily::ALL, "args", Same),
    row(&DebuggerFamily::ALL, "cwd", Same),
    row(&[Coreclr, Python, Lldb, Go, Node, Rdbg], "env", Same),
    row(&[Cppdbg], "environment", Mapped("`env`", environment)),
    row(&[Coreclr, Python, Lldb, Cppdbg, Go, Node], "envFile", Same),
    row(&[Coreclr, Python, Go, Node], "console", Mapped("`console`; `internalConsole` is `piped`", console)),
    row(&[Lldb], "terminal", Mapped("`console`", console)),
    row(&[Cppdbg], "externalConsole", Mapped("`console: \"externalTerminal\"`", external_console)),
    row(&[Coreclr, Cppdbg], "stopAtEntry", Same),
    row(&[Python, Lldb, Go, Node], "stopOnEntry", Same),
    row(&[Coreclr, Python], "justMyCode", Same),
    row(&[Coreclr, Python, Cppdbg, Go], "processId", Same),
    row(&[Lldb], "pid", Named("processId")),
    row(&[Node], "processId", Same),
    row(&[Coreclr, Cppdbg], "sourceFileMap", Same),
    row(&[Python], "pathMappings", Same),
    row(&[Lldb], "sourceMap", Same),
    row(&[Go], "substitutePath", Same),
    row(&[Python, Node], "localRoot", Same),
    row(&[Python, Node], "remoteRoot", Same),
    row(&DebuggerFamily::ALL, "serverReadyAction", Editor),
    row(&DebuggerFamily::ALL, "preLaunchTask", Editor),
    row(&DebuggerFamily::ALL, "postDebugTask", Editor),
    row(&DebuggerFamily::ALL, "internalConsoleOptions", Editor),
    row(&DebuggerFamily::ALL, "presentation", Editor),

    row(&[Coreclr], "launchSettingsFilePath", Same),
    row(&[Coreclr], "launchSettingsProfile", Same),
    row(&[Coreclr], "enableStepFiltering", Same),
    row(&[Coreclr], "expressionEvaluationOptions", Same),
    row(&[Coreclr], "requireExactSource", Same),
    row(&[Coreclr], "symbolOptions", Same),
    row(&[Coreclr], "sourceLinkOptions", Same),
    row(&[Coreclr], "suppressJITOptimizations", Same),
    row(&[Coreclr], "processName", Same),
    row(&[Coreclr], "pipeTransport", Refused("open the folder there with the editor's remote support")),
    row(&[Coreclr], "launchBrowser", Ignored("`serverReadyAction`, or `launchBrowser` of a launch profile, \
        opens the page")),
    row(&[Coreclr], "checkForDevCert", Ignored("no certificate is made: `dotnet dev-certs https --trust` \
        does it once")),
    row(&[Coreclr], "logging", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Coreclr], "targetOutputLogPath", Refused("read the output with `processReadOutput`, or redirect \
        it in the program")),
    row(&[Coreclr], "targetArchitecture", Ignored("the engine debugs x86-64, and says so of any other \
        program")),

    row(&[Python], "module", Same),
    row(&[Python], "code", Same),
    row(&[Python], "python", Same),
    row(&[Python], "pythonPath", Named("python")),
    row(&[Python], "pythonArgs", Same),
    row(&[Python], "django", Same),
    row(&[Python], "jinja", Same),
    row(&[Python], "flask", Named("jinja")),
    row(&[Python], "pyramid", Same),
    row(&[Python], "gevent", Same),
    row(&[Python], "subProcess", Same),
    row(&[Python], "redirectOutput", Same),
    row(&[Python], "showReturnValue", Same),
    row(&[Python], "rules", Same),
    row(&[Python], "connect", Same),
    row(&[Python], "host", Mapped("`connect.host`", host)),
    row(&[Python], "port", Mapped("`connect.port`", port)),
    row(&[Python], "listen", Refused("start the program with `debugpy --listen` and `attach` with \
        `connect`")),
    row(&[Python], "sudo", Refused("start Tandem itself as the user who may run the program")),
    row(&[Python], "purpose", Ignored("tests are started by `module`, or by an agent's `debug_launch_test`")),
    row(&[Python], "autoReload", Ignored("`restart` restarts the program")),
    row(&[Python], "logToFile", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Python], "debugAdapterPath", Named("enginePath")),

    row(&[Lldb], "initCommands", Same),
    row(&[Lldb], "preRunCommands", Same),
    row(&[Lldb], "postRunCommands", Same),
    row(&[Lldb], "stopCommands", Same),
    row(&[Lldb], "exitCommands", Same),
    row(&[Lldb], "terminateCommands", Same),
    row(&[Lldb], "preTerminateCommands", Named("exitCommands")),
    row(&[Lldb], "waitFor", Same),
    row(&[Lldb], "coreFile", Same),
    row(&[Lldb], "stdio", Same),
    row(&[Lldb], "cargo", Refused("name the package's `Cargo.toml` as `program`: it is built first")),
    row(&[Lldb], "targetCreateCommands", Refused("name the program as `program`, and use `preRunCommands`")),
    row(&[Lldb], "processCreateCommands", Refused("`preRunCommands` run before the program starts")),
    row(&[Lldb], "custom", Refused("`attachCommands` and `launchCommands` reach lldb-dap with `engine: \
        \"lldb\"`")),
    row(&[Lldb], "expressions", Ignored("expressions are lldb's own; the prefix `?` is not supported")),
    row(&[Lldb], "sourceLanguages", Ignored("lldb knows the language by the program")),
    row(&[Lldb], "relativePathBase", Ignored("relative paths begin at `cwd`")),
    row(&[Lldb], "reverseDebugging", Refused("lldb-dap does not go back")),

    row(&[Cppdbg], "MIMode", Mapped("`engine: \"gdb\"` or `\"lldb\"`", mi_mode)),
    row(&[Cppdbg], "miDebuggerPath", Named("enginePath")),
    row(&[Cppdbg], "miDebuggerArgs", Refused("`setupCommands` run in gdb before the program starts")),
    row(&[Cppdbg], "setupCommands", Mapped("`initCommands`; those of MI, with `-`, are left out",
        setup_commands)),
    row(&[Cppdbg], "coreDumpPath", Named("coreFile")),
    row(&[Cppdbg], "miDebuggerServerAddress", Refused("`attach` with `engine: \"gdb\"` and `target: \
        \"HOST:PORT\"`")),
    row(&[Cppdbg], "pipeTransport", Refused("start `tandem-dap` over there, for example by ssh")),
    row(&[Cppdbg], "customLaunchSetupCommands", Refused("name the program as `program`, and use \
        `setupCommands`")),
    row(&[Cppdbg], "launchCompleteCommand", Ignored("the program runs once breakpoints are set")),
    row(&[Cppdbg], "additionalSOLibSearchPath", Refused("`setupCommands` with the text `set \
        solib-search-path …`")),
    row(&[Cppdbg], "symbolSearchPath", Ignored("symbols are looked for beside the program")),
    row(&[Cppdbg], "visualizerFile", Ignored("gdb's and lldb's own pretty printers show values")),
    row(&[Cppdbg], "showDisplayString", Ignored("values show their summaries")),
    row(&[Cppdbg], "logging", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Cppdbg], "targetArchitecture", Ignored("the debugger knows it by the program")),

    row(&[Go], "mode", Mapped("`mode`; `auto` is the default", go_mode)),
    row(&[Go], "buildFlags", Same),
    row(&[Go], "dlvFlags", Same),
    row(&[Go], "output", Same),
    row(&[Go], "backend", Same),
    row(&[Go], "hideSystemGoroutines", Same),
    row(&[Go], "goroutineFilters", Same),
    row(&[Go], "showGlobalVariables", Same),
    row(&[Go], "showRegisters", Same),
    row(&[Go], "stackTraceDepth", Same),
    row(&[Go], "coreFilePath", Same),
    row(&[Go], "traceDirPath", Same),
    row(&[Go], "dlvToolPath", Named("enginePath")),
    row(&[Go], "host", Mapped("`connect.host`", host)),
    row(&[Go], "port", Mapped("`connect.port`", port)),
    row(&[Go], "asRoot", Refused("start Tandem itself as root")),
    row(&[Go], "debugAdapter", Ignored("Delve speaks DAP itself")),
    row(&[Go], "apiVersion", Ignored("Delve speaks DAP itself")),
    row(&[Go], "showLog", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Go], "logOutput", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Go], "logDest", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Go], "trace", Ignored("`tandem-dap --log FILE` logs")),

    row(&[Node], "runtimeExecutable", Same),
    row(&[Node], "runtimeArgs", Same),
    row(&[Node], "runtimeVersion", Refused("name the Node of that version as `runtimeExecutable`")),
    row(&[Node], "outFiles", Same),
    row(&[Node], "sourceMaps", Same),
    row(&[Node], "skipFiles", Same),
    row(&[Node], "smartStep", Same),
    row(&[Node], "resolveSourceMapLocations", Same),
    row(&[Node], "autoAttachChildProcesses", Same),
    row(&[Node], "outputCapture", Ignored("all that the program prints is captured")),
    row(&[Node], "address", Mapped("`connect.host`", host)),
    row(&[Node], "port", Mapped("`connect.port`", port)),
    row(&[Node], "protocol", Ignored("there is one protocol")),
    row(&[Node], "restart", Ignored("`restart` restarts the program")),
    row(&[Node], "attachSimplePort", Refused("`attach` with `port`")),

    row(&[Rdbg], "rdbgPath", Named("enginePath")),
    row(&[Rdbg], "debugPort", Mapped("`connect`", debug_port)),
    row(&[Rdbg], "command", Refused("name the script as `script`; a `Gemfile` beside it is found")),
    row(&[Rdbg], "useBundler", Ignored("a `Gemfile` of the project is found")),
    row(&[Rdbg], "askParameters", Ignored("there is no prompt: set `script` and `args`")),
    row(&[Rdbg], "useTerminal", Ignored("the program's input and output are the session's")),
    row(&[Rdbg], "localfs", Ignored("files are those of this machine")),
    row(&[Rdbg], "localfsMap", Refused("`sourceFileMap` maps folders")),
    row(&[Rdbg], "waitLaunchTime", Ignored("the debugger is waited for")),
    row(&[Rdbg], "showProtocolLog", Ignored("`tandem-dap --log FILE` logs")),
];
