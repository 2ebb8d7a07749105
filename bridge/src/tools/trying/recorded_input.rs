//! Input that a program has received, to send it to its runs again.
//!
//! Records nothing: the session's host does. Not here: writing it to a run ([`mod@super::run`]).

use tandem_wire::{ErrorCode, Failure};

use crate::session::AgentSession;
use crate::session::requests::ReadInputArguments;

/// Bytes of one write: a pipe accepts that many atomically.
const MAX_BLOCK_BYTES: usize = 4096;

/// The input that the session's program was given until now.
#[derive(Debug, Default)]
pub(super) struct RecordedInput {
    data: String,
    pub(super) encoding: String,
    pub(super) closed: bool,
    /// Note for the agent about the input.
    pub(super) note: Option<String>,
}

impl RecordedInput {
    /// Reads the input so far from the session.
    pub(super) async fn of(session: &AgentSession) -> Result<Self, Failure> {
        let body = match session.send(&ReadInputArguments {}).await {
            Ok(body) => body,
            // It has no input that clients write.
            Err(failure) if matches!(failure.code, ErrorCode::IoNotOwned | ErrorCode::NoSession) => {
                return Ok(Self::default());
            }
            Err(failure) => return Err(failure),
        };
        let given = Self { data: body.data, encoding: body.encoding, closed: body.closed, note: None };
        if !body.complete {
            let note = format!(
                "of the {} bytes of input only the first {} are kept: the runs get those",
                body.bytes,
                given.data.len()
            );
            return Ok(Self { note: Some(note), closed: false, ..given });
        }
        Ok(given)
    }

    /// The parts to write, in order.
    pub(super) fn blocks(&self) -> Vec<&str> {
        let mut rest = self.data.as_str();
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            // Four letters of base64 are three bytes.
            let most = rest.floor_char_boundary(MAX_BLOCK_BYTES);
            let (block, after) = rest.split_at(most);
            blocks.push(block);
            rest = after;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_written_in_parts_that_a_pipe_takes_whole() {
        let of = |data: String| RecordedInput { data, ..RecordedInput::default() };
        assert!(of(String::new()).blocks().is_empty());
        let given = of("ä".repeat(5000));
        let blocks = given.blocks();
        assert_eq!(blocks.concat(), given.data);
        assert!(
            blocks.len() == 3
                && blocks.iter().all(|block| block.len() <= MAX_BLOCK_BYTES && block.len() % 2 == 0)
        );
    }
}
