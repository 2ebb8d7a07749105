//! Parses any bytes as a line to the bridge: it is a message, or is refused with an error of JSON-RPC. Any JSON object
//! is valid as the arguments of a tool.
#![no_main]

use bridge::arguments::ToolArguments;
use bridge::json_rpc::{ParsedLine, parse_line};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let ParsedLine::Refused(answer) = parse_line(bytes) {
        let code = answer["error"]["code"].as_i64().expect("a code");
        assert!((-32700..=-32600).contains(&code), "{answer}");
        let id = &answer["id"];
        assert!(id.is_null() || id.is_i64() || id.is_string(), "{answer}");
    }
    if let Ok(serde_json::Value::Object(given)) = tandem_wire::lenient::parse(bytes) {
        let names: Vec<String> = given.keys().cloned().collect();
        let arguments = ToolArguments::new(Some(given));
        for name in &names {
            // Each either returns a value of its kind or an error.
            drop((arguments.text(name), arguments.number(name), arguments.flag(name)));
        }
        drop(arguments.unknown_names(["sourceFile", "line"].into_iter()));
    }
});
