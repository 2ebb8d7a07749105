//! Types in C# syntax, for diagnostics.
//!
//! Not here: the types of values that clients see, which the engine spells.

use std::rc::Rc;

use super::relations::TypeRelations;
use super::system::{Member, Property};
use crate::types::{NamedType, Ty, keyword_of};

/// Maximum length of a type's name, in characters.
const MAX_LENGTH: usize = 200;
/// Maximum depth of nested types that are spelled.
const MAX_DEPTH: usize = 8;

impl TypeRelations<'_> {
    /// Returns a type in C# syntax.
    pub fn type_text(&self, ty: &Ty) -> String {
        let text = self.spell_to(ty, MAX_DEPTH);
        match text.char_indices().nth(MAX_LENGTH) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text,
        }
    }

    fn spell_to(&self, ty: &Ty, deeper: usize) -> String {
        let Some(deeper) = deeper.checked_sub(1) else { return "…".into() };
        let inner = |of: &Ty| self.spell_to(of, deeper);
        match ty {
            Ty::Primitive(kind) => keyword_of(*kind).unwrap_or("?").into(),
            Ty::Vector(of) => format!("{}[]", inner(of)),
            Ty::Array(of, rank) => {
                format!("{}[{}]", inner(of), ",".repeat(rank.saturating_sub(1).min(32) as usize))
            }
            Ty::Pointer(of) => format!("{}*", inner(of)),
            Ty::Reference(of) => format!("ref {}", inner(of)),
            Ty::Var(at) | Ty::MethodVar(at) => format!("T{at}"),
            Ty::Null => "<null>".into(),
            Ty::Other => "?".into(),
            Ty::Named(named) => {
                let Some(info) = self.info(ty) else { return "?".into() };
                if let Some(of) = self.nullable(ty) {
                    return format!("{}?", inner(&of));
                }
                if *info.full_name == *"System.Decimal" {
                    return "decimal".into();
                }
                if let Some(elements) = self.tuple(ty) {
                    let one = |(at, of): (usize, &Ty)| match named.names.name(at) {
                        Some(name) => format!("{} {name}", inner(of)),
                        None => inner(of),
                    };
                    return format!(
                        "({})",
                        elements.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
                    );
                }
                if info.name.starts_with(ANONYMOUS_TYPE) {
                    return self.spell_anonymous(named, &inner);
                }
                let arguments: Vec<String> = named.arguments.iter().map(inner).collect();
                spell_generic(&info.full_name, &arguments)
            }
        }
    }

    fn spell_anonymous(&self, ty: &NamedType, inner: &dyn Fn(&Ty) -> String) -> String {
        let members = self.system.all_members(ty.def());
        let properties = members.iter().filter_map(|member| match member {
            Member::Property(property) => Some(property),
            _ => None,
        });
        let one = |property: &Rc<Property>| {
            format!("{} {}", inner(&property.ty.with(&ty.arguments, &[])), property.name)
        };
        format!("<anonymous type: {}>", properties.map(one).collect::<Vec<_>>().join(", "))
    }
}

/// The beginning of the names that the compiler gives to anonymous types.
pub(super) const ANONYMOUS_TYPE: &str = "<>f__AnonymousType";

/// Replaces the arities of a full name by generic arguments: ``A.B`1.C`1`` is `A.B<int>.C<string>`.
pub(super) fn spell_generic(full_name: &str, arguments: &[String]) -> String {
    let mut left = arguments.iter();
    let part = |part: &str| match part.split_once('`') {
        Some((name, arity)) => {
            let count = arity.parse().unwrap_or(0);
            let own: Vec<&str> = left.by_ref().take(count).map(String::as_str).collect();
            if own.is_empty() { name.to_owned() } else { format!("{name}<{}>", own.join(", ")) }
        }
        None => part.to_owned(),
    };
    full_name.split('.').map(part).collect::<Vec<_>>().join(".")
}
