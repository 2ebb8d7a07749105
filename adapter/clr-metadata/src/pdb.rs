//! Portable PDBs: source lines and local names of methods. Not here: `using` directives ([`crate::imports`]).

pub mod documents;
mod scopes;
mod sequence_points;
pub mod source_link;
mod steps;

pub use scopes::{Literal, LocalConstant, LocalVariable};
pub use sequence_points::SequencePoint;
pub use steps::AwaitStep;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::bytes::ByteReader;
use crate::image::PeImage;
use crate::metadata::method_token;
use crate::tables::{Tables, table};

/// The reason why an assembly has no symbols.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PdbError {
    /// No PDB was found at the paths `looked`.
    #[error("no PDB found{}", list_paths(.looked))]
    NotFound {
        /// The paths that were searched.
        looked: Vec<PathBuf>,
    },
    /// The PDB belongs to another build of the assembly.
    #[error("`{0}` belongs to another build of the assembly")]
    IdMismatch(PathBuf),
    /// A PDB in the Windows format, which is not supported.
    #[error("`{0}` is a Windows PDB; build with `<DebugType>portable</DebugType>`")]
    WindowsPdb(PathBuf),
    /// The file exists but is damaged.
    #[error("`{0}` is not a valid portable PDB")]
    Malformed(PathBuf),
}

fn list_paths(looked: &[PathBuf]) -> String {
    let paths: Vec<String> = looked.iter().map(|path| format!("`{}`", path.display())).collect();
    if paths.is_empty() { String::new() } else { format!("; looked for {}", paths.join(", ")) }
}

/// A location to which a breakpoint can bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// MethodDef token of the method.
    pub method: u32,
    /// The sequence point in that method.
    pub point: SequencePoint,
}

type LineIndex = HashMap<u32, Vec<Location>>;

/// An assembly's symbols.
#[derive(Debug)]
pub struct Pdb {
    /// The path from which it was read; `None` if it was embedded in the assembly.
    pub path: Option<PathBuf>,
    pub(crate) tables: Tables,
    documents: Vec<String>,
    lines: OnceLock<LineIndex>,
    points: std::sync::Mutex<HashMap<u32, std::sync::Arc<[SequencePoint]>>>,
    kickoffs: OnceLock<HashMap<u32, u32>>,
    source_link: OnceLock<Option<source_link::SourceLink>>,
}

impl Pdb {
    /// Finds the symbols of an assembly: embedded in it, next to it, at the compiler's path, or in
    /// a folder of `search`.
    ///
    /// # Errors
    /// The reason why no PDB matches.
    pub fn open_for(image: &PeImage, search: &[PathBuf]) -> Result<Self, PdbError> {
        if let Some(bytes) = &image.embedded_pdb {
            return Self::parse(bytes.clone()).ok_or_else(|| PdbError::Malformed(image.path.clone()));
        }
        let Some((written, id)) = &image.code_view else {
            return Err(PdbError::NotFound { looked: vec![image.path.with_extension("pdb")] });
        };
        let name = written.rsplit(['/', '\\']).next().unwrap_or_default();
        // An assembly from memory has only a name.
        let beside = image.path.parent().filter(|_| image.path.is_absolute()).map(|folder| folder.join(name));
        // A folder of PDBs, or the folders of a symbol server: name, then id (SSQP, portable PDBs), then
        // name.
        let key = symbol_key(written, id);
        let elsewhere = search.iter().flat_map(|folder| {
            // Some caches use lower-case names, as requests to symbol servers do.
            let keyed = key.iter().flat_map(|key| [folder.join(key), folder.join(key.to_lowercase())]);
            std::iter::once(folder.join(name)).chain(keyed)
        });
        let mut looked = Vec::new();
        let mut problem = None;
        for path in beside.into_iter().chain([PathBuf::from(written)]).chain(elsewhere) {
            if looked.contains(&path) {
                continue;
            }
            match std::fs::read(&path) {
                Err(_) => looked.push(path),
                Ok(bytes) if bytes.starts_with(b"Microsoft C/C++ MSF") => {
                    problem = Some(PdbError::WindowsPdb(path));
                }
                Ok(bytes) => match Self::parse(bytes) {
                    None => problem = Some(PdbError::Malformed(path)),
                    Some(mut pdb) if pdb.matches_id(id) => {
                        pdb.path = Some(path);
                        return Ok(pdb);
                    }
                    Some(_) => problem = Some(PdbError::IdMismatch(path)),
                },
            }
        }
        Err(problem.unwrap_or(PdbError::NotFound { looked }))
    }

    /// Whether the PDB belongs to the assembly with this id.
    pub fn matches_id(&self, id: &[u8; 16]) -> bool {
        self.tables.pdb_id().starts_with(id)
    }

