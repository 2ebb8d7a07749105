//! Members of interfaces, and how a type implements one: explicitly, with a member of a qualified name, or by
//! the body that the interface declares.
//!
//! Not here: lookup of members by name ([`super::members`]).

use super::relations::TypeRelations;
use super::system::{Member, TypeKind};
use crate::types::Ty;

/// The members of one name that an interface declares.
pub(super) struct InterfaceMember<'a> {
    pub(super) types: TypeRelations<'a>,
    pub(super) interface: &'a Ty,
    pub(super) name: &'a str,
}

impl InterfaceMember<'_> {
    /// Whether its static members have bodies, which no other interface of the type replaces.
    pub(super) fn is_implemented_by_interface(&self, ty: &Ty) -> bool {
        let Some(def) = self.types.def(self.interface) else { return false };
        let has_bodies = self.types.system.members(def, self.name).iter().all(|member| !member.is_abstract());
        let is_replaced = |other: &Ty| other != self.interface && self.explicit_name(other).is_some();
        has_bodies && !self.types.interfaces(ty).iter().any(is_replaced)
    }

    /// The name of the member with which a type implements it explicitly: `I.Name` or `I<T>.Name`. `None` if
    /// there is no such member, or several with different names.
    pub(super) fn explicit_name(&self, ty: &Ty) -> Option<String> {
        let info = self.types.info(self.interface).filter(|info| info.kind == TypeKind::Interface)?;
        let plain = info.full_name.split('`').next()?;
        for class in self.types.chain(ty) {
            let Some(def) = self.types.def(&class) else { continue };
            let members = self.types.system.all_members(def);
            let mut found = members.iter().map(Member::name).filter(|own| {
                let between = own.strip_prefix(plain).and_then(|rest| rest.strip_suffix(self.name));
                between.is_some_and(|part| part == "." || part.starts_with('<') && part.ends_with(">."))
            });
            if let Some(first) = found.next() {
                return found.all(|other| other == first).then(|| first.to_owned());
            }
        }
        None
    }
}
