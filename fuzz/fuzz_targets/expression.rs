//! Any text is a C# expression or is refused: parsing, binding and completing it neither panics nor takes unbounded time or stack.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| tandem_csharp::bind::bind_any(text));
