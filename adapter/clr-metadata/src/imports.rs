//! What a portable PDB says of a method's source beyond lines: `using` directives, and names of tuples' elements.

use crate::bytes::Reader;
use crate::pdb::Pdb;
use crate::tables::table;

/// Kind of CustomDebugInformation with a local's tuple names: {ED9FDF71-8879-4747-8ED3-FE5EDE3CE710}.
const TUPLE_NAMES: [u8; 16] =
    [0x71, 0xdf, 0x9f, 0xed, 0x79, 0x88, 0x47, 0x47, 0x8e, 0xd3, 0xfe, 0x5e, 0xde, 0x3c, 0xe7, 0x10];
/// Deepest nesting of namespaces and files.
const DEEPEST: usize = 64;

/// What `using` directives make visible in a method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imports {
    /// `using A.B;`
    pub namespaces: Vec<String>,
    /// `using static T;`: TypeDef, TypeRef or TypeSpec tokens.
    pub types: Vec<u32>,
    /// `using X = A.B;`
    pub namespace_aliases: Vec<(String, String)>,
    /// `using X = T;`
    pub type_aliases: Vec<(String, u32)>,
}

impl Pdb {
    /// The `using` directives around a method, inner ones first.
    pub fn imports(&self, method: u32) -> Imports {
        let row = method & 0x00ff_ffff;
        let cell = |at, column| self.tables.cell(table::LOCAL_SCOPE, at, column);
        let mut imports = Imports::default();
        let Some(scope) = (1..=self.tables.rows(table::LOCAL_SCOPE)).find(|at| cell(*at, 0) == row) else {
            return imports;
        };
        let mut at = cell(scope, 1);
        for _ in 0..DEEPEST {
            if at == 0 {
                break;
            }
            self.read_imports(self.tables.blob(self.tables.cell(table::IMPORT_SCOPE, at, 1)), &mut imports);
            at = self.tables.cell(table::IMPORT_SCOPE, at, 0);
        }
        imports
    }

    /// Portable PDB format, "Imports Blob".
    fn read_imports(&self, blob: &[u8], imports: &mut Imports) -> Option<()> {
        let mut reader = Reader::new(blob);
        while !reader.is_at_end() {
            let text = |reader: &mut Reader<'_>| {
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

    /// Names of the elements of a local that is a tuple, from the row of its LocalVariable; empty when it has none.
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
