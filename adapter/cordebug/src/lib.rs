//! ICorDebug, the debugging interface of CoreCLR, from Rust. The only crate of the workspace with `unsafe`
//! code.
//!
//! In reading order: [`startup`] (holding a runtime before user code), [`runtime`] (finding the runtime in a
//! process and loading its debugging library), [`debugger`] (debugger and process), [`callback`] (events of
//! the runtime), then one module per family: [`thread`], [`frame`], [`code`], [`module`], [`types`],
//! [`value`], [`eval`]. [`hresult`] explains failures, [`liveness`] checks whether the program is alive, and
//! [`exit_status`] records how it ended. [`imports`] replaces system functions of the library, and
//! [`activity`] counts calls and messages. [`signals`] is for the process in a client's terminal,
//! [`descriptors`] for the one that becomes the program of another adapter.
//!
//! Objects are not `Send`: they stay on the engine's thread. Only a [`callback::Callback`] moves COM pointers
//! to another thread.

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("this crate is for 64-bit Linux: it was tried on x86-64, and is only compiled for AArch64");

pub mod activity;
pub mod allocator;
pub mod callback;
pub mod code;
mod com;
pub mod debugger;
pub mod descriptors;
pub mod eval;
pub mod exit_status;
pub mod frame;
pub mod hresult;
pub mod imports;
pub mod liveness;
mod long_strings;
pub mod module;
mod raw;
pub mod run_times;
pub mod runtime;
pub mod signals;
pub mod startup;
pub mod stream;
pub mod thread;
pub mod types;
pub mod value;

pub use hresult::CorError;

/// The result of a call of the debugging library.
pub type Result<T> = std::result::Result<T, CorError>;
