//! Source names of methods: of state machines, lambdas, local functions and accessors.
//!
//! Not here: names of types ([`super::names`]).

use clr_metadata::metadata::Metadata;
use clr_metadata::metadata::signature_text::NameStyle;
use clr_metadata::pdb::Pdb;

use super::modules::LoadedModule;
use super::names::LIGHTWEIGHT;
use super::names::{is_generated, without_arity};

/// Display name of a lambda.
pub(super) const LAMBDA: &str = "<lambda>";
/// Deepest nesting of compiler-generated names.
const MAX_DEPTH: usize = 16;

/// The type and name of a method in the source.
pub(super) struct SourceMethod {
    /// TypeDef token of the innermost type in the source.
    pub(super) owner: u32,
    /// For example `Main`, `Main.Local`, `Main.<lambda>`, `Value.get`; `.ctor` for constructors.
    pub(super) name: String,
    /// Token of the method with the parameters in the source.
    pub(super) method: u32,
}

/// Finds the source names of a method.
pub(super) fn find_source_name(metadata: &Metadata, pdb: Option<&Pdb>, method: u32) -> SourceMethod {
    // The `finally` of an iterator is a method next to its `MoveNext`.
    let step = match metadata.method_name(method).starts_with("<>m__Finally") {
        true => {
            metadata.methods(metadata.owner_of(method)).find(|at| metadata.method_name(*at) == "MoveNext")
        }
        false => None,
    };
    let step = step.unwrap_or(method);
    let method = pdb.map_or_else(|| metadata.kickoff(step), |pdb| pdb.kickoff(step)).unwrap_or(method);
    let mut owner = metadata.owner_of(method);
    for _ in 0..MAX_DEPTH {
        match metadata.enclosing_type(owner).filter(|_| is_generated(metadata.simple_name(owner))) {
            Some(outer) => owner = outer,
            None => break,
        }
    }
    SourceMethod { owner, name: source_name(metadata.method_name(method), MAX_DEPTH), method }
}

/// The name of a method without its type and enclosing method: `Total`, `Count.get`, `Local`. `name` is its
/// name in the metadata.
pub(super) fn short_name(name: &str) -> String {
    let written = source_name(name, MAX_DEPTH);
    match written.rsplit_once('.') {
        Some((property, accessor @ ("get" | "set"))) => {
            format!("{}.{accessor}", property.rsplit('.').next().unwrap_or(property))
        }
        Some((_, last)) => last.to_owned(),
        None => written,
    }
}

/// `<Main>b__0_1` is a lambda of `Main`, `<Main>g__Local|0_0` its local function `Local`.
fn source_name(name: &str, deeper: usize) -> String {
    if let Some((accessor, property)) = name.split_once('_')
        && matches!(accessor, "get" | "set" | "add" | "remove")
        && !property.is_empty()
    {
        return format!("{property}.{accessor}");
    }
    // Visual Basic's names do not contain the enclosing method.
    if name.starts_with("_Lambda$__") {
        return LAMBDA.into();
    }
    let Some((outer, rest)) = name.strip_prefix('<').and_then(split_brackets).filter(|_| deeper > 0) else {
        return name.to_owned();
    };
    let outer = source_name(outer, deeper - 1);
    match (rest.chars().next(), rest.get(1..).and_then(|rest| rest.strip_prefix("__"))) {
        (Some('b'), _) => format!("{outer}.{LAMBDA}"),
        (Some('g'), Some(local)) => format!("{outer}.{}", local.split('|').next().unwrap_or_default()),
        // The method that the compiler generates for top-level statements.
        _ if rest == "$" => outer,
        _ => name.to_owned(),
    }
}

/// The text between the open brackets, and the text after them.
fn split_brackets(text: &str) -> Option<(&str, &str)> {
    let mut open = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => open += 1,
            '>' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
    }
    None
}

/// `Namespace.Outer.Inner.Method` without generic parameters, for comparison with function breakpoints.
pub(super) fn qualified(metadata: &Metadata, pdb: Option<&Pdb>, method: u32) -> String {
    let written = find_source_name(metadata, pdb, method);
    let owner = without_arity(&metadata.type_name(written.owner));
    format!("{owner}.{}", constructor(metadata, &written))
}

/// Whether a parameter's type is a closure, which the compiler passes to local functions.
pub(super) fn is_closure(kind: &str) -> bool {
    kind.contains("<>c__DisplayClass")
}

/// A constructor is shown with the name of its type.
fn constructor(metadata: &Metadata, written: &SourceMethod) -> String {
    match written.name.as_str() {
        ".ctor" | ".cctor" => without_arity(metadata.simple_name(written.owner)),
        name => name.to_owned(),
    }
}

impl LoadedModule {
    /// `Type.Method<T>(int count)`, as C# declares it.
    pub(super) fn method_display(&self, method: u32) -> String {
        self.method_display_with(method, &[])
    }

    /// The same with the generic arguments of a frame: its class's, then its own.
    pub(super) fn method_display_with(&self, method: u32, actual: &[String]) -> String {
        // Generated at run time: it belongs to the module, but is not in its metadata.
        if method & 0x00ff_ffff == 0 {
            return LIGHTWEIGHT.to_owned();
        }
        let Some(image) = self.image() else { return format!("[method 0x{method:08x}]") };
        let metadata = &image.metadata;
        let written = find_source_name(metadata, self.pdb.as_ref().ok(), method);
        // Closures copy the generic parameters of the enclosing code, with their own numbers; a state machine
        // has those of its method's class and then its method's, like the method itself.
        let is_plain = [method, written.method].iter().any(|at| metadata.owner_of(*at) == written.owner);
        let actual = if is_plain { actual } else { &[] };
        let spelled = metadata.format_method(written.method, NameStyle::Short, actual);
        let owner = metadata.format_type(written.owner, NameStyle::Full, actual);
        let parameters: Vec<String> = spelled
            .parameters
            .iter()
            .zip(metadata.parameters(written.method))
            .filter(|(kind, _)| !is_closure(kind))
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        let mut name = constructor(metadata, &written);
        if written.name == ".cctor" {
            name = format!("static {name}");
        }
        if !spelled.generics.is_empty() {
            name = format!("{name}<{}>", spelled.generics.join(", "));
        }
        format!("{owner}.{name}({})", parameters.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiler_generated_names_become_source_names() {
        for (name, written) in [
            ("Main", "Main"),
            ("<Main>b__0_1", "Main.<lambda>"),
            ("<Main>g__Local|0_0", "Main.Local"),
            ("<<Main>g__Local|0_0>b__2", "Main.Local.<lambda>"),
            ("get_Value", "Value.get"),
            ("<get_Value>b__3", "Value.get.<lambda>"),
            ("<Main>$", "Main"),
            ("get_", "get_"),
            ("<", "<"),
            ("<Main", "<Main"),
            (".ctor", ".ctor"),
            ("System.Collections.IEnumerator.get_Current", "System.Collections.IEnumerator.get_Current"),
        ] {
            assert_eq!(source_name(name, MAX_DEPTH), written, "{name}");
        }
    }
}
