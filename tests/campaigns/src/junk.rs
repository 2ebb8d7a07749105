//! Random JSON and random damage. Not for valid messages: those are written where they are sent.

use fastrand::Rng;

/// Text of one random value, as an attacker might write it.
pub(super) fn value(random: &mut Rng, depth: usize) -> String {
    const ODD: [&str; 22] = [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e999",
        "9223372036854775808",
        "-9223372036854775809",
        "\"\"",
        "\"x\"",
        "\"\\ud83d\"",
        "\"\\udc00\\ud800\"",
        "\"\\u0000\"",
        "\"/\"",
        "\"1\"",
        "[]",
        "{}",
        "tru",
        "'x'",
        "\"é\\\\\"",
        "NaN",
        "\"\u{feff}\"",
    ];
    match random.u8(0..12) {
        0 if depth < 4 => {
            let items: Vec<_> = (0..random.usize(0..4)).map(|_| value(random, depth + 1)).collect();
            format!("[{}]", items.join(","))
        }
        1 | 2 if depth < 4 => object(random, depth + 1),
        3 if depth == 0 => "[".repeat(random.usize(1..300)),
        4 if depth == 0 => {
            let deep = random.usize(1..300);
            format!("{}{}", "[".repeat(deep), "]".repeat(deep))
        }
        5 => random.i64(-5..2000).to_string(),
        6 => format!("\"{}\"", "long".repeat(random.usize(0..2000))),
        _ => ODD.get(random.usize(0..ODD.len())).copied().unwrap_or("null").to_owned(),
    }
}

/// An object with some of the names that mean something.
pub(super) fn object(random: &mut Rng, depth: usize) -> String {
    const NAMES: [&str; 20] = [
        "threadId",
        "frameId",
        "variablesReference",
        "expression",
        "source",
        "path",
        "breakpoints",
        "line",
        "column",
        "start",
        "count",
        "filters",
        "name",
        "value",
        "arguments",
        "context",
        "data",
        "cursor",
        "timeoutMs",
        "\\ud800",
    ];
    let fields: Vec<_> = (0..random.usize(0..6))
        .map(|_| {
            let name = NAMES.get(random.usize(0..NAMES.len())).copied().unwrap_or_default();
            format!("\"{name}\":{}", value(random, depth))
        })
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// Damages the bytes after `from`: flips, cuts, inserts, doubles.
pub(super) fn damage(random: &mut Rng, bytes: &mut Vec<u8>, from: usize) {
    for _ in 0..random.usize(1..6) {
        if bytes.len() <= from {
            return;
        }
        let at = random.usize(from..bytes.len());
        match random.u8(0..5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.u8(..)),
            2 => {
                let part = bytes.split_off(at);
                bytes.extend_from_slice(&part);
                bytes.extend_from_slice(part.get(..part.len().min(30)).unwrap_or_default());
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.u8(..);
                }
            }
        }
    }
}
