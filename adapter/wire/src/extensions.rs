//! The requests and session changes that Tandem adds to DAP, with their documentation. The tables of
//! `docs/protocol-extensions.md` are generated from it.
//!
//! `INSTA_UPDATE=always cargo test -p tandem-wire documentation` regenerates them. Not here: what a request
//! needs ([`crate::command`]), and fields that Tandem adds to requests and events of DAP.

/// A request of Tandem that DAP does not have.
#[derive(Debug)]
pub struct TandemRequest {
    /// The `command`, whose other facts are in [`crate::command::COMMANDS`].
    pub command: &'static str,
    /// Its arguments, as Markdown; `?` marks an optional one.
    pub arguments: &'static str,
    /// The fields of the response body, as Markdown.
    pub body: &'static str,
}

/// Every request of Tandem, by command.
pub static REQUESTS: [TandemRequest; 8] = [
    TandemRequest {
        command: "followCall",
        arguments: "`threadId`?, `depth`? (0 to 5), `maxSteps`? (200, up to 5,000), `timeoutMs`? (10,000, \
                    up to 60,000), `enterCalls`? (true)",
        body: "`call`, `statements`, `returned`?, `ended`, `message`?",
    },
    TandemRequest {
        command: "processReadInput",
        arguments: "",
        body: "`data`, `encoding` (`utf8`, or `base64` if it is not text), `bytes`, `complete`, `closed`",
    },
    TandemRequest {
        command: "processReadOutput",
        arguments: "`stream`?: `both`, `stdout`, `stderr`; `clear`?; `since`?; `maxBytes`?; `newest`?; \
                    `waitFor`?; `timeoutMs`?; `screen`?",
        body: "`stdout`?, `stderr`?, `stdoutBytes`?, `stderrBytes`?, `cursor`, `dropped`, `skipped`?, \
               `matched`?, `waitingForInput`, `waitId`?, `takesKeys`?, `screen`?, `suspendedProcess`?, \
               `exited`",
    },
    TandemRequest {
        command: "processResizeTerminal",
        arguments: "`columns` (1 to 1,000), `rows` (1 to 500)",
        body: "",
    },
    TandemRequest {
        command: "processWriteInput",
        arguments: "`data`; `closeAfter`?; `encoding`?: `utf8`, `base64`",
        body: "`bytesWritten`, `stdinClosed`",
    },
    TandemRequest {
        command: "sessionControl",
        arguments: "`agentAccess`? (from a person, or from the agent that launched), `handOver`? (from the \
                    client that launched); without arguments it only reads",
        body: "`agentAccess`, `handOver`",
    },
    TandemRequest {
        command: "sessionInfo",
        arguments: "`subscribe`?; `noticesChildren`? (true): with `subscribe`, whether this client shows its \
                    user the sessions of child processes",
        body: "`id`, `engine`, `state`, `reason`, `threadId`, `place`, `process`, `clients` (those that \
               joined, with their breakpoints, and the one that asks: there `you` is true), `agentAccess`, \
               `exitCode`, `signal` (that ended it), `children` (the newest programs that this one started: \
               `name`, and `session`, or `processId` if it is not debugged)",
    },
    TandemRequest {
        command: "setSourceLinkOptions",
        arguments: "`sourceLinkOptions`, .NET: added to those of the launch, replacing equal patterns; from \
                    a person, or from the agent that launched",
        body: "none; `loadedSource` events (`changed`) name sources that were refused before",
    },
];

/// A change that a `sessionChanged` event reports.
#[derive(Debug)]
pub struct SessionChange {
    /// The value of the field `change`.
    pub name: &'static str,
    /// The further fields of the event, as Markdown; `?` marks an optional one.
    pub fields: &'static str,
    /// Whether it is about who is in the session and what it may do: an agent without access gets it, too.
    pub about_clients: bool,
}

const fn change(name: &'static str, fields: &'static str) -> SessionChange {
    SessionChange { name, fields, about_clients: false }
}

const fn of_clients(name: &'static str, fields: &'static str) -> SessionChange {
    SessionChange { name, fields, about_clients: true }
}

/// Every change that a `sessionChanged` event reports.
pub static CHANGES: [SessionChange; 14] = [
    of_clients("joined", "`access`"),
    of_clients("left", "`reason`?"),
    of_clients("owner", ""),
    of_clients("agentAccess", "`agentAccess`"),
    change("resumed", "`command`"),
    change("paused", ""),
    change("restarted", ""),
    change("terminate", ""),
    change("input", "`bytes`, `closed`, `text` (its beginning; not sent to agents when a person wrote it)"),
    change("valueSet", "`name`, `value`; for memory `name`, `bytes`"),
    change(
        "evaluated",
        "`expression`: what a person types into the console, and what an agent evaluates, except hovers",
    ),
    change(
        "breakpoints",
        "`added`, `removed`: the breakpoints as requested, with `file` for those in a file, and `owner` if \
         it is another client; at most 50 each, then `addedMore`, `removedMore`",
    ),
    change(
        "child",
        "`child`: `{ session, name }`, the session of a program that this one started, or \
         `{ processId, name }` of a .NET program that is not debugged; no client caused it, so `client` is \
         absent",
    ),
    change("refused", "`command`, `access`; once for each command until the access changes"),
];

/// The change with this name; `None` if there is none.
pub fn find_change(name: &str) -> Option<&'static SessionChange> {
    CHANGES.iter().find(|change| change.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{self, LookOnly, RequiredState};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol-extensions.md");

    fn requests() -> String {
        let mut table = "| command | arguments | body |\n|---|---|---|\n".to_owned();
        for TandemRequest { command, arguments, body } in &REQUESTS {
            table.push_str(&format!("| `{command}` | {arguments} | {body} |\n"));
        }
        table
    }

    fn conditions() -> String {
        let mut table =
            "| command | accepted | from clients that may only look |\n|---|---|---|\n".to_owned();
        for TandemRequest { command, .. } in &REQUESTS {
            let row = command::find(command).expect("the command is in the table of commands");
            let accepted = match row.needs {
                RequiredState::Nothing => "always",
                RequiredState::Program => "while there is a program",
                RequiredState::Stop => "at a stop",
            };
            let from_all = if row.look_only == LookOnly::Never { "no" } else { "yes" };
            table.push_str(&format!("| `{command}` | {accepted} | {from_all} |\n"));
        }
        table
    }

    fn changes() -> String {
        let mut table = "| `change` | fields | with `none` |\n|---|---|---|\n".to_owned();
        for SessionChange { name, fields, about_clients } in &CHANGES {
            let shown = if *about_clients { "yes" } else { "no" };
            table.push_str(&format!("| `{name}` | {fields} | {shown} |\n"));
        }
        table
    }

    /// The page with a table between `<!-- NAME -->` and `<!-- end of NAME -->`.
    fn with(page: &str, name: &str, table: &str) -> String {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let (head, rest) = page.split_once(&begin).expect("the table has a beginning");
        let (_, tail) = rest.split_once(&end).expect("the table has an end");
        format!("{head}{begin}{table}{end}{tail}")
    }

    #[test]
    fn the_documentation_lists_every_extension() {
        let page = std::fs::read_to_string(PAGE).expect("the page is there");
        let wanted = with(&page, "requests", &requests());
        let wanted = with(&with(&wanted, "conditions", &conditions()), "changes", &changes());
        if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
            std::fs::write(PAGE, wanted).expect("it is written");
        } else {
            assert!(page == wanted, "{PAGE} is out of date: run this test with INSTA_UPDATE=always");
        }
    }
}
