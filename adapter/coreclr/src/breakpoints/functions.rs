//! Function breakpoints: methods by a (partly) qualified name, and by the types of their parameters. Binds
//! nothing ([`super::binding`]); [`super::operators`] parses names of operators.

use clr_metadata::metadata::Metadata;
use clr_metadata::metadata::signature_text::NameStyle;
use clr_metadata::pdb::Pdb;

use super::operators::{self, OperatorName};
use crate::methods;
use crate::modules::LoadedModule;
use crate::names::without_arity;

/// Types that C# has keywords for.
const KEYWORDS: [(&str, &str); 17] = [
    ("Boolean", "bool"),
    ("Char", "char"),
    ("SByte", "sbyte"),
    ("Byte", "byte"),
    ("Int16", "short"),
    ("UInt16", "ushort"),
    ("Int32", "int"),
    ("UInt32", "uint"),
    ("Int64", "long"),
    ("UInt64", "ulong"),
    ("Single", "float"),
    ("Double", "double"),
    ("Decimal", "decimal"),
    ("String", "string"),
    ("Object", "object"),
    ("IntPtr", "nint"),
    ("UIntPtr", "nuint"),
];

/// `library.dll!Namespace.Type.Method(int, string)`, with optional parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FunctionName {
    module: Option<String>,
    /// The end of the method's qualified name; several where it may mean several methods.
    paths: Vec<String>,
    /// The type that a conversion operator converts to.
    returns: Option<String>,
    parameters: Option<Vec<String>>,
}

impl FunctionName {
    /// Parses the name of a function breakpoint.
    ///
    /// # Errors
    /// A sentence, if it is not the name of a method.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` names no method; write for example `Type.Method` or `Type.Method(int, string)`")
        };
        let (module, rest) = match text.split_once('!') {
            Some((module, rest)) => (Some(module.trim().to_owned()), rest),
            None => (None, text),
        };
        let (path, parameters) = match rest.split_once('(') {
            Some((path, rest)) => {
                let list = rest.trim_end().strip_suffix(')').ok_or_else(wrong)?;
                (path, Some(split_types(list)))
            }
            None => (rest, None),
        };
        let (owner, operator) = match operators::split(path) {
            Some(read) => read.map(|(owner, operator)| (owner, Some(operator))).map_err(|()| wrong())?,
            None => (path, None),
        };
        let owner = without_generics(owner).replace("::", ".");
        let (paths, returns) = match operator {
            Some(OperatorName { methods, to }) => {
                let behind = |method| if owner.is_empty() { method } else { format!("{owner}.{method}") };
                (methods.into_iter().map(behind).collect(), to.map(|to| split_types(&to).concat()))
            }
            None if owner.is_empty() => return Err(wrong()),
            None => (vec![owner], None),
        };
        let is_sound = |path: &String| !path.contains(char::is_whitespace) && !path.ends_with('.');
        let sound = paths.iter().all(is_sound);
        sound.then_some(Self { module, paths, returns, parameters }).ok_or_else(wrong)
    }

    /// Whether it may be in the framework, whose many methods are only searched when its name requires that.
    pub(super) fn is_frameworks(&self) -> bool {
        let is = |path: &String| ["System.", "Microsoft."].iter().any(|prefix| path.starts_with(prefix));
        self.paths.iter().any(is)
    }

    /// The methods of a module that it matches; and the signatures of those with the right name
    /// but other parameters.
    pub(super) fn methods(&self, loaded: &LoadedModule) -> (Vec<u32>, Vec<String>) {
        let (mut found, mut others) = (Vec::new(), Vec::new());
        let Some(image) = loaded.image().filter(|_| self.fits_module(loaded)) else { return (found, others) };
        let (metadata, pdb) = (&image.metadata, loaded.pdb.as_ref().ok());
        // The last part must occur in the raw name, however the compiler has changed it.
        let own: Vec<&str> = self.paths.iter().map(|path| last_part(path)).collect();
        for method in metadata.all_methods() {
            let raw = metadata.method_name(method);
            let may_be = own.iter().any(|own| {
                let accessor = matches!(*own, "get" | "set" | "add" | "remove" | "this" | "this[]");
                let lambda = *own == methods::LAMBDA && raw.contains(">b__");
                accessor || lambda || raw.contains(own)
            });
            if !may_be && !raw.ends_with("ctor") {
                continue;
            }
            let names = requested_names(metadata, pdb, method);
            let fits = |path: &String| names.iter().any(|name| ends_with_path(name, path));
            if !self.paths.iter().any(fits) {
                continue;
            }
            // The `MoveNext` of a state machine accompanies the method in the source, which is found itself.
            if pdb.is_some_and(|pdb| pdb.kickoff(method).is_some()) {
                continue;
            }
            let parameters = |names| {
                let all = metadata.format_method(method, names, &[]).parameters.into_iter();
                all.filter(|kind| !methods::is_closure(kind)).collect::<Vec<String>>()
            };
            let (short, full) = (parameters(NameStyle::Short), parameters(NameStyle::Full));
            let returns = || metadata.format_method(method, NameStyle::Full, &[]).returns.replace(' ', "");
            if self.returns.as_ref().is_some_and(|given| !ends_with_path(&returns(), given)) {
                continue;
            }
            let fits = self.parameters.as_ref().is_none_or(|given| {
                given.len() == full.len()
                    && given.iter().zip(short.iter().zip(&full)).all(|(given, (short, full))| {
                        let squeezed = |text: &str| text.replace(' ', "");
                        let (short, full) = (squeezed(short), squeezed(full));
                        *given == short || ends_with_path(&full, given)
                    })
            });
            if fits {
                found.push(pdb.and_then(|pdb| pdb.move_next(method)).unwrap_or(method));
            } else {
                let name = methods::qualified(metadata, pdb, method);
                others.push(format!("{name}({})", short.join(", ")));
            }
        }
        (found, others)
    }

    fn fits_module(&self, loaded: &LoadedModule) -> bool {
        let name = loaded.name();
        let stem = name.strip_suffix(".dll").or_else(|| name.strip_suffix(".exe")).unwrap_or(&name);
        self.module.as_deref().is_none_or(|module| module == name || module == stem)
    }
}

