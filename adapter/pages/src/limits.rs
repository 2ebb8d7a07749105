//! The tables of limits in `docs/`, whose numbers are those of the constants in the sources: a changed
//! constant makes the test fail. `INSTA_UPDATE=always cargo test -p pages documentation` regenerates them.
//!
//! The constants are read from the text of the sources, because those of all programs are private to them.
//!
//! Enforces no limit: the module of each constant does.

use std::path::{Path, PathBuf};

/// How a constant is written in a table.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Count,
    /// A `Duration`, in the largest unit that fits.
    Time,
}

use Unit::{Bytes, Count, Time};

/// A constant of the sources: file, name and unit.
type Constant = (&'static str, &'static str, Unit);

/// A row: what is limited, the limit with `{}` for each constant, and what happens beyond it.
struct Limit(&'static str, &'static str, &'static [Constant], &'static str);

/// Resources that one client or adapter can use up: the table in `docs/security.md`.
const RESOURCES: [Limit; 11] = [
    Limit(
        "a DAP message, from a client or an adapter",
        "{}, its header {}",
        &[
            ("adapter/wire/src/codec.rs", "MAX_BODY", Bytes),
            ("adapter/wire/src/codec.rs", "MAX_HEADER", Bytes),
        ],
        "the connection ends",
    ),
    Limit(
        "an MCP message over stdio; over HTTP",
        "{}; {}",
        &[("bridge/src/stdio.rs", "MAX_LINE", Bytes), ("bridge/src/http.rs", "MAX_BODY_BYTES", Bytes)],
        "it is refused with its `id`; with status 413",
    ),
    // The limit of serde_json.
    Limit("levels of a message", "127", &[], "it is refused with its number"),
    Limit(
        "pending requests of a DAP client",
        "{}",
        &[("adapter/hub/src/unanswered_requests.rs", "MAX_OPEN_REQUESTS", Count)],
        "refused until some are answered",
    ),
    Limit(
        "unread messages for a DAP client",
        "{}, and {}",
        &[
            ("adapter/session/src/queue.rs", "MAX_MESSAGES", Count),
            ("adapter/session/src/queue.rs", "MAX_BYTES", Bytes),
        ],
        "the client is disconnected",
    ),
    Limit(
        "program output kept",
        "{} for each stream (`outputBufferBytes`, at most {})",
        &[
            ("adapter/src/server/host_process.rs", "DEFAULT_BUFFER_LEN", Bytes),
            ("adapter/src/server/host_process.rs", "MAX_BUFFER_LEN", Bytes),
        ],
        "the oldest is dropped, and the reader is informed",
    ),
    Limit(
        "messages of clients and engine to the hub",
        "{}",
        &[("adapter/session/src/inbox.rs", "MAX_WAITING", Count)],
        "the sender waits",
    ),
    Limit(
        "reverse requests that a client leaves unanswered",
        "{}",
        &[("adapter/session/src/reverse_seqs.rs", "MAX_OPEN", Count)],
        "the oldest is forgotten",
    ),
    Limit(
        "a connection to a session that has not sent `initialize`",
        "{}",
        &[("adapter/hub/src/state.rs", "HANDSHAKE_TIMEOUT", Time)],
        "it is closed",
    ),
    Limit(
        "what an adapter prints to stderr",
        "{} lines of {} characters",
        &[
            ("adapter/child/src/connection.rs", "MAX_STDERR_LINES", Count),
            ("adapter/child/src/connection.rs", "MAX_LINE_LEN", Count),
        ],
        "the oldest line is dropped",
    ),
    Limit(
        "the log of either program, to stderr or a file",
        "{} lines of {} that wait",
        &[
            ("adapter/log/src/queue.rs", "MAX_LINES", Count),
            ("adapter/log/src/queue.rs", "MAX_LINE_LEN", Bytes),
        ],
        "dropped, and their number logged",
    ),
];

