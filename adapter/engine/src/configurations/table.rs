//! The table: which attribute of which other debugger's configurations is honoured, mapped, left out or
//! refused. No code but its rows' names; what they do is in the parent.

use super::AttributeTranslation::{self, Editor, Ignored, Mapped, Named, Refused, RefusedUnless, Same};
use super::{
    arguments, console, debug_libraries, debug_port, env_list, environment, external_console, go_mode, host,
    launch_configuration_id, mi_mode, output_log, port, run_in_terminal, runtime, setup_commands,
    stderr_file, stdin_file, stdio, stdout_file,
};

/// Debuggers whose configurations are of one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DebuggerFamily {
    /// `coreclr`, of C# extensions.
    Coreclr,
    /// `dotnet`, of C# Dev Kit: a project instead of a program.
    Dotnet,
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

use DebuggerFamily::{Coreclr, Cppdbg, Dotnet, Go, Lldb, Node, Python, Rdbg};

impl DebuggerFamily {
    /// All, in the order of the documentation.
    pub(super) const ALL: [Self; 8] = [Coreclr, Dotnet, Python, Lldb, Cppdbg, Go, Node, Rdbg];

    /// The family of debuggers whose configurations have this `type`.
    pub(super) fn of(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.types().contains(&kind))
    }

    /// The values of `type`.
    pub(super) fn types(self) -> &'static [&'static str] {
        match self {
            Coreclr => &["coreclr"],
            Dotnet => &["dotnet"],
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

    /// Whether its configurations name a profile of `launchSettings.json`.
    pub(super) fn reads_profiles(self) -> bool {
        matches!(self, Coreclr | Dotnet)
    }

    /// Which engine debugs its programs.
    pub(super) fn engine(self) -> &'static str {
        match self {
            Coreclr | Dotnet => "coreclr",
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
    row(&[Dotnet], "projectPath", Named("project")),
    row(&[Dotnet], "launchConfigurationId", Mapped("`framework` and `launchSettingsProfile`",
        launch_configuration_id)),
    row(&DebuggerFamily::ALL, "args", Mapped("`args`; a string is split into words as a shell does",
        arguments)),
    row(&DebuggerFamily::ALL, "cwd", Same),
    row(&[Coreclr, Dotnet, Python, Go, Node, Rdbg], "env", Same),
    row(&[Lldb], "env", Mapped("`env`; also a list of `NAME=value`", env_list)),
    row(&[Cppdbg], "environment", Mapped("`env`", environment)),
    row(&[Coreclr, Dotnet, Python, Lldb, Cppdbg, Go, Node], "envFile", Same),
    row(&[Coreclr, Dotnet, Python, Lldb, Go, Node], "console", Mapped("`console`; `internalConsole` is \
        `piped`", console)),
    row(&[Lldb], "terminal", Mapped("`console`", console)),
    row(&[Lldb], "runInTerminal", Mapped("`console: \"integratedTerminal\"`", run_in_terminal)),
    row(&[Coreclr, Cppdbg], "externalConsole", Mapped("`console: \"externalTerminal\"`", external_console)),
    row(&[Coreclr, Dotnet, Cppdbg], "stopAtEntry", Same),
    row(&[Python, Lldb, Go, Node], "stopOnEntry", Same),
    row(&[Coreclr, Dotnet, Python], "justMyCode", Same),
    row(&[Coreclr, Python, Cppdbg, Go, Node], "processId", Same),
    row(&[Lldb], "pid", Named("processId")),
    row(&[Coreclr, Dotnet, Cppdbg], "sourceFileMap", Same),
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

    row(&[Coreclr, Dotnet], "launchSettingsFilePath", Same),
    row(&[Coreclr, Dotnet], "launchSettingsProfile", Same),
    row(&[Coreclr, Dotnet], "enableStepFiltering", Same),
    row(&[Coreclr, Dotnet], "expressionEvaluationOptions", Same),
    row(&[Coreclr, Dotnet], "allowFastEvaluate", Ignored("the engine reads simple properties without \
        running them")),
    row(&[Coreclr, Dotnet], "requireExactSource", Same),
    row(&[Coreclr, Dotnet], "symbolOptions", Same),
    row(&[Coreclr, Dotnet], "sourceLinkOptions", Same),
    row(&[Coreclr, Dotnet], "suppressJITOptimizations", Same),
    row(&[Coreclr, Dotnet], "logging", Same),
    row(&[Coreclr, Dotnet], "targetArchitecture", Same),
    row(&[Coreclr], "processName", Same),
    row(&[Coreclr, Dotnet], "targetOutputLogPath", Mapped("`stdio` of stdout and stderr, without a client's \
        terminal", output_log)),
    row(&[Coreclr], "pipeTransport", Refused("open the folder there with the editor's remote support")),
    row(&[Coreclr, Dotnet], "launchBrowser", Ignored("`serverReadyAction`, or `launchBrowser` of a launch \
        profile, opens the page")),
    row(&[Coreclr, Dotnet], "checkForDevCert", Ignored("no certificate is made: `dotnet dev-certs https \
        --trust` does it once")),

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
    row(&[Python], "debugStdLib", Mapped("`justMyCode: false`", debug_libraries)),
    row(&[Python], "guiEventLoop", Same),
    row(&[Python], "maxExceptionStackFrames", Same),
    row(&[Python], "steppingResumesAllThreads", Same),
    row(&[Python], "variablePresentation", Same),
    row(&[Python], "autoStartBrowser", Ignored("`serverReadyAction` opens the page")),
    row(&[Python], "consoleName", Ignored("the editor names its terminals")),

    row(&[Lldb], "initCommands", Same),
    row(&[Lldb], "preRunCommands", Same),
    row(&[Lldb], "postRunCommands", Same),
    row(&[Lldb], "stopCommands", Same),
    row(&[Lldb], "exitCommands", Same),
    row(&[Lldb], "terminateCommands", Same),
    row(&[Lldb], "preTerminateCommands", Named("exitCommands")),
    row(&[Lldb], "waitFor", Same),
    row(&[Lldb], "coreFile", Same),
    row(&[Lldb], "stdio", Mapped("`stdio`; one file is for all streams, the last of a list for the rest",
        stdio)),
    row(&[Lldb], "attachCommands", Same),
    row(&[Lldb], "launchCommands", Same),
    row(&[Lldb], "commandEscapePrefix", Same),
    row(&[Lldb], "customFrameFormat", Same),
    row(&[Lldb], "customThreadFormat", Same),
    row(&[Lldb], "debuggerRoot", Same),
    row(&[Lldb], "detachOnError", Same),
    row(&[Lldb], "disableASLR", Same),
    row(&[Lldb], "displayExtendedBacktrace", Same),
    row(&[Lldb], "enableAutoVariableSummaries", Same),
    row(&[Lldb], "enableSyntheticChildDebugging", Same),
    row(&[Lldb], "gdb-remote-hostname", Same),
    row(&[Lldb], "gdb-remote-port", Same),
    row(&[Lldb], "platformName", Same),
    row(&[Lldb], "sourcePath", Same),
    row(&[Lldb], "targetTriple", Same),
    row(&[Lldb], "timeout", Same),
    row(&[Lldb], "breakpointMode", RefusedUnless(&["path"], "breakpoints bind by path: map folders with \
        `sourceMap`")),
    row(&[Lldb], "gracefulShutdown", Ignored("`terminate` asks the program to end; `terminateTimeout` limits \
        it")),
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
    row(&[Cppdbg], "useExtendedRemote", Refused("`attach` with `engine: \"gdb\"` and `target: \
        \"HOST:PORT\"`")),
    row(&[Cppdbg], "debugServerPath", Refused("start the server, and `attach` with `engine: \"gdb\"` and \
        `target: \"HOST:PORT\"`")),
    row(&[Cppdbg], "debugServerArgs", Refused("start the server, and `attach` with `engine: \"gdb\"` and \
        `target: \"HOST:PORT\"`")),
    row(&[Cppdbg], "serverStarted", Ignored("no server is started")),
    row(&[Cppdbg], "serverLaunchTimeout", Ignored("no server is started")),
    row(&[Cppdbg], "filterStdout", Ignored("no server is started")),
    row(&[Cppdbg], "filterStderr", Ignored("no server is started")),
    row(&[Cppdbg], "stopAtConnect", Refused("`attach`, then pause the program")),
    row(&[Cppdbg], "postRemoteConnectCommands", Refused("`setupCommands` run in gdb before it connects")),
    row(&[Cppdbg], "deploySteps", Refused("copy the program in a `preLaunchTask`")),
    row(&[Cppdbg], "variables", Ignored("only `deploySteps` uses them")),
    row(&[Cppdbg], "hardwareBreakpoints", Ignored("the debugger chooses the kind of each breakpoint")),
    row(&[Cppdbg], "unknownBreakpointHandling", Ignored("the program stops at any breakpoint")),
    row(&[Cppdbg], "symbolLoadInfo", Ignored("the debugger loads all symbols")),
    row(&[Cppdbg], "svdPath", Ignored("registers of devices are not shown")),
    row(&[Cppdbg], "avoidWindowsConsoleRedirection", Ignored("it is for Windows")),
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
    row(&[Go], "dlvCwd", Same),
    row(&[Go], "followExec", Same),
    row(&[Go], "followExecRegex", Same),
    row(&[Go], "guessSubstitutePath", Same),
    row(&[Go], "showPprofLabels", Same),
    row(&[Go], "waitFor", Same),
    row(&[Go], "stdinFrom", Mapped("`stdio`", stdin_file)),
    row(&[Go], "stdoutTo", Mapped("`stdio`", stdout_file)),
    row(&[Go], "stderrTo", Mapped("`stdio`", stderr_file)),
    row(&[Go], "outputMode", Ignored("the session has the program's output")),
    row(&[Go], "remotePath", Refused("`substitutePath` maps folders")),
    row(&[Go], "dlvLoadConfig", Ignored("Delve loads values when they are shown")),
    row(&[Go], "host", Mapped("`connect.host`", host)),
    row(&[Go], "port", Mapped("`connect.port`", port)),
    row(&[Go], "asRoot", Refused("start Tandem itself as root")),
    row(&[Go], "debugAdapter", Ignored("Delve speaks DAP itself")),
    row(&[Go], "apiVersion", Ignored("Delve speaks DAP itself")),
    row(&[Go], "showLog", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Go], "logOutput", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Go], "logDest", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Go], "trace", Ignored("`tandem-dap --log FILE` logs")),

    row(&[Node], "runtimeExecutable", Mapped("`program`, and `runtimeArgs` to `args`, if it has no \
        `program`; else honoured", runtime)),
    row(&[Node], "runtimeArgs", Same),
    row(&[Node], "runtimeVersion", RefusedUnless(&["default"], "name the Node of that version as \
        `runtimeExecutable`")),
    row(&[Node], "outFiles", Same),
    row(&[Node], "sourceMaps", Same),
    row(&[Node], "skipFiles", Same),
    row(&[Node], "smartStep", Same),
    row(&[Node], "resolveSourceMapLocations", Same),
    row(&[Node], "autoAttachChildProcesses", Same),
    row(&[Node], "attachExistingChildren", Same),
    row(&[Node], "continueOnAttach", Same),
    row(&[Node], "customDescriptionGenerator", Same),
    row(&[Node], "customPropertiesGenerator", Same),
    row(&[Node], "enableContentValidation", Same),
    row(&[Node], "enableDWARF", Same),
    row(&[Node], "killBehavior", Same),
    row(&[Node], "nodeVersionHint", Same),
    row(&[Node], "pauseForSourceMap", Same),
    row(&[Node], "remoteHostHeader", Same),
    row(&[Node], "runtimeSourcemapPausePatterns", Same),
    row(&[Node], "showAsyncStacks", Same),
    row(&[Node], "sourceMapPathOverrides", Same),
    row(&[Node], "sourceMapRenames", Same),
    row(&[Node], "timeout", Same),
    row(&[Node], "timeouts", Same),
    row(&[Node], "websocketAddress", Same),
    row(&[Node], "cascadeTerminateToConfigurations", Editor),
    row(&[Node], "profileStartup", Ignored("Tandem has no profiler")),
    row(&[Node], "trace", Ignored("`tandem-dap --log FILE` logs")),
    row(&[Node], "outputCapture", Ignored("all that the program prints is captured")),
    row(&[Node], "address", Mapped("`connect.host`", host)),
    row(&[Node], "port", Mapped("`connect.port`", port)),
    row(&[Node], "protocol", Ignored("there is one protocol")),
    row(&[Node], "restart", Ignored("`restart` restarts the program")),
    row(&[Node], "attachSimplePort", Refused("`attach` with `port`")),

    row(&[Rdbg], "rdbgPath", Named("enginePath")),
    row(&[Rdbg], "debugPort", Mapped("`connect`", debug_port)),
    row(&[Rdbg], "command", RefusedUnless(&["ruby", "bundle exec ruby"], "name the script as `script`; a \
        `Gemfile` beside it is found")),
    row(&[Rdbg], "useBundler", Ignored("a `Gemfile` of the project is found")),
    row(&[Rdbg], "bundlePath", Ignored("a `Gemfile` of the project is found")),
    row(&[Rdbg], "askParameters", Ignored("there is no prompt: set `script` and `args`")),
    row(&[Rdbg], "useTerminal", Ignored("the program's input and output are the session's")),
    row(&[Rdbg], "localfs", Ignored("files are those of this machine")),
    row(&[Rdbg], "localfsMap", Refused("run the program where its sources have the same paths as here")),
    row(&[Rdbg], "waitLaunchTime", Ignored("the debugger is waited for")),
    row(&[Rdbg], "showProtocolLog", Ignored("`tandem-dap --log FILE` logs")),
];
