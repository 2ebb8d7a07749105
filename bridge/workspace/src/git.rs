//! Runs the `git` program: the one implementation that agrees with what users see, in worktrees,
//! empty repositories and with names of any bytes. Answers are parsed from its stable formats (`-z`),
//! never from messages for users.
//!
//! A repository can name programs that git runs and places that git reads and writes. What of that counts is
//! decided in [`repository`], by [`layout`] (where things are), [`settings`] and [`safe_common_dir`] (which
//! configuration git sees), [`run`] (its environment) and [`submodules`]. In the other children: [`status`],
//! [`history`] (log and branches), [`diff`], [`changes`] (add and commit), [`crate::quoted_path`] (names of
//! any bytes as text).

pub mod changes;
pub mod diff;
pub mod history;
pub mod layout;
pub mod repository;
pub mod run;
pub mod safe_common_dir;
pub mod settings;
pub mod status;
pub mod submodules;

#[cfg(test)]
mod tests;
