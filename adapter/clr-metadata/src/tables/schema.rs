//! The schema of the metadata tables: their numbers, their columns, their order. Data of ECMA-335 II.22 and
//! II.24, and of the portable PDB format.
//!
//! Not here: reading rows ([`super`]).

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
pub(super) enum Column {
    Two,
    Four,
    Text,
    Guid,
    Blob,
    Row(usize),
    Coded(usize),
}

/// Coded indexes, II.24.2.6: tag bits and the tables they may name (0xff: unused tag).
pub(super) const CODED: [(u32, &[usize]); 14] = [
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

/// The columns of a table; none for an unknown one.
pub(super) fn columns(table: usize) -> &'static [Column] {
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

/// Tables that must be sorted (II.24.2.6), and the column by which they are. They are not sorted in a module
/// that is created at run time.
pub(super) const SORTED: [(usize, usize); 8] = [
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
pub(super) fn pointer_table(target: usize) -> Option<usize> {
    match target {
        table::FIELD => Some(0x03),
        table::METHOD => Some(0x05),
        table::PARAM => Some(0x07),
        table::PROPERTY => Some(0x16),
        _ => None,
    }
}
