//! Method data for steps: the range of a statement, code without source, awaits.
//!
//! Not here: the instructions in a range ([`crate::il`]).

use super::{Pdb, SequencePoint};
use crate::bytes::ByteReader;
use crate::metadata::method_token;

/// Kind of CustomDebugInformation with the steps of an async method: {54FD2AC5-E925-401A-9C2A-F94F171072F8}.
const ASYNC_STEPS: [u8; 16] =
    [0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40, 0x9c, 0x2a, 0xf9, 0x4f, 0x17, 0x10, 0x72, 0xf8];

/// One `await`: the IL offsets where the method yields and where it resumes, and the method that resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitStep {
    /// IL offset at which the method yields.
    pub yield_il: u32,
    /// IL offset at which the method resumes.
    pub resume_il: u32,
    /// MethodDef token of the method that resumes.
    pub method: u32,
}

impl Pdb {
    /// The IL range of the statement at an offset: from the last visible point to the next one.
    pub fn statement(&self, method: u32, il: u32, code_size: u32) -> (u32, u32) {
        let points = self.points(method);
        let visible = |point: &&SequencePoint| !point.is_hidden();
        let start = points.iter().rev().filter(visible).find(|point| point.il <= il);
        let end = points.iter().filter(visible).find(|point| point.il > il);
        (start.map_or(0, |point| point.il), end.map_or(code_size, |point| point.il))
    }

    /// The IL range of the statement at an offset, without the code after it that has no source.
    pub fn visible_part(&self, method: u32, il: u32, code_size: u32) -> (u32, u32) {
        let points = self.points(method);
        let start =
            points.iter().rfind(|point| point.il <= il && !point.is_hidden()).map_or(0, |point| point.il);
        (start, points.iter().find(|point| point.il > start).map_or(code_size, |point| point.il))
    }

    /// The IL ranges in which `foreach` statements assign their variables. The C# compiler marks the
    /// declaration of the variables, and the word `in` behind it.
    pub fn foreach_assignments(&self, method: u32, code_size: u32) -> Vec<(u32, u32)> {
        foreach_assignments(&self.points(method), code_size)
    }

    /// The IL range without source around an offset.
    pub fn hidden_range(&self, method: u32, il: u32, code_size: u32) -> Option<(u32, u32)> {
        let ranges = self.hidden_ranges(method, code_size);
        ranges.into_iter().find(|(start, end)| (*start..*end).contains(&il))
    }

    /// All IL ranges without source in a method. A step that reaches one continues.
    pub fn hidden_ranges(&self, method: u32, code_size: u32) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut open = None;
        for point in self.points(method).iter() {
            match (open, point.is_hidden()) {
                (None, true) => open = Some(point.il),
                (Some(start), false) => {
                    ranges.push((start, point.il));
                    open = None;
                }
                _ => {}
            }
        }
        ranges.extend(open.map(|start| (start, code_size)));
        ranges
    }

    /// Whether an IL offset is in code without source.
    pub fn is_hidden(&self, method: u32, il: u32) -> bool {
        self.points(method).iter().rfind(|point| point.il <= il).is_none_or(SequencePoint::is_hidden)
    }

    /// The first statement of a method that has source.
    pub fn first_statement(&self, method: u32) -> Option<SequencePoint> {
        self.points(method).iter().find(|point| !point.is_hidden()).copied()
    }

    /// The last statement of a method that has source; for an async method its closing brace,
    /// after which it completes.
    pub fn last_statement(&self, method: u32) -> Option<SequencePoint> {
        self.points(method).iter().rfind(|point| !point.is_hidden()).copied()
    }

    /// The awaits of an async method's `MoveNext`.
    pub fn await_steps(&self, move_next: u32) -> Vec<AwaitStep> {
        // HasCustomDebugInformation: tag 0 is a method, in 5 bits.
        let parent = (move_next & 0x00ff_ffff) << 5;
        let mut steps = Vec::new();
        for blob in self.debug_information(parent, ASYNC_STEPS) {
            let mut reader = ByteReader::new(blob);
            // The offset of the handler that catches exceptions of an `async void` method.
            reader.u32();
            while let (Some(yield_il), Some(resume_il), Some(method)) =
                (reader.u32(), reader.u32(), reader.compressed())
            {
                steps.push(AwaitStep { yield_il, resume_il, method: method_token(method) });
            }
        }
        steps
    }
}

fn foreach_assignments(points: &[SequencePoint], code_size: u32) -> Vec<(u32, u32)> {
    let declaration_before = |word: &SequencePoint| {
        let is_before = |point: &&SequencePoint| {
            !point.is_hidden()
                && (point.document, point.end_line) == (word.document, word.line)
                && point.end_column < word.column
        };
        points.iter().filter(is_before).max_by_key(|point| point.end_column)
    };
    let is_in = |point: &&SequencePoint| {
        !point.is_hidden() && point.line == point.end_line && point.end_column == point.column + 2
    };
    let end_of = |start: u32| points.iter().map(|point| point.il).filter(|il| *il > start).min();
    points
        .iter()
        .filter(is_in)
        .filter_map(declaration_before)
        .map(|point| (point.il, end_of(point.il).unwrap_or(code_size)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_foreach_are_assigned_before_the_word_in() {
        let point = |il, column, end_column| SequencePoint {
            il,
            document: 1,
            line: 7,
            column,
            end_line: 7,
            end_column,
        };
        let hidden = SequencePoint { line: 0, ..point(20, 0, 0) };
        // `int b = 1; foreach (var a in all) { Use(a); }`, in the order of the code
        let points = [
            point(0, 1, 11),
            point(2, 12, 19),
            point(5, 30, 33),
            hidden,
            point(21, 21, 26),
            point(30, 35, 36),
        ];
        let with_in = |il| [points.as_slice(), &[point(il, 27, 29)]].concat();
        assert_eq!(foreach_assignments(&with_in(40), 50), [(21, 30)]);
        assert_eq!(foreach_assignments(&points, 50), []);
        assert_eq!(foreach_assignments(&[point(3, 1, 6), point(1, 7, 9)], 50), [(3, 50)]);
    }
}
