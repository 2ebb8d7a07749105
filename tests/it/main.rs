//! Integration tests: the real programs on real runtimes. `tests/src/lib.rs` says how to write one.

/// Declares tests on one runtime, in a module that `check` can leave out by its name.
macro_rules! tests_on {
    ($module:ident, $runtime:ident: $($test:ident),* $(,)?) => {
        mod $module {
            $(#[tokio::test]
            async fn $test() -> anyhow::Result<()> {
                super::$test(tandem_tests::fixture::Runtime::$runtime.ensure_installed()?).await
            })*
        }
    };
}

/// Declares tests on .NET Core 3.1 and .NET 9, which set-up installs, and on .NET 10. If no SDK 10 is
/// installed, `check` leaves the modules `on_net10` out, and the runner counts their tests as skipped.
macro_rules! dotnet_tests {
    ($($test:ident),* $(,)?) => {
        tests_on! { on_net31, Net31: $($test),* }
        tests_on! { on_net9, Net9: $($test),* }
        tests_on! { on_net10, Net10: $($test),* }
    };
}

/// Declares tests on the runtimes that set-up installs only. Each use says why .NET 10 makes no difference.
macro_rules! older_dotnet_tests {
    ($($test:ident),* $(,)?) => {
        tests_on! { older_on_net31, Net31: $($test),* }
        tests_on! { older_on_net9, Net9: $($test),* }
    };
}

/// Declares those tests of a file that also run on .NET 8: some of every area. If no runtime 8 is installed,
/// `check` leaves the modules `on_net8` out.
macro_rules! net8_tests {
    ($($test:ident),* $(,)?) => {
        tests_on! { on_net8, Net8: $($test),* }
    };
}

/// Declares tests with programs of `fixtures/programs/modern`, which only .NET 10 runs. `check` leaves them
/// out as it does those of `dotnet_tests!`.
macro_rules! net10_tests {
    ($($test:ident),* $(,)?) => {
        tests_on! { modern_on_net10, Net10: $($test),* }
    };
}

/// Declares tests that run one scenario with different arguments: `name: scenario(argument, …)`.
macro_rules! parameterized_tests {
    ($($name:ident: $scenario:ident($($argument:expr),*)),* $(,)?) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            $scenario($($argument),*).await
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
mod cases;
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
mod documented;
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
