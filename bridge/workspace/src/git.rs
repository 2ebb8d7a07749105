//! Git, through the `git` program: the one implementation that agrees with what people see, in worktrees, empty
//! repositories and with names of any bytes. Answers are read from its stable formats (`-z`), never from words meant for people.
//!
//! A repository's own configuration can name programs that git runs. What of that may run, and what a call can see when the
//! repository begins above the root, is decided in [`repository`]. In the other children: [`status`], [`history`] (log and
//! branches), [`diff`], [`changes`] (add and commit), [`quote`] (names of any bytes as text).

pub mod changes;
pub mod diff;
pub mod history;
pub mod quote;
pub mod repository;
pub mod status;

#[cfg(test)]
mod tests;
