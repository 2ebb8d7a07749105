//! Calls (language specification, 12.8.10): the callee, and where its methods are looked up.
//!
//! Not here: the choice of an overload ([`super::overloads`]), the arguments ([`super::arguments`]).

use std::rc::Rc;

use super::binder::{Bind, Binder, leave_to_compiler, reject};
use super::candidates::{OverloadCandidate, is_other_number};
use super::classification::{Classification, MethodGroup};
use super::dynamic_members::is_dynamic_argument;
use super::receivers::Receivers;
use super::refusals::reject_missing;
use super::source_argument::{SourceArgument, SourceArgumentValue};
use super::system::{Member, Method, TypeKind};
use super::typed::{MethodRef, PassedArgument, Typed, TypedArgument, TypedCall, TypedKind};
use crate::syntax::Span;
use crate::syntax::tree::{Argument, ArgumentMode, Expr, ExprKind, SimpleName};
use crate::types::{OBJECT, Ty};

impl Binder<'_> {
    pub(super) fn call(&mut self, of: &Expr, arguments: &[Argument], span: Span) -> Bind<Typed> {
        // `(x ?. F)(…)` is not a call in a chain: that one is inside the `then` of its `?.`.
        let callee = self.callee(of)?;
        match callee {
            Classification::Group(group) => self.call_group(&group, arguments, span),
            Classification::Value(value) => self.call_delegate(value, arguments, span),
            Classification::Type(ty) => {
                let name = self.type_text(&ty);
                reject(
                    "CS1955",
                    format!(
                        "Non-invocable member '{name}' cannot be used like a method; make one with `new \
                            {name}(…)`"
                    ),
                    of.span,
                )
            }
            Classification::Namespace(name) => {
                reject("CS0118", format!("'{name}' is a namespace but is used like a variable"), of.span)
            }
        }
    }

    /// Binds the callee: methods are preferred to a property of that name, as in `list.Count()`.
    fn callee(&mut self, of: &Expr) -> Bind<Classification> {
        if let ExprKind::Name(name) = &of.kind {
            return self.called_name(name);
        }
        let ExprKind::Member(inner, name) = &of.kind else { return self.part(of) };
        let target = self.part(inner)?;
        let found = self.member_of_part(target.clone(), inner, name, of.span)?;
        match (&found, target) {
            // Skips a value that cannot be called.
            (Classification::Value(value), Classification::Value(target))
                if !self.types.is_delegate(&value.ty) && self.extends(&name.text) =>
            {
                let types =
                    name.arguments.iter().map(|ty| self.type_of_name(ty)).collect::<Bind<Vec<_>>>()?;
                Ok(self.group(Some(target.clone()), &target.ty, &name.text, &types, of.span))
            }
            _ => Ok(found),
        }
    }

    fn extends(&self, name: &str) -> bool {
        !self.types.system.extensions(self.place(), name).is_empty()
            || crate::linq::signatures(name, crate::linq::DeclaringType::Sequence).next().is_some()
    }

    fn call_delegate(&mut self, value: Typed, arguments: &[Argument], span: Span) -> Bind<Typed> {
        let value = match self.types.is_delegate(&value.ty) {
            true => value,
            false => match self.narrow(&value).filter(|narrow| self.types.is_delegate(&narrow.ty)) {
                Some(narrow) => narrow,
                None => {
                    let why = match value.ty == Ty::Other {
                        true => "A debugger cannot call a function pointer; call the method",
                        false => "Method name expected: the value is not a delegate",
                    };
                    return reject("CS0149", why, value.span);
                }
            },
        };
        let owner = value.ty.clone();
        let group = MethodGroup {
            name: Rc::from("Invoke"),
            of: Some(value),
            owner,
            types: Vec::new(),
            is_base: false,
            span,
        };
        self.call_group(&group, arguments, span)
    }

    pub(super) fn call_group(
        &mut self,
        group: &MethodGroup,
        arguments: &[Argument],
        span: Span,
    ) -> Bind<Typed> {
        if let Some(value) = self.call_intrinsic(group, arguments, span)? {
            return Ok(value);
        }
        let given = self.source_arguments(arguments)?;
        self.call_best(group, &given, span)
    }

    /// Calls the best method of a group for these arguments.
    pub(super) fn call_best(
        &mut self,
        group: &MethodGroup,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Typed> {
        let (found, methods) = self.instance_methods(group, &group.owner, given, span)?;
        if let Some(candidate) = found {
            return self.call_candidate(candidate, group, given, span);
        }
        let (mut all, mut extensions) = (methods, Vec::new());
        if let Some(of) = &group.of
            && !group.is_base
        {
            let methods = self.types.system.extensions(self.place(), &group.name);
            let (found, methods) = self.extension_methods(methods, of, &group.types, given, span)?;
            if let Some((candidate, given)) = found {
                let group = MethodGroup { of: None, ..group.clone() };
                return self.call_candidate(candidate, &group, &given, span);
            }
            extensions = methods;
            // The run-time type of the object may have the method.
            if let Some(narrow) = self.narrow(of) {
                let owner = narrow.ty.clone();
                let (found, _) = self.instance_methods(group, &owner, given, span)?;
                if let Some(candidate) = found {
                    let group = MethodGroup { of: Some(narrow), owner, ..group.clone() };
                    return self.call_candidate(candidate, &group, given, span);
                }
            }
        }
        // So may the run-time types of the arguments.
        if let Some(narrowed) = self.narrow_arguments(given) {
            let (found, _) = self.instance_methods(group, &group.owner, &narrowed, span)?;
            if let Some(candidate) = found {
                return self.call_candidate(candidate, group, &narrowed, span);
            }
        }
        if let (true, Some((first, _)), Some(of)) = (all.is_empty(), extensions.first(), &group.of) {
            let expected =
                first.parameters.first().map(|parameter| parameter.ty.clone()).unwrap_or(Ty::Other);
            let fits =
                self.implicit_conversion(of, &expected).is_some() && !is_other_number(&of.ty, &expected);
            if !expected.is_open() && !fits {
                let (owner, expected, name) =
                    (self.type_text(&of.ty), self.type_text(&expected), &group.name);
                return reject(
                    "CS1929",
                    format!(
                        "'{owner}' does not contain a definition for '{name}' and the best extension method \
                            overload requires a receiver of type '{expected}'"
                    ),
                    of.span,
                );
            }
            let mut with_receiver = vec![SourceArgument::of(of.clone())];
            with_receiver.extend(given.iter().map(SourceArgument::duplicate));
            return self.reject_call(&group.name, &extensions, &with_receiver, span);
        }
        all.extend(extensions);
        if all.is_empty() {
            let wrong = ("CS1061", group.of.is_some());
            return reject_missing(self, &group.owner, &group.name, wrong, group.span);
        }
        self.reject_call(&group.name, &all, given, span)
    }

    /// The best method that a type or its bases declare, preferring the most derived type, and all
    /// methods of that name.
    #[allow(clippy::type_complexity, reason = "a candidate, and the methods it was chosen among")]
    fn instance_methods(
        &self,
        group: &MethodGroup,
        owner: &Ty,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<(Option<OverloadCandidate>, Vec<(Rc<Method>, Ty)>)> {
        let mut all: Vec<(Rc<Method>, Ty)> = Vec::new();
        for level in self.types.lineage(owner) {
            let Some(def) = self.types.def(&level) else { continue };
            let mut methods = Vec::new();
            for member in self.types.system.members(def, &group.name).iter() {
                if let Member::Method(method) = member
                    && (group.of.is_some() || method.is_static)
                {
                    methods.push((method.clone(), level.clone()));
                }
            }
            // An override is called through the method that it overrides.
            let declared: Vec<_> =
                methods.iter().filter(|(method, _)| !method.is_override).cloned().collect();
            let candidates = self.applicable(&declared, &group.types, given);
            all.extend(declared);
            if let Some(best) = self.best(candidates, given, span)? {
                return Ok((Some(best), all));
            }
        }
        // The assembly of the overridden method may not be loaded.
        let mut rest = Vec::new();
        for level in self.types.lineage(owner) {
            let Some(def) = self.types.def(&level) else { continue };
            for member in self.types.system.members(def, &group.name).iter() {
                if let Member::Method(method) = member
                    && method.is_override
                    && group.of.is_some()
                {
                    rest.push((method.clone(), level.clone()));
                }
            }
        }
        let best = self.best(self.applicable(&rest, &group.types, given), given, span)?;
        Ok((best, all))
    }

    /// The best of several extension methods: from namespaces in scope, otherwise a public one from any.
    #[allow(
        clippy::type_complexity,
        reason = "a candidate with its arguments, and the methods it was chosen among"
    )]
    pub(super) fn extension_methods<'e>(
        &self,
        methods: Vec<Rc<Method>>,
        of: &Typed,
        types: &[Ty],
        given: &[SourceArgument<'e>],
        span: Span,
    ) -> Bind<(Option<(OverloadCandidate, Vec<SourceArgument<'e>>)>, Vec<(Rc<Method>, Ty)>)> {
        let with_owner = |method: Rc<Method>| {
            let owner = self.types.make(method.owner, Vec::new());
            (method, owner)
        };
        let methods: Vec<(Rc<Method>, Ty)> = methods.into_iter().map(with_owner).collect();
        if methods.is_empty() {
            return Ok((None, methods));
        }
        let mut all: Vec<SourceArgument<'e>> = vec![SourceArgument::of(of.clone())];
        all.extend(given.iter().map(SourceArgument::duplicate));
        let spaces = self.namespaces_in_scope();
        let near = |(_, owner): &&(Rc<Method>, Ty)| self.is_in_namespaces(owner, &spaces);
        let in_sight: Vec<(Rc<Method>, Ty)> = methods.iter().filter(near).cloned().collect();
        // The code could import a public one. A helper of another namespace is not meant.
        let methods: Vec<(Rc<Method>, Ty)> =
            methods.into_iter().filter(|method| method.0.is_public || near(&method)).collect();
        for methods in [&in_sight, &methods] {
            let mut candidates = self.applicable(methods, types, &all);
            candidates.retain(|one| !one.converts_number(&of.ty));
            if let Some(best) = self.best(candidates, &all, span)? {
                return Ok((Some((best, all)), Vec::new()));
            }
        }
        Ok((None, methods))
    }

    /// Whether a type is in one of these namespaces.
    pub(super) fn is_in_namespaces(&self, ty: &Ty, spaces: &[String]) -> bool {
        self.types.info(ty).is_some_and(|info| spaces.iter().any(|space| **space == *info.namespace))
    }

    fn narrow_arguments<'e>(&self, given: &[SourceArgument<'e>]) -> Option<Vec<SourceArgument<'e>>> {
        let mut is_any = false;
        let narrow = |given: &SourceArgument<'e>| {
            let mut copy = given.duplicate();
            if let SourceArgumentValue::Value(value) = &given.value
                && given.mode == ArgumentMode::Value
                && let Some(narrow) = self.narrow(value)
            {
                is_any = true;
                copy.value = SourceArgumentValue::Value(narrow);
            }
            copy
        };
        let all = given.iter().map(narrow).collect();
        is_any.then_some(all)
    }

    pub(super) fn call_candidate(
        &mut self,
        candidate: OverloadCandidate,
        group: &MethodGroup,
        given: &[SourceArgument<'_>],
        span: Span,
    ) -> Bind<Typed> {
        let method = candidate.method.method.clone();
        if given.iter().any(|given| matches!(given.value, SourceArgumentValue::Function)) {
            return leave_to_compiler("a lambda or a method as an argument", span);
        }
        if candidate.method.types.iter().any(|ty| self.types.is_by_ref(ty)) {
            return leave_to_compiler("a `ref struct` as a type argument", span);
        }
        if given.iter().any(|given| is_dynamic_argument(self.scope, given)) {
            return leave_to_compiler("a call with a `dynamic` argument", span);
        }
        let of = match (&group.of, method.is_static) {
            (Some(of), true) if !matches!(of.kind, TypedKind::This) => {
                let name = &group.name;
                return reject(
                    "CS0176",
                    format!(
                        "Member '{name}' cannot be accessed with an instance reference; qualify it with a \
                            type name instead"
                    ),
                    of.span,
                );
            }
            (_, true) => None,
            (Some(of), false) => {
                let receivers = Receivers { binder: self };
                receivers.check_boxing(of, &candidate.method, span)?;
                Some(receivers.of_call(of.clone(), &candidate.method))
            }
            (None, false) => {
                return reject(
                    "CS0120",
                    format!("An object reference is required for the non-static method '{}'", group.name),
                    span,
                );
            }
        };
        self.check_place(&candidate.method.result, None, span)?;
        let arguments = self.pass_arguments(&candidate, given, span)?;
        let ty = candidate.method.result.direct().clone();
        if let Some((a, b)) = compared_references(&candidate.method, &arguments) {
            return Ok(Typed::new(TypedKind::Same(a.clone().boxed(), b.clone().boxed()), ty, span));
        }
        let (method, is_base) = (candidate.method, group.is_base);
        let call = TypedCall { of, method, arguments, is_base, is_getter: false };
        Ok(Typed::new(TypedKind::Call(Box::new(call)), ty, span))
    }

    /// Leaves a struct that a member returns by reference to the compiler: a debugger cannot keep the place
    /// inside an array or an object. `owner` has the member, unless it is a method. Elements of spans do not
    /// need the compiler.
    pub(super) fn check_place(&self, result: &Ty, owner: Option<&Ty>, span: Span) -> Bind<()> {
        let Ty::Reference(of) = result else { return Ok(()) };
        let is_span = owner.and_then(|owner| self.types.info(owner)).is_some_and(|info| info.is_by_ref);
        let info = if matches!(**of, Ty::Named(_)) { self.types.info(of) } else { None };
        let is_struct =
            info.is_some_and(|info| info.kind == TypeKind::Struct && &*info.full_name != "System.Decimal");
        if is_struct && !is_span {
            return leave_to_compiler("a member that returns a struct by reference", span);
        }
        Ok(())
    }

    /// Calls a method by its name on a value, with values.
    pub(super) fn call_named(
        &mut self,
        of: &Typed,
        name: &str,
        values: Vec<Typed>,
        span: Span,
    ) -> Bind<Typed> {
        let name = SimpleName { text: name.into(), arguments: Vec::new(), open: 0, span };
        match self.member_of_value(of.clone(), &name, span)? {
            Classification::Group(group) => {
                let given: Vec<SourceArgument<'_>> = values
                    .into_iter()
                    .map(|value| SourceArgument {
                        name: None,
                        mode: ArgumentMode::Value,
                        span: value.span,
                        value: SourceArgumentValue::Value(value),
                    })
                    .collect();
                self.call_best(&group, &given, span)
            }
            _ => reject(
                "CS1955",
                format!("Non-invocable member '{}' cannot be used like a method", name.text),
                span,
            ),
        }
    }
}

/// The arguments of `object.ReferenceEquals`: a call would get new strings for literals.
fn compared_references<'a>(
    method: &MethodRef,
    arguments: &'a [PassedArgument],
) -> Option<(&'a Typed, &'a Typed)> {
    match arguments {
        [
            PassedArgument { value: TypedArgument::Value(a), .. },
            PassedArgument { value: TypedArgument::Value(b), .. },
        ] if method.owner == OBJECT && &*method.method.name == "ReferenceEquals" => Some((a, b)),
        _ => None,
    }
}
