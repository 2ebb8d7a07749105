//! The reason of a fail-fast: the runtime prints it to stderr before it notifies the debugger, and stores it
//! nowhere that a debugger can read. Not for exceptions, which carry their message.

/// The beginning of the runtime's message, for `FailFast` and for an error of the runtime itself; and the
/// beginning of its stack trace.
const BEGINS: [&str; 2] = ["Process terminated.", "Fatal error."];
const STACK: &str = "\n   at ";
/// Most printed output that is searched, and longest reason that is reported, bytes.
pub(super) const MAX_OUTPUT_BYTES: usize = 64 * 1024;
const MAX_REASON_LEN: usize = 4096;

/// The reason in the program's latest output: the argument of `Environment.FailFast`, or
/// the runtime's message.
pub(super) fn reason(words: &str) -> Option<String> {
    let ends = BEGINS.iter().filter_map(|begins| Some(words.rfind(begins)? + begins.len()));
    let at = ends.max()?;
    let message = words.get(at..)?;
    let message = message.get(..message.find(STACK).unwrap_or(message.len()))?.trim();
    let message = message.get(..message.floor_char_boundary(MAX_REASON_LEN))?;
    (!message.is_empty()).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_between_the_runtimes_message_and_its_stack() {
        let old = "ready\nProcess terminated. told to\n   at System.Environment.FailFast(System.String)\n";
        assert_eq!(reason(old).as_deref(), Some("told to"));
        let new =
            "Process terminated.\ntold to\n   at System.Environment.FailFast(…)\n   at Program.Main()\n";
        assert_eq!(reason(new).as_deref(), Some("told to"));
        let lines =
            "Process terminated. Assertion failed.\nx > 0\nmore\n   at System.Diagnostics.Debug.Fail(…)\n";
        assert_eq!(reason(lines).as_deref(), Some("Assertion failed.\nx > 0\nmore"));
        let own = "Process terminated. before\nFatal error. Internal CLR error. (0x80131506)\n   at \
            Program.Main()\n";
        assert_eq!(reason(own).as_deref(), Some("Internal CLR error. (0x80131506)"));
        assert_eq!(reason("Process terminated.\n   at Program.Main()\n"), None);
        assert_eq!(reason("all is well"), None);
    }
}
