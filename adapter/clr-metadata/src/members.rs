//! Data of types and members for the evaluator: bases and interfaces, signatures, flags, default values and
//! constants.
//!
//! Not here: the parser of signatures ([`crate::signature`]), attributes ([`crate::metadata::attributes`]).

use crate::attribute_argument::AttributeArgument;
use crate::metadata::{Metadata, row};
use crate::signature::{
    MethodSignature, Signature, field_signature, local_signature, method_signature, type_signature,
};
use crate::tables::table;
use crate::tables::type_def_or_ref;

/// How many types may enclose each other.
const MAX_NESTING: usize = 32;
/// The attributes of a `params` array, and of another `params` collection.
const PARAMS: [&str; 2] =
    ["System.ParamArrayAttribute", "System.Runtime.CompilerServices.ParamCollectionAttribute"];

/// The accessibility of a member: MemberAccess of II.23.1.5 and II.23.1.10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Visible in this type only.
    Private,
    /// Visible in this assembly; with `protected internal` also in derived types.
    Internal,
    /// Visible in derived types.
    Protected,
    /// Visible to every assembly.
    Public,
}

impl Access {
    fn of(flags: u32) -> Self {
        match flags & 7 {
            6 => Self::Public,
            4 => Self::Protected,
            3 | 5 => Self::Internal,
            _ => Self::Private,
        }
    }
}

/// A property with its accessors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyInfo {
    /// The Property token of the property.
    pub token: u32,
    /// The name of the property; an explicit implementation has the name of the interface as a prefix.
    pub name: String,
    /// MethodDef token of its getter; `None` if it has none.
    pub getter: Option<u32>,
    /// MethodDef token of its setter; `None` if it has none.
    pub setter: Option<u32>,
}

impl Metadata {
    /// Extends of a TypeDef: a TypeDef, TypeRef or TypeSpec token.
    pub fn base_token(&self, type_token: u32) -> Option<u32> {
        type_def_or_ref(self.tables.cell(table::TYPE_DEF, row(type_token), 3))
    }

    /// TypeAttributes of a TypeDef, II.23.1.15.
    pub fn type_flags(&self, type_token: u32) -> u32 {
        self.tables.cell(table::TYPE_DEF, row(type_token), 0)
    }

    /// Whether a TypeDef and the types that enclose it are public.
    pub fn is_public_type(&self, type_token: u32) -> bool {
        let mut token = Some(type_token);
        // Valid nesting is shallow; a cycle is malformed.
        for _ in 0..MAX_NESTING {
            let Some(at) = token else { return true };
            // Visibility: 1 is public, 2 nested in another type and public.
            if !matches!(self.type_flags(at) & 7, 1 | 2) {
                return false;
            }
            token = self.enclosing_type(at);
        }
        false
    }

    /// Whether a TypeDef is an interface.
    pub fn is_interface(&self, type_token: u32) -> bool {
        self.type_flags(type_token) & 0x20 != 0
    }

    /// Tokens of the interfaces that a TypeDef itself declares.
    pub fn interfaces(&self, type_token: u32) -> Vec<u32> {
        let cell = |at, column| self.tables.cell(table::INTERFACE_IMPL, at, column);
        let from = self.first_row(table::INTERFACE_IMPL, 0, row(type_token));
        (from..=self.tables.rows(table::INTERFACE_IMPL))
            .take_while(|at| cell(*at, 0) == row(type_token))
            .filter_map(|at| type_def_or_ref(cell(at, 1)))
            .collect()
    }

    /// The type to which a TypeSpec token refers.
    pub fn type_spec(&self, token: u32) -> Option<Signature> {
        type_signature(self.tables.blob(self.tables.cell(table::TYPE_SPEC, row(token), 0)))
    }

    /// Full name of a TypeRef, and the name of its assembly; `None` if the metadata does not name one.
    pub fn type_ref(&self, token: u32) -> (String, Option<&str>) {
        let text = |at, column| self.tables.text(self.tables.cell(table::TYPE_REF, at, column));
        let mut at = row(token);
        let mut name = text(at, 1).to_owned();
        for _ in 0..32 {
            let scope = self.tables.cell(table::TYPE_REF, at, 0);
            // ResolutionScope: Module, ModuleRef, AssemblyRef, TypeRef.
            match scope & 3 {
                3 => {
                    at = scope >> 2;
                    name = format!("{}.{name}", text(at, 1));
                }
                tag => {
                    let assembly = (tag == 2)
                        .then(|| self.tables.text(self.tables.cell(table::ASSEMBLY_REF, scope >> 2, 6)));
                    let space = text(at, 2);
                    let name = if space.is_empty() { name } else { format!("{space}.{name}") };
                    return (name, assembly);
                }
            }
        }
        (name, None)
    }

