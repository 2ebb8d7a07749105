//! `System.Type` objects of the program, by the names that reflection uses. Not here: their text
//! (`values/reflection.rs`).

use tandem_wire::Failure;

use super::{TypedValue, failed};
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::ClrTypeSystem;
use crate::types::Ty;

impl ClrSession {
    /// A `System.Type` of the program.
    pub(super) fn type_object(&mut self, ty: &Ty, site: &EvalContext) -> Result<TypedValue, Failure> {
        let type_of_types =
            self.program.types.ty_named("System.Type").ok_or_else(|| failed("there is no System.Type"))?;
        let name = self
            .program
            .types
            .reflection_name(ty)
            .ok_or_else(|| failed(format!("`{}` has no name", self.program.types.csharp(ty))))?;
        let (given, takes) = ([TypedValue::text(name)], ["System.String"]);
        let found = self.call_known("System.Type", "GetType", Vec::new(), &takes, None, &given, site)?;
        match self.at_stop().is_null_val(&found)? {
            true => {
                Err(failed(format!("the program does not know the type `{}`", self.program.types.csharp(ty))))
            }
            false => Ok(TypedValue { ty: type_of_types, ..found }),
        }
    }
}

impl ClrTypeSystem {
    /// A name that `Type.GetType` accepts: with the assembly, `+` between nested types,
    /// brackets around arguments.
    fn reflection_name(&self, ty: &Ty) -> Option<String> {
        match ty {
            Ty::Vector(of) => self.add_suffix(of, "[]"),
            Ty::Array(of, rank) => {
                self.add_suffix(of, &format!("[{}]", ",".repeat(rank.saturating_sub(1).min(32) as usize)))
            }
            Ty::Pointer(of) => self.add_suffix(of, "*"),
            _ => self.add_suffix(ty, ""),
        }
    }

    fn add_suffix(&self, ty: &Ty, suffix: &str) -> Option<String> {
        match ty {
            Ty::Vector(_) | Ty::Array(..) | Ty::Pointer(_) => {
                let name = self.reflection_name(ty)?;
                let (name, assembly) = name.rsplit_once(", ")?;
                Some(format!("{name}{suffix}, {assembly}"))
            }
            _ => {
                let (loaded, token) = self.definition(ty)?;
                let metadata = &loaded.image()?.metadata;
                let mut name = metadata.simple_name(token).to_owned();
                let mut outer = token;
                while let Some(enclosing) = metadata.enclosing_type(outer) {
                    outer = enclosing;
                    name = format!("{}+{name}", metadata.simple_name(outer));
                }
                let space = metadata.namespace(outer);
                let space = if space.is_empty() { String::new() } else { format!("{space}.") };
                let mut arguments = Vec::new();
                for argument in ty.arguments() {
                    arguments.push(format!("[{}]", self.reflection_name(argument)?));
                }
                let arguments =
                    if arguments.is_empty() { String::new() } else { format!("[{}]", arguments.join(",")) };
                let assembly = loaded.path.file_stem()?.to_string_lossy().into_owned();
                Some(format!("{space}{name}{arguments}{suffix}, {assembly}"))
            }
        }
    }
}
