//! Stories that take two parts, on real runtimes through the real programs. How to write one: `tests/src/lib.rs`.

/// Declares stories as tests of one runtime, in a module that `check` can leave out by its name.
macro_rules! stories_on {
    ($module:ident, $runtime:ident: $($story:ident),* $(,)?) => {
        mod $module {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                super::$story(tandem_tests::fixture::Runtime::$runtime.found()?).await
            })*
        }
    };
}

/// Declares stories on .NET Core 3.1 and .NET 9, which set-up makes, and on .NET 10. Where no SDK 10 is installed, `check`
/// leaves the modules `on_net10` out, and the runner counts their tests as skipped.
macro_rules! stories {
    ($($story:ident),* $(,)?) => {
        stories_on! { on_net31, Net31: $($story),* }
        stories_on! { on_net9, Net9: $($story),* }
        stories_on! { on_net10, Net10: $($story),* }
    };
}

/// Declares stories on what set-up makes alone. Each says why .NET 10 has nothing to add to it.
macro_rules! older_stories {
    ($($story:ident),* $(,)?) => {
        stories_on! { older_on_net31, Net31: $($story),* }
        stories_on! { older_on_net9, Net9: $($story),* }
    };
}

/// Declares those stories of a file that also run on .NET 8: some of every area. Where no runtime 8 is installed, `check`
/// leaves the modules `on_net8` out.
macro_rules! also_on_net8 {
    ($($story:ident),* $(,)?) => {
        stories_on! { on_net8, Net8: $($story),* }
    };
}

/// Declares stories with programs of `fixtures/programs/modern`, which only .NET 10 runs. Left out as those of `stories!` are.
macro_rules! modern_stories {
    ($($story:ident),* $(,)?) => {
        stories_on! { modern_on_net10, Net10: $($story),* }
    };
}

/// Declares tests that are one story with different arguments: `name: story(argument, …)`.
macro_rules! stories_with {
    ($($name:ident: $story:ident($($argument:expr),*)),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            $story($($argument),*).await
        })*
    };
}

mod access;
mod agent;
mod agent_families;
mod agent_faults;
mod agent_followed;
mod agent_launches;
mod agent_locals;
mod agent_runs;
mod agent_slips;
mod agent_sources;
mod agent_stops;
mod agent_tools;
mod ahead_of_time;
mod attaching;
mod basic;
mod build_progress;
mod builds;
mod built;
mod callbacks;
mod campaigns;
mod cancelling;
mod cancelling_early;
mod carried;
mod child_adapters;
mod child_attach;
mod child_cancel;
mod child_custom;
mod child_ends;
mod child_families;
mod child_faults;
mod child_go;
mod child_hits;
mod child_input;
mod child_javascript;
mod child_launches;
mod child_matrix;
mod child_names;
mod child_nodelay;
mod child_perl;
mod child_programs;
mod child_python;
mod child_replays;
mod child_requests;
mod child_ruby;
mod child_terminate;
mod circles;
mod compiled;
mod compiled_faults;
mod compiled_places;
mod conditions;
mod configurations;
mod contexts;
mod control;
mod conventions;
mod core_tools;
mod crashes;
mod crowds;
mod database;
mod deadlines;
mod decompiling;
mod disassembly;
mod dotnet_attributes;
mod downloads;
mod editor_pipes;
mod editor_tests;
mod ends;
mod entries;
mod evaluate_names;
mod evil_objects;
mod exceptions;
mod execution;
mod expected;
mod expressions;
mod finding_code;
mod flow;
mod followed;
mod followed_faults;
mod following;
mod foreign_programs;
mod forms;
mod frameworks;
mod freshness;
mod giants;
mod glance;
mod groups;
mod hangs;
mod hostile_input;
mod hostile_objects;
mod hostile_repositories;
mod http;
mod hunts;
mod inline;
mod installing;
mod joining;
mod keys;
mod launched_tests;
mod launching;
mod lifecycle;
mod lightweight;
mod links;
mod listening;
mod looking;
mod loose;
mod many_clients;
mod many_exceptions;
mod marked;
mod native;
mod native_types;
mod native_values;
mod netcoredbg;
mod no_debug;
mod object_summaries;
mod one_thread;
mod other_users;
mod output;
mod own_texts;
mod packaging;
mod path_maps;
mod places;
mod projects;
mod protocol;
mod random_expressions;
mod real_agents;
mod redirected;
mod ref_fields;
mod releases;
mod remote_sources;
mod repeating;
mod restarts;
mod returns;
mod schemas;
mod scopes;
mod services;
mod shapes;
mod shared_breakpoints;
mod stacks;
mod statements;
mod stepping;
mod stepping_into;
mod suspended;
mod symbol_servers;
mod terminals;
mod terminate;
mod test_choices;
mod test_expected;
mod test_faults;
mod test_projects;
mod test_runs;
mod threads;
mod traces;
mod triggers;
mod trying;
mod twins;
mod unoptimized;
mod unread_log;
mod unreadable;
mod unstartable;
mod values;
mod website;
mod who_is_here;
mod words;
