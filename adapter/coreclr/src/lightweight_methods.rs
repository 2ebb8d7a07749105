//! Names of methods that the program generates at run time (`DynamicMethod`, compiled expression trees). They
//! have no metadata: the name is in the object that a delegate or an exception refers to. A thread's frame
//! does not lead to that object.

use cordebug::value::Value as ClrValue;

use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::types::ClrTypeSystem;

/// Class of the object that keeps the code of such a method alive.
const RESOLVER: &str = "System.Reflection.Emit.DynamicResolver";
pub(crate) const METHOD: &str = "System.Reflection.Emit.DynamicMethod";
/// Class of the object that .NET Core 3.1 returns for it.
pub(crate) const GIVEN_OUT: &str = "System.Reflection.Emit.DynamicMethod.RTDynamicMethod";
/// Class of the hidden first argument of compiled expression trees.
const CLOSURE: &str = "System.Runtime.CompilerServices.Closure";
/// Longest name that is shown, characters.
const MAX_NAME: usize = 200;
/// Most parameters that are shown.
const MAX_PARAMETERS: u32 = 32;
/// Most such methods of one exception.
const MAX_METHODS: u32 = 1000;

impl ClrTypeSystem {
    /// `Light(object, int)` for a `DynamicMethod`. `None` for any other object, and for a name that
    /// would not fit into a line.
    pub(crate) fn lightweight_method(&self, debuggee: &ClrDebuggee, made: &ClrValue) -> Option<String> {
        let owner = match self.core_name(made)?.as_str() {
            METHOD => made.clone(),
            GIVEN_OUT => bare(&self.field_named(made, "m_owner")?)?,
            _ => return None,
        };
        let made = &owner;
        // The second one is that of .NET Core 3.1.
        let name = self
            .text_field(made, "_name")
            .or_else(|| self.text_field(&self.field_named(made, "m_dynMethod")?, "m_name"))?;
        let is_plain = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(char::is_control);
        is_plain.then_some(())?;
        let types = ["_parameterTypes", "m_parameterTypes"];
        let types = types.into_iter().find_map(|field| bare(&self.field_named(made, field)?)?.as_array())?;
        let count = types.count().ok()?.min(MAX_PARAMETERS);
        let spelled = |at| {
            let ty = types.element(at).ok().and_then(|ty| self.type_behind(debuggee, &bare(&ty)?));
            ty.map_or_else(|| "?".to_owned(), |ty| self.csharp(&ty))
        };
        let spelled = (0..count).map(spelled).filter(|ty| ty != CLOSURE).collect::<Vec<_>>();
        Some(format!("{name}({})", spelled.join(", ")))
    }

    /// The same for a delegate.
    pub(crate) fn lightweight_target(&self, debuggee: &ClrDebuggee, delegate: &ClrValue) -> Option<String> {
        self.lightweight_method(debuggee, &bare(&self.field_named(delegate, "_methodBase")?)?)
    }

    /// The same for those that an exception passed, innermost first; `None` for one whose name is not known.
    pub(crate) fn lightweight_places(
        &self,
        debuggee: &ClrDebuggee,
        thrown: &ClrValue,
    ) -> Vec<Option<String>> {
        // .NET 9 stores them in the stack array.
        let kept = ["_dynamicMethods", "_stackTrace"].into_iter().find_map(|field| {
            let list = bare(&self.field_named(thrown, field)?)?.as_array()?;
            list.element(0).ok()?.as_reference().is_some().then_some(list)
        });
        let Some(kept) = kept else { return Vec::new() };
        let items =
            (0..kept.count().unwrap_or(0).min(MAX_METHODS)).filter_map(|at| bare(&kept.element(at).ok()?));
        items
            .filter(|item| self.core_name(item).is_some_and(|name| name == RESOLVER))
            .map(|item| self.lightweight_method(debuggee, &bare(&self.field_named(&item, "m_method")?)?))
            .collect()
    }

    /// The full name of an object's class, if it is in the core library.
    fn core_name(&self, object: &ClrValue) -> Option<String> {
        let ty = self.declared_ty(object);
        self.definition(&ty).filter(|(loaded, _)| loaded.is_core())?;
        Some(self.full_name(&ty))
    }
}
