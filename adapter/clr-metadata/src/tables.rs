//! The metadata tables, ECMA-335 II.22 and II.24, and those that a portable PDB adds. Rows and columns are
//! numbers; [`crate::metadata`] and [`crate::pdb`] interpret them.

mod schema;

pub use schema::table;

use crate::bytes::{ByteReader, u16_at, u32_at};
use schema::{CODED, Column, SORTED, columns, pointer_table};

/// Flag in HeapSizes: four more bytes precede the rows.
const EXTRA_DATA: u8 = 0x40;
/// Rows that a list column owns.
#[derive(Debug, Clone)]
pub enum RowList {
    /// Consecutive rows of the table.
    InOrder(std::ops::Range<u32>),
    /// Rows in any order, through a pointer table.
    OutOfOrder(std::vec::IntoIter<u32>),
}

impl Iterator for RowList {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::InOrder(range) => range.next(),
            Self::OutOfOrder(rows) => rows.next(),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct TableLayout {
    rows: u32,
    start: usize,
    width: usize,
    /// Offset and size of each column.
    columns: Vec<(usize, usize)>,
}

/// The tables and heaps of a file, read from its bytes.
#[derive(Debug)]
pub struct Tables {
    bytes: Vec<u8>,
    tables: Vec<TableLayout>,
    text: (usize, usize),
    blob: (usize, usize),
    guid: (usize, usize),
    /// The `#Pdb` stream of a portable PDB.
    pdb: (usize, usize),
}

impl Tables {
    /// Reads the directory of streams and tables; `None` when it is not valid.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut reader = ByteReader::new(&bytes);
        (reader.take(4)? == b"BSJB").then_some(())?;
        let version = u32_at(&bytes, 12)? as usize;
        let mut reader = ByteReader::new(bytes.get(16usize.checked_add(version)?..)?);
        reader.u16()?;
        let streams = reader.u16()?;
        let mut is_uncompressed = false;
        let mut end = 0;
        let (mut tables_at, mut text, mut blob, mut guid, mut pdb) = (None, (0, 0), (0, 0), (0, 0), (0, 0));
        for _ in 0..streams {
            let place = (reader.u32()? as usize, reader.u32()? as usize);
            end = end.max(place.0.checked_add(place.1)?);
            let mut name = Vec::new();
            loop {
                let four = reader.take(4)?;
                name.extend_from_slice(four);
                if four.contains(&0) || name.len() > 32 {
                    break;
                }
            }
            match name.split(|byte| *byte == 0).next().unwrap_or_default() {
                b"#~" => tables_at = Some(place.0),
                b"#-" => (tables_at, is_uncompressed) = (Some(place.0), true),
                b"#Strings" => text = place,
                b"#Blob" => blob = place,
                b"#GUID" => guid = place,
                b"#Pdb" => pdb = place,
                _ => {}
            }
        }
        // The streams of a PDB fill its file: a file that ends before them is truncated.
        (pdb.1 == 0 || end <= bytes.len()).then_some(())?;
        let start = tables_at?;
        let heap_sizes = *bytes.get(start + 6)?;
        let mut reader = ByteReader::new(bytes.get(start + 8..)?);
        let valid = reader.u64()?;
        reader.u64()?;
        let mut rows = [0u32; 64];
        for (index, count) in rows.iter_mut().enumerate() {
            if valid >> index & 1 == 1 {
                *count = reader.u32()?;
            }
        }
        if heap_sizes & EXTRA_DATA != 0 {
            reader.u32()?;
        }
        let mut at = start + 8 + reader.position();
        // A PDB's rows refer to the tables of its assembly, whose sizes it repeats.
        let mut sizes = rows;
        if pdb.1 > 0 {
            let mut reader = ByteReader::new(bytes.get(pdb.0.checked_add(24)?..)?);
            let referenced = reader.u64()?;
            for (index, count) in sizes.iter_mut().enumerate() {
                if referenced >> index & 1 == 1 {
                    *count = reader.u32()?;
                }
            }
        }
        let heap = |bit: u8| if heap_sizes & bit != 0 { 4 } else { 2 };
        let size = |column: Column| match column {
            Column::Two => 2,
            Column::Four => 4,
            Column::Text => heap(1),
            Column::Guid => heap(2),
            Column::Blob => heap(4),
            Column::Row(table) => {
                if sizes.get(table).is_some_and(|rows| *rows > 0xffff) {
                    4
                } else {
                    2
                }
            }
            Column::Coded(kind) => {
                let (bits, tables) = CODED.get(kind).copied().unwrap_or((0, &[]));
                let most = tables.iter().filter_map(|table| sizes.get(*table)).max().copied().unwrap_or(0);
                if u64::from(most) >= 1 << (16 - bits) { 4 } else { 2 }
            }
        };
        let mut tables = Vec::with_capacity(64);
        for (index, count) in rows.iter().enumerate() {
            let mut layout = TableLayout { rows: *count, start: at, ..TableLayout::default() };
            for column in columns(index) {
                let width = size(*column);
                layout.columns.push((layout.width, width));
                layout.width += width;
            }
            at = at.checked_add(layout.width.checked_mul(*count as usize)?)?;
            tables.push(layout);
        }
        // All rows must exist: with a wrong count every loop over the rows would be endless in practice.
        (at <= bytes.len()).then_some(())?;
        let mut tables = Self { bytes, tables, text, blob, guid, pdb };
        if is_uncompressed {
            for (table, column) in SORTED {
                tables.sort(table, column);
            }
        }
        Some(tables)
    }

