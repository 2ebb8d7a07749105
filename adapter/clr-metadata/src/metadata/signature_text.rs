//! Method signatures in C# syntax (ECMA-335 II.23.2), for names of frames and for breakpoints by signature.
//!
//! Not here: a signature as a tree ([`crate::signature`]).

use super::{Metadata, row};
use crate::bytes::ByteReader;
use crate::tables::table;

/// Maximum depth of a type in a signature. A deeper one is malformed.
const MAX_DEPTH: usize = 16;
/// Maximum number of parameters of a method, and of arguments of a type. A corrupt count must
/// not become a long list.
const MAX_ARGUMENTS: u32 = 1024;

/// Hexadecimal digits of the checksum in the name of a type of one file.
const CHECKSUM_LEN: usize = 64;

/// The C# declaration of a method, without its name and its type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignatureText {
    /// The names of the generic parameters.
    pub generics: Vec<String>,
    /// The types of the parameters, without `this`.
    pub parameters: Vec<String>,
    /// The name of the return type.
    pub returns: String,
}

/// Whether type names include their namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameStyle {
    /// Without namespaces: `List<int>`.
    Short,
    /// `System.Collections.Generic.List<int>`.
    Full,
}

impl Metadata {
    /// Formats a method's signature; `?` replaces a type that cannot be read. `actual` has the arguments for
    /// the generic parameters of the class, then for those of the method. Without an argument the
    /// parameter's name stays.
    pub fn format_method(&self, method: u32, names: NameStyle, actual: &[String]) -> SignatureText {
        let blob = self.tables.blob(self.tables.cell(table::METHOD, row(method), 4));
        let class = self.generic_parameters(self.owner_of(method));
        let own = self.generic_parameters(method);
        let arguments_or_names = |skip: usize, declared: Vec<String>| -> Vec<String> {
            declared
                .into_iter()
                .enumerate()
                .map(|(at, name)| actual.get(skip + at).cloned().unwrap_or(name))
                .collect()
        };
        let skip = class.len();
        let (class, generics) = (arguments_or_names(0, class), arguments_or_names(skip, own));
        let formatter = SignatureFormatter { metadata: self, names, class: &class, own: &generics };
        let mut reader = ByteReader::new(blob);
        let mut text =
            SignatureText { generics: generics.clone(), parameters: Vec::new(), returns: "?".into() };
        let mut read = || -> Option<()> {
            if reader.u8()? & 0x10 != 0 {
                reader.compressed()?;
            }
            let count = reader.compressed()?.min(MAX_ARGUMENTS);
            text.returns = formatter.format(&mut reader, MAX_DEPTH)?;
            for _ in 0..count {
                text.parameters.push(formatter.format(&mut reader, MAX_DEPTH)?);
            }
            Some(())
        };
        // A signature that ends early keeps what was read.
        let _damaged = read().is_none();
        text
    }

    /// Spells a type's C# name with the generic parameters of the type and its enclosing types, or with the
    /// arguments for them: `Outer<T>.Inner`.
    pub fn format_type(&self, token: u32, names: NameStyle, actual: &[String]) -> String {
        let full = self.type_name(token);
        let full = match names {
            NameStyle::Full => full,
            NameStyle::Short => self.without_namespace(token, full),
        };
        let declared = self.generic_parameters(token).into_iter().enumerate();
        let arguments: Vec<String> =
            declared.map(|(at, name)| actual.get(at).cloned().unwrap_or(name)).collect();
        with_arguments(&full, &arguments)
    }

