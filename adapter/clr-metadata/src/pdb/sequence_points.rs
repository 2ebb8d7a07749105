//! Sequence points: the statements of a method, with their code and their source.
//!
//! Not here: the statement at a line or an offset ([`super`]).

use crate::bytes::ByteReader;

/// The line number of code without source (0xfeefee).
const HIDDEN_LINE: u32 = 0xfeefee;

/// The code and the source of a statement: an IL offset, and lines and columns from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequencePoint {
    /// IL offset at which the code of the statement begins.
    pub il: u32,
    /// Row of the document in the Document table.
    pub document: u32,
    /// First line of the statement, from 1; 0 for code without source.
    pub line: u32,
    /// First column of the statement, from 1.
    pub column: u32,
    /// Last line of the statement, from 1.
    pub end_line: u32,
    /// Column after the last character.
    pub end_column: u32,
}

impl SequencePoint {
    /// Whether it is code without source.
    pub fn is_hidden(&self) -> bool {
        self.line == 0
    }

    /// Reads a blob of sequence points of a method (portable PDB format, "Sequence Points Blob"). `document`:
    /// the row of the document in which all are; 0 if the blob names documents.
    pub(super) fn read_all(blob: &[u8], mut document: u32) -> Vec<Self> {
        let mut points = Vec::new();
        let mut reader = ByteReader::new(blob);
        let mut read = || -> Option<()> {
            reader.compressed()?;
            if document == 0 {
                document = reader.compressed()?;
            }
            let (mut il, mut line, mut column) = (0u32, 0u32, 0u32);
            let (mut first, mut first_visible) = (true, true);
            while !reader.is_at_end() {
                let delta = reader.compressed()?;
                if delta == 0 && !first {
                    document = reader.compressed()?;
                    continue;
                }
                il = il.checked_add(delta)?;
                first = false;
                let lines = reader.compressed()?;
                let columns = if lines == 0 {
                    i64::from(reader.compressed()?)
                } else {
                    i64::from(reader.compressed_signed()?)
                };
                if lines == 0 && columns == 0 {
                    points.push(Self { il, document, line: 0, column: 0, end_line: 0, end_column: 0 });
                    continue;
                }
                if first_visible {
                    (line, column, first_visible) = (reader.compressed()?, reader.compressed()?, false);
                } else {
                    line = line.checked_add_signed(reader.compressed_signed()?)?;
                    column = column.checked_add_signed(reader.compressed_signed()?)?;
                }
                points.push(Self {
                    il,
                    document,
                    line: if line == HIDDEN_LINE { 0 } else { line },
                    column,
                    end_line: line.checked_add(lines)?,
                    end_column: u32::try_from(i64::from(column) + columns).ok()?,
                });
            }
            Some(())
        };
        // Points read before the damage are valid.
        let _damaged = read().is_none();
        points
    }
}
