//! The code's tables of the Debug Adapter Protocol, compared with the official schema.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use tandem_harness::debug_protocol::{Schema, VERSION};
use tandem_wire::command::{Announcement, BodyValues, COMMANDS, Recipient};
use tandem_wire::{extensions, types};

#[test]
fn every_request_of_the_protocol_is_in_the_command_table_and_no_other() -> anyhow::Result<()> {
    let schema = Schema::official()?;
    let requests = schema.requests();
    ensure!(requests.len() >= 45, "{requests:?}");
    let known: Vec<&str> = COMMANDS.iter().map(|row| row.name).collect();
    let ours: Vec<&str> = extensions::REQUESTS.iter().map(|request| request.command).collect();
    for command in requests.keys() {
        ensure!(known.contains(command), "`{command}` of DAP {VERSION} is missing in tandem_wire::command");
    }
    for command in &known {
        ensure!(
            requests.contains_key(command) || ours.contains(command),
            "`{command}` is neither a request of DAP {VERSION} nor of Tandem"
        );
    }
    Ok(())
}

#[test]
fn requests_in_the_command_table_match_the_schema() -> anyhow::Result<()> {
    let schema = Schema::official()?;
    let (of_adapters, of_clients) =
        (schema.fields("Capabilities")?, schema.fields("InitializeRequestArguments")?);
    let requests = schema.requests();
    for row in &COMMANDS {
        let Some(name) = requests.get(row.name) else { continue };
        if let Announcement::By(capability) = row.announced {
            let announced = if row.recipient == Recipient::Client { &of_clients } else { &of_adapters };
            ensure!(announced.contains(capability), "`{}`: the schema has no `{capability}`", row.name);
        }
        let body = schema.get(&format!("{name}Response")).map(|response| response.fields.clone());
        let body = body.unwrap_or_default();
        let listed = match row.values {
            BodyValues::Items(list) | BodyValues::Counts(list) => Some(list),
            BodyValues::Body | BodyValues::None => None,
        };
        for list in listed.into_iter().chain(row.listed_ids.map(|(list, _)| list)) {
            ensure!(body.contains(&format!("body.{list}")), "`{}` has no `{list}` but {body:?}", row.name);
        }
        for argument in row.required() {
            let arguments = schema.fields(&format!("{name}Arguments"))?;
            ensure!(arguments.contains(argument), "`{}` has no argument `{argument}`", row.name);
        }
    }
    Ok(())
}

#[test]
fn interfaces_of_the_schema_are_read_with_nested_fields() {
    let schema = Schema::parse(
        "declare module DebugProtocol {\n\t/** A: {\n\tb: c */\n\tinterface XRequest extends Request {\n\
            \t\t// command: 'x';\n\t\targuments?: XArguments;\n\t}\n\
         \texport interface XResponse extends Response {\n\t\tbody: {\n\t\t\t/** Text. */\n\
         \t\t\tfoo?: string;\n\t\t};\n\t\tmore: number;\n\t}\n\
         \tinterface XArguments {\n\t\t[key: string]: any;\n\t}\n}\n",
    );
    assert_eq!(schema.requests(), BTreeMap::from([("x", "X")]));
    assert_eq!(schema.get("XResponse").unwrap().fields, ["body", "body.foo", "more"]);
    assert_eq!(schema.fields("XArguments").unwrap(), BTreeSet::new());
}

#[test]
fn generated_types_match_the_schema() -> anyhow::Result<()> {
    let script = tandem_harness::fixture::root().join("adapter/wire/generate.py");
    let done = std::process::Command::new("python3").arg(&script).arg("--check").output()?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// The types of the `dap` crate that are used must have every field: it drops unknown ones.
#[test]
fn types_of_the_dap_crate_have_every_field_of_the_schema() -> anyhow::Result<()> {
    let schema = Schema::official()?;
    let own_fields = |interface: &str| -> anyhow::Result<BTreeSet<String>> {
        let found = schema.get(interface).with_context(|| format!("the schema has no {interface}"))?;
        let body = found.fields.iter().filter_map(|field| field.strip_prefix("body."));
        let body: BTreeSet<String> = body.map(str::to_owned).collect();
        if body.is_empty() { schema.fields(interface) } else { Ok(body) }
    };
    for (interface, value) in [
        ("ExitedEvent", types::body(&types::ExitedEventBody { exit_code: 1 })),
        (
            "MemoryEvent",
            types::body(&types::MemoryEventBody { memory_reference: "0x1".into(), offset: 1, count: 1 }),
        ),
    ] {
        let written: BTreeSet<String> =
            value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
        ensure!(written == own_fields(interface)?, "{interface}: the crate writes {written:?}");
    }
    Ok(())
}

/// A body that a debug adapter sent and that the hub reads and sends on loses nothing.
#[test]
fn bodies_of_recorded_sessions_survive_the_types() -> anyhow::Result<()> {
    let folder = tandem_harness::fixture::root().join("fixtures/transcripts");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&path)?.lines() {
            let message: serde_json::Value = serde_json::from_str(line)?;
            let (name, body) = (&message["m"]["event"], &message["m"]["body"]);
            let command = message["m"]["command"].as_str().filter(|_| message["m"]["type"] == "response");
            let again = match (name.as_str(), command) {
                (Some("stopped"), _) => types::body(&types::read::<types::StoppedEventBody>(body)),
                (Some("breakpoint"), _) => types::body(&types::read::<types::BreakpointEventBody>(body)),
                (Some("output"), _) => types::body(&types::read::<types::OutputEventBody>(body)),
                (_, Some("setBreakpoints")) if !body.is_null() => {
                    types::body(&types::read::<types::SetBreakpointsResponseBody>(body))
                }
                (_, Some("stackTrace")) if !body.is_null() => {
                    types::body(&types::read::<types::StackTraceResponseBody>(body))
                }
                (_, Some("scopes")) if !body.is_null() => {
                    types::body(&types::read::<types::ScopesResponseBody>(body))
                }
                (_, Some("threads")) if !body.is_null() => {
                    types::body(&types::read::<types::ThreadsResponseBody>(body))
                }
                (_, Some("variables")) if !body.is_null() => {
                    types::body(&types::read::<types::VariablesResponseBody>(body))
                }
                _ => continue,
            };
            ensure!(
                without_nulls(&again) == without_nulls(body),
                "{}: {body} became {again}",
                path.display()
            );
            compared += 1;
        }
    }
    ensure!(compared > 100, "only {compared} bodies were compared");
    Ok(())
}

/// An absent field and `null` mean the same.
fn without_nulls(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            there.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        serde_json::Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
