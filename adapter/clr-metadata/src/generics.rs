//! Generic parameters and the constraints on their arguments (ECMA-335 II.22.20 and II.22.21), and how
//! methods receive their parameters. Constraints are tokens; [`crate::metadata`] has the types.

use crate::metadata::{Metadata, row};
use crate::tables::table;
use crate::tables::type_def_or_ref;

/// A generic parameter of a type or method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenericParam {
    /// The name of the parameter in the source.
    pub name: String,
    /// GenericParamAttributes, II.23.1.7.
    pub flags: u32,
    /// Types that its argument must convert to: TypeDef, TypeRef or TypeSpec tokens.
    pub constraints: Vec<u32>,
}

impl GenericParam {
    /// Whether it is declared `out T`: Covariant of GenericParamAttributes.
    pub fn is_covariant(&self) -> bool {
        self.flags & 3 == 1
    }

    /// Whether it is declared `in T`: Contravariant of GenericParamAttributes.
    pub fn is_contravariant(&self) -> bool {
        self.flags & 3 == 2
    }

    /// Whether it has the constraint `where T : class`.
    pub fn is_class(&self) -> bool {
        self.flags & 4 != 0
    }

    /// Whether it has the constraint `where T : struct`.
    pub fn is_struct(&self) -> bool {
        self.flags & 8 != 0
    }
}

impl Metadata {
    /// Generic parameters of a type or method.
    pub fn generic_params(&self, token: u32) -> Vec<GenericParam> {
        // TypeOrMethodDef: tag 0 is a TypeDef, 1 a MethodDef.
        let owner = row(token) << 1 | u32::from(token >> 24 == 6);
        let cell = |at, column| self.tables.cell(table::GENERIC_PARAM, at, column);
        let from = self.first_row(table::GENERIC_PARAM, 2, owner);
        let all = from..=self.tables.rows(table::GENERIC_PARAM);
        all.take_while(|at| cell(*at, 2) == owner)
            .map(|at| GenericParam {
                name: self.tables.text(cell(at, 3)).to_owned(),
                flags: cell(at, 1),
                constraints: self.constraints(at),
            })
            .collect()
    }

    fn constraints(&self, parameter: u32) -> Vec<u32> {
        let cell = |at, column| self.tables.cell(table::GENERIC_PARAM_CONSTRAINT, at, column);
        let all = self.first_row(table::GENERIC_PARAM_CONSTRAINT, 0, parameter)
            ..=self.tables.rows(table::GENERIC_PARAM_CONSTRAINT);
        all.take_while(|at| cell(*at, 0) == parameter).filter_map(|at| type_def_or_ref(cell(at, 1))).collect()
    }

    /// Whether a method or its class has generic parameters.
    pub fn is_in_generic(&self, method: u32) -> bool {
        let has_some = |owner: u32| {
            let at = self.first_row(table::GENERIC_PARAM, 2, owner);
            at <= self.tables.rows(table::GENERIC_PARAM)
                && self.tables.cell(table::GENERIC_PARAM, at, 2) == owner
        };
        has_some(row(method) << 1 | 1) || has_some(row(self.owner_of(method)) << 1)
    }

    /// ParamAttributes (II.23.1.13) of a method's parameter, from 0: 1 is `in`, 2 is `out`.
    pub fn parameter_flags(&self, method: u32, position: u32) -> u32 {
        self.parameter_row(method, position).map_or(0, |at| self.tables.cell(table::PARAM, at, 0))
    }

    /// The default value of a method's parameter (from 0) by its `DecimalConstantAttribute`: scale, sign, and
    /// the high, middle and low 32 bits.
    pub fn decimal_default(&self, method: u32, position: u32) -> Option<(u8, u8, [u32; 3])> {
        let token = 0x0800_0000 | self.parameter_row(method, position)?;
        let name = "System.Runtime.CompilerServices.DecimalConstantAttribute";
        let (_, blob) = self.attributes(token).find(|(found, _)| found == name)?;
        let (scale, sign) = (*blob.get(2)?, *blob.get(3)?);
        let part = |at: usize| blob.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        Some((scale, sign, [part(4)?, part(8)?, part(12)?]))
    }
}
