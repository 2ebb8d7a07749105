//! The list of all tools: one line per group, filtered by the flags of the bridge.
//!
//! Describes no tool: the module of the group says what each takes, returns and does.

use rmcp::model::Tool as Listed;
use tandem_wire::{ErrorCode, Failure};

use crate::tool::{Tool, ToolGroup};
use crate::tool_filter::ToolFilter;
use crate::tools::builds::RUN_COMMAND;
use crate::tools::{
    breakpoints, builds, execution, files, follow, git, inspect, launch, program_io, sessions, snapshot,
    testing, timeline, trace, trying,
};

/// All groups, in the order they are listed.
pub const GROUPS: &[&ToolGroup] = &[
    &launch::GROUP,
    &sessions::GROUP,
    &breakpoints::GROUP,
    &execution::GROUP,
    &snapshot::GROUP,
    &inspect::GROUP,
    &trace::GROUP,
    &follow::GROUP,
    &trying::GROUP,
    &timeline::GROUP,
    &testing::GROUP,
    &program_io::GROUP,
    &files::GROUP,
    &git::GROUP,
    &builds::GROUP,
];

/// Tools that another tool includes (`debug_set_breakpoint`, `debug_snapshot`, `debug_step`,
/// `debug_continue`, `file_exists`, `git_status`). Clients can still call them by name; the list
/// leaves them out to save tokens.
const UNLISTED_TOOLS: [&str; 8] = [
    "debug_set_function_breakpoint",
    "debug_exception_info",
    "debug_step_over",
    "debug_step_into",
    "debug_step_out",
    "debug_run_to",
    "directory_exists",
    "git_current_branch",
];

/// Returns the tool with this name, if it exists, also when the flags do not allow it.
pub fn find(name: &str) -> Option<&'static Tool> {
    GROUPS.iter().flat_map(|group| group.tools).find(|tool| tool.name == name)
}

impl ToolFilter {
    fn has(self, tool: &Tool) -> bool {
        (tool.core || !self.core) && !UNLISTED_TOOLS.contains(&tool.name) && self.allows(tool).is_ok()
    }

    /// Whether the flags allow a tool; which are listed is another matter.
    fn allows(self, tool: &Tool) -> Result<(), Failure> {
        let flag = if self.read_only && !tool.effect.is_read_only() {
            "with `--read-only`"
        } else if tool.name == RUN_COMMAND && !self.commands {
            "without `--allow-commands`"
        } else {
            return Ok(());
        };
        let message = format!("`{}` is off: tandem-mcp was started {flag}", tool.name);
        Err(Failure::new(ErrorCode::AccessDenied, message)
            .hint("only the user who starts tandem-mcp can change this"))
    }

