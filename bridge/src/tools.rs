//! What each tool does. One verb, one object; each answers with all an agent needs to go on. Each module opens with the
//! table of its tools.
//!
//! By need: [`launch`] (sessions), [`breakpoints`], [`execution`] (running and waiting), [`inspect`] (looking),
//! [`program_io`].

pub mod breakpoints;
pub mod execution;
pub mod inspect;
pub mod launch;
pub mod program_io;
