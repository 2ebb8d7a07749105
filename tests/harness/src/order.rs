//! The order in which a DAP client may receive events. Every test checks it. The contents
//! of events are not checked.

use anyhow::ensure;

/// The events that one connection was sent so far.
#[derive(Debug, Default)]
pub struct EventOrder {
    initialized: bool,
    /// A `stopped` came, and no `continued` since.
    stopped: bool,
    exited: bool,
    terminated: bool,
}

impl EventOrder {
    /// Adds the next event by its name.
    ///
    /// # Errors
    /// - `initialized` or `exited` comes twice (`terminated` may, for a client that joins after the end);
    /// - `continued` comes twice for one stop, or without one;
    /// - the program stops or resumes after its end.
    pub fn take(&mut self, event: &str) -> anyhow::Result<()> {
        match event {
            "initialized" => {
                ensure!(!self.initialized, "`initialized` comes twice");
                self.initialized = true;
            }
            "stopped" => {
                ensure!(!self.exited && !self.terminated, "`stopped` comes after the end");
                self.stopped = true;
            }
            "continued" => {
                ensure!(self.stopped, "`continued` comes without a stop");
                ensure!(!self.exited && !self.terminated, "`continued` comes after the end");
                self.stopped = false;
            }
            "exited" => {
                ensure!(!self.exited, "`exited` comes twice");
                self.exited = true;
            }
            "terminated" => self.terminated = true,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::EventOrder;

    fn all(events: &[&str]) -> anyhow::Result<()> {
        let mut order = EventOrder::default();
        events.iter().try_for_each(|event| order.take(event))
    }

    #[test]
    fn events_out_of_order_are_refused() {
        assert!(
            all(&["initialized", "stopped", "stopped", "continued", "stopped", "exited", "terminated"])
                .is_ok()
        );
        for wrong in [
            &["initialized", "initialized"][..],
            &["continued"],
            &["stopped", "continued", "continued"],
            &["exited", "exited"],
            &["exited", "stopped"],
            &["stopped", "terminated", "continued"],
        ] {
            assert!(all(wrong).is_err(), "{wrong:?}");
        }
    }
}