    fn without_namespace(&self, token: u32, full: String) -> String {
        let mut outer = token;
        for _ in 0..32 {
            match self.enclosing_type(outer) {
                Some(enclosing) => outer = enclosing,
                None => break,
            }
        }
        let namespace = self.tables.text(self.tables.cell(table::TYPE_DEF, row(outer), 2));
        match full.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('.')) {
            Some(rest) if !namespace.is_empty() => rest.to_owned(),
            _ => full,
        }
    }

    /// The full name of the type, the name of the method, and the MethodDef token for the token of a call;
    /// the last is `None` for a method of another assembly.
    pub fn call_target(&self, token: u32) -> Option<(String, &str, Option<u32>)> {
        match token >> 24 {
            0x06 => Some((self.type_name(self.owner_of(token)), self.method_name(token), Some(token))),
            0x0a => {
                let cell = |column| self.tables.cell(table::MEMBER_REF, row(token), column);
                // MemberRefParent: 0 a type, 1 a reference to one, 4 an instantiation of one.
                let kind = match cell(0) & 7 {
                    0 => 0x0200_0000,
                    1 => 0x0100_0000,
                    4 => 0x1b00_0000,
                    _ => return None,
                };
                Some((self.referenced_type(kind | cell(0) >> 3), self.tables.text(cell(1)), None))
            }
            0x2b => {
                // MethodDefOrRef: tag 0 is a method, 1 a reference. So this recurses only once.
                let coded = self.tables.cell(table::METHOD_SPEC, row(token), 0);
                let kind = if coded & 1 == 0 { 0x0600_0000 } else { 0x0a00_0000 };
                self.call_target(kind | coded >> 1)
            }
            _ => None,
        }
    }

    /// The name of a TypeDef, TypeRef or TypeSpec token; for a TypeSpec, of the type that it instantiates.
    pub fn referenced_type(&self, token: u32) -> String {
        match token >> 24 {
            0x01 => self.type_reference(token & 0x00ff_ffff, MAX_DEPTH),
            0x02 => self.type_name(token),
            0x1b => {
                let blob = self.tables.blob(self.tables.cell(table::TYPE_SPEC, row(token), 0));
                let formatter =
                    SignatureFormatter { metadata: self, names: NameStyle::Full, class: &[], own: &[] };
                formatter.format(&mut ByteReader::new(blob), MAX_DEPTH).unwrap_or_else(|| "?".into())
            }
            _ => "?".into(),
        }
    }

    /// `Namespace.Outer.Inner` of a TypeRef; nested ones refer to their outer type (II.22.38).
    fn type_reference(&self, at: u32, deeper: usize) -> String {
        let cell = |column| self.tables.cell(table::TYPE_REF, at, column);
        let (scope, name, namespace) = (cell(0), self.tables.text(cell(1)), self.tables.text(cell(2)));
        if scope & 3 == 3 && deeper > 0 {
            return format!("{}.{name}", self.type_reference(scope >> 2, deeper - 1));
        }
        if namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
    }
}

struct SignatureFormatter<'a> {
    metadata: &'a Metadata,
    names: NameStyle,
    class: &'a [String],
    own: &'a [String],
}

