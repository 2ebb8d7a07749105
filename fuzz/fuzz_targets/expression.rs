//! Any text is a C# expression or is refused: parsing, binding and completing it neither panics nor takes unbounded time or stack.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| csharp_expr::bind::bind_any(text));
