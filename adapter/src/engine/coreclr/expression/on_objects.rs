//! Expressions about one object, for the rows of the variables view: displays, proxies, properties, sequences.

use std::cell::RefCell;
use std::rc::Rc;

use dap_wire::Failure;

use super::{Constant, Found, Scope, Val, failed};
use crate::engine::coreclr::calls::Site;
use crate::engine::coreclr::modules::Loaded;
use crate::engine::coreclr::session::Session;
use crate::engine::coreclr::types::Ty;
use crate::engine::coreclr::values::Path;

impl Session {
    /// An expression whose `this` is the object at a path.
    pub(crate) fn value_on(
        &mut self,
        text: &str,
        path: &Path,
        ty: &Ty,
        site: &Site<'_>,
    ) -> Result<Val, Failure> {
        let this = Val::at(path.clone(), ty.clone());
        let bindings = RefCell::new(vec![("this".to_owned(), this)]);
        match self.find_with(text, site, &bindings)? {
            Found::Val(val) => Ok(val),
            Found::Skipped => Ok(Val::null()),
            _ => Err(failed(format!("`{text}` has no value"))),
        }
    }

    /// What the `ToString` gives that a class or one of its bases has for itself; none for what only says the type's name.
    pub(crate) fn said_by(
        &mut self,
        path: &Path,
        ty: &Ty,
        site: &Site<'_>,
    ) -> Result<Option<String>, Failure> {
        let has_it = |owner: &Ty| {
            let methods = self.methods_named(owner, "ToString");
            methods.iter().any(|method| !method.is_static && method.parameters.is_empty())
        };
        let owner = self.chain(ty).into_iter().find(has_it).map(|owner| self.full_name(&owner));
        if owner.is_none_or(|owner| matches!(owner.as_str(), "System.Object" | "System.ValueType")) {
            return Ok(None);
        }
        let text = self.value_on("ToString()", path, ty, site)?;
        Ok(match self.load(&text)? {
            Some(Constant::Text(text)) => Some(text),
            _ => None,
        })
    }

    /// A new object of `ty` from one at a path.
    pub(crate) fn made_of(
        &mut self,
        ty: &Ty,
        of: &Path,
        of_ty: &Ty,
        site: &Site<'_>,
    ) -> Result<Val, Failure> {
        let bindings = RefCell::default();
        let scope = Scope::around(site, &bindings);
        self.made(ty, vec![Val::at(of.clone(), of_ty.clone())], &[], &scope)
    }

    /// A property that is known without running anything.
    pub(crate) fn known_property(
        &mut self,
        path: &Path,
        owner: &Ty,
        name: &str,
        site: &Site<'_>,
    ) -> Option<Val> {
        let on = Val::at(path.clone(), owner.clone());
        let property = self.property_of(owner, name, false)?;
        let bindings = RefCell::default();
        let site = Site { runs: false, ..*site };
        let scope = Scope::around(&site, &bindings);
        self.get(&property, &on, name, &scope).ok()
    }

    /// A property's value, by the name its type declares it with.
    pub(crate) fn property_value(
        &mut self,
        path: &Path,
        name: &str,
        site: &Site<'_>,
    ) -> Result<Val, Failure> {
        let on = self.val_at(path.clone())?;
        let owners: Vec<Ty> = self.searched(&on).iter().flat_map(|ty| self.lineage(ty)).collect();
        let property = owners.iter().find_map(|owner| self.property_of(owner, name, false));
        let property = property.ok_or_else(|| failed(format!("there is no property `{name}`")))?;
        let bindings = RefCell::default();
        let scope = Scope::around(site, &bindings);
        self.get(&property, &on, name, &scope)
    }

    /// The first items of a sequence, and whether there are more.
    pub(crate) fn sequence(
        &mut self,
        val: &Val,
        most: usize,
        site: &Site<'_>,
    ) -> Result<(Vec<Val>, bool), Failure> {
        let bindings = RefCell::default();
        let scope = Scope::around(site, &bindings);
        let take = self.member_of(Found::Val(val.clone()), "Take", Vec::new(), &scope)?;
        let taken =
            self.invoke_with(take, vec![Val::int(i32::try_from(most).unwrap_or(i32::MAX))], &scope)?;
        let Found::Val(taken) = taken else { return Ok((Vec::new(), false)) };
        let items = self.items_of(&taken, &scope)?;
        Ok((items.list, items.is_cut))
    }

    /// A static field's value.
    pub(crate) fn static_value(
        &mut self,
        loaded: &Rc<Loaded>,
        owner: &Ty,
        field: &clr_metadata::metadata::Field,
        site: &Site<'_>,
    ) -> Result<Val, Failure> {
        let bindings = RefCell::default();
        let site = Site { runs: false, ..*site };
        let scope = Scope::around(&site, &bindings);
        self.static_field(loaded, owner, field, &scope)
    }

    /// Writes the value of an expression to a place.
    pub(crate) fn assigned(&mut self, place: &Val, new: &str, site: &Site<'_>) -> Result<Val, Failure> {
        let val = self.value_of(new, site)?;
        let bindings = RefCell::default();
        let scope = Scope::around(site, &bindings);
        self.store_at(place, val, &scope)
    }
}
