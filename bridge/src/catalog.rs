//! All tools: one line per family. The family's own module describes what a tool takes, returns and does.

use dap_wire::{ErrorCode, Failure};
use rmcp::model::Tool as Listed;

use crate::tool::{Family, Tool};
use crate::tools::{
    breakpoints, builds, execution, files, follow, git, inspect, launch, program_io, sessions, snapshot,
    testing, timeline, trace, trying,
};

/// All families, in the order they are listed.
pub const FAMILIES: &[&Family] = &[
    &launch::FAMILY,
    &sessions::FAMILY,
    &breakpoints::FAMILY,
    &execution::FAMILY,
    &snapshot::FAMILY,
    &inspect::FAMILY,
    &trace::FAMILY,
    &follow::FAMILY,
    &trying::FAMILY,
    &timeline::FAMILY,
    &testing::FAMILY,
    &program_io::FAMILY,
    &files::FAMILY,
    &git::FAMILY,
    &builds::FAMILY,
];

/// The one tool that runs any command.
pub const RUN_COMMAND: &str = "run_command";

/// Tools whose work another one does too (`debug_set_breakpoint`, `debug_snapshot`, `debug_step`, `debug_continue`, `file_exists`,
/// `git_status`): they are called under their names as ever, and cost nothing in the list.
const UNLISTED: [&str; 8] = [
    "debug_set_function_breakpoint",
    "debug_exception_info",
    "debug_step_over",
    "debug_step_into",
    "debug_step_out",
    "debug_run_to",
    "directory_exists",
    "git_current_branch",
];

/// Which tools a bridge offers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offer {
    /// Only the most needed ones.
    pub core: bool,
    /// Only those that change nothing.
    pub read_only: bool,
    /// Also the one that runs any program.
    pub commands: bool,
}

impl Offer {
    fn has(self, tool: &Tool) -> bool {
        (tool.core || !self.core) && !UNLISTED.contains(&tool.name) && self.allows(tool).is_ok()
    }

    /// Whether the flags allow a tool; which are listed is another matter.
    fn allows(self, tool: &Tool) -> Result<(), Failure> {
        let flag = if self.read_only && !tool.effect.only_looks() {
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

    /// The tool with this name: `None` when there is none.
    pub fn find(self, name: &str) -> Option<Result<&'static Tool, Failure>> {
        let mut tools = FAMILIES.iter().flat_map(|family| family.tools);
        let tool = tools.find(|tool| tool.name == name)?;
        Some(self.allows(tool).map(|()| tool))
    }

    /// The list as MCP gives it.
    pub fn list(self) -> Vec<Listed> {
        let tools = FAMILIES.iter().flat_map(|family| family.tools);
        tools.filter(|tool| self.has(tool)).filter_map(Tool::listed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four bytes of JSON are about one token.
    fn tokens(offer: Offer) -> usize {
        serde_json::to_string(&offer.list()).unwrap().len() / 4
    }

    #[test]
    fn the_list_stays_affordable() {
        let core = tokens(Offer { core: true, ..Offer::default() });
        let all = tokens(Offer { commands: true, ..Offer::default() });
        assert!(core <= 2500 && all <= 6000, "core: {core}, all: {all}");
    }

    #[test]
    fn every_tool_can_be_listed_and_has_a_name_of_its_own() {
        let count: usize = FAMILIES.iter().map(|family| family.tools.len()).sum();
        let all = Offer { commands: true, ..Offer::default() };
        let mut names: Vec<_> = all.list().into_iter().map(|tool| tool.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len() + UNLISTED.len(), count);
        assert!(UNLISTED.iter().all(|name| matches!(all.find(name), Some(Ok(_)))));
    }

    #[test]
    fn names_and_fields_change_only_on_purpose() {
        for family in FAMILIES {
            let lines = family.tools.iter().map(|tool| {
                let core = if tool.core { " (core)" } else { "" };
                let (takes, gives) = (tool.takes.join(" | "), tool.gives.join(" | "));
                format!("{}{core} {:?}\n  takes {takes}\n  gives {gives}", tool.name, tool.effect)
            });
            insta::assert_snapshot!(
                family.name.replace(['/', ' '], "_"),
                lines.collect::<Vec<_>>().join("\n")
            );
        }
    }
}
