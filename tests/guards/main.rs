//! Rules for the sources that a test can check. Starts no program; behaviour is in `tests/suites`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod conventions;
mod module_directions;
mod ratchets;
mod sources;
mod words;
