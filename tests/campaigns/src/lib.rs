//! Campaigns: long random attacks on the real programs, each with a short run among the tests, a long one
//! among those of `check --long`, and by hand (`cargo build --workspace && target/debug/campaign NAME --count
//! N --seed S`). Each file beneath is one campaign, and a row in [`CAMPAIGNS`].
//!
//! A campaign prints nothing itself; it returns a summary, or the error. Its randomness comes from its seed
//! alone, but the programs' timing does not, so a seed that fails once may have to be run again.

pub mod adapters;
pub mod clients;
mod junk;
pub mod kills;
pub mod messages;
mod session;
pub mod soak;

use std::pin::Pin;

/// Size of a campaign, and its random seed.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Frames, requests or rounds, as the campaign counts.
    pub count: u64,
    /// The seed of its random numbers.
    pub seed: u64,
}

type Running = Pin<Box<dyn Future<Output = anyhow::Result<String>> + Send>>;

/// A campaign of random sessions that the tests run for seconds and the long tests for up to an hour.
pub struct Campaign {
    /// Its name on the command line.
    pub name: &'static str,
    /// Description: its actions and its counts.
    pub about: &'static str,
    /// The count of the short tests, for some seconds.
    pub short: u64,
    /// The count of the long tests, and of a run by hand without `--count`.
    pub long: u64,
    /// Runs it; returns a summary.
    pub run: fn(Options) -> Running,
}

/// All campaigns, in the order in which they are listed.
pub const CAMPAIGNS: [Campaign; 6] = [
    Campaign {
        name: "messages",
        about: "frames to tandem-dap, sound, split and hostile: each request is answered exactly once \
            (counts frames)",
        short: 20_000,
        long: 1_000_000,
        run: |options| Box::pin(messages::dap(options)),
    },
    Campaign {
        name: "mcp",
        about: "lines to tandem-mcp, sound and hostile: each request is answered exactly once (counts lines)",
        short: 10_000,
        long: 1_000_000,
        run: |options| Box::pin(messages::mcp(options)),
    },
    Campaign {
        name: "clients",
        about: "2 to 8 clients that join, ask, leave and vanish at random in one session (counts requests)",
        short: 6_000,
        long: 400_000,
        run: |options| Box::pin(clients::run(options)),
    },
    Campaign {
        name: "adapters",
        about: "adapters that storm, talk nonsense, stop in the middle of a message or flood their stderr \
            (counts rounds)",
        short: 7,
        long: 300,
        run: |options| Box::pin(adapters::run(options)),
    },
    Campaign {
        name: "kills",
        about: "one part of a session is killed at any moment: nothing is left of it (counts kills)",
        short: 12,
        long: 1_000,
        run: |options| Box::pin(kills::run(options)),
    },
    Campaign {
        name: "soak",
        about: "sessions in a row over all engines: listener and bridge do not grow (counts sessions)",
        short: 18,
        long: 1_500,
        run: |options| Box::pin(soak::run(options)),
    },
];