    /// Returns the tool with this name, if it exists.
    pub fn find(self, name: &str) -> Option<Result<&'static Tool, Failure>> {
        let tool = find(name)?;
        Some(self.allows(tool).map(|()| tool))
    }

    /// Returns the tools as MCP lists them.
    pub fn list(self) -> Vec<Listed> {
        let tools = GROUPS.iter().flat_map(|group| group.tools);
        tools.filter(|tool| self.has(tool)).filter_map(Tool::to_mcp).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::arguments::ToolArguments;
    use crate::arguments::kind::{ArgumentType, ElementType};
    use crate::arguments::schema::ArgumentSchema;

    /// Four bytes of JSON are about one token.
    fn tokens(offer: ToolFilter) -> usize {
        serde_json::to_string(&offer.list()).unwrap().len() / 4
    }

    #[test]
    fn the_list_stays_affordable() {
        let core = tokens(ToolFilter { core: true, ..ToolFilter::default() });
        let all = tokens(ToolFilter { commands: true, ..ToolFilter::default() });
        assert!(core <= 2500 && all <= 6000, "core: {core}, all: {all}");
    }

    /// The type of a parameter for people.
    fn kind(schema: &Value) -> String {
        match (&schema["type"], schema["items"]["type"].as_str()) {
            (Value::String(_), Some(element)) => format!("list of {element}s"),
            (Value::String(name), None) if name == "array" => "list".to_owned(),
            (Value::String(name), None) => name.clone(),
            (other, _) => other
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" or "),
        }
    }

    /// The reference of all tools, as Markdown.
    fn reference() -> String {
        let mut text = String::new();
        for group in GROUPS {
            let name = group.name;
            let (first, rest) = name.split_at(1);
            text.push_str(&format!("## {}{rest}\n\n", first.to_uppercase()));
            for tool in group.tools.iter().filter(|tool| !UNLISTED_TOOLS.contains(&tool.name)) {
                let listed = serde_json::to_value(tool.to_mcp().unwrap()).unwrap();
                text.push_str(&format!("### `{}`\n\n{}\n\n", tool.name, tool.description));
                let schema = &listed["inputSchema"];
                let properties = schema["properties"].as_object().unwrap();
                let rows: String = properties.keys().map(|name| row(name, schema)).collect();
                if !rows.is_empty() {
                    text.push_str(&format!(
                        "| parameter | type | meaning | default |\n|---|---|---|---|\n{rows}\n"
                    ));
                }
            }
        }
        text
    }

    fn row(name: &str, schema: &Value) -> String {
        let property = &schema["properties"][name];
        let is_required =
            schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
        let meaning = property["description"].as_str().unwrap_or_default().replace('|', "\\|");
        let default = match &property["default"] {
            Value::Null if is_required => "required".to_owned(),
            Value::Null => String::new(),
            value => format!("`{value}`"),
        };
        format!("| `{name}` | {} | {meaning} | {default} |\n", kind(property))
    }

    /// `INSTA_UPDATE=always cargo test -p tandem-bridge --lib lists_every` regenerates the page.
    #[test]
    fn the_documentation_lists_every_tool() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tools.md");
        let text = std::fs::read_to_string(path).expect("the page is there");
        let (before, after) = ("<!-- tools -->\n", "<!-- end of tools -->");
        let (head, rest) = text.split_once(before).expect("the reference has a beginning");
        let (_, tail) = rest.split_once(after).expect("the reference has an end");
        let expected = format!("{head}{before}{}{after}{tail}", reference());
        if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
            std::fs::write(path, expected).expect("it is written");
        } else {
            assert!(text == expected, "{path} is out of date: run this test with INSTA_UPDATE=always");
        }
    }

    #[test]
    fn every_tool_can_be_listed_and_has_a_name_of_its_own() {
        let count: usize = GROUPS.iter().map(|group| group.tools.len()).sum();
        let all = ToolFilter { commands: true, ..ToolFilter::default() };
        let mut names: Vec<_> = all.list().into_iter().map(|tool| tool.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len() + UNLISTED_TOOLS.len(), count);
        assert!(UNLISTED_TOOLS.iter().all(|name| matches!(all.find(name), Some(Ok(_)))));
    }

    /// Reads one argument as the tool receives it.
    fn read(schema: &ArgumentSchema, name: &str, given: &Value) -> Result<Value, String> {
        let given = ToolArguments::new(Some(Map::from_iter([(name.to_owned(), given.clone())])));
        let read =
            given.of_kinds(schema.kinds()).and_then(|arguments| arguments.parse::<Map<String, Value>>());
        read.map(|read| read.get(name).cloned().unwrap_or_default()).map_err(|failure| failure.message)
    }

    #[test]
    fn every_argument_of_every_tool_is_read_by_the_same_rule() {
        let tools: Vec<_> = GROUPS.iter().flat_map(|group| group.tools).collect();
        let (object, list) = (json!({ "a": 1 }), json!(["a", 7.0, true]));
        for tool in tools {
            let schema = (tool.input)();
            for (name, kind, empty_counts) in schema.kinds() {
                let case = format!("{} {name}", tool.name);
                let reads = |given: Value, value: Value| {
                    assert_eq!(read(&schema, name, &given), Ok(value), "{case}: {given}");
                };
                let refuses = |given: &[Value]| {
                    for given in given {
                        let message = read(&schema, name, given).expect_err(&case);
                        assert!(message.starts_with(&format!("`{name}` must be ")), "{case}: {message}");
                    }
                };
                reads(json!(null), json!(null));
                let is_content = empty_counts && kind == ArgumentType::Text;
                reads(json!(""), if is_content { json!("") } else { json!(null) });
                match kind {
                    ArgumentType::Text => {
                        reads(json!(7), json!("7"));
                        reads(json!(7.0), json!("7"));
                        reads(json!(true), json!("true"));
                        refuses(std::slice::from_ref(&object));
                    }
                    ArgumentType::Integer => {
                        reads(json!(5.0), json!(5));
                        reads(json!("5"), json!(5));
                        refuses(&[json!(5.5), json!(-1), json!("five"), json!(true), list.clone()]);
                    }
                    ArgumentType::Number => {
                        reads(json!("2.5"), json!(2.5));
                        refuses(&[json!("much")]);
                    }
                    ArgumentType::Flag => {
                        reads(json!("true"), json!(true));
                        reads(json!("False"), json!(false));
                        reads(json!(1), json!(true));
                        reads(json!(0.0), json!(false));
                        refuses(&[json!(2), json!("yes"), list.clone()]);
                    }
                    ArgumentType::IntegerOrText => {
                        reads(json!(5.0), json!(5));
                        reads(json!("5:2"), json!("5:2"));
                        refuses(&[json!(5.5)]);
                    }
                    ArgumentType::Object => {
                        reads(json!("{\"a\": 1}"), object.clone());
                        reads(json!({}), json!(null));
                        refuses(&[json!("a"), json!(1), list.clone()]);
                    }
                    ArgumentType::TextOrObject | ArgumentType::ObjectOrText => {
                        reads(object.clone(), object.clone());
                        reads(json!(5678), json!("5678"));
                        refuses(std::slice::from_ref(&list));
                    }
                    ArgumentType::List(ElementType::Text) | ArgumentType::TextOrTexts => {
                        reads(list.clone(), json!(["a", "7", "true"]));
                        reads(json!("a"), json!(["a"]));
                        reads(json!("[\"a\"]"), json!(["a"]));
                        refuses(&[json!(["a", null]), object.clone()]);
                    }
                    ArgumentType::List(ElementType::Object) => {
                        reads(object.clone(), json!([object]));
                        refuses(&[json!(["a"]), json!("a")]);
                    }
                    ArgumentType::List(ElementType::Any | ElementType::Integer) | ArgumentType::Any => {}
                }
                let counts = matches!(name, "content" | "data" | "filters");
                assert_eq!(empty_counts, counts, "{case}: is an empty value not an absent one?");
            }
        }
    }

    /// The fields of a schema that MCP lists, in one line.
    fn fields(schema: &Value) -> String {
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        let field = |(name, property): (&String, &Value)| {
            let mut line = format!("{name}{} {}", if is_required(name) { "!" } else { "" }, kind(property));
            for key in ["default", "description"] {
                if let Some(value) = property.get(key) {
                    line.push_str(&format!(
                        ", {}",
                        value.as_str().map_or(format!("default {value}"), str::to_owned)
                    ));
                }
            }
            line
        };
        schema["properties"].as_object().unwrap().iter().map(field).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn names_and_fields_change_only_on_purpose() {
        for group in GROUPS {
            let lines = group.tools.iter().map(|tool| {
                let core = if tool.core { " (core)" } else { "" };
                let listed = serde_json::to_value(tool.to_mcp().unwrap()).unwrap();
                let (input, output) = (fields(&listed["inputSchema"]), fields(&listed["outputSchema"]));
                format!("{}{core} {:?}\n  takes {input}\n  gives {output}", tool.name, tool.effect)
            });
            insta::assert_snapshot!(
                group.name.replace(['/', ' '], "_"),
                lines.collect::<Vec<_>>().join("\n")
            );
        }
    }
}
