//! Addresses at which a server listens, found in what it prints. Nothing here connects to them.

use tandem_wire::types::ReadOutputBody;

use crate::session::AgentSession;
use crate::session::requests::ReadOutputArguments;

/// Output of a server that listens, as ASP.NET Core, Flask, uvicorn and many others print it.
pub(super) const LISTENING_PATTERN: &str = r"(?i)\b(?:listening|running)(?: on| at)?:?\s+https?://\S";
/// The words before an address.
const ADDRESS_PREFIXES: [&str; 2] = ["listening", "running"];
/// Maximum number of reported addresses.
const MAX_ADDRESSES: usize = 8;
/// Bytes per stream that are searched for addresses: servers print them early.
const MAX_SEARCHED_BYTES: u64 = 64 * 1024;

/// The cursor at the start of all output.
pub(super) const OUTPUT_START: &str = "o0.e0";

/// The addresses where the program has said that it listens, in its output from a cursor on.
pub(super) async fn addresses(session: &AgentSession, since: &str) -> Vec<String> {
    let (since, max_bytes) = (Some(since.to_owned()), MAX_SEARCHED_BYTES);
    let arguments = ReadOutputArguments { since, max_bytes, ..ReadOutputArguments::default() };
    let read = session.root().send(&arguments).await;
    // Without its output, its addresses are unknown.
    read.map(|read| addresses_in(&read)).unwrap_or_default()
}

/// Addresses in `stdout` and `stderr` of an answer, in the order they were printed.
fn addresses_in(output: &ReadOutputBody) -> Vec<String> {
    let texts = [&output.stdout, &output.stderr].into_iter().flatten().map(String::as_str);
    let mut found: Vec<String> = Vec::new();
    for address in texts.flat_map(str::lines).filter_map(address) {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found.truncate(MAX_ADDRESSES);
    found
}

/// The address in a line that says where a server listens.
fn address(line: &str) -> Option<String> {
    let small = line.to_ascii_lowercase();
    let position = ADDRESS_PREFIXES.into_iter().filter_map(|word| small.find(word)).min()?;
    let start = small.get(position..)?.find("http").map(|at| position + at)?;
    let ends = |letter: char| letter.is_whitespace() || letter.is_control() || "\"'<>(),".contains(letter);
    let address = line.get(start..)?.split(ends).next()?.trim_end_matches('.');
    let host = ["http://", "https://"].into_iter().find_map(|scheme| address.strip_prefix(scheme))?;
    (!host.is_empty()).then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_servers_print() {
        let lines = [
            ("      Now listening on: http://[::]:5000\r", Some("http://[::]:5000")),
            ("      Now listening on: https://localhost:7001", Some("https://localhost:7001")),
            (" * Running on http://127.0.0.1:5000", Some("http://127.0.0.1:5000")),
            (
                "INFO:     Uvicorn running on \u{1b}[1mhttp://127.0.0.1:8000\u{1b}[0m (Press CTRL+C to quit)",
                Some("http://127.0.0.1:8000"),
            ),
            ("Server listening at http://0.0.0.0:3000.", Some("http://0.0.0.0:3000")),
            ("listening on port 3000", None),
            ("listening on http://", None),
            ("see https://aka.ms/dotnet", None),
            ("http://first and then listening", None),
            ("Ünlistening: https", None),
            ("", None),
        ];
        for (line, expected) in lines {
            assert_eq!(address(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn each_address_is_reported_once_and_not_too_many() {
        let twice = "listening on http://a:1\nlistening on http://a:1\n";
        let read = |stdout: &str, stderr: &str| ReadOutputBody {
            stdout: Some(stdout.into()),
            stderr: Some(stderr.into()),
            ..ReadOutputBody::default()
        };
        let output = read(twice, "running on http://b:2\n");
        assert_eq!(addresses_in(&output), ["http://a:1", "http://b:2"]);
        let many: String = (0..100).map(|port| format!("listening on http://a:{port}\n")).collect();
        assert_eq!(addresses_in(&read(&many, "")).len(), MAX_ADDRESSES);
        assert!(addresses_in(&ReadOutputBody::default()).is_empty());
    }
}
