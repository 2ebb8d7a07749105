//! Custom attributes of types, members and assemblies, and the kinds of special methods: accessors,
//! operators.
//!
//! Not here: the blobs of their arguments ([`crate::attribute_argument`]).

use std::collections::HashMap;

use super::{Metadata, method_token, row};
use crate::attribute_argument::{AttributeArgument, parse_attribute};
use crate::bytes::u32_at;
use crate::tables::table;

/// The token of the assembly that a module declares.
const ASSEMBLY: u32 = 0x2000_0001;
/// The attribute that names another assembly which may use internals.
const FRIEND: &str = "System.Runtime.CompilerServices.InternalsVisibleToAttribute";
/// MethodAttributes: the name has a meaning for the runtime or the compiler.
const SPECIAL_NAME: u32 = 0x800;
/// Prefix of the types in which C# declares the members of an extension block.
const EXTENSION_GROUP: &str = "<G>$";

impl Metadata {
    /// Attributes of a field, method, type, parameter, property or assembly: the full name of each attribute
    /// type, and its raw value.
    pub fn attributes(&self, token: u32) -> impl Iterator<Item = (String, &[u8])> {
        // HasCustomAttribute, II.24.2.6.
        let tag = match token >> 24 {
            0x06 => 0,
            0x04 => 1,
            0x02 => 3,
            0x08 => 4,
            0x17 => 9,
            _ => 14,
        };
        let parent = row(token) << 5 | tag;
        let from = self.first_row(table::CUSTOM_ATTRIBUTE, 0, parent);
        (from..=self.tables.rows(table::CUSTOM_ATTRIBUTE))
            .take_while(move |at| self.tables.cell(table::CUSTOM_ATTRIBUTE, *at, 0) == parent)
            .filter_map(|at| {
                let coded = self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 1);
                let blob = self.tables.blob(self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 2));
                Some((self.attribute_type(coded)?, blob))
            })
    }

    /// CustomAttributeType: tag 2 is a MethodDef, 3 a MemberRef.
    fn attribute_type(&self, coded: u32) -> Option<String> {
        if coded & 7 == 2 {
            return Some(self.type_name(self.owner_of(coded >> 3)));
        }
        let class = self.tables.cell(table::MEMBER_REF, coded >> 3, 0);
        // MemberRefParent: tag 0 is a TypeDef, 1 a TypeRef.
        match class & 7 {
            0 => Some(self.type_name(class >> 3)),
            1 => Some(self.type_ref(class >> 3).0),
            _ => None,
        }
    }

    /// The first argument and the named arguments of an attribute whose first argument is a string or a type.
    pub fn attribute_text(
        &self,
        token: u32,
        name: &str,
    ) -> Option<(AttributeArgument, Vec<(String, AttributeArgument)>)> {
        let blob = self.attributes(token).find(|(found, _)| found == name)?.1;
        parse_attribute(blob, 0x0e)
    }

    /// The integer argument of an attribute such as `DebuggerBrowsable`.
    pub fn attribute_number(&self, token: u32, name: &str) -> Option<i64> {
        let blob = self.attributes(token).find(|(found, _)| found == name)?.1;
        match parse_attribute(blob, 0x08)?.0 {
            AttributeArgument::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Whether a method, type or assembly has an attribute.
    pub fn has_attribute(&self, token: u32, name: &str) -> bool {
        self.attributes(token).any(|(found, _)| found == name)
    }

    /// Names of the assemblies to which this one makes its internals visible (`InternalsVisibleTo`), without
    /// their keys.
    pub fn friend_assemblies(&self) -> Vec<String> {
        let friends = self.attributes(ASSEMBLY).filter(|(name, _)| name == FRIEND);
        let names = friends.filter_map(|(_, blob)| match parse_attribute(blob, 0x0e)?.0 {
            AttributeArgument::Text(name) => name,
            _ => None,
        });
        names.filter_map(|name| Some(name.split(',').next()?.trim().to_owned())).collect()
    }

    /// The names of a tuple's elements, from its attribute on a field, parameter, or method result.
    pub fn tuple_names(&self, token: u32) -> Vec<Option<String>> {
        let blob = self
            .attributes(token)
            .find(|(found, _)| found == "System.Runtime.CompilerServices.TupleElementNamesAttribute");
        match blob.and_then(|(_, blob)| parse_attribute(blob, 0x1d)) {
            Some((AttributeArgument::Texts(names), _)) => names,
            _ => Vec::new(),
        }
    }

    /// The names of a tuple's elements, of a method's parameter (`Some(position)`) or result (`None`).
    pub fn tuple_names_of_parameter(&self, method: u32, position: Option<u32>) -> Vec<Option<String>> {
        let sequence = position.map_or(0, |position| position + 1);
        let mut rows = self.tables.list(table::METHOD, row(method), 5, table::PARAM);
        rows.find(|at| self.tables.cell(table::PARAM, *at, 1) == sequence)
            .map(|at| self.tuple_names(0x0800_0000 | at))
            .unwrap_or_default()
    }

    /// Extension methods by name: static methods with `ExtensionAttribute`, in static
    /// classes with that attribute.
    pub fn extensions(&self) -> &HashMap<String, Vec<u32>> {
        self.extensions.get_or_init(|| {
            const NAME: &str = "System.Runtime.CompilerServices.ExtensionAttribute";
            let mut found = HashMap::<String, Vec<u32>>::new();
            // One constructor serves all uses of the attribute.
            let mut constructors = HashMap::<u32, bool>::new();
            for at in 1..=self.tables.rows(table::CUSTOM_ATTRIBUTE) {
                let parent = self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 0);
                // HasCustomAttribute: tag 0 is a method.
                let coded = self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 1);
                let mut is_it = || {
                    *constructors
                        .entry(coded)
                        .or_insert_with(|| self.attribute_type(coded).as_deref() == Some(NAME))
                };
                if parent & 31 == 0 && is_it() {
                    let method = method_token(parent >> 5);
                    found.entry(self.method_name(method).to_owned()).or_default().push(method);
                }
            }
            found
        })
    }

    /// The getters of extension properties of C# by the names of the properties. The properties are declared
    /// in types inside the static class, whose methods have their code.
    pub fn extension_getters(&self) -> &HashMap<String, Vec<u32>> {
        self.extension_getters.get_or_init(|| {
            let mut found = HashMap::<String, Vec<u32>>::new();
            let blocks = self.type_tokens().filter(|token| self.simple_name(*token).starts_with("<G>$"));
            for (class, block) in blocks.filter_map(|block| Some((self.enclosing_type(block)?, block))) {
                for property in self.property_infos(block) {
                    let Some(getter) = property.getter.filter(|getter| !self.is_static(*getter)) else {
                        continue;
                    };
                    let name = self.method_name(getter);
                    let known = found.entry(property.name).or_default();
                    for method in self.methods(class).filter(|method| self.method_name(*method) == name) {
                        if !known.contains(&method) {
                            known.push(method);
                        }
                    }
                }
            }
            found
        })
    }

    /// Methods that have one of `attributes` (simple names), or whose type has one. Steps skip them.
    pub fn methods_with_attribute(&self, attributes: &[&str]) -> Vec<u32> {
        let mut found = Vec::new();
        for at in 1..=self.tables.rows(table::CUSTOM_ATTRIBUTE) {
            let parent = self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 0);
            // HasCustomAttribute (II.24.2.6): tag 0 is a method, 3 a type, 9 a property.
            if !matches!(parent & 31, 0 | 3) || !attributes.contains(&self.attribute_name(at)) {
                continue;
            }
            match parent & 31 {
                0 => found.push(method_token(parent >> 5)),
                _ => found.extend(self.methods(0x0200_0000 | parent >> 5)),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The method in the source to whose state machine this `MoveNext` belongs, by its `AsyncStateMachine`,
    /// `IteratorStateMachine` or `AsyncIteratorStateMachine` attribute; `None` without such an attribute. For
    /// assemblies without symbols; symbols contain this directly.
    pub fn kickoff(&self, move_next: u32) -> Option<u32> {
        (self.method_name(move_next) == "MoveNext").then_some(())?;
        let machine = self.owner_of(move_next);
        let name = self.simple_name(machine);
        // Only classes from the compiler have such names: `<Method>d__5`.
        let (method, _) = name.strip_prefix('<')?.rsplit_once(">d")?;
        let fits = |at: &u32| self.method_name(*at) == method;
        let named: Vec<u32> = self.methods(self.enclosing_type(machine)?).filter(fits).collect();
        match named.as_slice() {
            [only] => Some(*only),
            // Overloads.
            several => several.iter().copied().find(|at| self.has_state_machine(*at, name)),
        }
    }

    /// Whether an attribute of a method names this class as its state machine.
    fn has_state_machine(&self, method: u32, machine: &str) -> bool {
        self.attributes(method).any(|(attribute, value)| {
            attribute.ends_with("StateMachineAttribute")
                && type_argument(value).and_then(|name| name.rsplit('+').next()) == Some(machine)
        })
    }

    /// The simple name of an attribute's type.
    fn attribute_name(&self, at: u32) -> &str {
        let coded = self.tables.cell(table::CUSTOM_ATTRIBUTE, at, 1);
        // CustomAttributeType: tag 2 is a method of this module, 3 a MemberRef.
        match coded & 7 {
            2 => self.simple_name(self.owner_of(method_token(coded >> 3))),
            3 => {
                let class = self.tables.cell(table::MEMBER_REF, coded >> 3, 0);
                match class & 7 {
                    0 => self.simple_name(0x0200_0000 | class >> 3),
                    1 => self.tables.text(self.tables.cell(table::TYPE_REF, class >> 3, 1)),
                    _ => "",
                }
            }
            _ => "",
        }
    }

    /// Whether a method is an accessor of a property or an operator. A step into calls skips it.
    pub fn is_accessor_or_operator(&self, method: u32) -> bool {
        let special = self.tables.cell(table::METHOD, row(method), 2) & SPECIAL_NAME != 0;
        // The name of an explicit implementation contains the interface.
        let own = self.method_name(method).rsplit('.').next().unwrap_or_default();
        let is_named = ["get_", "set_", "op_"].iter().any(|prefix| own.starts_with(prefix));
        is_named && (special || self.is_extension_accessor(method))
    }

    /// Whether a static method is an accessor or operator of an extension block. The method has no
    /// SpecialName flag, but the declaration of the same name in a group of the block has.
    fn is_extension_accessor(&self, method: u32) -> bool {
        let (owner, name) = (self.owner_of(method), self.method_name(method));
        let groups =
            self.nested_types(owner).filter(|group| self.simple_name(*group).starts_with(EXTENSION_GROUP));
        groups.into_iter().flat_map(|group| self.methods(group)).any(|declared| {
            self.method_name(declared) == name
                && self.tables.cell(table::METHOD, row(declared), 2) & SPECIAL_NAME != 0
        })
    }

    /// A flag for each part of the type of a field or parameter whether it is `dynamic`, outer parts
    /// first; empty if no part is.
    pub fn dynamic_parts(&self, token: u32) -> Vec<bool> {
        const NAME: &str = "System.Runtime.CompilerServices.DynamicAttribute";
        // II.23.3: a prolog; without an argument the whole type is `dynamic`; otherwise a count and a byte
        // for each part.
        match self.attributes(token).find(|(found, _)| found == NAME) {
            None => Vec::new(),
            Some((_, blob)) => match blob.get(6..).filter(|_| blob.len() > 6) {
                Some(flags) => {
                    flags.iter().take(u32_at(blob, 2).unwrap_or(0) as usize).map(|flag| *flag != 0).collect()
                }
                None => vec![true],
            },
        }
    }

    /// The same for a method's parameter, by its position from 0.
    pub fn dynamic_parts_of_parameter(&self, method: u32, position: u32) -> Vec<bool> {
        let mut rows = self.tables.list(table::METHOD, row(method), 5, table::PARAM);
        rows.find(|at| self.tables.cell(table::PARAM, *at, 1) == position + 1)
            .map(|at| self.dynamic_parts(0x0800_0000 | at))
            .unwrap_or_default()
    }

    /// The metadata as it was read.
    pub fn bytes(&self) -> &[u8] {
        self.tables.bytes()
    }

    /// The assembly's version, `1.2.3.4`.
    pub fn assembly_version(&self) -> Option<String> {
        (self.tables.rows(table::ASSEMBLY) > 0).then_some(())?;
        // II.22.2: the versions are the 16-bit columns after the hash algorithm.
        let part = |column| self.tables.cell(table::ASSEMBLY, 1, column).to_string();
        Some([part(1), part(2), part(3), part(4)].join("."))
    }
}

/// The type that is an attribute's first argument, without its assembly. The blob has a prolog of two bytes,
/// then the string with its length before it (II.23.3, II.23.2).
fn type_argument(value: &[u8]) -> Option<&str> {
    let (length, text) = match value.strip_prefix(&[1, 0])? {
        [high, low, text @ ..] if high & 0xc0 == 0x80 => {
            (usize::from(high & 0x3f) << 8 | usize::from(*low), text)
        }
        [length, text @ ..] if length & 0x80 == 0 => (usize::from(*length), text),
        _ => return None,
    };
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    Some(text.split(',').next().unwrap_or(text))
}
