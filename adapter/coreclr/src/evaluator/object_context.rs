//! Expressions about one object, for the rows of the variables view: displays, properties. Not here: which
//! rows there are ([`crate::values`]).

use tandem_wire::Failure;

use super::request::ExpressionResult;
use super::{TypedValue, failed};
use crate::expression_binding::{AllowedEffects, EvaluationRequest, ResolvedScope};
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::types::Ty;
use crate::value_path::Path;

impl ClrSession {
    /// An expression whose `this` is the object at a path.
    pub(crate) fn value_on(
        &mut self,
        text: &str,
        path: &Path,
        ty: &Ty,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let text = text.trim();
        let place = self.program.types.place_about(ty);
        let allowed = AllowedEffects::Everything;
        let request = EvaluationRequest { text, site, allowed, place: Some(&place), about: Some(path) };
        match self.evaluate_request(request, &|_| Ok(ResolvedScope::of(ty)))? {
            ExpressionResult::Value(val) => Ok(val),
            _ => Err(failed(format!("`{text}` has no value"))),
        }
    }

    /// The result of the `ToString` that a class or one of its bases defines; `None` for the default, which
    /// returns the type's name.
    pub(crate) fn own_to_string(
        &mut self,
        path: &Path,
        ty: &Ty,
        site: &EvalContext,
    ) -> Result<Option<String>, Failure> {
        let has_it =
            |owner: &Ty| self.program.types.known_method(owner, "ToString", Vec::new(), &[]).is_some();
        let owner = self
            .program
            .types
            .chain(ty)
            .into_iter()
            .find(has_it)
            .map(|owner| self.program.types.full_name(&owner));
        if owner.is_none_or(|owner| matches!(owner.as_str(), "System.Object" | "System.ValueType")) {
            return Ok(None);
        }
        self.call_to_string(&TypedValue::at(path.clone(), ty.clone()), site)
    }

    /// The value of a property, if nothing must run for it.
    pub(crate) fn known_property(
        &mut self,
        path: &Path,
        owner: &Ty,
        name: &str,
        site: &EvalContext,
    ) -> Option<TypedValue> {
        let on = TypedValue::at(path.clone(), owner.clone());
        let property = self.program.types.property_of(owner, name, false)?;
        self.get(&property, &on, name, &EvalContext { runs: false, ..*site }).ok()
    }

    /// A property's value, by its name in the declaring type.
    pub(crate) fn property_value(
        &mut self,
        path: &Path,
        name: &str,
        site: &EvalContext,
    ) -> Result<TypedValue, Failure> {
        let on = self.at_stop().val_at(path.clone())?;
        let actual = self.at_stop().actual(&on)?;
        let owners = [actual, on.ty.clone()];
        let owners: Vec<Ty> = owners.iter().flat_map(|ty| self.program.types.lineage(ty)).collect();
        let property = owners.iter().find_map(|owner| self.program.types.property_of(owner, name, false));
        let property = property.ok_or_else(|| failed(format!("there is no property `{name}`")))?;
        self.get(&property, &on, name, site)
    }
}