    /// The names of the assemblies that this one refers to.
    pub fn assembly_references(&self) -> Vec<&str> {
        let rows = 1..=self.tables.rows(table::ASSEMBLY_REF);
        rows.map(|at| self.tables.text(self.tables.cell(table::ASSEMBLY_REF, at, 6))).collect()
    }

    /// The AssemblyRef token of an assembly that this one refers to by this name.
    pub fn assembly_reference(&self, name: &str) -> Option<u32> {
        let at = self.assembly_references().iter().position(|own| *own == name)?;
        Some(0x2300_0001 + u32::try_from(at).ok()?)
    }

    /// The type of a field, from its FieldSig.
    pub fn field_type(&self, field: u32) -> Option<Signature> {
        field_signature(self.tables.blob(self.tables.cell(table::FIELD, row(field), 2)))
    }

    /// Accessibility of a field.
    pub fn field_access(&self, field: u32) -> Access {
        Access::of(self.tables.cell(table::FIELD, row(field), 0))
    }

    /// Whether a field is written only by constructors.
    pub fn is_read_only(&self, field: u32) -> bool {
        self.tables.cell(table::FIELD, row(field), 0) & 0x20 != 0
    }

    /// A field's name without its type.
    pub fn field_name(&self, field: u32) -> &str {
        self.tables.text(self.tables.cell(table::FIELD, row(field), 1))
    }

    /// A method's signature.
    pub fn method_signature(&self, method: u32) -> Option<MethodSignature> {
        method_signature(self.signature_bytes(method))
    }

    /// The bytes of a method's signature, as the metadata has them.
    pub fn signature_bytes(&self, method: u32) -> &[u8] {
        self.tables.blob(self.tables.cell(table::METHOD, row(method), 4))
    }

    /// Types of a method's locals by slot, from its StandAloneSig token.
    pub fn local_types(&self, token: u32) -> Vec<Signature> {
        local_signature(self.tables.blob(self.tables.cell(table::STAND_ALONE_SIG, row(token), 0)))
    }

    /// The accessibility of a method.
    pub fn method_access(&self, method: u32) -> Access {
        Access::of(self.tables.cell(table::METHOD, row(method), 2))
    }

    /// Whether a method overrides one of a base type.
    pub fn is_override(&self, method: u32) -> bool {
        // Virtual without NewSlot. A virtual method of an interface may be static.
        self.tables.cell(table::METHOD, row(method), 2) & 0x150 == 0x40
    }

    /// Whether a method has no body because another one implements it.
    pub fn is_abstract(&self, method: u32) -> bool {
        self.tables.cell(table::METHOD, row(method), 2) & 0x400 != 0
    }

    /// Whether calls of a method depend on the object.
    pub fn is_virtual(&self, method: u32) -> bool {
        self.tables.cell(table::METHOD, row(method), 2) & 0x40 != 0
    }

    /// Whether a virtual method is new, rather than an override of one of a base type.
    pub fn is_new_slot(&self, method: u32) -> bool {
        self.tables.cell(table::METHOD, row(method), 2) & 0x100 != 0
    }

    /// The name of the member to which a MemberRef token refers.
    pub fn member_ref_name(&self, token: u32) -> &str {
        self.tables.text(self.tables.cell(table::MEMBER_REF, row(token), 1))
    }

    /// The Param row of a method's parameter (from 0); `None` if it has no row.
    pub(crate) fn parameter_row(&self, method: u32, position: u32) -> Option<u32> {
        let mut rows = self.tables.list(table::METHOD, row(method), 5, table::PARAM);
        rows.find(|at| self.tables.cell(table::PARAM, *at, 1) == position + 1)
    }

    /// Whether a method's parameter (from 0) is a `params` array or another `params` collection.
    pub fn is_params(&self, method: u32, position: u32) -> bool {
        self.parameter_attributes(method, position).any(|name| PARAMS.contains(&name.as_str()))
    }

    /// The full names of the attributes of a method's parameter (from 0).
    pub fn parameter_attributes(&self, method: u32, position: u32) -> impl Iterator<Item = String> {
        let parameter = self.parameter_row(method, position).into_iter();
        parameter.flat_map(|parameter| self.attributes(0x0800_0000 | parameter).map(|(name, _)| name))
    }

