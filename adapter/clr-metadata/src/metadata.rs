//! Types, methods, fields and properties of an assembly, by token. A token's top byte is its table, the rest
//! its row. Not here: signatures ([`crate::signature`]), generic parameters ([`crate::generics`]), and data
//! for the evaluator ([`crate::members`]).

pub mod attributes;
pub mod signature_text;

use std::collections::HashMap;
use std::sync::OnceLock;

use self::signature_text::{file_local, without_files};
use crate::bytes::ByteReader;
use crate::tables::type_def_or_ref;
use crate::tables::{RowList, Tables, table};

/// MethodAttributes and FieldAttributes: static.
const STATIC: u32 = 0x10;
/// MethodImplAttributes: async, a method that the runtime itself suspends (.NET 10 and later, switched on
/// when it is compiled).
const RUNTIME_ASYNC: u32 = 0x2000;
/// FieldAttributes: literal, a constant without storage.
const LITERAL: u32 = 0x40;
/// FieldAttributes: only constructors may write to it.
const INIT_ONLY: u32 = 0x20;
/// MethodSemanticsAttributes: getter.
const GETTER: u32 = 2;

/// A field that a type declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDef {
    /// The Field token of the field.
    pub token: u32,
    /// The name in the source.
    pub name: String,
    /// Whether it belongs to the type, not to an object.
    pub is_static: bool,
    /// Whether it is a constant, with a value but without storage.
    pub is_literal: bool,
    /// Whether only constructors may write to it.
    pub is_readonly: bool,
}

/// A property that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableProperty {
    /// The name in the source.
    pub name: String,
    /// MethodDef token of the getter.
    pub getter: u32,
    /// Whether it belongs to the type, not to an object.
    pub is_static: bool,
    /// Whether it is an indexer, whose getter has parameters.
    pub is_indexer: bool,
}

/// An assembly's metadata.
#[derive(Debug)]
pub struct Metadata {
    pub(crate) tables: Tables,
    pub(crate) extensions: OnceLock<HashMap<String, Vec<u32>>>,
    pub(crate) extension_getters: OnceLock<HashMap<String, Vec<u32>>>,
    file_types: OnceLock<HashMap<String, Vec<u32>>>,
    nesting: OnceLock<HashMap<u32, u32>>,
    types: OnceLock<HashMap<String, u32>>,
    properties: OnceLock<HashMap<u32, RowList>>,
}

/// The row number in a token.
pub(crate) fn row(token: u32) -> u32 {
    token & 0x00ff_ffff
}

/// The token of a method's row.
pub fn method_token(row: u32) -> u32 {
    0x0600_0000 | row
}

impl Metadata {
    /// Wraps the tables of an assembly.
    pub fn new(tables: Tables) -> Self {
        Self {
            tables,
            extensions: OnceLock::new(),
            extension_getters: OnceLock::new(),
            file_types: OnceLock::new(),
            nesting: OnceLock::new(),
            types: OnceLock::new(),
            properties: OnceLock::new(),
        }
    }

    fn nesting(&self) -> &HashMap<u32, u32> {
        self.nesting.get_or_init(|| {
            let rows = 1..=self.tables.rows(table::NESTED_CLASS);
            let cell = |row, column| self.tables.cell(table::NESTED_CLASS, row, column);
            rows.map(|row| (cell(row, 0), cell(row, 1))).collect()
        })
    }

    /// `Namespace.Outer.Inner` of a TypeDef token; generic types end with `` `N ``.
    pub fn type_name(&self, token: u32) -> String {
        let mut name = self.simple_name(token).to_owned();
        let mut outer = row(token);
        // A cycle of nested classes is malformed; valid nesting is shallow.
        for _ in 0..32 {
            match self.nesting().get(&outer) {
                Some(enclosing) => {
                    outer = *enclosing;
                    name = format!("{}.{name}", self.simple_name(outer));
                }
                None => break,
            }
        }
        match self.tables.text(self.tables.cell(table::TYPE_DEF, outer, 2)) {
            "" => name,
            namespace => format!("{namespace}.{name}"),
        }
    }

    /// A type's own name, without namespace and enclosing types.
    pub fn simple_name(&self, token: u32) -> &str {
        self.tables.text(self.tables.cell(table::TYPE_DEF, row(token), 1))
    }

    /// The TypeDef token of the type that encloses this one.
    pub fn enclosing_type(&self, token: u32) -> Option<u32> {
        self.nesting().get(&row(token)).map(|outer| 0x0200_0000 | outer)
    }

