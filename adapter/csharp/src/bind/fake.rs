//! Types that a text declares, one member per line, for tests of the binder and the evaluator. Only types:
//! `eval::fake` has objects.

#![allow(clippy::unwrap_used, reason = "the types are those of the text beside")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::binder::Binder;
use super::*;
use crate::constant::Constant;
use crate::syntax::tree::ExprKind;
use crate::syntax::{Span, parse};
use crate::types::{Def, Ty, kind_of_keyword};

/// The part of the framework that the tests use, and other types for tests.
const DECLARED: &str = include_str!("fake_types.txt");

#[derive(Default)]
pub(crate) struct FakeTypes {
    infos: Vec<Rc<TypeInfo>>,
    members: RefCell<Vec<Vec<Member>>>,
    indexers: RefCell<Vec<Vec<Rc<Property>>>>,
    names: HashMap<String, Def>,
    /// The run-time types that a debugger sees, by the source text of the expression.
    pub(crate) actual: RefCell<HashMap<String, Ty>>,
    pub(crate) text: RefCell<String>,
    extensions: RefCell<Vec<Rc<Method>>>,
    /// Types that were parsed, by their text and the generic parameters in scope.
    known: RefCell<HashMap<String, Ty>>,
}

fn def(at: usize) -> Def {
    Def { module: 0, token: u32::try_from(at).unwrap() }
}

impl FakeTypes {
    pub(crate) fn new() -> Self {
        let mut world = Self::default();
        let (mut space, mut lines): (String, Vec<(usize, &str)>) = (String::new(), Vec::new());
        let mut heads: Vec<&str> = Vec::new();
        for line in DECLARED.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
        {
            if let Some(name) = line.strip_prefix("namespace ") {
                space = name.to_owned();
            } else if let Some(head) = Self::head(line) {
                world.register(&space, &head);
                heads.push(line);
            } else {
                lines.push((heads.len() - 1, line));
            }
        }
        for (at, line) in heads.iter().enumerate() {
            let head = Self::head(line).unwrap();
            let info = world.infos[at].clone();
            let bases: Vec<Ty> = head.bases.iter().map(|base| world.ty(base, &head.generics, &[])).collect();
            let (interfaces, classes): (Vec<Ty>, Vec<Ty>) =
                bases.into_iter().partition(|ty| TypeRelations::new(&world).is_interface(ty));
            let base = classes.into_iter().next().or_else(|| match info.kind {
                TypeKind::Interface => None,
                _ if &*info.full_name == "System.Object" => None,
                TypeKind::Struct => Some(world.named("System.ValueType")),
                TypeKind::Enum(_) => Some(world.named("System.Enum")),
                _ => Some(crate::types::OBJECT),
            });
            let full = TypeInfo { base, interfaces, ..(*info).clone() };
            world.infos[at] = Rc::new(full);
        }
        for (at, line) in lines {
            world.declare(at, line, &Self::head(heads[at]).unwrap().generics);
        }
        world
    }

    pub(crate) fn named(&self, full: &str) -> Ty {
        TypeRelations::new(self).named(full, Vec::new()).unwrap_or_else(|| panic!("{full}"))
    }

    /// Parses a type in C# syntax.
    pub(crate) fn ty(&self, text: &str, class: &[String], method: &[String]) -> Ty {
        let key = format!("{text}|{class:?}|{method:?}");
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let ty = self.parsed(text, class, method);
        self.known.borrow_mut().insert(key, ty.clone());
        ty
    }

    fn parsed(&self, text: &str, class: &[String], method: &[String]) -> Ty {
        let var = |at: usize| u32::try_from(at).unwrap();
        let mut parameters: Vec<(String, Ty)> = Vec::new();
        parameters.extend(method.iter().enumerate().map(|(at, name)| (name.clone(), Ty::MethodVar(var(at)))));
        let own = |name: &String| name.rsplit(' ').next().unwrap().to_owned();
        parameters.extend(class.iter().enumerate().map(|(at, name)| (own(name), Ty::Var(var(at)))));
        let namespaces =
            ["System", "System.Collections.Generic", "System.Collections", "System.Linq", "Shapes"];
        let imports = UsingDirectives {
            namespaces: namespaces.map(str::to_owned).to_vec(),
            ..UsingDirectives::default()
        };
        let scope = Scope { type_parameters: parameters, imports, ..Scope::default() };
        let expr = parse(&format!("typeof({text})")).unwrap_or_else(|error| panic!("{text}: {error}"));
        let ExprKind::TypeOf(name) = &expr.kind else { panic!("{text}") };
        if text == "void" {
            return crate::types::VOID;
        }
        Binder::new(&scope, self).type_of_name(name).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"))
    }

