//! Corrections of gdb's own DAP server, in its Python. They run before gdb reads its first request.
//!
//! Not here: printers of values ([`super::printers`], [`crate::summaries`]).

use std::ffi::OsString;

/// gdb takes what its DAP thread has posted in batches, one batch at a time. A function that resumes the
/// program returns when it stops, and meanwhile gdb looks at later batches only: a request that was posted
/// right behind, in the same batch, was answered at the next stop. Posted this way each batch runs one
/// function, and what is left is in the next batch.
const ONE_BY_ONE: &str = r#"python exec("""
def tandem():
    import collections, gdb
    waiting, post = collections.deque(), gdb.post_event
    def run():
        if waiting:
            function = waiting.popleft()
            if waiting:
                post(run)
            function()
    def post_one(function):
        waiting.append(function)
        post(run)
    gdb.post_event = post_one
tandem()
del tandem
""")"#;

/// gdb takes names of threads and files for UTF-8, and fails a request in whose answer there is one that is
/// not. Its bytes that are none are to be lone surrogates, as in Python's own names of files.
const ANY_NAMES: &str = r#"python exec("""
def tandem():
    import functools, gdb.FrameDecorator, gdb.dap.threads
    def any_name(read, otherwise):
        @functools.wraps(read)
        def name(*given):
            try:
                return read(*given)
            except UnicodeDecodeError as error:
                return otherwise(error.object)
        return name
    def text(name):
        return name.decode('utf-8', 'surrogateescape')
    gdb.dap.threads._thread_name = any_name(gdb.dap.threads._thread_name, text)
    for kind in [kind for kind in vars(gdb.FrameDecorator).values() if isinstance(kind, type)]:
        for name, read in list(vars(kind).items()):
            if name == 'filename':
                kind.filename = any_name(read, text)
            if name.endswith('__is_limited_frame'):
                setattr(kind, name, staticmethod(any_name(read.__func__, lambda name: False)))
try:
    tandem()
except (AttributeError, ImportError):
    pass
del tandem
""")"#;

/// gdb takes a call of a function of the program for a run with a stop behind it: it reports both, and
/// forgets every frame and value that clients hold. Here it only forgets the contents of values, which the
/// function may have changed. No breakpoint stops the call: gdb would abandon it in the middle, and would not
/// report a stop for a condition that calls the function of its own breakpoint.
const CALLS_ARE_NOT_RUNS: &str = r#"python exec("""
def tandem():
    import sys, gdb, gdb.dap.breakpoint, gdb.dap.events, gdb.dap.varref
    calls, resumed, calling, disabled = gdb.events.inferior_call, gdb.events.cont, [], []
    def enable(breakpoints, enabled):
        with gdb.dap.breakpoint.suppress_new_breakpoint_event():
            for one in breakpoints:
                if one.is_valid():
                    one.enabled = enabled
    def call(event):
        # A string in the arguments is put into the program's memory by another call, inside this one.
        if isinstance(event, gdb.InferiorCallPreEvent):
            if not calling:
                disabled.extend(one for one in gdb.breakpoints() if one.enabled)
                enable(disabled, False)
            calling.append(event)
        elif calling:
            calling.pop()
        if not calling:
            enable(disabled, True)
            disabled.clear()
            for variable in gdb.dap.varref.all_variables:
                variable.reset_children()
    def outside_calls(listener):
        def resume(event):
            if not calling:
                listener(event)
        return resume
    calls.disconnect(gdb.dap.events._on_inferior_call)
    calls.connect(call)
    for name, module in list(sys.modules.items()):
        for listener in list(vars(module).values()) if name.startswith('gdb.dap.') else []:
            try:
                resumed.disconnect(listener)
            except (ValueError, SystemError):
                continue
            resumed.connect(outside_calls(listener))
try:
    tandem()
except (AttributeError, ImportError, ValueError, SystemError):
    pass
del tandem
""")"#;

/// gdb disables a breakpoint whose source is not in the program that the debugged one has become, such as a
/// shell that starts the next program. Disabled it waits for its source, but does not stop. Enabled again, it
/// stops in a later program that has the source.
const BREAKPOINTS_OUTLIVE_EXEC: &str = r#"python exec("""
def tandem():
    import gdb
    enabled = set()
    def replaced(event):
        enabled.update(one.number for one in gdb.breakpoints() if one.enabled)
    def loaded(event):
        for one in gdb.breakpoints():
            # Only one without an address: another address may be in the program before.
            if one.number in enabled and one.pending and not one.enabled:
                one.enabled = True
    gdb.events.executable_changed.connect(replaced)
    gdb.events.new_objfile.connect(loaded)
try:
    tandem()
except AttributeError:
    pass
del tandem
""")"#;

/// gdb's answers about memory and machine code.
const MEMORY: &str = concat!("python exec(\"\"\"\n", include_str!("memory.py"), "\"\"\")");

/// Operators of GCC's library.
const OPERATORS: &str = concat!("python exec(\"\"\"\n", include_str!("operators.py"), "\"\"\")");

/// gdb's arguments with the corrections. The first comes before all that post functions.
pub(super) fn arguments() -> impl Iterator<Item = OsString> {
    let all = [ONE_BY_ONE, ANY_NAMES, CALLS_ARE_NOT_RUNS, BREAKPOINTS_OUTLIVE_EXEC, MEMORY, OPERATORS];
    all.into_iter().flat_map(|correction| ["-iex".into(), correction.replace('\n', "\\n").into()])
}