    /// The TypeDef tokens of the types inside this one.
    pub fn nested_types(&self, token: u32) -> impl Iterator<Item = u32> {
        let inside = self.nesting().iter().filter(move |(_, outer)| **outer == row(token));
        inside.map(|(inner, _)| 0x0200_0000 | inner)
    }

    /// The TypeDef token of a full name as [`Metadata::type_name`] spells it.
    pub fn find_type(&self, full_name: &str) -> Option<u32> {
        let types = self.types.get_or_init(|| {
            (1..=self.tables.rows(table::TYPE_DEF))
                .map(|row| (self.type_name(row), 0x0200_0000 | row))
                .collect()
        });
        types.get(full_name).copied()
    }

    /// Full name of the base type of a TypeDef, as [`Metadata::type_name`] spells it. `None` if there is no
    /// base type, or it is generic.
    pub fn base_name(&self, token: u32) -> Option<String> {
        let base = type_def_or_ref(self.tables.cell(table::TYPE_DEF, row(token), 3))?;
        matches!(base >> 24, 0x01 | 0x02).then(|| self.referenced_type(base))
    }

    /// The types of one file (`file class`) by their full names in the source.
    pub fn file_types(&self) -> &HashMap<String, Vec<u32>> {
        self.file_types.get_or_init(|| {
            let mut found = HashMap::<String, Vec<u32>>::new();
            for token in self.type_tokens().filter(|token| file_local(self.simple_name(*token)).is_some()) {
                found.entry(without_files(&self.type_name(token))).or_default().push(token);
            }
            found
        })
    }

    /// TypeDef token of the type that declares a method.
    pub fn owner_of(&self, method: u32) -> u32 {
        self.declaring_type(table::METHOD, 5, method)
    }

    /// TypeDef token of the type that declares a field.
    pub fn owner_of_field(&self, field: u32) -> u32 {
        self.declaring_type(table::FIELD, 4, field)
    }