    pub(crate) fn scope_of(&self, variables: &[(&str, &str)], class: Option<&str>, is_static: bool) -> Scope {
        let variable = |(name, ty): &(&str, &str)| Variable {
            name: Rc::from(*name),
            ty: self.ty(ty, &[], &[]),
            constant: None,
            is_dynamic: *ty == "dynamic",
            is_readonly: name.starts_with("fixed"),
        };
        let class = class.map(|class| self.ty(class, &[], &[]));
        Scope {
            variables: variables.iter().map(variable).collect(),
            this: class.clone().filter(|_| !is_static),
            class,
            imports: UsingDirectives { namespaces: vec!["Shapes".into()], ..UsingDirectives::default() },
            ..Scope::default()
        }
    }

    fn head(line: &str) -> Option<Head> {
        let kinds = [
            "static class ",
            "abstract class ",
            "class ",
            "ref struct ",
            "inline struct ",
            "struct ",
            "interface ",
            "enum ",
            "delegate ",
        ];
        let word = kinds.into_iter().find(|word| line.starts_with(word))?;
        let rest = &line[word.len()..];
        let (name, bases) = rest.split_once(" : ").unwrap_or((rest, ""));
        let mut generics = Vec::new();
        let mut full = String::new();
        for part in name.split('.') {
            let (own, list) = part.rsplit_once('<').unwrap_or((part, ""));
            let list: Vec<&str> =
                list.trim_end_matches('>').split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
            if !full.is_empty() {
                full.push('.');
            }
            full.push_str(own);
            if !list.is_empty() {
                full.push_str(&format!("`{}", list.len()));
            }
            generics.extend(list.into_iter().map(str::to_owned));
        }
        let bases = split(bases);
        Some(Head { word, full, generics, bases })
    }

    fn register(&mut self, space: &str, head: &Head) {
        let full = if space.is_empty() { head.full.clone() } else { format!("{space}.{}", head.full) };
        let enclosing = full.rsplit_once('.').and_then(|(outer, _)| self.names.get(outer)).copied();
        let own = head.full.rsplit('.').next().unwrap().split('`').next().unwrap();
        let kind = match head.word {
            "struct " | "ref struct " | "inline struct " => TypeKind::Struct,
            "interface " => TypeKind::Interface,
            "enum " => {
                TypeKind::Enum(kind_of_keyword(head.bases.first().map_or("int", String::as_str)).unwrap())
            }
            "delegate " => TypeKind::Delegate,
            _ => TypeKind::Class,
        };
        let variance = |name: &String| match name.split_once(' ') {
            Some(("out", _)) => Variance::Out,
            Some(("in", _)) => Variance::In,
            _ => Variance::None,
        };
        self.names.insert(full.clone(), def(self.infos.len()));
        self.infos.push(Rc::new(TypeInfo {
            full_name: full.into(),
            name: own.into(),
            namespace: space.into(),
            kind,
            parameters: head.generics.iter().map(variance).collect(),
            base: None,
            interfaces: Vec::new(),
            enclosing,
            is_abstract: matches!(head.word, "static class " | "abstract class " | "interface "),
            is_by_ref: head.word == "ref struct ",
            elements: (head.word == "inline struct ")
                .then_some(ContiguousElements { of: Ty::Var(0), count: Some(4) }),
        }));
        self.members.borrow_mut().push(Vec::new());
        self.indexers.borrow_mut().push(Vec::new());
    }