    /// The parts of a PDB's file before and after its id. An assembly contains the checksum of the file with
    /// zeros instead of the id (PE/COFF, "PDB Checksum Debug Directory Entry"). `file` must be the bytes from
    /// which this was parsed.
    pub fn parts_around_id<'a>(&self, file: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let id = self.tables.pdb_id_range();
        Some((file.get(..id.start)?, file.get(id.end..)?))
    }

    /// Reads a PDB; `None` when it is not valid.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        let tables = Tables::parse(bytes)?;
        (tables.pdb_id().len() == 20).then_some(())?;
        let mut documents = vec![String::new()];
        for row in 1..=tables.rows(table::DOCUMENT) {
            documents.push(document_name(&tables, row).unwrap_or_default());
        }
        Some(Self {
            path: None,
            tables,
            documents,
            lines: OnceLock::new(),
            points: std::sync::Mutex::default(),
            kickoffs: OnceLock::new(),
            source_link: OnceLock::new(),
        })
    }

    /// The path of a document on the machine of the compiler.
    pub fn document(&self, row: u32) -> &str {
        self.documents.get(row as usize).map_or("", String::as_str)
    }

    /// The document for a path: the one with the same path, or the one whose path has the most equal parts at
    /// its end ([`documents::common_parts`]). At least the file name must be equal.
    pub fn find_document(&self, path: &str) -> Option<u32> {
        let (mut best, mut most) = (None, 0);
        for (row, document) in self.documents() {
            let common = documents::common_parts(document, path);
            if common > most {
                (best, most) = (Some(row), common);
            }
        }
        // The folder may differ, because the sources may have been built elsewhere.
        best
    }

    /// The sequence points of a method, by IL offset.
    pub fn points(&self, method: u32) -> std::sync::Arc<[SequencePoint]> {
        let mut cache = self.points.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cache.entry(method).or_insert_with(|| self.read_points(method).into()).clone()
    }

    fn read_points(&self, method: u32) -> Vec<SequencePoint> {
        let cell = |column| self.tables.cell(table::METHOD_DEBUG, method & 0x00ff_ffff, column);
        SequencePoint::read_all(self.tables.blob(cell(1)), cell(0))
    }

    /// The statement of an IL offset: the last visible one at or before it.
    pub fn point_at(&self, method: u32, il: u32) -> Option<SequencePoint> {
        self.points(method).iter().rev().find(|point| point.il <= il && !point.is_hidden()).copied()
    }

    fn line_index(&self) -> &LineIndex {
        self.lines.get_or_init(|| {
            let mut index = LineIndex::new();
            for row in 1..=self.tables.rows(table::METHOD_DEBUG) {
                let method = method_token(row);
                for point in self.read_points(method).into_iter().filter(|point| !point.is_hidden()) {
                    index.entry(point.document).or_default().push(Location { method, point });
                }
            }
            for locations in index.values_mut() {
                locations.sort_by_key(|at| (at.point.line, at.point.column, at.method, at.point.il));
            }
            index
        })
    }

    /// The locations to which a breakpoint on this line of a document binds. They are the first statements
    /// that begin there, one for each method, or those on the nearest later line with code. With `column`, it
    /// is the statement that covers the column.
    pub fn locations(&self, document: u32, line: u32, column: Option<u32>) -> Vec<Location> {
        let Some(all) = self.line_index().get(&document) else { return Vec::new() };
        // A line in the middle of a statement binds to that statement.
        let inside = all.iter().filter(|at| at.point.line < line && line <= at.point.end_line);
        let spanning = inside.min_by_key(|at| at.point.end_line - at.point.line);
        let from = all.partition_point(|at| at.point.line < line);
        let Some(next) = all.get(from) else { return spanning.copied().into_iter().collect() };
        // A line without code in the body of a lambda does not belong to the statement around the lambda.
        let is_inner = |spanning: &Location| {
            let end = (spanning.point.end_line, spanning.point.end_column);
            let has_begun = all.get(..from).unwrap_or_default().iter().any(|at| {
                at.method == next.method
                    && (at.point.line, at.point.column) > (spanning.point.line, spanning.point.column)
            });
            next.method != spanning.method && has_begun && (next.point.end_line, next.point.end_column) <= end
        };
        if let Some(spanning) = spanning
            && next.point.line > line
            && !is_inner(spanning)
        {
            return vec![*spanning];
        }
        let on_line = all.get(from..).unwrap_or_default();
        let on_line: Vec<&Location> =
            on_line.iter().take_while(|at| at.point.line == next.point.line).collect();
        let size = |point: &SequencePoint| {
            (point.end_line - point.line, i64::from(point.end_column) - i64::from(point.column))
        };
        let covers = |point: &SequencePoint, column: u32| {
            point.column <= column && (column < point.end_column || point.end_line > point.line)
        };
        if let Some(column) = column.filter(|_| next.point.line == line) {
            // The innermost statement there, in each method that has it; otherwise the next one on the line.
            let inner =
                on_line.iter().filter(|at| covers(&at.point, column)).min_by_key(|at| size(&at.point));
            let chosen = inner.or_else(|| on_line.iter().find(|at| at.point.column >= column));
            if let Some(chosen) = chosen.or(on_line.first()) {
                let same = |at: &&&Location| {
                    at.point.column == chosen.point.column && at.point.end_column == chosen.point.end_column
                };
                return first_of_each_method(on_line.iter().filter(same).map(|at| **at));
            }
        }
        // A lambda inside a statement of the same line needs its column, or a step from the statement.
        let is_inside = |at: &Location| {
            on_line.iter().any(|other| {
                other.method != at.method
                    && size(&other.point) > size(&at.point)
                    && (other.point.line, other.point.column) <= (at.point.line, at.point.column)
                    && (other.point.end_line, other.point.end_column)
                        >= (at.point.end_line, at.point.end_column)
            })
        };
        let found = first_of_each_method(on_line.iter().filter(|at| !is_inside(at)).map(|at| **at));
        // On a later line: only the method whose code is first there.
        let limit = if next.point.line > line { 1 } else { found.len() };
        found.into_iter().take(limit).collect()
    }

    /// The blobs of one kind of CustomDebugInformation for a row, which is a coded index
    /// (HasCustomDebugInformation).
    pub(crate) fn debug_information(&self, parent: u32, kind: [u8; 16]) -> impl Iterator<Item = &[u8]> {
        let cell = move |at, column| self.tables.cell(table::CUSTOM_DEBUG, at, column);
        let count = self.tables.rows(table::CUSTOM_DEBUG);
        // Sorted by parent (portable PDB format, CustomDebugInformation).
        let (mut low, mut high) = (1, count + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if cell(middle, 0) < parent { low = middle + 1 } else { high = middle }
        }
        (low..=count)
            .take_while(move |at| cell(*at, 0) == parent)
            .filter(move |at| self.tables.guid(cell(*at, 1)) == kind)
            .map(move |at| self.tables.blob(cell(at, 2)))
    }

    /// The method in the source to whose state machine a `MoveNext` belongs.
    pub fn kickoff(&self, move_next: u32) -> Option<u32> {
        let all = self.kickoffs.get_or_init(|| {
            let rows = 1..=self.tables.rows(table::STATE_MACHINE);
            let cell = |row, column| self.tables.cell(table::STATE_MACHINE, row, column);
            rows.map(|row| (method_token(cell(row, 0)), method_token(cell(row, 1)))).collect()
        });
        all.get(&move_next).copied()
    }

    /// The `MoveNext` of the state machine of a method in the source.
    pub fn move_next(&self, kickoff: u32) -> Option<u32> {
        let rows = 1..=self.tables.rows(table::STATE_MACHINE);
        let cell = |row, column| self.tables.cell(table::STATE_MACHINE, row, column);
        rows.map(|row| (method_token(cell(row, 0)), method_token(cell(row, 1))))
            .find(|(_, written)| *written == kickoff)
            .map(|(move_next, _)| move_next)
    }

    /// All statements of a document that begin on these lines, in their order.
    pub fn statements(&self, document: u32, lines: std::ops::RangeInclusive<u32>) -> Vec<Location> {
        let all = self.line_index().get(&document).map(Vec::as_slice).unwrap_or_default();
        let from = all.partition_point(|at| at.point.line < *lines.start());
        all.get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|at| at.point.line <= *lines.end())
            .copied()
            .collect()
    }
}

