//! Variables hoisted into closures and state machines, shown like locals: maps fields to variables, and finds
//! those in scope. Not here: the other locals of a frame ([`super::locals`]).

use clr_metadata::dynamic_operations::passes_as_dynamic;
use clr_metadata::metadata::Metadata;
use clr_metadata::signature::Signature;
use cordebug::value::{Value as ClrValue, element};

use super::tuples::tuple_names;
use crate::bare_value::bare;
use crate::modules::LoadedModule;
use crate::names::{escape_keyword, is_closure, is_generated};
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::value_path::{Path, PathSegment};

/// Prefixes of locals and fields that hold an outer closure: in C#, in Visual Basic.
const CLOSURES: [&str; 3] = ["CS$<>8__locals", "$VB$Closure_", "$VB$NonLocal_"];
/// Deepest nesting of closures that is followed.
const MAX_DEPTH: usize = 16;

/// The variables of a state machine that are in scope.
pub(crate) enum VariablesInScope {
    Everything,
    /// The variables whose IL range, by their numbers, contains this offset.
    At(u32, Vec<(u32, u32)>),
}

impl VariablesInScope {
    /// The variables at an offset in a `MoveNext`; all if the offset or the ranges are unknown.
    pub(crate) fn in_machine(loaded: &LoadedModule, move_next: u32, il: Option<u32>) -> Self {
        let scopes = loaded.pdb.as_ref().ok().and_then(|pdb| pdb.hoisted_scopes(move_next));
        il.zip(scopes).map_or(Self::Everything, |(il, scopes)| Self::At(il, scopes))
    }

    /// Whether the variable with this number is in scope; variables without a number always are.
    fn has(&self, number: Option<usize>) -> bool {
        match (self, number) {
            (Self::At(il, scopes), Some(number)) => {
                scopes.get(number).is_none_or(|(start, end)| (*start..*end).contains(il))
            }
            _ => true,
        }
    }
}

/// Whether a local or field with this name holds a closure.
pub(crate) fn holds_closure(name: &str) -> bool {
    CLOSURES.iter().any(|begin| name.starts_with(begin))
}

/// Meaning of a compiler-generated field.
#[derive(Debug, PartialEq, Eq)]
enum HoistedKind<'a> {
    /// A variable, and its number in a state machine.
    Variable(&'a str, Option<usize>),
    This,
    /// The closure with variables of an outer block, and its number in a state machine.
    Closure(Option<usize>),
    /// Neither, for example the state of a state machine.
    Nothing,
}

impl<'a> HoistedKind<'a> {
    /// Parses a field's name: `<name>5__2` is the second variable of a state machine,
    /// `<>8__1` its first closure.
    fn in_field(raw: &'a str) -> Self {
        if holds_closure(raw) {
            return Self::Closure(None);
        }
        if let Some(name) = raw.strip_prefix('$') {
            return Self::in_field_of_basic(name);
        }
        let number = |rest: &str, kind: &str| {
            let number: usize = rest.strip_prefix(kind)?.parse().ok()?;
            number.checked_sub(1)
        };
        match raw.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            None => Self::Variable(raw, None),
            Some(("", "4__this")) => Self::This,
            Some(("", rest)) if rest.starts_with("8__") => Self::Closure(number(rest, "8__")),
            Some(("", _)) => Self::Nothing,
            Some((name, rest)) => Self::Variable(name, number(rest, "5__")),
        }
    }

    /// Parses a name of Visual Basic's compiler, after the `$`: `VB$ResumableLocal_name$1` is the second
    /// variable of a state machine.
    fn in_field_of_basic(name: &'a str) -> Self {
        if name == "VB$Me" {
            return Self::This;
        }
        if let Some(name) = name.strip_prefix("VB$Local_") {
            return Self::Variable(name, None);
        }
        let resumed = name.strip_prefix("VB$ResumableLocal_").and_then(|rest| rest.rsplit_once('$'));
        let Some((name, Ok(number))) = resumed.map(|(name, number)| (name, number.parse())) else {
            return Self::Nothing;
        };
        match holds_closure(name) {
            true => Self::Closure(Some(number)),
            false => Self::Variable(name, Some(number)),
        }
    }
}

