//! Source data of methods in a portable PDB other than lines: `using` directives, and names of tuple
//! elements. Not here: lines ([`crate::pdb`]), and the scopes of variables (`pdb/scopes.rs`).

use crate::bytes::ByteReader;
use crate::pdb::Pdb;
use crate::tables::table;

/// Kind of CustomDebugInformation with a local's tuple names: {ED9FDF71-8879-4747-8ED3-FE5EDE3CE710}.
const TUPLE_NAMES: [u8; 16] =
    [0x71, 0xdf, 0x9f, 0xed, 0x79, 0x88, 0x47, 0x47, 0x8e, 0xd3, 0xfe, 0x5e, 0xde, 0x3c, 0xe7, 0x10];
/// Kind of CustomDebugInformation with the flags of a local's `dynamic` parts:
/// {83C563C4-B4F3-47D5-B824-BA5441477EA8}.
const DYNAMIC_PARTS: [u8; 16] =
    [0xc4, 0x63, 0xc5, 0x83, 0xf3, 0xb4, 0xd5, 0x47, 0xb8, 0x24, 0xba, 0x54, 0x41, 0x47, 0x7e, 0xa8];
/// Kind of CustomDebugInformation with the compiler's options: {B5FEEC05-8CD0-4A83-96DA-466284BB4BD8}.
const COMPILER_OPTIONS: [u8; 16] =
    [0x05, 0xec, 0xfe, 0xb5, 0xd0, 0x8c, 0x83, 0x4a, 0x96, 0xda, 0x46, 0x62, 0x84, 0xbb, 0x4b, 0xd8];
/// Maximum depth of nested import scopes.
const MAX_DEPTH: usize = 64;

/// The names that `using` directives make visible in a method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imports {
    /// Namespaces of `using A.B;` directives.
    pub namespaces: Vec<String>,
    /// `using static T;`: TypeDef, TypeRef or TypeSpec tokens.
    pub types: Vec<u32>,
    /// Aliases and namespaces of `using X = A.B;` directives.
    pub namespace_aliases: Vec<(String, String)>,
    /// Aliases and type tokens of `using X = T;` directives.
    pub type_aliases: Vec<(String, u32)>,
}

impl Pdb {
    /// The `using` directives around a method, inner ones first.
    pub fn imports(&self, method: u32) -> Imports {
        let mut all = Imports::default();
        for scope in self.import_scopes(method) {
            all.namespaces.extend(scope.namespaces);
            all.types.extend(scope.types);
            all.namespace_aliases.extend(scope.namespace_aliases);
            all.type_aliases.extend(scope.type_aliases);
        }
        all
    }

    /// The same for each namespace and for the file, the innermost first. An async method or iterator is
    /// compiled to two methods; either may have the directives, and `method` may be either.
    pub fn import_scopes(&self, method: u32) -> Vec<Imports> {
        let own = |method: u32| {
            let row = method & 0x00ff_ffff;
            let cell = |at, column| self.tables.cell(table::LOCAL_SCOPE, at, column);
            (1..=self.tables.rows(table::LOCAL_SCOPE)).find(|at| cell(*at, 0) == row).map(|at| cell(at, 1))
        };
        let other = || self.kickoff(method).or_else(|| self.move_next(method));
        let Some(mut at) = own(method).or_else(|| own(other()?)) else { return Vec::new() };
        let mut scopes = Vec::new();
        while at != 0 && scopes.len() < MAX_DEPTH {
            let mut imports = Imports::default();
            // Entries read before the damage are valid.
            let _damaged = self
                .read_imports(self.tables.blob(self.tables.cell(table::IMPORT_SCOPE, at, 1)), &mut imports)
                .is_none();
            scopes.push(imports);
            at = self.tables.cell(table::IMPORT_SCOPE, at, 0);
        }
        scopes
    }

    /// An option that the assembly was compiled with, for example `language-version`.
    pub fn compiler_option(&self, name: &str) -> Option<String> {
        // HasCustomDebugInformation: tag 7 is the module, in 5 bits.
        let blob = self.debug_information(1 << 5 | 7, COMPILER_OPTIONS).next()?;
        let mut texts = blob.split(|byte| *byte == 0);
        while let (Some(key), Some(value)) = (texts.next(), texts.next()) {
            if key == name.as_bytes() {
                return Some(String::from_utf8_lossy(value).into_owned());
            }
        }
        None
    }

    /// A flag for each part of a local's type whether it is `dynamic`, outer parts first; empty if no part
    /// is. `variable` is a row of LocalVariable.
    pub fn dynamic_parts(&self, variable: u32) -> Vec<bool> {
        // HasCustomDebugInformation: tag 24 is a LocalVariable, in 5 bits.
        let blob = self.debug_information(variable << 5 | 24, DYNAMIC_PARTS).next().unwrap_or_default();
        blob.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect()
    }

    /// Portable PDB format, "Imports Blob".
    fn read_imports(&self, blob: &[u8], imports: &mut Imports) -> Option<()> {
        let mut reader = ByteReader::new(blob);
        while !reader.is_at_end() {
            let text = |reader: &mut ByteReader<'_>| {
                let offset = reader.compressed()?;
                Some(String::from_utf8_lossy(self.tables.blob(offset)).into_owned())
            };
            match reader.compressed()? {
                1 => imports.namespaces.push(text(&mut reader)?),
                2 => {
                    reader.compressed()?;
                    imports.namespaces.push(text(&mut reader)?);
                }
                3 => imports.types.push(type_token(reader.compressed()?)),
                4 | 6 => {
                    reader.compressed()?;
                    reader.compressed()?;
                }
                5 => {
                    reader.compressed()?;
                }
                7 => {
                    let alias = text(&mut reader)?;
                    imports.namespace_aliases.push((alias, text(&mut reader)?));
                }
                8 => {
                    let alias = text(&mut reader)?;
                    reader.compressed()?;
                    imports.namespace_aliases.push((alias, text(&mut reader)?));
                }
                9 => {
                    let alias = text(&mut reader)?;
                    imports.type_aliases.push((alias, type_token(reader.compressed()?)));
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Names of the elements of a local whose type is a tuple; empty if they have no names. `variable` is a
    /// row of LocalVariable.
    pub fn tuple_names(&self, variable: u32) -> Vec<Option<String>> {
        // HasCustomDebugInformation: tag 24 is a LocalVariable, in 5 bits.
        let blob = self.debug_information(variable << 5 | 24, TUPLE_NAMES).next();
        let Some(blob) = blob else { return Vec::new() };
        let blob = blob.strip_suffix(&[0]).unwrap_or(blob);
        blob.split(|byte| *byte == 0)
            .map(|name| (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned()))
            .collect()
    }
}

fn type_token(coded: u32) -> u32 {
    let table = match coded & 3 {
        0 => 0x0200_0000,
        1 => 0x0100_0000,
        _ => 0x1b00_0000,
    };
    table | coded >> 2
}
