//! Arguments of a call: their values, and their conversions to the types of the parameters (language
//! specification, 12.6.2).
//!
//! Not here: the choice of the method that is called ([`super::overloads`]).

use super::anonymous_types::require_type_arguments;
use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::candidates::{OverloadCandidate, ParameterSource};
use super::classification::Classification;
use super::receivers::Receivers;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::system::{CallerPart, Parameter, PassMode};
use super::typed::{ConversionKind, MethodRef, PassedArgument, Typed, TypedArgument, TypedKind};
use crate::constant::Constant;
use crate::syntax::Span;
use crate::syntax::tree::{Argument, ArgumentMode, Designation, Expr, ExprKind, TypeNameKind};
use crate::types::Ty;

impl Binder<'_> {
    /// Binds the arguments as far as possible without the parameters.
    pub(super) fn source_arguments<'e>(
        &mut self,
        arguments: &'e [Argument],
    ) -> Bind<Vec<SourceArgument<'e>>> {
        let mut all = Vec::new();
        for argument in arguments {
            let value = self.argument_value(&argument.value, argument.mode)?;
            all.push(SourceArgument {
                name: argument.name.clone(),
                mode: argument.mode,
                value,
                span: argument.value.span,
            });
        }
        Ok(all)
    }

    fn argument_value<'e>(&mut self, expr: &'e Expr, mode: ArgumentMode) -> Bind<SourceArgumentValue<'e>> {
        match &expr.kind {
            ExprKind::Declaration(ty, names) => {
                // `out _` where a variable has this name.
                if *names == Designation::Discard
                    && ty.kind == TypeNameKind::Inferred
                    && let Some(variable) = self.variable("_", expr.span)
                {
                    return Ok(SourceArgumentValue::Value(variable));
                }
                let declared = match ty.kind {
                    TypeNameKind::Inferred => None,
                    _ => Some((ty, self.type_of_name(ty)?)),
                };
                Ok(SourceArgumentValue::Declared(declared, names))
            }
            ExprKind::Lambda(_) => Ok(SourceArgumentValue::Function),
            ExprKind::New { ty: None, .. } | ExprKind::Default(None) | ExprKind::Collection(_) => {
                Ok(SourceArgumentValue::TargetTyped(expr))
            }
            ExprKind::Paren(of) if of.kind.takes_type() => Ok(SourceArgumentValue::TargetTyped(of)),
            ExprKind::Name(_) | ExprKind::Member(..) => match self.part(expr)? {
                Classification::Group(_) => Ok(SourceArgumentValue::Function),
                part => self.argument_place(part, expr, mode),
            },
            ExprKind::Tuple(elements)
                if elements
                    .iter()
                    .any(|(_, element)| element.kind.takes_type() || self.is_null_literal(element)) =>
            {
                Ok(SourceArgumentValue::TargetTyped(expr))
            }
            ExprKind::Choice(..) | ExprKind::Switch(..) => {
                // Without a natural type it gets the type of the parameter.
                match self.value(expr) {
                    Ok(value) => Ok(SourceArgumentValue::Value(value)),
                    Err(_) => Ok(SourceArgumentValue::TargetTyped(expr)),
                }
            }
            _ => {
                let part = self.part(expr)?;
                self.argument_place(part, expr, mode)
            }
        }
    }

    fn is_null_literal(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Literal(Constant::Null))
    }

    fn argument_place<'e>(
        &mut self,
        part: Classification,
        expr: &Expr,
        mode: ArgumentMode,
    ) -> Bind<SourceArgumentValue<'e>> {
        let value = self.require_value(part, expr.span)?;
        if matches!(mode, ArgumentMode::Ref | ArgumentMode::Out) && !value.is_place() {
            return reject("CS1510", "A ref or out value must be an assignable variable", expr.span);
        }
        // An evaluation reads what such a member refers to, and keeps no place for it.
        if matches!(mode, ArgumentMode::Ref | ArgumentMode::Out)
            && matches!(value.kind, TypedKind::Property(..) | TypedKind::Indexer(..) | TypedKind::Call(_))
        {
            return leave_to_compiler("a reference that a member returns, as an argument,", expr.span);
        }
        Ok(SourceArgumentValue::Value(value))
    }

    /// The arguments of a method, each converted to the type of its parameter.
    pub(super) fn pass_arguments(
        &mut self,
        candidate: &OverloadCandidate,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Vec<PassedArgument>> {
        let method = &candidate.method;
        require_type_arguments(&method.types, span)?;
        let mut all = Vec::new();
        for (at, place) in candidate.places.iter().enumerate() {
            let ty = method.parameters.get(at).map(|ty| ty.direct().clone()).unwrap_or(Ty::Other);
            let (value, turn) = match place {
                ParameterSource::Argument(from) => {
                    let Some(argument) = given.get(*from) else { continue };
                    (self.pass_argument(argument, &ty, span)?, *from)
                }
                ParameterSource::Default => {
                    let parameter = method.method.parameters.get(at);
                    let constant = parameter.and_then(|parameter| {
                        let caller = parameter.caller.as_ref();
                        let caller = caller.and_then(|part| self.caller(part, candidate, given));
                        caller.or(parameter.default.clone())
                    });
                    (TypedArgument::Value(self.default_argument(constant, &ty, span)), usize::MAX)
                }
                ParameterSource::Rest(..) if !matches!(ty, Ty::Vector(_)) => {
                    return leave_to_compiler("a `params` collection that is not an array", span);
                }
                ParameterSource::Rest(list, of) => {
                    let mut items = Vec::new();
                    for from in list {
                        let Some(argument) = given.get(*from) else { continue };
                        match self.pass_argument(argument, of, span)? {
                            TypedArgument::Value(value) => items.push(value),
                            _ => {
                                return reject(
                                    "CS1615",
                                    "An argument in a `params` array may not be passed by reference",
                                    span,
                                );
                            }
                        }
                    }
                    let kind =
                        TypedKind::NewArray { of: of.clone(), lengths: Vec::new(), items: Some(items) };
                    let turn = list.first().copied().unwrap_or(usize::MAX);
                    (TypedArgument::Value(Typed::new(kind, of.clone().vector(), span)), turn)
                }
            };
            all.push(PassedArgument { value, turn });
        }
        self.check_result_reference(method, span)?;
        Ok(all)
    }

    /// Leaves a call whose result may refer to an argument to the compiler: for an evaluation, the runtime
    /// passes the address of a copy of the variable, and the copy ends with the call.
    fn check_result_reference(&self, method: &MethodRef, span: Span) -> Bind<()> {
        let result = if &*method.method.name == ".ctor" { &method.owner } else { &method.result };
        let may_refer = matches!(result, Ty::Reference(_)) || self.types.is_by_ref(result);
        let is_by_reference = |parameter: &Parameter| matches!(parameter.pass, PassMode::Ref | PassMode::In);
        if may_refer && method.method.parameters.iter().any(is_by_reference) {
            return leave_to_compiler("a call whose result may refer to an argument", span);
        }
        Ok(())
    }

    fn pass_argument(&mut self, argument: &SourceArgument<'_>, ty: &Ty, span: Span) -> Bind<TypedArgument> {
        Ok(match &argument.value {
            SourceArgumentValue::Value(value)
                if matches!(argument.mode, ArgumentMode::Ref | ArgumentMode::Out) =>
            {
                TypedArgument::Place(Receivers { binder: self }.own_place(value.clone()))
            }
            // An evaluation cannot pass a `ref struct` that a conversion created.
            SourceArgumentValue::Value(value) if self.types.is_by_ref(ty) && value.ty != *ty => {
                return leave_to_compiler("an argument that is converted to a `ref struct`", span);
            }
            SourceArgumentValue::Value(value) => TypedArgument::Value(self.convert(value.clone(), ty)?),
            SourceArgumentValue::TargetTyped(expr) => TypedArgument::Value(self.convert_expr(expr, ty)?),
            SourceArgumentValue::Function => {
                return leave_to_compiler("a lambda or a method as an argument", span);
            }
            SourceArgumentValue::Declared(_, Designation::Name(name)) => {
                TypedArgument::New(self.declare(name, ty.clone()), ty.clone())
            }
            SourceArgumentValue::Declared(..) => TypedArgument::New(self.slot(), ty.clone()),
        })
    }

    /// A part of the location or the text of a call, as the compiler passes it.
    fn caller(
        &self,
        part: &CallerPart,
        candidate: &OverloadCandidate,
        given: &[SourceArgument<'_>],
    ) -> Option<Constant> {
        let text = |text: &str| Constant::Text(text.into());
        let caller = self.scope.caller.as_ref();
        let position = caller.and_then(|caller| caller.position.as_ref());
        match part {
            CallerPart::Member => caller.map(|caller| text(&caller.member)),
            CallerPart::Line => position.map(|(line, _)| Constant::int(*line)),
            CallerPart::File => position.map(|(_, file)| text(file)),
            CallerPart::Argument(name) => {
                let mut parameters = candidate.method.method.parameters.iter();
                let at = parameters.position(|parameter| parameter.name == *name)?;
                let Some(ParameterSource::Argument(from)) = candidate.places.get(at) else { return None };
                let span = given.get(*from)?.span;
                self.scope.text.as_ref()?.get(span.start..span.end).map(text)
            }
        }
    }

    fn default_argument(&self, constant: Option<Constant>, ty: &Ty, span: Span) -> Typed {
        match constant {
            None | Some(Constant::Null) => self.default_of(ty, span),
            Some(constant) => {
                let inside = self.types.inside(ty);
                let kind = inside.number().or_else(|| self.types.enum_storage(&inside));
                let constant = kind.and_then(|kind| constant.cast(kind, false)).unwrap_or(constant);
                let value = Typed::new(TypedKind::Constant(constant), inside.clone(), span);
                match inside == *ty {
                    true => value,
                    false => {
                        Typed::new(TypedKind::Convert(value.boxed(), ConversionKind::Wrap), ty.clone(), span)
                    }
                }
            }
        }
    }
}