    /// Sorts the rows of a table by a column, because readers use binary search.
    fn sort(&mut self, table: usize, column: usize) {
        let mut keyed: Vec<(u32, Vec<u8>)> = Vec::new();
        let Some(layout) = self.tables.get(table) else { return };
        let (start, width) = (layout.start, layout.width);
        for row in 1..=layout.rows {
            let at = start + (row as usize - 1) * width;
            let bytes = self.bytes.get(at..at + width).unwrap_or_default();
            keyed.push((self.cell(table, row, column), bytes.to_vec()));
        }
        keyed.sort_by_key(|(key, _)| *key);
        let sorted: Vec<u8> = keyed.into_iter().flat_map(|(_, bytes)| bytes).collect();
        if let Some(rows) = self.bytes.get_mut(start..start + sorted.len()) {
            rows.copy_from_slice(&sorted);
        }
    }

    /// All bytes of the file, as they were read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of rows of a table. Rows are counted from 1.
    pub fn rows(&self, table: usize) -> u32 {
        self.tables.get(table).map_or(0, |layout| layout.rows)
    }

    /// The value of a cell; 0 if the cell does not exist.
    pub fn cell(&self, table: usize, row: u32, column: usize) -> u32 {
        let read = || {
            let layout = self.tables.get(table)?;
            (row >= 1 && row <= layout.rows).then_some(())?;
            let (offset, size) = *layout.columns.get(column)?;
            let at = layout.start + (row as usize - 1) * layout.width + offset;
            if size == 2 { u16_at(&self.bytes, at).map(u32::from) } else { u32_at(&self.bytes, at) }
        };
        read().unwrap_or(0)
    }

    /// Rows of `target` that a list column owns, up to the first one of the next row.
    pub fn list(&self, table: usize, row: u32, column: usize, target: usize) -> RowList {
        let through = pointer_table(target).filter(|through| self.rows(*through) > 0);
        let end = self.rows(through.unwrap_or(target)) + 1;
        let start = self.cell(table, row, column).clamp(1, end);
        let next = if row < self.rows(table) { self.cell(table, row + 1, column) } else { end };
        let range = start..next.clamp(start, end);
        match through {
            None => RowList::InOrder(range),
            Some(through) => {
                RowList::OutOfOrder(range.map(|at| self.cell(through, at, 0)).collect::<Vec<_>>().into_iter())
            }
        }
    }

    /// Position of a row in the order in which list columns count; the row's number, except in tables
    /// with a pointer table.
    pub(crate) fn position_of_row(&self, target: usize, row: u32) -> u32 {
        let through = pointer_table(target).filter(|through| self.rows(*through) > 0);
        let found =
            through.and_then(|through| (1..=self.rows(through)).find(|at| self.cell(through, *at, 0) == row));
        found.unwrap_or(row)
    }

    fn heap(&self, (start, size): (usize, usize), offset: u32) -> &[u8] {
        let end = start.saturating_add(size).min(self.bytes.len());
        self.bytes.get(start.saturating_add(offset as usize)..end).unwrap_or_default()
    }

    /// The string at an offset of the string heap.
    pub fn text(&self, offset: u32) -> &str {
        let bytes = self.heap(self.text, offset).split(|byte| *byte == 0).next().unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or("?")
    }

    /// The blob at an offset of the blob heap.
    pub fn blob(&self, offset: u32) -> &[u8] {
        let mut reader = ByteReader::new(self.heap(self.blob, offset));
        reader.compressed().and_then(|length| reader.take(length as usize)).unwrap_or_default()
    }

    /// The GUID with this index, from 1.
    pub fn guid(&self, index: u32) -> &[u8] {
        let offset = index.saturating_sub(1).saturating_mul(16);
        self.heap(self.guid, offset).get(..16).filter(|_| index > 0).unwrap_or_default()
    }

    /// The id of a portable PDB: 20 bytes.
    pub fn pdb_id(&self) -> &[u8] {
        self.heap(self.pdb, 0).get(..20).unwrap_or_default()
    }

    /// The range of the id in the file; empty if there is none.
    pub fn pdb_id_range(&self) -> std::ops::Range<usize> {
        let length = self.pdb_id().len();
        self.pdb.0..self.pdb.0.saturating_add(length)
    }
}

/// The token of a coded TypeDefOrRef (II.24.2.6); `None` for 0.
pub(crate) fn type_def_or_ref(coded: u32) -> Option<u32> {
    (coded >> 2 > 0).then_some(match coded & 3 {
        0 => 0x0200_0000 | coded >> 2,
        1 => 0x0100_0000 | coded >> 2,
        _ => 0x1b00_0000 | coded >> 2,
    })
}