impl StopContext<'_> {
    /// Variables in a closure or state machine; an inner one hides an outer one of the same name.
    pub(crate) fn hoisted(&self, path: &Path, in_scope: &VariablesInScope, found: &mut Vec<(String, Path)>) {
        self.hoisted_in(path, in_scope, MAX_DEPTH, found);
    }

    /// The variables in a closure, without those of the closures that contain it, and without `this`.
    pub(super) fn hoisted_here(&self, path: &Path) -> Vec<(String, Path)> {
        let mut found = Vec::new();
        self.hoisted_in(path, &VariablesInScope::Everything, 1, &mut found);
        found.retain(|(name, _)| name != "this");
        found
    }

    fn hoisted_in(
        &self,
        path: &Path,
        in_scope: &VariablesInScope,
        deeper: usize,
        found: &mut Vec<(String, Path)>,
    ) {
        let Some(deeper) = deeper.checked_sub(1) else { return };
        let Some(value) = self.fetch(path).ok().as_ref().and_then(bare) else { return };
        let (mut closures, mut own) = (Vec::new(), Vec::new());
        for field in self.types.members(&value) {
            let name = match HoistedKind::in_field(&field.name) {
                HoistedKind::Variable(name, number) if in_scope.has(number) => name,
                // `this` of a lambda is its closure.
                HoistedKind::This if self.types.is_closure_field(&value, field.step) => {
                    closures.push(path.step(field.step, "this".into()));
                    continue;
                }
                HoistedKind::This => "this",
                HoistedKind::Closure(number) if in_scope.has(number) => {
                    let closure = path.step(field.step, path.name.clone());
                    own.extend(number.map(|_| closure.clone()));
                    closures.push(closure);
                    continue;
                }
                _ => continue,
            };
            if !found.iter().any(|(known, _)| known == name) {
                let metadata = field.loaded.image().map(|image| &image.metadata);
                let names = metadata.map(|metadata| metadata.tuple_names(field.token));
                let parts = dynamic_parts(&field.loaded, field.token, field.class);
                let is_dynamic = parts.first() == Some(&true);
                let way = path.step(field.step, escape_keyword(name));
                let tuple = names.and_then(tuple_names);
                found.push((name.to_owned(), Path { tuple, is_dynamic, ..way }));
            }
        }
        // A state machine keeps parameters that were copied to its own closure.
        for (name, path) in own.iter().flat_map(|closure| self.hoisted_here(closure)) {
            declare(found, name, path);
        }
        for closure in closures {
            self.hoisted_in(&closure, &VariablesInScope::Everything, deeper, found);
        }
    }
}

/// Adds a variable of the code itself. It hides captured ones of the same name, parameters that were copied
/// to a closure, and in F# earlier variables. Discards do not hide each other.
pub(super) fn declare(found: &mut Vec<(String, Path)>, name: String, path: Path) {
    let is_named = !matches!(name.as_str(), "" | "_" | "this");
    match found.iter_mut().find(|(known, _)| is_named && *known == name) {
        Some((_, hidden)) => *hidden = path,
        None => found.push((name, path)),
    }
}

/// A flag for each part of the type of a hoisted variable whether it is `dynamic`; empty if no part is. The
/// compiler does not record it for the variables of a state machine. The method that starts the machine has
/// it for parameters. Another `object` is `dynamic` if the machine passes it to dynamic operations as such.
pub(crate) fn dynamic_parts(loaded: &LoadedModule, field: u32, class: u32) -> Vec<bool> {
    let Some(metadata) = loaded.image().map(|image| &image.metadata) else { return Vec::new() };
    let parts = metadata.dynamic_parts(field);
    if !parts.is_empty() || !is_generated(metadata.simple_name(class)) {
        return parts;
    }
    let Some(code) = metadata.methods(class).find(|method| metadata.method_name(*method) == "MoveNext")
    else {
        return parts;
    };
    if let Some(start) = metadata.kickoff(code)
        && let Some(at) =
            metadata.parameters(start).iter().position(|name| *name == metadata.field_name(field))
    {
        return metadata.dynamic_parts_of_parameter(start, at as u32);
    }
    let is_object = metadata.field_type(field) == Some(Signature::Primitive(element::OBJECT));
    if !is_object || !has_dynamic_operations(metadata, class) {
        return parts;
    }
    let body = loaded.module.function(code).and_then(|function| function.il_bytes());
    match body {
        Ok(body) if !passes_as_dynamic(metadata, &body, field) => parts,
        _ => vec![true],
    }
}

