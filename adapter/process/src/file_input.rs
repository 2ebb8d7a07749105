//! A file as the program's input, for its whole run. Not here: the input of clients, which comes in between
//! ([`super::stdin`]).

use std::fs::File;
use std::sync::Arc;

use tandem_error::ErrorCode;
use tokio::sync::{oneshot, watch};

use super::exit::ExitInfo;
use super::stdin::ProgramStdin;

/// Gives the program a file as its input once it is released, until it has ended or wants no more. Clients
/// learn of a failure.
pub(super) async fn feed_file(
    stdin: Arc<ProgramStdin>,
    file: File,
    released: impl Future<Output = Result<(), oneshot::error::RecvError>>,
    mut exit: watch::Receiver<Option<ExitInfo>>,
    warn: impl FnOnce(&str),
) {
    if released.await.is_err() {
        return;
    }
    let fed = tokio::select! {
        fed = stdin.feed(file) => fed,
        _ = exit.wait_for(Option::is_some) => Ok(()),
    };
    if let Err(failure) = fed.as_ref()
        && failure.code != ErrorCode::StdinClosed
    {
        warn(&format!("the program has not received all of its input: {failure}"));
    }
}