    fn declare(&self, at: usize, line: &str, class: &[String]) {
        let mut rest = line;
        let mut take = |word: &str| match rest.strip_prefix(word) {
            Some(behind) => {
                rest = behind;
                true
            }
            None => false,
        };
        let is_accessible = !take("private ");
        let is_public = is_accessible && !take("internal ");
        let is_constant = take("const ");
        let is_static = take("static ");
        let is_abstract = take("abstract ");
        let is_override = take("override ");
        let is_readonly = take("readonly ");
        let is_ref = take("ref ");

        let token =
            u32::try_from(at * 1000 + self.members.borrow()[at].len() + self.indexers.borrow()[at].len() + 1)
                .unwrap();
        let by_ref = |ty: Ty| if is_ref { Ty::Reference(Box::new(ty)) } else { ty };
        let owner = def(at);
        if let TypeKind::Enum(kind) = self.infos[at].kind {
            let (name, value) = rest.split_once('=').unwrap();
            let ty = TypeRelations::new(self).make(owner, Vec::new());
            let constant = Some(Constant::Int(kind, value.trim().parse().unwrap()));
            let field = Field {
                owner,
                token,
                name: name.trim().into(),
                ty,
                is_static: true,
                constant,
                is_readonly: false,
                is_accessible,
            };
            return self.members.borrow_mut()[at].push(Member::Field(Rc::new(field)));
        }
        if let Some((before, accessors)) = rest.split_once('{') {
            let before = before.trim();
            let (head, list) = match before.split_once("this[") {
                Some((ty, list)) => (format!("{ty}Item"), list.trim_end_matches(']')),
                None => (before.to_owned(), ""),
            };
            let (ty, name) = head.rsplit_once(' ').unwrap();
            let property = Property {
                owner,
                name: name.into(),
                ty: by_ref(self.ty(ty, class, &[])),
                parameters: self.parameters(list, class, &[]),
                getter: accessors.contains("get").then_some(token),
                setter: accessors.contains("set").then_some(token + 500),
                backing: accessors.contains("auto").then_some(token + 700),
                is_static,
                is_override,
                is_abstract,
                is_readonly,
                is_accessible,
            };
            return match list.is_empty() {
                true => self.members.borrow_mut()[at].push(Member::Property(Rc::new(property))),
                false => self.indexers.borrow_mut()[at].push(Rc::new(property)),
            };
        }
        // A returned tuple is in parentheses too.
        let from = if rest.starts_with('(') { rest.find(')').unwrap() } else { 0 };
        let open = rest[from..].find('(').map(|at| from + at).filter(|at| !rest[..*at].contains('='));
        if let Some((before, list)) = open.map(|at| (&rest[..at], &rest[at + 1..])) {
            let list = &list[..list.rfind(')').unwrap()];
            let constraint = rest.rsplit_once(" where ").map(|(_, constraint)| constraint);
            let (ty, name) = before.rsplit_once(' ').unwrap_or(("void", before));
            // `U Into<U>` has its generic parameters in the name.
            let (name, generics) = name.split_once('<').map_or((name, Vec::new()), |(name, list)| {
                (
                    name,
                    list.trim_end_matches('>')
                        .split(',')
                        .map(|one| one.trim().to_owned())
                        .collect::<Vec<_>>(),
                )
            });
            let name = if name == "ctor" { ".ctor" } else { name };
            let generic = |one: &String| GenericParameter {
                name: one.as_str().into(),
                is_struct: constraint == Some(&format!("{one} : struct")),
                is_class: constraint == Some(&format!("{one} : class")),
                bounds: Vec::new(),
            };
            let method = Method {
                owner,
                token,
                name: name.into(),
                generics: generics.iter().map(generic).collect(),
                parameters: self.parameters(list, class, &generics),
                result: by_ref(self.ty(ty, class, &generics)),
                is_static,
                is_override,
                is_abstract,
                is_readonly,
                is_accessible,
                is_public,
            };
            let method = Rc::new(method);
            if list.starts_with("this ") {
                self.extensions.borrow_mut().push(method.clone());
            }
            return self.members.borrow_mut()[at].push(Member::Method(method));
        }
        let (declared, value) = rest.split_once('=').unwrap_or((rest, ""));
        let (ty, name) = declared.trim().rsplit_once(' ').unwrap();
        let constant = is_constant.then(|| literal(value.trim()));
        let is_static = is_static || is_constant;
        let field = Field {
            owner,
            token,
            name: name.into(),
            ty: by_ref(self.ty(ty, class, &[])),
            is_static,
            constant,
            is_readonly,
            is_accessible,
        };
        self.members.borrow_mut()[at].push(Member::Field(Rc::new(field)));
    }

    fn parameters(&self, list: &str, class: &[String], method: &[String]) -> Vec<Parameter> {
        let one = |text: String| {
            let (text, default) = match text.split_once('=') {
                Some((text, value)) => (text.trim().to_owned(), Some(literal(value.trim()))),
                None => (text, None),
            };
            let mut words = text.trim();
            let mut take = |word: &str| match words.strip_prefix(word) {
                Some(behind) => {
                    words = behind;
                    true
                }
                None => false,
            };
            take("this ");
            let caller = match () {
                () if take("member ") => Some(CallerPart::Member),
                () if take("line ") => Some(CallerPart::Line),
                () if take("file ") => Some(CallerPart::File),
                () => None,
            };
            let is_params = take("params ");
            let pass = if take("ref ") {
                PassMode::Ref
            } else if take("out ") {
                PassMode::Out
            } else if take("in ") {
                PassMode::In
            } else {
                PassMode::Value
            };
            let argument = words.strip_prefix("text of ").and_then(|words| words.split_once(' '));
            let caller = caller.or(argument.map(|(name, _)| CallerPart::Argument(name.into())));
            let words = argument.map_or(words, |(_, words)| words);
            let (ty, name) = words.rsplit_once(' ').unwrap_or_else(|| panic!("{words}"));
            Parameter { name: name.into(), ty: self.ty(ty, class, method), pass, default, is_params, caller }
        };
        split(list).into_iter().map(one).collect()
    }
}

struct Head {
    word: &'static str,
    full: String,
    generics: Vec<String>,
    bases: Vec<String>,
}

