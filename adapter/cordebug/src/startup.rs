//! x
/// x
pub fn sweep_stale() {}
