//! The reasons why following a call ends. [`super::Follow`] finds them.

/// The reason why following a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowEnd {
    /// The call has returned.
    Returned,
    /// The program stopped at an exception.
    Exception,
    /// The call is no longer on the stack and did not return to its caller: an exception left it.
    Unwound,
    /// The program stopped for another reason.
    Stopped,
    /// The program has ended.
    Exited,
    /// As many statements were executed as were requested, or their values are too large.
    Steps,
    /// `timeoutMs` has passed.
    Timeout,
    /// The client cancelled it.
    Cancelled,
    /// The engine refuses to step or to show the stack.
    Failed,
}

impl FollowEnd {
    /// Its name in response bodies.
    pub fn name(self) -> &'static str {
        match self {
            Self::Returned => "returned",
            Self::Exception => "exception",
            Self::Unwound => "unwound",
            Self::Stopped => "stopped",
            Self::Exited => "exited",
            Self::Steps => "steps",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}
