//! Types as C# spells them.
//!
//! Not here: names of methods ([`super::methods`]).

use clr_metadata::metadata::signature_text::{file_local, without_files};
use cordebug::value::element;

/// Name of a method that was generated at run time and has no metadata.
pub(crate) const LIGHTWEIGHT: &str = "[Lightweight Function]";

/// Keywords, which are names in C# only with a leading `@`.
const RESERVED: [&str; 77] = [
    "abstract",
    "as",
    "base",
    "bool",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "checked",
    "class",
    "const",
    "continue",
    "decimal",
    "default",
    "delegate",
    "do",
    "double",
    "else",
    "enum",
    "event",
    "explicit",
    "extern",
    "false",
    "finally",
    "fixed",
    "float",
    "for",
    "foreach",
    "goto",
    "if",
    "implicit",
    "in",
    "int",
    "interface",
    "internal",
    "is",
    "lock",
    "long",
    "namespace",
    "new",
    "null",
    "object",
    "operator",
    "out",
    "override",
    "params",
    "private",
    "protected",
    "public",
    "readonly",
    "ref",
    "return",
    "sbyte",
    "sealed",
    "short",
    "sizeof",
    "stackalloc",
    "static",
    "string",
    "struct",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "uint",
    "ulong",
    "unchecked",
    "unsafe",
    "ushort",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
];

/// The name of a variable or member in an expression: `@class`.
pub(super) fn escape_keyword(name: &str) -> String {
    // `this` is Tandem's name for the object itself.
    match RESERVED.contains(&name) && name != "this" {
        true => format!("@{name}"),
        false => name.to_owned(),
    }
}

/// Whether a type name without namespace is a compiler-generated closure, of C# or Visual Basic.
pub(super) fn is_closure(simple: &str) -> bool {
    simple.starts_with("<>c") || simple.starts_with("_Closure$__")
}

/// Whether a type name without namespace is a compiler-generated closure or state machine.
pub(super) fn is_generated(simple: &str) -> bool {
    simple.starts_with('<') && file_local(simple).is_none()
        || simple.starts_with("_Closure$__")
        || simple.starts_with("VB$StateMachine_")
}

/// Whether a compiler of C# or Visual Basic gives this name to an anonymous type.
pub(super) fn is_anonymous(name: &str) -> bool {
    ["<>f__AnonymousType", "VB$AnonymousType_"].iter().any(|beginning| name.starts_with(beginning))
}

/// `List` for ``System.Collections.Generic.List`1``: without the number of generic parameters, and without
/// the file of a type that only its file knows.
pub(super) fn without_arity(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let name = without_files(name);
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '`' {
            while letters.next_if(char::is_ascii_digit).is_some() {}
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// A generic type's full metadata name with its arguments in their places: `List<int>.Enumerator`.
pub(super) fn spell_generic(name: &str, arguments: &[String]) -> String {
    if arguments.is_empty() {
        return without_arity(name);
    }
    let mut rest = arguments.iter();
    let parts: Vec<String> = without_files(name)
        .split('.')
        .map(|part| match part.split_once('`') {
            Some((own, arity)) => {
                let own_arguments: Vec<String> =
                    rest.by_ref().take(arity.parse().unwrap_or(0)).cloned().collect();
                format!("{own}<{}>", own_arguments.join(", "))
            }
            None => part.to_owned(),
        })
        .collect();
    parts.join(".")
}

/// A type's text with other texts for its type parameters: `ICollection<int>` for `ICollection<T>`.
pub(super) fn replace_parameters(text: &str, arguments: &[(String, String)]) -> String {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut replaced, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(letter) = rest.chars().next() {
        let end = rest.find(|other| is_part(other) != is_part(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // A name after a dot belongs to a namespace or to another type.
        let is_free = !replaced.ends_with('.') && !after.starts_with('.');
        let argument = arguments.iter().find(|(name, _)| is_free && name == word);
        replaced.push_str(argument.map_or(word, |(_, argument)| argument));
        rest = after;
    }
    replaced
}

/// The keyword of a primitive.
pub(super) fn keyword(kind: u32) -> Option<&'static str> {
    Some(match kind {
        element::VOID => "void",
        element::BOOLEAN => "bool",
        element::CHAR => "char",
        element::I1 => "sbyte",
        element::U1 => "byte",
        element::I2 => "short",
        element::U2 => "ushort",
        element::I4 => "int",
        element::U4 => "uint",
        element::I8 => "long",
        element::U8 => "ulong",
        element::R4 => "float",
        element::R8 => "double",
        element::STRING => "string",
        element::OBJECT => "object",
        element::I => "nint",
        element::U => "nuint",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn types_of_one_file_have_their_name_in_the_source() {
        let cart = format!("<Program>F{}__Cart", "F495".repeat(16));
        let generic = format!("Shop.{cart}`1");
        assert!(!super::is_generated(&cart) && super::is_generated("<>c__DisplayClass0_0"));
        assert!(super::is_generated("<Run>d__4") && super::is_generated("<Fill>F__x"));
        assert_eq!(super::without_arity(&generic), "Shop.Cart");
        assert_eq!(super::spell_generic(&generic, &["int".into()]), "Shop.Cart<int>");
        assert_eq!(super::spell_generic(&cart, &[]), "Cart");
    }

    #[test]
    fn type_parameters_of_an_interface_are_replaced() {
        let arguments = [("T".to_owned(), "int".to_owned()), ("TKey".into(), "List<T>".into())];
        for (text, expected) in [
            ("System.Collections.Generic.ICollection<T>", "System.Collections.Generic.ICollection<int>"),
            ("IMap<TKey,Pair<T, T[]>>", "IMap<List<T>,Pair<int, int[]>>"),
            ("T.IThing<Ts, My.T>", "T.IThing<Ts, My.T>"),
        ] {
            assert_eq!(super::replace_parameters(text, &arguments), expected);
        }
    }

    #[test]
    fn arity_is_left_out_wherever_it_occurs() {
        assert_eq!(super::without_arity("A.Outer`1.Inner`12"), "A.Outer.Inner");
    }
}