impl SignatureFormatter<'_> {
    fn format(&self, reader: &mut ByteReader<'_>, deeper: usize) -> Option<String> {
        let deeper = deeper.checked_sub(1)?;
        let element = reader.u8()?;
        Some(match element {
            0x01 => "void".into(),
            0x02 => "bool".into(),
            0x03 => "char".into(),
            0x04 => "sbyte".into(),
            0x05 => "byte".into(),
            0x06 => "short".into(),
            0x07 => "ushort".into(),
            0x08 => "int".into(),
            0x09 => "uint".into(),
            0x0a => "long".into(),
            0x0b => "ulong".into(),
            0x0c => "float".into(),
            0x0d => "double".into(),
            0x0e => "string".into(),
            0x0f => format!("{}*", self.format(reader, deeper)?),
            0x10 => format!("ref {}", self.format(reader, deeper)?),
            0x11 | 0x12 => self.format_named(reader.compressed()?, &[]),
            0x13 | 0x1e => {
                let number = reader.compressed()? as usize;
                let names = if element == 0x13 { self.class } else { self.own };
                names.get(number).cloned().unwrap_or_else(|| format!("T{number}"))
            }
            0x14 => {
                let inner = self.format(reader, deeper)?;
                let rank = reader.compressed()?.clamp(1, 32) as usize;
                for _ in 0..2 {
                    for _ in 0..reader.compressed()?.min(MAX_ARGUMENTS) {
                        reader.compressed()?;
                    }
                }
                format!("{inner}[{}]", ",".repeat(rank - 1))
            }
            0x15 => {
                reader.u8()?;
                let token = reader.compressed()?;
                let mut arguments = Vec::new();
                for _ in 0..reader.compressed()?.min(MAX_ARGUMENTS) {
                    arguments.push(self.format(reader, deeper)?);
                }
                self.format_named(token, &arguments)
            }
            0x16 => "TypedReference".into(),
            0x18 => "nint".into(),
            0x19 => "nuint".into(),
            0x1b => "delegate*".into(),
            0x1c => "object".into(),
            0x1d => format!("{}[]", self.format(reader, deeper)?),
            // Modifiers, a sentinel, pinned: the type follows.
            0x1f | 0x20 => {
                reader.compressed()?;
                self.format(reader, deeper)?
            }
            0x41 | 0x45 => self.format(reader, deeper)?,
            _ => return None,
        })
    }

    /// A TypeDefOrRef (II.24.2.6) with its arguments.
    fn format_named(&self, coded: u32, arguments: &[String]) -> String {
        let kind = match coded & 3 {
            0 => 0x0200_0000,
            1 => 0x0100_0000,
            _ => 0x1b00_0000,
        };
        let token = kind | coded >> 2;
        let full = self.metadata.referenced_type(token);
        match (full.as_str(), arguments) {
            ("System.Nullable`1", [inner]) => return format!("{inner}?"),
            ("System.Decimal", _) => return "decimal".into(),
            (name, items) if name.starts_with("System.ValueTuple`") && items.len() > 1 => {
                return format!("({})", items.join(", "));
            }
            _ => {}
        }
        let name = match (self.names, token >> 24) {
            (NameStyle::Full, _) | (_, 0x1b) => full,
            (NameStyle::Short, 0x02) => self.metadata.without_namespace(token, full),
            // The name of a nested type includes its enclosing types; only the namespace of the outermost is
            // removed.
            (NameStyle::Short, _) => {
                let mut scope = coded >> 2;
                for _ in 0..MAX_DEPTH {
                    match self.metadata.tables.cell(table::TYPE_REF, scope, 0) {
                        outer if outer & 3 == 3 => scope = outer >> 2,
                        _ => break,
                    }
                }
                let tables = &self.metadata.tables;
                let namespace = tables.text(tables.cell(table::TYPE_REF, scope, 2));
                match full.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('.')) {
                    Some(rest) if !namespace.is_empty() => rest.to_owned(),
                    _ => full,
                }
            }
        };
        with_arguments(&name, arguments)
    }
}

/// The name in the source of a type of one file (`file class`), by its name in the metadata without
/// namespace: `<FILE>F`, a checksum, `__` and that name.
pub fn file_local(simple: &str) -> Option<&str> {
    let (_, rest) = simple.strip_prefix('<')?.split_once(">F")?;
    let (checksum, rest) = rest.split_at_checked(CHECKSUM_LEN)?;
    let name = rest.strip_prefix("__")?;
    checksum.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(name)
}

/// `Shop.Cart` for `Shop.<Program>F…__Cart`.
pub fn without_files(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').map(|part| file_local(part).unwrap_or(part)).collect();
    parts.join(".")
}

/// Replaces arities by generic arguments: `` Outer`1.Inner`1 `` and `T, U` become `Outer<T>.Inner<U>`.
pub fn with_arguments(name: &str, arguments: &[String]) -> String {
    let mut arguments = arguments.iter();
    let name = without_files(name);
    let mut text = String::with_capacity(name.len());
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '`' {
            text.push(letter);
            continue;
        }
        let mut count = 0usize;
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            count = (count * 10 + digit as usize - '0' as usize).min(MAX_ARGUMENTS as usize);
        }
        let own: Vec<&str> = arguments.by_ref().take(count).map(String::as_str).collect();
        if !own.is_empty() {
            text.push_str(&format!("<{}>", own.join(", ")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::with_arguments;

    #[test]
    fn generic_arguments_follow_the_type_that_takes_them() {
        let names = ["A".to_owned(), "B".to_owned(), "C".to_owned()];
        assert_eq!(with_arguments("N.Outer`1.Inner`2", &names), "N.Outer<A>.Inner<B, C>");
        assert_eq!(with_arguments("Plain", &names), "Plain");
        assert_eq!(with_arguments("Open`1", &[]), "Open");
        let of_file = format!("N.<Program>F{}__Cart`1", "F495".repeat(16));
        assert_eq!(with_arguments(&of_file, &names), "N.Cart<A>");
    }
}