/// The first statement of each method.
fn first_of_each_method(places: impl Iterator<Item = Location>) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    for at in places {
        match found.iter_mut().find(|other| other.method == at.method) {
            Some(other) if at.point.il < other.point.il => *other = at,
            Some(_) => {}
            None => found.push(at),
        }
    }
    found
}

/// The key of an assembly's PDB on symbol servers (SSQP, "Portable-Pdb-Signature"): `name/idffffffff/name`.
/// The name is the one in `written`, the path in the assembly. `None` if that has no file name.
pub fn symbol_key(written: &str, id: &[u8; 16]) -> Option<String> {
    let name = written.rsplit(['/', '\\']).next()?;
    let is_name = !matches!(name, "" | "." | "..") && !name.contains(['\0', ':']);
    is_name.then(|| format!("{name}/{}ffffffff/{name}", guid_text(id)))
}

/// A GUID's 32 hexadecimal digits: its first three numbers are stored little-endian.
fn guid_text(id: &[u8; 16]) -> String {
    let order = [3usize, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    order.iter().filter_map(|at| id.get(*at)).map(|byte| format!("{byte:02x}")).collect()
}

/// Portable PDB format, "Document Name Blob": a separator and parts.
fn document_name(tables: &Tables, row: u32) -> Option<String> {
    let mut reader = ByteReader::new(tables.blob(tables.cell(table::DOCUMENT, row, 0)));
    let separator = reader.u8()?;
    let mut parts = Vec::new();
    while !reader.is_at_end() {
        parts.push(String::from_utf8_lossy(tables.blob(reader.compressed()?)).into_owned());
    }
    let separator = if separator == 0 { String::new() } else { char::from(separator).to_string() };
    Some(parts.join(&separator))
}