    /// The string that is the argument of an attribute of a method's parameter (from 0).
    pub fn parameter_attribute_text(&self, method: u32, position: u32, name: &str) -> Option<String> {
        let parameter = self.parameter_row(method, position)?;
        match self.attribute_text(0x0800_0000 | parameter, name)?.0 {
            AttributeArgument::Text(text) => text,
            _ => None,
        }
    }

    /// The default value of a method's parameter (from 0), as element type and bytes; `None` if the
    /// argument is required.
    pub fn default_value(&self, method: u32, position: u32) -> Option<(u32, &[u8])> {
        let parameter = self.parameter_row(method, position)?;
        (self.tables.cell(table::PARAM, parameter, 0) & 0x1000 != 0).then_some(())?;
        self.constant_bytes(parameter << 2 | 1)
    }

    /// Element type and bytes of a constant field.
    pub fn literal(&self, field: u32) -> Option<(u32, &[u8])> {
        self.constant_bytes(row(field) << 2)
    }

    fn constant_bytes(&self, parent: u32) -> Option<(u32, &[u8])> {
        let at = self.first_row(table::CONSTANT, 1, parent);
        (self.tables.cell(table::CONSTANT, at, 1) == parent).then(|| {
            let kind = self.tables.cell(table::CONSTANT, at, 0) & 0xff;
            (kind, self.tables.blob(self.tables.cell(table::CONSTANT, at, 2)))
        })
    }

    /// The first row of a sorted table whose column is at least `value`.
    pub(crate) fn first_row(&self, table: usize, column: usize, value: u32) -> u32 {
        let (mut low, mut high) = (1, self.tables.rows(table) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.tables.cell(table, middle, column) < value { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The declared size of a struct, in bytes (II.22.8).
    pub fn class_size(&self, type_token: u32) -> Option<u32> {
        let at = self.first_row(table::CLASS_LAYOUT, 2, row(type_token));
        let cell = |column| self.tables.cell(table::CLASS_LAYOUT, at, column);
        let is_its = at <= self.tables.rows(table::CLASS_LAYOUT) && cell(2) == row(type_token);
        is_its.then(|| cell(1)).filter(|size| *size > 0)
    }

    /// The properties that a type itself declares.
    pub fn property_infos(&self, type_token: u32) -> Vec<PropertyInfo> {
        self.property_rows(type_token)
            .map(|property| {
                let name = self.tables.text(self.tables.cell(table::PROPERTY, property, 1)).to_owned();
                let (mut getter, mut setter) = (None, None);
                // HasSemantics: tag 1 is a property.
                let parent = property << 1 | 1;
                let cell = |at, column| self.tables.cell(table::METHOD_SEMANTICS, at, column);
                let from = self.first_row(table::METHOD_SEMANTICS, 2, parent);
                let all = from..=self.tables.rows(table::METHOD_SEMANTICS);
                for at in all.take_while(|at| cell(*at, 2) == parent) {
                    let method = Some(crate::metadata::method_token(cell(at, 1)));
                    match cell(at, 0) {
                        2 => getter = method,
                        1 => setter = method,
                        _ => {}
                    }
                }
                PropertyInfo { token: 0x1700_0000 | property, name, getter, setter }
            })
            .collect()
    }

    /// Names of a type's or method's generic parameters.
    pub fn generic_parameters(&self, token: u32) -> Vec<String> {
        // TypeOrMethodDef: tag 0 is a TypeDef, 1 a MethodDef.
        let owner = row(token) << 1 | u32::from(token >> 24 == 6);
        let cell = |at, column| self.tables.cell(table::GENERIC_PARAM, at, column);
        let from = self.first_row(table::GENERIC_PARAM, 2, owner);
        (from..=self.tables.rows(table::GENERIC_PARAM))
            .take_while(|at| cell(*at, 2) == owner)
            .map(|at| self.tables.text(cell(at, 3)).to_owned())
            .collect()
    }

    /// The namespace of a type that is not nested; empty for others.
    pub fn namespace(&self, type_token: u32) -> &str {
        self.tables.text(self.tables.cell(table::TYPE_DEF, row(type_token), 2))
    }

    /// TypeDef tokens of all types in the assembly.
    pub fn type_tokens(&self) -> impl Iterator<Item = u32> + use<> {
        (1..=self.tables.rows(table::TYPE_DEF)).map(|row| 0x0200_0000 | row)
    }

    /// The RVA of a method's body; 0 for one without.
    pub fn method_rva(&self, method: u32) -> u32 {
        self.tables.cell(table::METHOD, row(method), 0)
    }
}
