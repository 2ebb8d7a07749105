//! `new`: objects, arrays, anonymous objects, with the initializers in braces after them (language
//! specification, 12.8.17).
//!
//! Not here: the choice of a constructor (`bind::creation`).

use super::parser::Parser;
use super::tree::{
    ArrayItem, Expr, ExprKind, Initializer, InitializerTarget, InitializerValue, MemberInitializer, Span,
    TypeName, TypeNameKind,
};
use super::{Parsed, error};

impl Parser<'_> {
    /// Parses the part after `new`.
    pub(super) fn creation(&mut self, start: Span) -> Parsed<Expr> {
        if self.tokens.is_typed_name() {
            // The name of the type is still being typed.
            return self.primary();
        }
        if self.tokens.eat("{") {
            return self.anonymous(start);
        }
        if self.tokens.eat("(") {
            let arguments = self.arguments(")")?;
            let initializer = if self.tokens.eat("{") { Some(self.initializer()?) } else { None };
            return Ok(self.node(start, ExprKind::New { ty: None, arguments, initializer }));
        }
        if let Some(rank) = self.attempt(Self::rank) {
            self.tokens.expect("{")?;
            let items = Some(self.array_items()?);
            return Ok(self.node(start, ExprKind::NewArray { of: None, lengths: Vec::new(), rank, items }));
        }
        let mut ty = self.type_of_new()?;
        if self.tokens.is("[") {
            return self.array_with_lengths(start, ty);
        }
        if let TypeNameKind::Array(of, ranks) = &mut ty.kind {
            // `new int[][,] { … }`: the first brackets are the array's own.
            let rank = if ranks.is_empty() { 1 } else { ranks.remove(0) };
            let of = if ranks.is_empty() { (**of).clone() } else { ty.clone() };
            self.tokens.expect("{")?;
            let items = Some(self.array_items()?);
            return Ok(
                self.node(start, ExprKind::NewArray { of: Some(of), lengths: Vec::new(), rank, items })
            );
        }
        let has_arguments = self.tokens.eat("(");
        let arguments = if has_arguments { self.arguments(")")? } else { Vec::new() };
        let initializer = if self.tokens.eat("{") { Some(self.initializer()?) } else { None };
        if !has_arguments && initializer.is_none() && !self.tokens.is_cut() {
            return Err(error(
                "CS1526",
                "A new expression requires an argument list or (), [], or {} after type",
                self.tokens.since(start),
            ));
        }
        Ok(self.node(start, ExprKind::New { ty: Some(ty), arguments, initializer }))
    }

    /// Parses a type, up to brackets with lengths.
    fn type_of_new(&mut self) -> Parsed<TypeName> {
        if self.tokens.is_cut() {
            return Ok(TypeName { kind: TypeNameKind::Inferred, span: self.tokens.span() });
        }
        self.type_name()
    }

    /// Parses `[2, 3][]` after the item type of an array.
    fn array_with_lengths(&mut self, start: Span, of: TypeName) -> Parsed<Expr> {
        self.tokens.expect("[")?;
        let mut lengths = Vec::new();
        loop {
            lengths.push(self.expr()?);
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect("]")?;
        let mut ranks = Vec::new();
        while self.tokens.is("[")
            && let Some(rank) = self.attempt(Self::rank)
        {
            ranks.push(rank);
        }
        let of = match ranks.is_empty() {
            true => of,
            false => TypeName { span: of.span, kind: TypeNameKind::Array(Box::new(of), ranks) },
        };
        let rank = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
        let items = if self.tokens.eat("{") { Some(self.array_items()?) } else { None };
        Ok(self.node(start, ExprKind::NewArray { of: Some(of), lengths, rank, items }))
    }

    /// Parses the part after `{`.
    fn array_items(&mut self) -> Parsed<Vec<ArrayItem>> {
        self.deeper(|parser| {
            let mut items = Vec::new();
            while !parser.tokens.is("}") && !parser.tokens.is_cut() {
                let start = parser.tokens.span();
                if parser.tokens.eat("{") {
                    let row = parser.array_items()?;
                    items.push(ArrayItem::Row(row, parser.tokens.since(start)));
                } else {
                    items.push(ArrayItem::Value(parser.expr()?));
                }
                if !parser.tokens.eat(",") {
                    break;
                }
            }
            parser.tokens.expect("}")?;
            Ok(items)
        })
    }

    /// Parses member or collection initializers, after the `{`.
    pub(super) fn initializer(&mut self) -> Parsed<Initializer> {
        self.deeper(|parser| {
            let sets = (parser.tokens.is_identifier_at(0) && parser.tokens.is_at(1, "="))
                || parser.tokens.is("[") && {
                    let end = parser.tokens.closing(parser.tokens.at).unwrap_or(usize::MAX - 1);
                    parser.tokens.tok(end + 1) == Some(&super::lexer::Tok::Sign("="))
                };
            let (mut members, mut items) = (Vec::new(), Vec::new());
            while !parser.tokens.is("}") && !parser.tokens.is_cut() {
                if sets {
                    members.push(parser.member_initializer()?);
                } else if parser.tokens.eat("{") {
                    let mut row = Vec::new();
                    while !parser.tokens.is("}") && !parser.tokens.is_cut() {
                        row.push(parser.expr()?);
                        if !parser.tokens.eat(",") {
                            break;
                        }
                    }
                    parser.tokens.expect("}")?;
                    items.push(row);
                } else {
                    items.push(vec![parser.expr()?]);
                }
                if !parser.tokens.eat(",") {
                    break;
                }
            }
            parser.tokens.expect("}")?;
            Ok(if sets || items.is_empty() {
                Initializer::Members(members)
            } else {
                Initializer::Items(items)
            })
        })
    }

    fn member_initializer(&mut self) -> Parsed<MemberInitializer> {
        let start = self.tokens.span();
        let target = match self.tokens.eat("[") {
            true => InitializerTarget::Index(self.arguments("]")?),
            false => InitializerTarget::Member(self.tokens.identifier()?),
        };
        self.tokens.expect("=")?;
        let value = match self.tokens.eat("{") {
            true => InitializerValue::Nested(self.initializer()?),
            false => InitializerValue::Value(self.expr()?),
        };
        Ok(MemberInitializer { target, value, span: self.tokens.since(start) })
    }

    /// Parses `{ A = 1, b.Name }`, after the `{`.
    fn anonymous(&mut self, start: Span) -> Parsed<Expr> {
        let mut members = Vec::new();
        while !self.tokens.is("}") && !self.tokens.is_cut() {
            let name = match self.tokens.is_identifier_at(0) && self.tokens.is_at(1, "=") {
                true => {
                    let name = self.tokens.identifier()?;
                    self.tokens.at += 1;
                    Some(name)
                }
                false => None,
            };
            members.push((name, self.expr()?));
            if !self.tokens.eat(",") {
                break;
            }
        }
        self.tokens.expect("}")?;
        Ok(self.node(start, ExprKind::Anonymous(members)))
    }

    /// Parses `stackalloc int[3]` and `stackalloc[] { 1 }`. The content is dropped, because an evaluation
    /// cannot allocate on the stack.
    pub(super) fn stack_alloc(&mut self, start: Span) -> Parsed<Expr> {
        let of = self.creation(start)?;
        match of.kind {
            ExprKind::NewArray { .. } => Ok(self.node(start, ExprKind::StackAlloc)),
            _ => Err(error(
                "CS1575",
                "A stackalloc expression requires [] after type",
                self.tokens.since(start),
            )),
        }
    }
}
