//! The metadata tables, ECMA-335 II.22 and II.24, and those that a portable PDB adds. Rows and columns are
//! numbers; [`crate::metadata`] and [`crate::pdb`] interpret them.

use crate::bytes::{ByteReader, u16_at, u32_at};

/// Numbers of the tables that are read.
pub mod table {
    #![allow(missing_docs, reason = "the names of ECMA-335 and the portable PDB format")]
    pub const TYPE_REF: usize = 0x01;
    pub const TYPE_DEF: usize = 0x02;
    pub const FIELD: usize = 0x04;
    pub const METHOD: usize = 0x06;
    pub const PARAM: usize = 0x08;
    pub const INTERFACE_IMPL: usize = 0x09;
    pub const MEMBER_REF: usize = 0x0a;
    pub const CONSTANT: usize = 0x0b;
    pub const CUSTOM_ATTRIBUTE: usize = 0x0c;
    pub const CLASS_LAYOUT: usize = 0x0f;
    pub const STAND_ALONE_SIG: usize = 0x11;
    pub const PROPERTY_MAP: usize = 0x15;
    pub const PROPERTY: usize = 0x17;
    pub const METHOD_SEMANTICS: usize = 0x18;
    pub const TYPE_SPEC: usize = 0x1b;
    pub const ASSEMBLY: usize = 0x20;
    pub const ASSEMBLY_REF: usize = 0x23;
    pub const EXPORTED_TYPE: usize = 0x27;
    pub const NESTED_CLASS: usize = 0x29;
    pub const GENERIC_PARAM: usize = 0x2a;
    pub const METHOD_SPEC: usize = 0x2b;
    pub const GENERIC_PARAM_CONSTRAINT: usize = 0x2c;
    pub const DOCUMENT: usize = 0x30;
    pub const METHOD_DEBUG: usize = 0x31;
    pub const LOCAL_SCOPE: usize = 0x32;
    pub const LOCAL_VARIABLE: usize = 0x33;
    pub const LOCAL_CONSTANT: usize = 0x34;
    pub const IMPORT_SCOPE: usize = 0x35;
    pub const STATE_MACHINE: usize = 0x36;
    pub const CUSTOM_DEBUG: usize = 0x37;
}

#[derive(Clone, Copy)]
enum Column {
    Two,
    Four,
    Text,
    Guid,
    Blob,
    Row(usize),
    Coded(usize),
}

/// Coded indexes, II.24.2.6: tag bits and the tables they may name (0xff: unused tag).
const CODED: [(u32, &[usize]); 14] = [
    (2, &[0x02, 0x01, 0x1b]),
    (2, &[0x04, 0x08, 0x17]),
    (
        5,
        &[
            6, 4, 1, 2, 8, 9, 0xa, 0, 0xe, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a,
            0x2c, 0x2b,
        ],
    ),
    (1, &[0x04, 0x08]),
    (2, &[0x02, 0x06, 0x20]),
    (3, &[0x02, 0x01, 0x1a, 0x06, 0x1b]),
    (1, &[0x14, 0x17]),
    (1, &[0x06, 0x0a]),
    (1, &[0x04, 0x06]),
    (2, &[0x26, 0x23, 0x27]),
    (3, &[0xff, 0xff, 0x06, 0x0a, 0xff]),
    (2, &[0x00, 0x1a, 0x23, 0x01]),
    (1, &[0x02, 0x06]),
    (
        5,
        &[
            6, 4, 1, 2, 8, 9, 0xa, 0, 0xe, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a,
            0x2c, 0x2b, 0x30, 0x32, 0x33, 0x34, 0x35,
        ],
    ),
];