/// How long something may take: the table in `docs/troubleshooting.md`.
const TIMES: [Limit; 9] = [
    Limit(
        "a request that the engine answers",
        "{}",
        &[("adapter/hub/src/state.rs", "ENGINE_TIMEOUT", Time)],
        "`TIMEOUT`; the session continues, and you can end it",
    ),
    Limit(
        "the source of a .NET method, which may be fetched or decompiled",
        "{}",
        &[("adapter/hub/src/state.rs", "SOURCE_TIMEOUT", Time)],
        "`TIMEOUT`; the session continues",
    ),
    Limit(
        "a launch, with its build",
        "{}",
        &[("adapter/hub/src/state/start_up.rs", "LAUNCH_TIMEOUT", Time)],
        "`TIMEOUT`",
    ),
    Limit(
        "the start of a child adapter",
        "{}",
        &[("adapter/child/src/connection.rs", "START_TIMEOUT", Time)],
        "the launch fails, with the last lines of the adapter's stderr",
    ),
    Limit(
        "an agent's tool that waits for a stop",
        "`timeoutMs`, {}",
        &[("bridge/src/tools/waiting.rs", "DEFAULT_TIMEOUT", Time)],
        "`pending: true`: the program keeps running; repeat the call to keep waiting",
    ),
    Limit(
        "an agent's build or test run: a call; the run itself",
        "`timeoutMs`, {}; {}",
        &[
            ("bridge/src/tools/builds.rs", "DEFAULT_TIMEOUT", Time),
            ("bridge/workspace/src/build.rs", "RUN_TIMEOUT", Time),
        ],
        "`pending: true`: repeat the call to keep waiting; the run ends",
    ),
    Limit(
        "an evaluation that runs code of a .NET program",
        "{}",
        &[("adapter/coreclr/src/func_eval.rs", "CALL_TIMEOUT", Time)],
        "`EVALUATION_TIMEOUT`; the evaluation is aborted",
    ),
    Limit(
        "writing the program's stdin, which the program does not read",
        "{}",
        &[("adapter/process/src/stdin.rs", "WRITE_TIMEOUT", Time)],
        "`TIMEOUT`",
    ),
    Limit(
        "`terminate`",
        "`terminateTimeout`, {}",
        &[("adapter/hub/src/launch.rs", "DEFAULT_TERMINATE_TIMEOUT", Time)],
        "the program is killed",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The value of an expression of integers, `*` and `<<`.
fn integer(expression: &str) -> Option<u64> {
    if let Some((value, bits)) = expression.split_once("<<") {
        return integer(value)?.checked_shl(u32::try_from(integer(bits)?).ok()?);
    }
    let mut factors = expression.split('*').map(|factor| factor.trim().replace('_', "").parse::<u64>().ok());
    factors.try_fold(1, |product: u64, factor| product.checked_mul(factor?))
}

/// The expression of a constant in a source text.
fn expression<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("const {name}: "))?;
    let (definition, _) = rest.split_once(';')?;
    Some(definition.split_once('=')?.1.trim())
}

fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

fn written(expression: &str, unit: Unit) -> Option<String> {
    // The largest unit that divides the number.
    let in_largest = |number: u64, units: &[(u64, &str)]| {
        let (size, name) = units.iter().find(|(size, _)| number.is_multiple_of(*size))?;
        Some(format!("{} {name}", grouped(number / size)))
    };
    match unit {
        Count => Some(grouped(integer(expression)?)),
        Bytes => in_largest(
            integer(expression)?,
            &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")],
        ),
        Time => {
            let (kind, number) = expression.strip_prefix("Duration::from_")?.split_once('(')?;
            let number = integer(number.strip_suffix(')')?)?;
            let milliseconds = if kind == "secs" { number.checked_mul(1000)? } else { number };
            in_largest(milliseconds, &[(3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")])
        }
    }
}

fn table(head: &str, limits: &[Limit]) -> String {
    let mut table = format!("{head}\n|---|---|---|\n");
    for Limit(what, limit, constants, beyond) in limits {
        let mut limit = (*limit).to_owned();
        for (file, name, unit) in *constants {
            let text = std::fs::read_to_string(root().join(file)).expect(file);
            let value = expression(&text, name).and_then(|expression| written(expression, *unit));
            limit = limit.replacen("{}", &value.unwrap_or_else(|| panic!("{file}: no value of {name}")), 1);
        }
        table.push_str(&format!("| {what} | {limit} | {beyond} |\n"));
    }
    table
}

fn check(page: &str, expected: &str) {
    let (before, after) = ("<!-- limits -->\n", "<!-- end of limits -->");
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect(page);
    let (head, rest) = text.split_once(before).expect("the table has a beginning");
    let (_, tail) = rest.split_once(after).expect("the table has an end");
    let expected = format!("{head}{before}{expected}{after}{tail}");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(&path, expected).expect(page);
    } else {
        assert!(text == expected, "{page} is out of date: run this test with INSTA_UPDATE=always");
    }
}

#[test]
fn the_documentation_has_the_limits_of_resources() {
    check("docs/security.md", &table("| what | limit | beyond it |", &RESOURCES));
}

#[test]
fn the_documentation_has_the_limits_of_time() {
    check("docs/troubleshooting.md", &table("| what | limit | then |", &TIMES));
}

#[test]
fn constants_are_written_in_the_largest_unit_that_fits() {
    let text = "/// A limit.\npub(crate) const MAX_LEN: usize = 16 << 20;\nconst MAX: u64 = 1_500;\n";
    assert_eq!(expression(text, "MAX_LEN"), Some("16 << 20"));
    assert_eq!(expression(text, "MAX"), Some("1_500"));
    assert_eq!(expression(text, "MIN"), None);
    let cases = [
        ("16 << 20", Bytes, "16 MiB"),
        ("64 * 1024", Bytes, "64 KiB"),
        ("1_500", Bytes, "1,500 bytes"),
        ("1_500", Count, "1,500"),
        ("Duration::from_secs(15 * 60)", Time, "15 min"),
        ("Duration::from_secs(90)", Time, "90 s"),
        ("Duration::from_millis(400)", Time, "400 ms"),
    ];
    for (expression, unit, expected) in cases {
        assert_eq!(written(expression, unit).as_deref(), Some(expected));
    }
    assert_eq!(written("OTHER * 2", Count), None);
}