/// Parts between commas that are not inside brackets.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in list.chars() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(letter);
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn literal(text: &str) -> Constant {
    match parse(text).unwrap().kind {
        ExprKind::Literal(constant) => constant,
        other => panic!("{text}: {other:?}"),
    }
}

impl TypeProvider for FakeTypes {
    fn info(&self, def: Def) -> Option<Rc<TypeInfo>> {
        self.infos.get(def.token as usize).cloned()
    }

    fn members(&self, def: Def, name: &str) -> Rc<[Member]> {
        let named = |member: &&Member| match member {
            Member::Field(field) => *field.name == *name,
            Member::Property(property) => *property.name == *name,
            Member::Method(method) => *method.name == *name,
        };
        self.members.borrow()[def.token as usize].iter().filter(named).cloned().collect()
    }

    fn indexers(&self, def: Def) -> Rc<[Rc<Property>]> {
        self.indexers.borrow()[def.token as usize].clone().into()
    }

    fn all_members(&self, def: Def) -> Vec<Member> {
        self.members.borrow()[def.token as usize].clone()
    }

    fn find(&self, full_name: &str) -> Option<Def> {
        self.names.get(full_name).copied()
    }

    fn anonymous_type(&self, _: Option<Def>, properties: &[Rc<str>]) -> Option<Def> {
        let own = |members: &Vec<Member>| {
            let properties = members.iter().filter_map(|member| match member {
                Member::Property(property) => Some(property.name.clone()),
                _ => None,
            });
            properties.collect::<Vec<_>>()
        };
        let all = self.members.borrow();
        let is_it = |at: &usize| self.infos[*at].name.starts_with("<>f") && own(&all[*at]) == *properties;
        (0..all.len()).find(is_it).map(def)
    }

    fn is_visible_from(&self, _: Def, def: Def) -> bool {
        *self.infos[def.token as usize].namespace != *"Elsewhere"
    }

    fn find_nested(&self, def: Def, name: &str) -> Option<Def> {
        self.find(&format!("{}.{name}", self.infos[def.token as usize].full_name))
    }

    fn find_unique(&self, _: &str) -> Option<Def> {
        None
    }

    fn is_namespace(&self, name: &str) -> bool {
        let prefix = format!("{name}.");
        self.infos.iter().any(|info| *info.namespace == *name || info.namespace.starts_with(&prefix))
    }

    fn extensions(&self, _: Option<Def>, name: &str) -> Vec<Rc<Method>> {
        self.extensions.borrow().iter().filter(|method| *method.name == *name).cloned().collect()
    }

    fn namespaces_in(&self, space: &str) -> Vec<String> {
        let prefix = if space.is_empty() { String::new() } else { format!("{space}.") };
        let first = |full: &str| Some(full.strip_prefix(&prefix)?.split('.').next()?.to_owned());
        self.infos.iter().filter_map(|info| first(&info.namespace)).filter(|name| !name.is_empty()).collect()
    }

    fn extension_getters(&self, from: Option<Def>, property: &str) -> Vec<Rc<Method>> {
        self.extensions(from, &format!("get_{property}"))
    }

    fn type_names(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String> {
        let fits = |info: &&Rc<TypeInfo>| {
            let lies = match within {
                Ok(space) => *info.namespace == *space && info.enclosing.is_none(),
                Err(def) => info.enclosing == Some(def),
            };
            lies && info.name.to_lowercase().starts_with(&prefix.to_lowercase())
        };
        self.infos.iter().filter(fits).map(|info| info.name.to_string()).collect()
    }

    fn all_extensions(&self) -> Vec<Rc<Method>> {
        [self.extensions(None, "Twice"), self.extension_getters(None, "Words")].concat()
    }

    fn runtime_type(&self, of: &Typed) -> Option<Ty> {
        let Span { start, end } = of.span;
        self.actual.borrow().get(self.text.borrow().get(start..end)?).cloned()
    }
}

/// Binds any text, in a scope with a variable of each kind.
pub fn bind_any(text: &str) {
    thread_local!(static WORLD: FakeTypes = FakeTypes::new());
    let variables = [
        ("one", "int"),
        ("text", "string"),
        ("list", "List<int>"),
        ("animal", "Animal"),
        ("point", "Point"),
        ("pair", "(string name, int age)"),
        ("some", "int?"),
        ("color", "Color"),
    ];
    WORLD.with(|world| {
        let scope = world.scope_of(&variables, Some("Calls"), false);
        if let Ok(expr) = parse(text)
            && let Ok(BoundExpression { meaning: Meaning::Value(value), .. }) =
                bind(&expr, &scope, None, world)
        {
            value.effects();
        }
        drop(complete(text, text.len(), &scope, world));
    });
}
