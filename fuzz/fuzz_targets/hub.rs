//! Any bytes are a play of clients, an engine and accidents; the hub's rules are checked after every line of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| adapter::hub::state::simulation::simulate(bytes));
