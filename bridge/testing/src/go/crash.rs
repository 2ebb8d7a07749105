//! Lines that the runtime and `go test` print when a test program ends before its last test.

/// Whether a line is the first that the runtime prints when it ends the program.
pub(super) fn is_crash(line: &str) -> bool {
    line.starts_with("panic: ") || line.starts_with("fatal error: ")
}

/// Whether a line begins a stack.
pub(super) fn is_stack(line: &str) -> bool {
    line.starts_with("goroutine ") || line == "runtime stack:"
}

/// Why a test has not ended, if no stack says it: the exit code, if Go prints it, and the last line of the
/// test, which is the message of `log.Fatal`.
pub(super) fn end_message(lines: &[String], output: &str) -> String {
    let end = lines.iter().map(String::as_str).find(is_end).map(|end| format!(" ({end})"));
    let last = last_line(output.lines()).map(|line| format!("; its last line is: {line}"));
    let (end, last) = (end.unwrap_or_default(), last.unwrap_or_default());
    format!("the process of the tests ended{end} while this test ran{last}")
}

/// The last line that is not of `go test` itself.
pub(super) fn last_line<'l>(lines: impl DoubleEndedIterator<Item = &'l str>) -> Option<&'l str> {
    let is_own = |line: &&str| !line.trim().is_empty() && !is_end(line) && !line.starts_with("FAIL");
    lines.rev().find(is_own)
}

fn is_end(line: &&str) -> bool {
    line.starts_with("exit status ") || line.starts_with("signal: ")
}
