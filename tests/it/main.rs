//! Stories that take two parts, on real runtimes through the real programs. How to write one: `tests/src/lib.rs`.

/// Declares stories as tests: each runs on every runtime, unless it is skipped aloud for want of one.
macro_rules! stories {
    ($($story:ident),* $(,)?) => {
        mod on_net31 {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                match tests::fixture::Runtime::Net31.dotnet() {
                    Some(_) => super::$story(tests::fixture::Runtime::Net31).await,
                    None => Ok(()),
                }
            })*
        }
        mod on_net9 {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                match tests::fixture::Runtime::Net9.dotnet() {
                    Some(_) => super::$story(tests::fixture::Runtime::Net9).await,
                    None => Ok(()),
                }
            })*
        }
    };
}

/// Declares stories on .NET 10, with programs of `fixtures/programs/modern`. `check` leaves the module `on_net10` out, and
/// the runner counts it as skipped, where no SDK 10 is installed.
macro_rules! modern_stories {
    ($($story:ident),* $(,)?) => {
        mod on_net10 {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                super::$story(tests::fixture::Runtime::Net10).await
            })*
        }
    };
}

mod access;
mod agent;
mod agent_families;
mod agent_faults;
mod agent_launches;
mod agent_locals;
mod agent_runs;
mod agent_slips;
mod agent_tools;
mod attaching;
mod build_progress;
mod builds;
mod campaigns;
mod cancelling;
mod cancelling_early;
mod child_adapters;
mod child_attach;
mod child_cancel;
mod child_custom;
mod child_ends;
mod child_faults;
mod child_go;
mod child_hits;
mod child_javascript;
mod child_launches;
mod child_matrix;
mod child_programs;
mod child_python;
mod child_replays;
mod child_requests;
mod conditions;
mod contexts;
mod control;
mod conventions;
mod core_tools;
mod crashes;
mod crowds;
mod disassembly;
mod editor_pipes;
mod ends;
mod entries;
mod evil_objects;
mod exceptions;
mod execution;
mod expected;
mod expressions;
mod finding_code;
mod flow;
mod giants;
mod hostile_input;
mod hostile_objects;
mod hostile_repositories;
mod http;
mod hunts;
mod joining;
mod launching;
mod lifecycle;
mod links;
mod listening;
mod looking;
mod many_clients;
mod many_exceptions;
mod marked;
mod native;
mod native_values;
mod netcoredbg;
mod one_thread;
mod other_users;
mod output;
mod own_texts;
mod packaging;
mod path_maps;
mod places;
mod real_agents;
mod ref_fields;
mod restarts;
mod schemas;
mod scopes;
mod shared_breakpoints;
mod stacks;
mod standstill;
mod statements;
mod stepping;
mod stepping_into;
mod terminals;
mod threads;
mod traces;
mod undebugged;
mod unread_log;
mod unreadable;
mod values;
mod who_is_here;