/// The names by which a method may be requested: as written in the source, as in the metadata, an accessor as
/// its property or event, an indexer's accessor as `this[]`.
fn requested_names(metadata: &Metadata, pdb: Option<&Pdb>, method: u32) -> Vec<String> {
    let written = methods::find_source_name(metadata, pdb, method);
    let owner = without_arity(&metadata.type_name(written.owner));
    let qualified = methods::qualified(metadata, pdb, method);
    let accessors = [".get", ".set", ".add", ".remove"];
    let member = accessors.iter().find_map(|accessor| qualified.strip_suffix(accessor)).map(str::to_owned);
    // The metadata name of a constructor begins with a dot, and that of an explicit implementation contains
    // dots.
    let raw = metadata.method_name(written.method);
    let mut names = vec![format!("{owner}.{raw}")];
    if matches!(raw, "get_Item" | "set_Item") {
        names.extend(["this", "this[]"].map(|indexer| format!("{owner}.{indexer}")));
    }
    names.extend(member);
    names.push(qualified);
    names
}

/// The part after the last dot.
fn last_part(path: &str) -> &str {
    path.rsplit('.').find(|part| !part.is_empty()).unwrap_or_default()
}

/// Whether `name` is `path`, or ends with a dot and `path`.
fn ends_with_path(name: &str, path: &str) -> bool {
    name.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// The name without generic arguments, which do not distinguish methods here.
fn without_generics(path: &str) -> String {
    let (mut plain, mut open, letters) = (String::new(), 0usize, path.trim());
    // `<lambda>` is a name that Tandem invented, not a generic argument list.
    for (at, letter) in letters.char_indices() {
        let is_lambda = letters.get(at..).is_some_and(|rest| rest.starts_with("<lambda>"));
        match letter {
            '<' if !is_lambda || open > 0 => open += 1,
            '>' if open > 0 => open -= 1,
            _ if open == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

/// Types between commas that are not inside generic arguments; `out` and `in` are `ref` to the runtime.
fn split_types(list: &str) -> Vec<String> {
    let (mut types, mut open, mut current) = (Vec::new(), 0usize, String::new());
    for letter in list.chars() {
        match letter {
            '<' | '(' | '[' => open += 1,
            '>' | ')' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        if letter == ',' && open == 0 {
            types.push(std::mem::take(&mut current));
        } else {
            current.push(letter);
        }
    }
    if !(types.is_empty() && current.trim().is_empty()) {
        types.push(current);
    }
    let plain = |text: &String| {
        let text = text.trim();
        let by_reference = ["ref ", "out ", "in "].iter().find_map(|word| text.strip_prefix(word));
        let (before, kind) = by_reference.map_or(("", text), |rest| ("ref", rest.trim()));
        let name = kind.strip_prefix("System.").unwrap_or_default();
        let keyword = KEYWORDS.iter().find(|(known, _)| *known == name).map(|(_, keyword)| *keyword);
        format!("{before}{}", keyword.unwrap_or(kind).replace(' ', ""))
    };
    types.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_in_the_forms_that_users_type() {
        let name = |text| FunctionName::parse(text).unwrap();
        assert_eq!(
            name("app.dll!N.Type<T>.Method<U>( System.Int32, Dictionary<int, string>, out string )"),
            FunctionName {
                module: Some("app.dll".into()),
                paths: vec!["N.Type.Method".into()],
                returns: None,
                parameters: Some(vec!["int".into(), "Dictionary<int,string>".into(), "refstring".into()])
            }
        );
        assert_eq!(name("Main()").parameters, Some(vec![]));
        assert_eq!(name("Main").parameters, None);
        assert_eq!(name("Main.<lambda>").paths, ["Main.<lambda>"]);
        let minus = name("Money.operator -(Money)");
        assert_eq!(minus.paths, ["Money.op_Subtraction", "Money.op_UnaryNegation"]);
        assert_eq!(minus.parameters, Some(vec!["Money".into()]));
        let to = name("Money.explicit operator System.Int32");
        assert_eq!((to.paths, to.returns), (vec!["Money.op_Explicit".into()], Some("int".into())));
        for bad in ["", "  ", "Main(", "Main(int", "two words", "Type.", "Type.operator ?"] {
            assert!(FunctionName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_path_ends_a_name_only_at_a_dot() {
        assert!(ends_with_path("A.B.C", "B.C") && ends_with_path("A", "A"));
        assert!(!ends_with_path("A.BB.C", "B.C"));
    }
}
