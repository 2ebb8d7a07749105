//! Any bytes are a sequence of actions of clients, an engine and faults; the hub's rules are checked after
//! each action.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_hub::state::simulation::simulate(bytes));
