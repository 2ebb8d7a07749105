//! Process trees: [`descendants`] (the processes below a process), [`watchdog`] (a process that ends trees
//! which outlive their host), [`command_guard`] (the same for the commands that `tandem-dap` or `tandem-mcp`
//! runs).
//!
//! Not here: why a process is started, and its orderly end.

pub mod command_guard;
pub mod descendants;
pub mod watchdog;
