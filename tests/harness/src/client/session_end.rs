//! The end of a client's session, and the messages that its test must have taken by then. How messages
//! are read is the parent's.

use anyhow::Context;
use futures::StreamExt;
use serde_json::Value;
use tandem_wire::{Event, Message};

use super::{DapClient, TIMEOUT_SECS};
use crate::deadline::deadline;

/// Events that a client acts on: where its session and the program are. A test takes them, or causes them
/// itself. Others it may leave unread.
const MUST_BE_CLAIMED: [&str; 5] = ["initialized", "stopped", "continued", "exited", "terminated"];
/// Events that a client must have read before it leaves; leaving causes the others. A client that leaves
/// before it has configured need not have read that it may.
const BEFORE_LEAVING: [&str; 3] = ["initialized", "stopped", "continued"];

impl DapClient {
    /// Messages that arrived before the client leaves, and that its test should have taken.
    pub(super) fn overlooked_messages(&self) -> Vec<Event> {
        let overlooked = |message: &Message| match message {
            Message::Event(event) if event.event == "initialized" && !self.configured => None,
            Message::Event(event) if BEFORE_LEAVING.contains(&event.event.as_str()) => Some(event.clone()),
            _ => None,
        };
        self.waiting.iter().filter_map(overlooked).collect()
    }

    /// Reads to the end of the connection and checks the messages that no test has claimed.
    ///
    /// # Errors
    /// If the test never took an answer, a request or the end of the session.
    async fn check_nothing_unclaimed(&mut self) -> anyhow::Result<()> {
        // An adapter that was killed may leave half a message, which this check ignores.
        while let Ok(Some(Ok(Ok(message)))) =
            tokio::time::timeout(deadline(TIMEOUT_SECS), self.reader.next()).await
        {
            self.record(&message)?;
            self.waiting.push_back(message);
        }
        let expected = |message: &&Message| match message {
            Message::Event(event) => {
                let name = event.event.as_str();
                self.leaving || !MUST_BE_CLAIMED.contains(&name)
            }
            // Requests that are pending when their client leaves are refused.
            Message::Response(response) => self.leaving && !response.success,
            Message::Request(_) => false,
        };
        let unclaimed: Vec<&Message> = self.waiting.iter().filter(|message| !expected(message)).collect();
        anyhow::ensure!(
            unclaimed.is_empty(),
            "{} ends with messages that the test did not take: {unclaimed:?}",
            self.name
        );
        anyhow::ensure!(
            self.overlooked.is_empty(),
            "{} left with events that the test did not take: {:?}",
            self.name,
            self.overlooked
        );
        Ok(())
    }

    /// Disconnects and waits until the adapter has ended.
    ///
    /// # Errors
    /// If the session does not end, or if messages are left that the test did not take.
    pub async fn finish(mut self) -> anyhow::Result<()> {
        self.ok("disconnect", Value::Null).await?;
        self.wait_until_ended().await
    }

    /// Waits until the adapter has ended.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn wait_until_ended(mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            let status = tokio::time::timeout(deadline(TIMEOUT_SECS), child.wait())
                .await
                .context("the adapter does not end")??;
            anyhow::ensure!(status.success(), "the adapter ended with {status}");
        }
        self.check_nothing_unclaimed().await
    }

    /// Kills the adapter as editors do.
    ///
    /// # Errors
    /// If the client has not started the adapter.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.take().context("the client has not started its adapter")?.kill().await?)
    }
}
