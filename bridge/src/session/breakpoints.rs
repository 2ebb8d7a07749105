//! This agent's breakpoints in a session: sent as whole lists, as DAP wants them, and placed in the sources that are meant. What a
//! breakpoint is, and what is wished for, is [`crate::wishes`].

use std::path::Path;

use dap_wire::{ErrorCode, Event, Failure};
use serde_json::{Value, json};
use workspace::roots::Roots;

use super::Session;
use crate::arguments::Arguments;
use crate::observer::State;
use crate::source::{absolute, below, in_folders};
use crate::wishes::{FUNCTIONS, Purpose, Wish, Wishes};

impl Session {
    /// Looks at or changes this agent's breakpoints, in their latest state.
    pub fn with_wishes<T>(&self, work: impl FnOnce(&mut Wishes) -> T) -> T {
        self.with_plan(|plan| {
            let picture = self.observed.picture.borrow();
            for wanted in plan.wishes.all_mut() {
                if let Some(told) = wanted.dap.and_then(|id| picture.breakpoints.get(&id)) {
                    wanted.state = told.clone();
                }
            }
            // Who sees an agent's breakpoint may remove it: it is not to come back with the next list.
            plan.wishes.retain(|wanted| wanted.dap.is_none_or(|id| !picture.removed.contains(&id)));
            drop(picture);
            work(&mut plan.wishes)
        })
    }

    /// Sends the whole list of one file, or of functions, as DAP wants it, and takes in the answers.
    ///
    /// # Errors
    /// The session's own; `UNSUPPORTED` for functions where the engine has none.
    pub async fn send_breakpoints(&self, file: &str) -> Result<(), Failure> {
        let list: Vec<Value> =
            self.with_wishes(|wishes| wishes.of(file).iter().map(|wanted| wanted.wish.clone()).collect());
        let answer = if file != FUNCTIONS {
            let source = json!({ "path": file, "name": file.rsplit('/').next() });
            self.ask("setBreakpoints", json!({ "source": source, "breakpoints": list })).await?
        } else if self.can("supportsFunctionBreakpoints") {
            self.ask("setFunctionBreakpoints", json!({ "breakpoints": list })).await?
        } else {
            return Err(Failure::new(ErrorCode::Unsupported, "this engine has no function breakpoints")
                .hint("set it by `sourceFile` and `line` or `text`"));
        };
        self.with_wishes(|wishes| {
            let told = answer["breakpoints"].as_array().into_iter().flatten();
            for (wanted, told) in wishes.of(file).iter_mut().zip(told) {
                wanted.dap = told["id"].as_i64();
                wanted.state = told.clone();
            }
            wishes.sweep();
        });
        // DAP tells everybody but who set them; whoever shows this agent's breakpoints wants to know as well.
        self.observed.tell(Event::new("breakpoint", Value::Null));
        Ok(())
    }

    /// Takes breakpoints out that served their purpose.
    ///
    /// # Errors
    /// The session's own.
    pub async fn drop_breakpoints(&self, purpose: Purpose) -> Result<(), Failure> {
        for file in self.with_wishes(|wishes| wishes.take_all(purpose)) {
            self.send_breakpoints(&file).await?;
        }
        Ok(())
    }

    /// Reads a place as [`Wish::read`] does. A file that is not there by its path is looked for among the program's
    /// sources: agents name files as people and stack traces do.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`, also when several sources may be meant.
    pub async fn wish(&self, arguments: &Arguments, roots: &Roots) -> Result<Wish, Failure> {
        if let Some(named) = arguments.text("sourceFile")?
            && !Path::new(&absolute(&named)).exists()
        {
            // What the debugger knows counts first, then what lies where the program does.
            let known = self.known_source(&named).await?.filter(|known| Path::new(known).is_absolute());
            let known =
                known.or_else(|| in_folders(&named, self.with_plan(|plan| plan.folders()).into_iter()));
            if let Some(known) = known {
                return Wish::read(&arguments.with("sourceFile", json!(known)));
            }
            return Wish::read(&by_text(arguments, roots)?);
        }
        Wish::read(arguments)
    }

    /// The path of a source of the program, by its path or the end of it, as far as the debugger knows them.
    ///
    /// # Errors
    /// `INVALID_PARAMETER` when several may be meant.
    pub async fn known_source(&self, file: &str) -> Result<Option<String>, Failure> {
        let mut known = self.with_wishes(|wishes| wishes.files());
        let picture = self.snapshot();
        if picture.state == State::Stopped {
            let arguments = json!({ "threadId": picture.stop["threadId"], "startFrame": 0, "levels": 200 });
            if let Ok(stack) = self.ask("stackTrace", arguments).await {
                let frames = stack["stackFrames"].as_array().into_iter().flatten();
                known.extend(frames.filter_map(|frame| frame["source"]["path"].as_str().map(str::to_owned)));
            }
        }
        if self.can("supportsLoadedSourcesRequest")
            && let Ok(loaded) = self.ask("loadedSources", json!({})).await
        {
            let sources = loaded["sources"].as_array().into_iter().flatten();
            known.extend(sources.filter_map(|source| source["path"].as_str().map(str::to_owned)));
        }
        let end = format!("/{}", file.trim_start_matches("./"));
        let same = known.iter().any(|path| path == file);
        if same && Path::new(file).is_absolute() {
            return Ok(Some(file.to_owned()));
        }
        known.retain(|path| path.ends_with(&end));
        known.sort();
        known.dedup();
        if known.len() > 1 {
            known.truncate(20);
            return Err(Failure::invalid(format!("several sources of the program end in `{file}`"))
                .data(json!({ "files": known }))
                .hint("give more of the path"));
        }
        // An end that was taken before the program's sources were known is all there is.
        Ok(known.pop().or_else(|| same.then(|| file.to_owned())))
    }
}

/// A place by the text of its line needs the file now: the end of a path is looked for below the roots.
///
/// # Errors
/// `INVALID_PARAMETER` when several files end so.
pub fn by_text(arguments: &Arguments, roots: &Roots) -> Result<Arguments, Failure> {
    let (named, text) = (arguments.text("sourceFile")?, arguments.text("text")?);
    let Some(named) = named.filter(|named| text.is_some() && !Path::new(&absolute(named)).exists()) else {
        return Ok(arguments.clone());
    };
    match below(&named, roots.paths()).as_slice() {
        [] => Ok(arguments.clone()),
        [one] => Ok(arguments.with("sourceFile", json!(one))),
        several => Err(Failure::invalid(format!("several files end in `{named}`"))
            .data(json!({ "files": several }))
            .hint("give more of the path")),
    }
}