fn columns(table: usize) -> &'static [Column] {
    use Column::*;
    match table {
        0x00 => &[Two, Text, Guid, Guid, Guid],
        0x01 => &[Coded(11), Text, Text],
        0x02 => &[Four, Text, Text, Coded(0), Row(0x04), Row(0x06)],
        0x03 => &[Row(0x04)],
        0x04 => &[Two, Text, Blob],
        0x05 => &[Row(0x06)],
        0x06 => &[Four, Two, Two, Text, Blob, Row(0x08)],
        0x07 => &[Row(0x08)],
        0x08 => &[Two, Two, Text],
        0x09 => &[Row(0x02), Coded(0)],
        0x0a => &[Coded(5), Text, Blob],
        0x0b => &[Two, Coded(1), Blob],
        0x0c => &[Coded(2), Coded(10), Blob],
        0x0d => &[Coded(3), Blob],
        0x0e => &[Two, Coded(4), Blob],
        0x0f => &[Two, Four, Row(0x02)],
        0x10 => &[Four, Row(0x04)],
        0x11 => &[Blob],
        0x12 => &[Row(0x02), Row(0x14)],
        0x13 => &[Row(0x14)],
        0x14 => &[Two, Text, Coded(0)],
        0x15 => &[Row(0x02), Row(0x17)],
        0x16 => &[Row(0x17)],
        0x17 => &[Two, Text, Blob],
        0x18 => &[Two, Row(0x06), Coded(6)],
        0x19 => &[Row(0x02), Coded(7), Coded(7)],
        0x1a => &[Text],
        0x1b => &[Blob],
        0x1c => &[Two, Coded(8), Text, Row(0x1a)],
        0x1d => &[Four, Row(0x04)],
        0x1e => &[Four, Four],
        0x1f => &[Four],
        0x20 => &[Four, Two, Two, Two, Two, Four, Blob, Text, Text],
        0x21 => &[Four],
        0x22 => &[Four, Four, Four],
        0x23 => &[Two, Two, Two, Two, Four, Blob, Text, Text, Blob],
        0x24 => &[Four, Row(0x23)],
        0x25 => &[Four, Four, Four, Row(0x23)],
        0x26 => &[Four, Text, Blob],
        0x27 => &[Four, Four, Text, Text, Coded(9)],
        0x28 => &[Four, Four, Text, Coded(9)],
        0x29 => &[Row(0x02), Row(0x02)],
        0x2a => &[Two, Two, Coded(12), Text],
        0x2b => &[Coded(7), Blob],
        0x2c => &[Row(0x2a), Coded(0)],
        0x30 => &[Blob, Guid, Blob, Guid],
        0x31 => &[Row(0x30), Blob],
        0x32 => &[Row(0x06), Row(0x35), Row(0x33), Row(0x34), Four, Four],
        0x33 => &[Two, Two, Text],
        0x34 => &[Text, Blob],
        0x35 => &[Row(0x35), Blob],
        0x36 => &[Row(0x06), Row(0x06)],
        0x37 => &[Coded(13), Guid, Blob],
        _ => &[],
    }
}

/// Flag in HeapSizes: four more bytes precede the rows.
const EXTRA_DATA: u8 = 0x40;
/// Tables that must be sorted (II.24.2.6), and the column by which they are. They are not sorted in a module
/// that is created at run time.
const SORTED: [(usize, usize); 8] = [
    (table::INTERFACE_IMPL, 0),
    (table::CONSTANT, 1),
    (table::CUSTOM_ATTRIBUTE, 0),
    (table::METHOD_SEMANTICS, 2),
    (table::NESTED_CLASS, 0),
    (table::GENERIC_PARAM, 2),
    (table::CLASS_LAYOUT, 2),
    (table::GENERIC_PARAM_CONSTRAINT, 0),
];

/// The pointer table of a table, with the order in which list columns count its rows. Only a module that is
/// created at run time has pointer tables.
fn pointer_table(target: usize) -> Option<usize> {
    match target {
        table::FIELD => Some(0x03),
        table::METHOD => Some(0x05),
        table::PARAM => Some(0x07),
        table::PROPERTY => Some(0x16),
        _ => None,
    }
}

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
