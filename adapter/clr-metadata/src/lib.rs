//! .NET assemblies and their symbols as files: PE (ECMA-335 II.25), metadata tables (II.22-24), portable
//! PDBs.
//!
//! In reading order: [`bytes`] (checked reading), [`tables`] (the tables of both file kinds), [`image`] (an
//! assembly), [`metadata`] (types, methods, fields), [`signature`] and [`members`] (their data for
//! evaluations), [`pdb`] and [`imports`] (source lines, local names, usings).
//!
//! Pure and safe: no process, no debugger. Reading any bytes neither panics nor needs unbounded memory. Used
//! by the .NET engine.

pub mod attribute_argument;
pub mod bytes;
pub mod dynamic_operations;
pub mod generics;
pub mod il;
pub mod image;
pub mod imports;
pub mod members;
pub mod metadata;
pub mod pdb;
pub mod signature;
pub mod tables;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system returned an error.
    #[error("cannot read `{path}`: {reason}")]
    Io {
        /// Path of the file that cannot be read.
        path: std::path::PathBuf,
        /// The error of the operating system.
        reason: std::io::Error,
    },
    /// The file has another format, or is damaged.
    #[error("not {what}: {reason}")]
    Malformed {
        /// For example `a .NET assembly`.
        what: &'static str,
        /// The rule that the bytes violate.
        reason: &'static str,
    },
}