/// Whether the method of a state machine has dynamic operations: the compiler keeps their call sites in a
/// class that has the number of the method.
fn has_dynamic_operations(metadata: &Metadata, machine: u32) -> bool {
    let Some(number) = method_number(metadata.simple_name(machine)) else { return false };
    let mut owner = machine;
    while is_generated(metadata.simple_name(owner))
        && let Some(outer) = metadata.enclosing_type(owner)
    {
        owner = outer;
    }
    metadata.nested_types(owner).any(|nested| is_call_sites(metadata.simple_name(nested), number))
}

/// The number of the method in the name of its state machine: `<Run>d__5`; of a lambda or local function in
/// it, `<<Run>b__5_0>d`, `<<Run>g__Local|5_0>d`.
fn method_number(machine: &str) -> Option<&str> {
    let behind = ["|", ">b__", ">d__"].iter().find_map(|before| Some(machine.rsplit_once(before)?.1))?;
    let end = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
    behind.get(..end).filter(|number| !number.is_empty())
}

/// Whether a class has the call sites of the method with this number: `<>o__5`, or `<>o__5|1` of a local
/// function.
fn is_call_sites(class: &str, number: &str) -> bool {
    let rest = class.strip_prefix("<>o__").and_then(|rest| rest.strip_prefix(number));
    rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

impl ClrTypeSystem {
    fn is_closure_field(&self, value: &ClrValue, step: PathSegment) -> bool {
        let held = self.field_at(value, step).as_ref().and_then(bare);
        let class = held.and_then(|held| self.class_of(&held.exact_type().ok()?));
        class.is_some_and(|(loaded, class)| {
            loaded.image().is_some_and(|image| is_closure(image.metadata.simple_name(class)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_method_connects_its_state_machine_and_its_call_sites() {
        for (machine, number) in [
            ("<Run>d__5", Some("5")),
            ("<Run>d__12`1", Some("12")),
            ("<<Run>b__3_0>d", Some("3")),
            ("<<Run>g__Local|4_1>d", Some("4")),
            ("<>c__DisplayClass0_0", None),
            ("Order", None),
        ] {
            assert_eq!(method_number(machine), number, "{machine}");
        }
        assert!(
            is_call_sites("<>o__5", "5") && is_call_sites("<>o__5`1", "5") && is_call_sites("<>o__5|1", "5")
        );
        assert!(
            !is_call_sites("<>o__51", "5")
                && !is_call_sites("<>o__15", "5")
                && !is_call_sites("<Run>d__5", "5")
        );
    }

    #[test]
    fn field_names_determine_their_meaning() {
        for (raw, kept) in [
            ("plain", HoistedKind::Variable("plain", None)),
            ("<count>5__3", HoistedKind::Variable("count", Some(2))),
            ("<count>5__0", HoistedKind::Variable("count", None)),
            ("<>4__this", HoistedKind::This),
            ("<>8__1", HoistedKind::Closure(Some(0))),
            ("CS$<>8__locals2", HoistedKind::Closure(None)),
            ("<>1__state", HoistedKind::Nothing),
            ("<>u__1", HoistedKind::Nothing),
            ("<>9__4", HoistedKind::Nothing),
            ("$VB$Me", HoistedKind::This),
            ("$VB$Local_step_", HoistedKind::Variable("step_", None)),
            ("$VB$ResumableLocal_after$1", HoistedKind::Variable("after", Some(1))),
            ("$VB$NonLocal_$VB$Closure_2", HoistedKind::Closure(None)),
            ("$VB$ResumableLocal_$VB$Closure_$0", HoistedKind::Closure(Some(0))),
            ("$State", HoistedKind::Nothing),
            ("$P_n", HoistedKind::Nothing),
        ] {
            assert_eq!(HoistedKind::in_field(raw), kept, "{raw}");
        }
    }

    #[test]
    fn variable_is_in_scope_only_in_its_range() {
        let in_scope = VariablesInScope::At(10, vec![(0, 20), (10, 10), (5, 10), (10, 11)]);
        let held: Vec<bool> = (0..5).map(|number| in_scope.has(Some(number))).collect();
        // The last variable has no range from the compiler.
        assert_eq!(held, [true, false, false, true, true]);
        assert!(in_scope.has(None));
    }
}
