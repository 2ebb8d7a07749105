//! The breakpoints that a launch or an attach sets before the program runs.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tandem_wire::Failure;

use crate::arguments::schema;
use crate::breakpoint_requests::{BreakpointArguments, BreakpointRequests, Purpose, RequestedBreakpoint};
use crate::call::ToolCall;
use crate::session::breakpoints::locate_text;
use crate::source::{absolute, below, in_folders};

/// The file that a name means: below a folder of the program, else the only one below the agent's roots.
pub(super) fn find_source(call: &ToolCall, named: &str, folders: Vec<PathBuf>) -> Option<String> {
    in_folders(named, folders.into_iter()).or_else(|| {
        let found = below(named, call.bridge.options.roots.paths());
        if let [one] = found.as_slice() { Some(one.clone()) } else { None }
    })
}

/// Adds the `breakpoints` of a launch: objects in the form of `debug_set_breakpoint`. A file that does not
/// exist by its path is searched for in the folders. They replace earlier ones at the same location.
///
/// # Errors
/// `INVALID_PARAMETER`, saying which of them.
pub(super) fn add_breakpoints(
    call: &ToolCall,
    list: &[Value],
    requested: &mut BreakpointRequests,
    folders: Vec<PathBuf>,
) -> Result<(), Failure> {
    let wrong =
        || Failure::invalid("`breakpoints` must be an array of {sourceFile, line | text | function, …}");
    let mut read = Vec::new();
    for (index, request) in list.iter().enumerate() {
        let request = request.as_object().cloned().ok_or_else(wrong)?;
        let in_folders = |request: BreakpointArguments| match &request.place.source_file {
            Some(named) if !Path::new(&absolute(named)).exists() => {
                let found = in_folders(named, folders.iter().cloned());
                found.map_or_else(|| request.clone(), |found| request.in_file(&found))
            }
            _ => request,
        };
        let request = schema::read(request)
            .map(in_folders)
            .and_then(|request| locate_text(&request, &call.bridge.options.roots))
            .and_then(|request| RequestedBreakpoint::read(&request))
            .map_err(|failure| Failure {
                message: format!("`breakpoints[{index}]`: {}", failure.message),
                ..failure
            })?;
        requested.clear(&request);
        read.push(request);
    }
    for request in read {
        requested.add(request, call.bridge.next_breakpoint(), Purpose::Stop);
    }
    Ok(())
}
