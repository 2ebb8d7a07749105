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
mod agent_child_sessions;
mod agent_dotnet_subprocesses;
mod agent_faults;
mod agent_launches;
mod agent_locals;
mod agent_mistakes;
mod agent_runs;
mod agent_sources;
mod agent_stops;
mod agent_tools;
mod ahead_of_time;
mod assembly_load_contexts;
mod attaching;
mod backpressure;
mod breakpoint_locations;
mod bug_hunts;
mod build_progress;
mod builds;
mod callbacks;
mod campaigns;
mod cancelling;
mod cancelling_early;
mod child_adapters;
mod child_attach;
mod child_cancel;
mod child_crashes;
mod child_custom;
mod child_faults;
mod child_go;
mod child_hit_counts;
mod child_input;
mod child_javascript;
mod child_launches;
mod child_matrix;
mod child_nodelay;
mod child_non_unicode_names;
mod child_perl;
mod child_programs;
mod child_python;
mod child_replays;
mod child_requests;
mod child_ruby;
mod child_subprocesses;
mod child_terminate;
mod client_list;
mod code_locations;
mod compiled;
mod compiled_faults;
mod compiled_scopes;
mod conditions;
mod configurations;
mod core_tools;
mod crashes;
mod database;
mod deadlines;
mod debugger_attributes;
mod decompiling;
mod diagnostic_variables;
mod disassembly;
mod documented_transcripts;
mod dotnet_attributes;
mod dotnet_subprocess_faults;
mod dotnet_subprocesses;
mod downloads;
mod dynamic_methods;
mod dynamic_objects;
mod editor_pipes;
mod editor_tests;
mod evaluate_names;
mod exceptions;
mod execution;
mod expect_option;
mod expressions;
mod failing_members;
mod follow_tool;
mod foreign_programs;
mod frameworks;
mod freshness;
mod hangs;
mod hostile_input;
mod hostile_repositories;
mod http;
mod inline_arrays;
mod installing;
mod jit_optimizations;
mod joining;
mod large_values;
mod launch_failures;
mod launched_tests;
mod launching;
mod lifecycle;
mod listening;
mod many_clients;
mod many_exceptions;
mod many_readers;
mod member_groups;
mod native;
mod native_types;
mod native_values;
mod netcoredbg;
mod no_debug;
mod object_summaries;
mod other_users;
mod output;
mod packaging;
mod path_maps;
mod pathological_types;
mod program_exits;
mod projects;
mod protocol;
mod published_programs;
mod random_expressions;
mod raw_terminal;
mod read_only_access;
mod real_agents;
mod redirection;
mod ref_fields;
mod releases;
mod remote_sources;
mod repeated_runs;
mod restarts;
mod return_values;
mod runtime_async;
mod same_named_types;
mod schemas;
mod scopes;
mod sdk_programs;
mod session_control;
mod shared_breakpoints;
mod signals;
mod single_thread;
mod stacks;
mod statements;
mod stepping;
mod stepping_into;
mod stop_at_entry;
mod struct_passing;
mod symbol_servers;
mod symlinks;
mod task_exceptions;
mod terminals;
mod terminate;
mod test_expected;
mod test_faults;
mod test_projects;
mod test_runs;
mod test_selection;
mod threads;
mod to_string_display;
mod traces;
mod triggers;
mod trying;
mod unread_log;
mod unreadable_messages;
mod user_reports;
mod value_summaries;
mod values;
mod visual_basic;
mod website;
