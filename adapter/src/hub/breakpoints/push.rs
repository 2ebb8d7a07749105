//! What of a sheet is on its way to the engine: one list at a time, and the latest wins. Requests that came meanwhile wait
//! for the answer to a list that has them in it.

use crate::hub::event::ClientId;
use crate::hub::pending::Asked;

/// A request that is owed an answer about these entries, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// Whose.
    pub asked: Asked,
    /// Our ids, in the client's order; an id may repeat.
    pub list: Vec<i64>,
    /// Version of the sheet it made.
    pub version: u64,
    /// Entries of the list that somebody else removed meanwhile: told of after the answer that names them.
    pub lost: Vec<i64>,
}

/// The engine's copy of a sheet, and who waits for it.
#[derive(Debug, Default)]
pub struct Push {
    version: u64,
    taken: u64,
    under_way: Option<u64>,
    /// The engine refused what it was sent last: what it holds is not known.
    unsure: bool,
    owed: Vec<Owed>,
}

impl Push {
    /// A client set the sheet; `changed` says whether the union differs from before.
    pub fn set(&mut self, changed: bool) {
        if changed || self.unsure {
            self.touch();
        }
    }

    /// What the engine holds is not what it shall hold.
    pub fn touch(&mut self) {
        self.version += 1;
        self.unsure = false;
    }

    /// Whether the engine has, or is about to get, what is wanted.
    pub fn is_settled(&self) -> bool {
        self.under_way.is_none() && self.taken == self.version
    }

    /// Whether a list has to go out now; if so it is under way from here on.
    pub fn start(&mut self) -> bool {
        let due = self.under_way.is_none() && self.taken != self.version;
        if due {
            self.under_way = Some(self.version);
        }
        due
    }

    /// Whether the engine will say what it makes of the sheet.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Somebody waits for the sheet as it is now.
    pub fn owe(&mut self, asked: Asked, list: Vec<i64>) {
        let version = self.version;
        self.owed.push(Owed { asked, list, version, lost: Vec::new() });
    }

    /// Somebody removed an entry of this client; says whether the client has yet to be told that it exists.
    pub fn lose(&mut self, client: ClientId, id: i64) -> bool {
        let owed = self.owed.iter_mut().find(|owed| owed.asked.client == client && owed.list.contains(&id));
        owed.map(|owed| owed.lost.push(id)).is_some()
    }

    /// The list under way was answered; gives the requests that are answered with it.
    pub fn answered(&mut self, taken_in: bool) -> Vec<Owed> {
        let Some(version) = self.under_way.take() else { return Vec::new() };
        // What was refused is not sent again by itself, only with the next change.
        self.taken = version;
        self.unsure = !taken_in && self.version == version;
        let (now, later) =
            std::mem::take(&mut self.owed).into_iter().partition(|owed| owed.version <= version);
        self.owed = later;
        now
    }

    /// The engine is gone: nothing is under way, nothing is held. Gives everybody who waits.
    pub fn engine_gone(&mut self) -> Vec<Owed> {
        let owed = std::mem::take(&mut self.owed);
        // A new engine holds nothing, so anything at all is a change.
        *self = Self { version: self.version + 1, taken: self.version, ..Self::default() };
        owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(seq: i64) -> Asked {
        Asked { client: ClientId(1), seq, command: "setBreakpoints".into() }
    }

    #[test]
    fn one_list_is_under_way_and_those_who_came_meanwhile_wait_for_the_next() {
        let mut push = Push::default();
        push.set(true);
        push.owe(asked(1), vec![1]);
        assert!(push.start());
        for seq in 2..4 {
            push.set(true);
            push.owe(asked(seq), vec![seq]);
            assert!(!push.start());
        }
        assert_eq!(push.answered(true).iter().map(|owed| owed.asked.seq).collect::<Vec<_>>(), [1]);
        assert!(push.start());
        assert_eq!(push.answered(true).iter().map(|owed| owed.asked.seq).collect::<Vec<_>>(), [2, 3]);
        assert!(!push.start() && push.is_settled());
    }

    #[test]
    fn what_was_refused_goes_out_again_with_the_next_request_even_an_equal_one() {
        let mut push = Push::default();
        push.set(true);
        assert!(push.start());
        push.answered(false);
        assert!(!push.start());
        push.set(false);
        assert!(push.start());
    }
}
