//! (to be written)
pub mod startup;