    /// The type with a row of a table in the list that is in this column.
    fn declaring_type(&self, members: usize, column: usize, token: u32) -> u32 {
        let (mut low, mut high) = (1, self.tables.rows(table::TYPE_DEF));
        let place = self.tables.position_of_row(members, row(token));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.tables.cell(table::TYPE_DEF, middle, column) <= place {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        0x0200_0000 | low
    }

    /// A method's name without its type.
    pub fn method_name(&self, method: u32) -> &str {
        self.tables.text(self.tables.cell(table::METHOD, row(method), 3))
    }

    /// Whether a method has no `this`.
    pub fn is_static(&self, method: u32) -> bool {
        self.tables.cell(table::METHOD, row(method), 2) & STATIC != 0
    }

    /// Whether the runtime itself suspends a method at its `await`s: it is compiled without a state machine.
    pub fn is_runtime_async(&self, method: u32) -> bool {
        self.tables.cell(table::METHOD, row(method), 1) & RUNTIME_ASYNC != 0
    }

    /// Names of a method's parameters, without `this` and the return value.
    pub fn parameters(&self, method: u32) -> Vec<String> {
        let rows = self.tables.list(table::METHOD, row(method), 5, table::PARAM);
        let named: HashMap<u32, &str> = rows
            .map(|row| {
                (
                    self.tables.cell(table::PARAM, row, 1),
                    self.tables.text(self.tables.cell(table::PARAM, row, 2)),
                )
            })
            .collect();
        (1..=self.parameter_count(method))
            .map(|index| named.get(&index).map_or_else(|| format!("arg{index}"), |name| (*name).to_owned()))
            .collect()
    }

    /// How many parameters a method's signature has (II.23.2.1).
    pub fn parameter_count(&self, method: u32) -> u32 {
        let signature = self.tables.blob(self.tables.cell(table::METHOD, row(method), 4));
        let mut reader = ByteReader::new(signature);
        let generic = reader.u8().is_some_and(|convention| convention & 0x10 != 0);
        if generic {
            reader.compressed();
        }
        // No valid method has more; a corrupt count must not become a long list.
        reader.compressed().unwrap_or(0).min(1024)
    }

    /// Tokens of the methods of a type.
    pub fn methods(&self, type_token: u32) -> impl Iterator<Item = u32> + use<> {
        self.tables.list(table::TYPE_DEF, row(type_token), 5, table::METHOD).map(method_token)
    }

    /// MethodDef tokens of all methods in the assembly.
    pub fn all_methods(&self) -> impl Iterator<Item = u32> + use<> {
        (1..=self.tables.rows(table::METHOD)).map(method_token)
    }

    /// The fields that a type itself declares.
    pub fn fields(&self, type_token: u32) -> Vec<FieldDef> {
        let rows = self.tables.list(table::TYPE_DEF, row(type_token), 4, table::FIELD);
        rows.map(|row| {
            let flags = self.tables.cell(table::FIELD, row, 0);
            FieldDef {
                token: 0x0400_0000 | row,
                name: self.tables.text(self.tables.cell(table::FIELD, row, 1)).to_owned(),
                is_static: flags & STATIC != 0,
                is_literal: flags & LITERAL != 0,
                is_readonly: flags & INIT_ONLY != 0,
            }
        })
        .collect()
    }

    /// The value of a constant field of an integral type, as its bits.
    pub fn constant(&self, field: u32) -> Option<u64> {
        // HasConstant (II.24.2.6): tag 0 is a field.
        let parent = row(field) << 2;
        let (mut low, mut high) = (1, self.tables.rows(table::CONSTANT) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.tables.cell(table::CONSTANT, middle, 1) {
                found if found == parent => {
                    let bytes = self.tables.blob(self.tables.cell(table::CONSTANT, middle, 2));
                    let mut wide = [0u8; 8];
                    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
                    return Some(u64::from_le_bytes(wide));
                }
                found if found < parent => low = middle + 1,
                _ => high = middle,
            }
        }
        None
    }

    /// The readable properties that a type itself declares.
    pub fn properties(&self, type_token: u32) -> Vec<ReadableProperty> {
        self.property_rows(type_token).filter_map(|property| self.property(type_token, property)).collect()
    }

    pub(crate) fn property_rows(&self, type_token: u32) -> RowList {
        let maps = self.properties.get_or_init(|| {
            (1..=self.tables.rows(table::PROPERTY_MAP))
                .map(|map| {
                    let owner = self.tables.cell(table::PROPERTY_MAP, map, 0);
                    (owner, self.tables.list(table::PROPERTY_MAP, map, 1, table::PROPERTY))
                })
                .collect()
        });
        maps.get(&row(type_token)).cloned().unwrap_or(RowList::InOrder(0..0))
    }

    fn property(&self, type_token: u32, property: u32) -> Option<ReadableProperty> {
        let name = self.tables.text(self.tables.cell(table::PROPERTY, property, 1)).to_owned();
        let getter = self.methods(type_token).find(|method| {
            let own = self.method_name(*method);
            own.rsplit('.').next().and_then(|own| own.strip_prefix("get_")) == name.rsplit('.').next()
                && self.is_getter(*method, property)
        })?;
        Some(ReadableProperty {
            name,
            getter,
            is_static: self.is_static(getter),
            is_indexer: self.parameter_count(getter) > 0,
        })
    }

    fn is_getter(&self, method: u32, property: u32) -> bool {
        // HasSemantics: tag 1 is a property. The table is sorted by that column.
        let association = property << 1 | 1;
        let count = self.tables.rows(table::METHOD_SEMANTICS);
        let cell = |row, column| self.tables.cell(table::METHOD_SEMANTICS, row, column);
        let (mut low, mut high) = (1, count + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if cell(middle, 2) < association { low = middle + 1 } else { high = middle }
        }
        (low..=count)
            .take_while(|at| cell(*at, 2) == association)
            .any(|at| cell(at, 1) == row(method) && cell(at, 0) & GETTER != 0)
    }

    /// Whether the compiler optimised the assembly: its DebuggableAttribute does not disable
    /// optimisation by the JIT compiler.
    pub fn is_optimized(&self) -> bool {
        const ASSEMBLY: u32 = 1 << 5 | 14;
        const DISABLE_OPTIMIZATIONS: u32 = 0x100;
        let count = self.tables.rows(table::CUSTOM_ATTRIBUTE);
        for at in 1..=count {
            if self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 0) != ASSEMBLY {
                continue;
            }
            let coded = self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 1);
            // CustomAttributeType: tag 3 is a MemberRef, whose class (MemberRefParent) has tag 1 for a
            // TypeRef.
            let class = self.tables.cell(table::MEMBER_REF, coded >> 3, 0);
            let name = self.tables.text(self.tables.cell(table::TYPE_REF, class >> 3, 1));
            if coded & 7 == 3 && class & 7 == 1 && name == "DebuggableAttribute" {
                let blob = self.tables.blob(self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 2));
                let modes = crate::bytes::u32_at(blob, 2).unwrap_or(0);
                return modes & DISABLE_OPTIMIZATIONS == 0;
            }
        }
        true
    }
}
