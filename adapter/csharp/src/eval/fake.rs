//! A fake program with a few objects, for tests of the evaluator. It records the members that run.
//! [`crate::bind::fake`] has its types.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use super::*;
use crate::bind::fake::FakeTypes;
use crate::bind::{
    FieldRef, Member, Method, MethodRef, Property, PropertyRef, Scope, TypeInfo, TypeProvider, TypeRelations,
};
use crate::constant::Constant;
use crate::types::{Def, Ty, kind};

/// A path to a value: a variable or an object, and steps from it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FakeLocation {
    Variable(usize),
    Object(usize),
    Field(Box<FakeLocation>, String),
    Item(Box<FakeLocation>, usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FakeValue {
    Here(Constant),
    Object(usize),
}

#[derive(Debug, Clone)]
struct FakeObject {
    ty: Ty,
    fields: HashMap<String, FakeValue>,
    items: Vec<FakeValue>,
}

pub(crate) struct FakeProgram {
    pub(crate) world: FakeTypes,
    pub(crate) scope: Scope,
    variables: RefCell<Vec<FakeValue>>,
    heap: RefCell<Vec<FakeObject>>,
    /// Names of the members that ran, in order.
    pub(crate) ran: RefCell<Vec<String>>,
}

type V = TypedValue<FakeLocation>;
type R<T> = Result<T, String>;

fn int(value: i32) -> FakeValue {
    FakeValue::Here(Constant::int(value))
}

fn text(value: &str) -> FakeValue {
    FakeValue::Here(Constant::Text(value.into()))
}

impl FakeProgram {
    pub(crate) fn new() -> Self {
        let world = FakeTypes::new();
        let fake = Self {
            scope: Scope::default(),
            world,
            variables: RefCell::default(),
            heap: RefCell::default(),
            ran: RefCell::default(),
        };
        let here = |constant| FakeValue::Here(constant);
        let animal = fake.make(
            "Animal",
            &[("Name", text("Rex")), ("legs", int(4)), ("Friend", here(Constant::Null))],
            vec![],
        );
        let dog = fake.make(
            "Dog",
            &[
                ("Name", text("Bo")),
                ("legs", int(5)),
                ("Friend", FakeValue::Object(animal)),
                ("Best", here(Constant::Null)),
                ("Auto", text("a")),
            ],
            vec![],
        );
        let seen = fake.make(
            "Dog",
            &[("Name", text("Seen")), ("legs", int(6)), ("Best", FakeValue::Object(dog))],
            vec![],
        );
        let point = fake.make("Point", &[("X", int(3)), ("Y", int(4))], vec![]);
        let pair = fake.make("(string, int)", &[("Item1", text("tom")), ("Item2", int(5))], vec![]);
        let other = fake.make("(string, int)", &[("Item1", text("ann")), ("Item2", int(30))], vec![]);
        let points = fake.make("List<Point>", &[], vec![FakeValue::Object(fake.copy(point))]);
        let corners = fake.make("Point[]", &[], vec![FakeValue::Object(fake.copy(point))]);
        let ages = fake.make("Dictionary<string, int>", &[("ann", int(30))], vec![]);
        let list = |items: &[i32]| items.iter().map(|item| int(*item)).collect::<Vec<_>>();
        let names: Vec<FakeValue> = ["bob", "ann", "cyd"].map(text).to_vec();
        let values: Vec<(&str, &str, FakeValue)> = vec![
            ("one", "int", int(1)),
            ("two", "int", int(2)),
            ("small", "byte", here(Constant::Int(kind::U1, 200))),
            ("max", "int", int(i32::MAX)),
            ("zero", "int", int(0)),
            ("word", "uint", here(Constant::Int(kind::U4, 4_000_000_000))),
            ("real", "double", here(Constant::Double(2.5))),
            ("letter", "char", here(Constant::Int(kind::CHAR, 120))),
            ("yes", "bool", here(Constant::Bool(true))),
            ("no", "bool", here(Constant::Bool(false))),
            ("text", "string", text("hello")),
            ("nothing", "string", here(Constant::Null)),
            ("boxed", "object", here(Constant::int(99))),
            ("some", "int?", int(12)),
            ("none", "int?", here(Constant::Null)),
            ("truth", "bool?", here(Constant::Null)),
            ("color", "Color", here(Constant::Int(kind::I4, 5))),
            ("point", "Point", FakeValue::Object(point)),
            ("place", "Point?", FakeValue::Object(fake.copy(point))),
            ("noPlace", "Point?", here(Constant::Null)),
            ("animal", "Animal", FakeValue::Object(seen)),
            ("dog", "Dog", FakeValue::Object(dog)),
            ("nobody", "Dog", here(Constant::Null)),
            ("list", "List<int>", FakeValue::Object(fake.make("List<int>", &[], list(&[3, 1, 2])))),
            ("array", "int[]", FakeValue::Object(fake.make("int[]", &[], list(&[10, 20, 30])))),
            ("names", "List<string>", FakeValue::Object(fake.make("List<string>", &[], names))),
            ("pair", "(string name, int age)", FakeValue::Object(pair)),
            (
                "people",
                "List<(string name, int age)>",
                FakeValue::Object(fake.make(
                    "List<(string, int)>",
                    &[],
                    vec![FakeValue::Object(other), FakeValue::Object(fake.copy(pair))],
                )),
            ),
            ("ages", "Dictionary<string, int>", FakeValue::Object(ages)),
            ("points", "List<Point>", FakeValue::Object(points)),
            ("corners", "Point[]", FakeValue::Object(corners)),
            ("tri", "Tri", FakeValue::Object(fake.make("Tri", &[("Value", int(1))], vec![]))),
            ("num", "Num", FakeValue::Object(fake.make("Num", &[("Value", int(7))], vec![]))),
            ("counter", "Counter", FakeValue::Object(fake.make("Counter", &[("Value", int(1))], vec![]))),
            ("scratch", "int", int(0)),
            ("pointer", "int*", here(Constant::Int(kind::U8, 4096))),
            ("blank", "void*", here(Constant::Int(kind::U8, 0))),
            (
                "many",
                "int[]",
                FakeValue::Object(fake.make("int[]", &[], list(&(0..12_000).collect::<Vec<_>>()))),
            ),
        ];
        let declared: Vec<(&str, &str)> = values.iter().map(|(name, ty, _)| (*name, *ty)).collect();
        let scope = fake.world.scope_of(&declared, Some("Calls"), false);
        *fake.variables.borrow_mut() = values.into_iter().map(|(.., value)| value).collect();
        Self { scope, ..fake }
    }

    fn make(&self, ty: &str, fields: &[(&str, FakeValue)], items: Vec<FakeValue>) -> usize {
        let ty = self.world.ty(ty, &[], &[]);
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.put(FakeObject { ty, fields, items })
    }

    fn put(&self, object: FakeObject) -> usize {
        self.heap.borrow_mut().push(object);
        self.heap.borrow().len() - 1
    }

    fn copy(&self, id: usize) -> usize {
        let object = self.heap.borrow()[id].clone();
        self.put(object)
    }

    fn types(&self) -> TypeRelations<'_> {
        TypeRelations::new(self)
    }

    fn read(&self, place: &FakeLocation) -> FakeValue {
        match place {
            FakeLocation::Variable(at) => self.variables.borrow()[*at].clone(),
            FakeLocation::Object(id) => FakeValue::Object(*id),
            FakeLocation::Field(of, name) => {
                let object = self.object(&self.read(of));
                object.fields.get(name).cloned().unwrap_or(FakeValue::Here(Constant::Null))
            }
            FakeLocation::Item(of, at) => self.object(&self.read(of)).items[*at].clone(),
        }
    }

    fn object(&self, stored: &FakeValue) -> FakeObject {
        match stored {
            FakeValue::Object(id) => self.heap.borrow()[*id].clone(),
            FakeValue::Here(constant) => panic!("{constant:?} is not an object"),
        }
    }

    fn stored(&self, val: &V) -> FakeValue {
        match &val.data {
            ValueLocation::Constant(constant) => FakeValue::Here(constant.clone()),
            ValueLocation::At(place) => match self.read(place) {
                // A struct is copied; an object is shared.
                FakeValue::Object(id) if self.heap.borrow()[id].ty.is_value() => {
                    FakeValue::Object(self.copy(id))
                }
                other => other,
            },
        }
    }

    fn put_at(&self, place: &FakeLocation, value: FakeValue) {
        match place {
            FakeLocation::Variable(at) => self.variables.borrow_mut()[*at] = value,
            FakeLocation::Object(id) => {
                let FakeValue::Object(from) = value else { panic!("a number for an object") };
                let object = self.heap.borrow()[from].clone();
                self.heap.borrow_mut()[*id] = object;
            }
            FakeLocation::Field(of, name) => {
                let FakeValue::Object(id) = self.read(of) else { panic!("no object") };
                self.heap.borrow_mut()[id].fields.insert(name.clone(), value);
            }
            FakeLocation::Item(of, at) => {
                let FakeValue::Object(id) = self.read(of) else { panic!("no object") };
                self.heap.borrow_mut()[id].items[*at] = value;
            }
        }
    }

    fn val(&self, stored: FakeValue, ty: Ty) -> V {
        match stored {
            FakeValue::Here(constant) => TypedValue::constant_of(constant, ty),
            FakeValue::Object(id) => TypedValue::at(FakeLocation::Object(id), ty),
        }
    }

    fn number(&self, val: &V) -> i32 {
        match self.load(val) {
            Ok(Some(Constant::Int(_, value))) => value as i32,
            other => panic!("{other:?}"),
        }
    }

    fn field_of(&self, val: &V, name: &str) -> FakeValue {
        let ValueLocation::At(place) = &val.data else { panic!("{val:?} has no fields") };
        self.read(&FakeLocation::Field(Box::new(place.clone()), name.into()))
    }

    fn integer(&self, val: &V, name: &str) -> i32 {
        match self.field_of(val, name) {
            FakeValue::Here(Constant::Int(_, value)) => value as i32,
            other => panic!("{other:?}"),
        }
    }

    fn point(&self, x: i32, y: i32) -> V {
        let id = self.make("Point", &[("X", int(x)), ("Y", int(y))], vec![]);
        TypedValue::at(FakeLocation::Object(id), self.world.ty("Point", &[], &[]))
    }

    fn items_in(&self, val: &V) -> Vec<FakeValue> {
        match &val.data {
            ValueLocation::At(place) => self.object(&self.read(place)).items,
            ValueLocation::Constant(_) => panic!("no items"),
        }
    }

    /// Formats a value for the tests.
    pub(crate) fn shown(&self, val: &V) -> String {
        match self.load(val).unwrap() {
            Some(Constant::Text(text)) => format!("\"{text}\""),
            Some(Constant::Null) => "null".into(),
            Some(constant) => constant.invariant_text(),
            None => {
                let ValueLocation::At(place) = &val.data else { panic!() };
                let object = self.object(&self.read(place));
                let one = |stored: &FakeValue| match stored {
                    FakeValue::Here(constant) => constant.invariant_text(),
                    FakeValue::Object(id) => {
                        self.shown(&TypedValue::at(FakeLocation::Object(*id), Ty::Other))
                    }
                };
                if !object.items.is_empty() || matches!(object.ty, Ty::Vector(_)) {
                    return format!("[{}]", object.items.iter().map(one).collect::<Vec<_>>().join(", "));
                }
                let mut fields: Vec<String> =
                    object.fields.iter().map(|(name, value)| format!("{name}={}", one(value))).collect();
                fields.sort();
                format!("{{{}}}", fields.join(" "))
            }
        }
    }
}

impl TypeProvider for FakeProgram {
    fn info(&self, def: Def) -> Option<Rc<TypeInfo>> {
        self.world.info(def)
    }
    fn members(&self, def: Def, name: &str) -> Rc<[Member]> {
        self.world.members(def, name)
    }
    fn indexers(&self, def: Def) -> Rc<[Rc<Property>]> {
        self.world.indexers(def)
    }
    fn all_members(&self, def: Def) -> Vec<Member> {
        self.world.all_members(def)
    }
    fn find(&self, full_name: &str) -> Option<Def> {
        self.world.find(full_name)
    }
    fn anonymous_type(&self, from: Option<Def>, properties: &[Rc<str>]) -> Option<Def> {
        self.world.anonymous_type(from, properties)
    }
    fn find_nested(&self, def: Def, name: &str) -> Option<Def> {
        self.world.find_nested(def, name)
    }
    fn find_unique(&self, name: &str) -> Option<Def> {
        self.world.find_unique(name)
    }
    fn is_namespace(&self, name: &str) -> bool {
        self.world.is_namespace(name)
    }
    fn extensions(&self, from: Option<Def>, name: &str) -> Vec<Rc<Method>> {
        self.world.extensions(from, name)
    }
    fn extension_getters(&self, from: Option<Def>, property: &str) -> Vec<Rc<Method>> {
        self.world.extension_getters(from, property)
    }
    fn type_names(&self, within: Result<&str, Def>, prefix: &str) -> Vec<String> {
        self.world.type_names(within, prefix)
    }
    fn all_extensions(&self) -> Vec<Rc<Method>> {
        Vec::new()
    }
    fn runtime_type(&self, of: &Typed) -> Option<Ty> {
        current_type(of, self).ok().flatten()
    }
}

impl EvaluationTarget for FakeProgram {
    type Location = FakeLocation;
    type Error = String;

    fn error(&self, message: String) -> String {
        message
    }
    fn stale_error(&self) -> String {
        "stale".into()
    }
    fn check_cancellation(&self) -> R<()> {
        Ok(())
    }
    fn variable(&self, at: u32) -> R<V> {
        Ok(TypedValue::at(FakeLocation::Variable(at as usize), self.scope.variables[at as usize].ty.clone()))
    }
    fn this(&self) -> R<V> {
        Err("there is no this".into())
    }
    fn exception(&self) -> R<V> {
        Err("there is no exception".into())
    }
    fn thread_id(&self) -> i32 {
        7
    }
    fn load(&self, val: &V) -> R<Option<Constant>> {
        Ok(match &val.data {
            ValueLocation::Constant(constant) => Some(constant.clone()),
            ValueLocation::At(place) => match self.read(place) {
                FakeValue::Here(constant) => Some(constant),
                FakeValue::Object(_) => None,
            },
        })
    }
    fn is_null(&self, val: &V) -> R<bool> {
        Ok(match self.load(val)? {
            Some(Constant::Int(_, address)) => address == 0 && matches!(val.ty, Ty::Pointer(_)),
            constant => constant == Some(Constant::Null),
        })
    }
    fn actual_type(&self, val: &V) -> R<Ty> {
        Ok(match self.load(val)? {
            Some(constant) => match (self.types().nullable(&val.ty), val.ty.is_value()) {
                (Some(inner), _) => inner,
                (None, true) => val.ty.clone(),
                (None, false) => constant.ty(),
            },
            None => {
                let ValueLocation::At(place) = &val.data else { panic!() };
                self.object(&self.read(place)).ty
            }
        })
    }
    fn identity(&self, val: &V) -> R<Option<u64>> {
        if let (Ty::Pointer(_), Some(Constant::Int(_, address))) = (&val.ty, self.load(val)?) {
            return Ok(u64::try_from(address).ok());
        }
        Ok(match &val.data {
            ValueLocation::Constant(_) => None,
            ValueLocation::At(place) => match self.read(place) {
                FakeValue::Object(id) => Some(id as u64 + 1),
                FakeValue::Here(_) => None,
            },
        })
    }
    fn is_interned(&self, text: &V) -> R<bool> {
        self.ran.borrow_mut().push("IsInterned".into());
        Ok(self.shown(text).contains("interned"))
    }
    fn equal_texts(&self, a: &V, b: &V) -> R<bool> {
        Ok(self.shown(a) == self.shown(b))
    }
    fn field(&self, of: Option<&V>, field: &FieldRef) -> R<V> {
        let ty = field.field.ty.with(field.owner.arguments(), &[]);
        let Some(of) = of else { return Ok(self.val(int(3), ty)) };
        let ValueLocation::At(place) = &of.data else { panic!("{of:?} has no field") };
        Ok(TypedValue::at(FakeLocation::Field(Box::new(place.clone()), field.field.name.to_string()), ty))
    }
    fn property(&self, of: Option<&V>, property: &PropertyRef) -> R<V> {
        let name = &property.property.name;
        let of = of.ok_or("a static property")?;
        let direct = property.ty.direct().clone();
        Ok(match &**name {
            "Count" if self.types().is_named(&of.ty, "System.Collections.Generic.List`1") => {
                self.ran.borrow_mut().push("get_Count".into());
                TypedValue::int(self.items_in(of).len() as i32)
            }
            "Sum" => TypedValue::int(self.integer(of, "X") + self.integer(of, "Y")),
            "Sound" => {
                self.ran.borrow_mut().push("get_Sound".into());
                TypedValue::text("wuff")
            }
            name => self.val(self.field_of(of, name), direct),
        })
    }
    fn indexer(&self, of: &V, property: &PropertyRef, arguments: &[V]) -> R<V> {
        let ty = property.ty.direct().clone();
        if self.types().is_named(&of.ty, "System.Collections.Generic.List`1") {
            let ValueLocation::At(place) = &of.data else { panic!() };
            return self
                .element(
                    &TypedValue::at(place.clone(), ty.clone().vector()),
                    &[i64::from(self.number(&arguments[0]))],
                )
                .map(|val| TypedValue { ty, ..val });
        }
        self.ran.borrow_mut().push("get_Item".into());
        match self.load(&arguments[0])? {
            Some(Constant::Text(key)) => match self.field_of(of, &key) {
                FakeValue::Here(Constant::Null) => Err("KeyNotFoundException".into()),
                stored => Ok(self.val(stored, ty)),
            },
            _ => Ok(TypedValue::int(self.number(&arguments[0]) * 10)),
        }
    }
    fn length(&self, of: &V) -> R<i32> {
        match self.load(of)? {
            Some(Constant::Text(text)) => Ok(text.len() as i32),
            _ => Ok(self.items_in(of).len() as i32),
        }
    }
    fn element(&self, of: &V, indexes: &[i64]) -> R<V> {
        if let Ty::Pointer(to) = &of.ty {
            let Some(Constant::Int(_, address)) = self.load(of)? else { panic!("{of:?}") };
            let to = self.types().type_text(to);
            return Ok(TypedValue::text(format!("{to} {} after {address}", indexes[0])));
        }
        if let Some(Constant::Text(text)) = self.load(of)? {
            let unit = text.encode_utf16().nth(indexes[0] as usize).ok_or("IndexOutOfRangeException")?;
            return Ok(TypedValue::plain(Constant::Int(kind::CHAR, unit.into())));
        }
        let ValueLocation::At(place) = &of.data else { panic!() };
        let at = usize::try_from(indexes[0])
            .ok()
            .filter(|at| *at < self.items_in(of).len())
            .ok_or("IndexOutOfRangeException")?;
        let ty = self.types().item_of(&of.ty).unwrap_or(Ty::Other);
        Ok(TypedValue::at(FakeLocation::Item(Box::new(place.clone()), at), ty))
    }
    fn tuple_element(&self, of: &V, at: usize) -> R<V> {
        let ValueLocation::At(place) = &of.data else { panic!() };
        let ty = self.types().tuple(&of.ty).and_then(|all| all.get(at).cloned()).unwrap_or(Ty::Other);
        Ok(TypedValue::at(FakeLocation::Field(Box::new(place.clone()), format!("Item{}", at + 1)), ty))
    }
    fn nullable_value(&self, of: &V) -> R<V> {
        let ty = self.types().nullable(&of.ty).unwrap_or_else(|| of.ty.clone());
        Ok(TypedValue { ty, ..of.clone() })
    }
    fn address(&self, _: &V) -> R<u64> {
        Ok(4096)
    }
    fn call(&self, method: &MethodRef, of: Option<&V>, arguments: &[V], _: bool) -> R<Option<V>> {
        let name = &*method.method.name;
        self.ran.borrow_mut().push(name.to_owned());
        let result = method.result.direct().clone();
        Ok(Some(match (name, of, arguments) {
            ("op_Addition", _, [a, b]) => self.point(
                self.integer(a, "X") + self.integer(b, "X"),
                self.integer(a, "Y") + self.integer(b, "Y"),
            ),
            ("op_True", _, [a]) => TypedValue::bool(self.integer(a, "Value") > 0),
            ("op_False", _, [a]) => TypedValue::bool(self.integer(a, "Value") < 0),
            ("op_BitwiseAnd" | "op_BitwiseOr", _, [a, b]) => {
                let id = self.make(
                    "Tri",
                    &[("Value", int(self.integer(a, "Value") + self.integer(b, "Value")))],
                    vec![],
                );
                TypedValue::at(FakeLocation::Object(id), result)
            }
            ("op_Equality", _, [a, b]) => TypedValue::bool(self.shown(a) == self.shown(b)),
            ("op_Inequality", _, [a, b]) => TypedValue::bool(self.shown(a) != self.shown(b)),
            ("op_Implicit", _, [a]) if result == self.world.ty("Point", &[], &[]) => {
                self.point(self.number(a), self.number(a))
            }
            ("op_Implicit", _, [a]) => TypedValue::constant_of(
                Constant::Int(result.kind().unwrap(), (self.integer(a, "Value") + 700).into()),
                result,
            ),
            ("op_Explicit", _, [a]) => TypedValue::int(self.integer(a, "X") * 100 + self.integer(a, "Y")),
            ("op_Increment", _, [a]) => {
                let id = self.make("Counter", &[("Value", int(self.integer(a, "Value") + 1))], vec![]);
                TypedValue::at(FakeLocation::Object(id), result)
            }
            ("Bump", Some(of), []) => {
                let x = self.integer(of, "X") + 1;
                self.put_at(&FakeLocation::Field(Box::new(of.path().unwrap().clone()), "X".into()), int(x));
                TypedValue::int(x)
            }
            ("Legs", Some(of), []) => TypedValue::int(self.integer(of, "legs") + 10),
            ("Deconstruct", Some(of), [x, y]) => {
                for (out, name) in [(x, "X"), (y, "Y")] {
                    self.put_at(out.path().unwrap(), self.field_of(of, name));
                }
                return Ok(None);
            }
            ("TryParse", _, [text, out]) => {
                let Some(Constant::Text(text)) = self.load(text)? else {
                    return Ok(Some(TypedValue::bool(false)));
                };
                self.put_at(out.path().unwrap(), int(text.parse().unwrap_or(0)));
                TypedValue::bool(text.parse::<i32>().is_ok())
            }
            ("TryGetValue", Some(of), [key, out]) => {
                let Some(Constant::Text(key)) = self.load(key)? else { panic!() };
                let stored = self.field_of(of, &key);
                let has = stored != FakeValue::Here(Constant::Null);
                self.put_at(out.path().unwrap(), if has { stored } else { int(0) });
                TypedValue::bool(has)
            }
            ("Add", Some(of), [item]) => {
                let FakeValue::Object(id) = self.read(of.path().unwrap()) else { panic!() };
                let item = self.stored(item);
                self.heap.borrow_mut()[id].items.push(item);
                return Ok(None);
            }
            ("Swap", _, [a, b]) => {
                let (first, second) = (self.stored(a), self.stored(b));
                self.put_at(a.path().unwrap(), second);
                self.put_at(b.path().unwrap(), first);
                return Ok(None);
            }
            ("ToUpper", Some(of), []) => match self.load(of)? {
                Some(Constant::Text(text)) => TypedValue::text(text.to_uppercase()),
                other => panic!("{other:?}"),
            },
            ("Count", _, [of]) => TypedValue::int(self.items_in(of).len() as i32),
            ("First", _, [of]) => self.val(self.items_in(of)[0].clone(), result),
            ("Sum", _, [of]) => {
                TypedValue::int(
                    self.items_in(of)
                        .iter()
                        .map(|item| {
                            if let FakeValue::Here(Constant::Int(_, value)) = item {
                                *value as i32
                            } else {
                                0
                            }
                        })
                        .sum(),
                )
            }
            ("Join", ..) => TypedValue::text(format!("joined {}", arguments.len())),
            ("get_Words", _, [of]) => TypedValue::int(self.shown(of).split(' ').count() as i32),
            ("Twice", _, [of]) => TypedValue::text(self.shown(of).trim_matches('"').repeat(2)),
            ("IsLetter", _, [of]) => TypedValue::bool((97..123).contains(&self.number(of))),
            ("Add", None, [a, b, c]) => TypedValue::int(self.number(a) + self.number(b) + self.number(c)),
            ("G", _, [all]) => TypedValue::text(format!("params {}", self.items_in(all).len())),
            ("Id", _, [of]) => TypedValue { ty: result, ..of.clone() },
            ("Max", _, [a, b]) => TypedValue::int(self.number(a).max(self.number(b))),
            ("Fail", ..) => return Err("Exception: it failed".into()),
            ("Range", _, [start, count]) => {
                let items = (self.number(start)..self.number(start) + self.number(count)).map(int).collect();
                TypedValue::at(FakeLocation::Object(self.make("int[]", &[], items)), result)
            }
            _ => return Err(format!("the fake has no {name}")),
        }))
    }
    fn construct(&self, constructor: &MethodRef, arguments: &[V]) -> R<V> {
        self.ran.borrow_mut().push(format!("new {}", self.types().type_text(&constructor.owner)));
        let names = ["X", "Y"];
        let fields = arguments
            .iter()
            .zip(names)
            .map(|(argument, name)| (name.to_owned(), self.stored(argument)))
            .collect();
        let mut object = FakeObject { ty: constructor.owner.clone(), fields, items: Vec::new() };
        if self.types().is_named(&object.ty, "System.Exception") {
            object.fields =
                arguments.iter().map(|argument| ("Message".to_owned(), self.stored(argument))).collect();
        }
        Ok(TypedValue::at(FakeLocation::Object(self.put(object)), constructor.owner.clone()))
    }
    fn new_variable(&self, ty: &Ty) -> R<V> {
        let id = self.put(FakeObject {
            ty: Ty::Other,
            fields: HashMap::from([("it".to_owned(), int(0))]),
            items: Vec::new(),
        });
        Ok(TypedValue::at(FakeLocation::Field(Box::new(FakeLocation::Object(id)), "it".into()), ty.clone()))
    }
    fn new_array(&self, of: &Ty, lengths: &[i64], items: Option<Vec<V>>) -> R<V> {
        self.ran.borrow_mut().push("new array".into());
        let items = match items {
            Some(items) => items.iter().map(|item| self.stored(item)).collect(),
            None => (0..lengths[0]).map(|_| int(0)).collect(),
        };
        let ty = of.clone().vector();
        Ok(TypedValue::at(
            FakeLocation::Object(self.put(FakeObject { ty: ty.clone(), fields: HashMap::new(), items })),
            ty,
        ))
    }
    fn new_list(&self, ty: &Ty, array: V) -> R<V> {
        let items = self.items_in(&array);
        Ok(TypedValue::at(
            FakeLocation::Object(self.put(FakeObject { ty: ty.clone(), fields: HashMap::new(), items })),
            ty.clone(),
        ))
    }
    fn new_tuple(&self, ty: &Ty, items: Vec<V>) -> R<V> {
        let fields = items
            .iter()
            .enumerate()
            .map(|(at, item)| (format!("Item{}", at + 1), self.stored(item)))
            .collect();
        Ok(TypedValue::at(
            FakeLocation::Object(self.put(FakeObject { ty: ty.clone(), fields, items: Vec::new() })),
            ty.clone(),
        ))
    }
    fn new_zeroed(&self, ty: &Ty) -> R<V> {
        let fields = ["X", "Y", "Value"].into_iter().map(|name| (name.to_owned(), int(0))).collect();
        Ok(TypedValue::at(
            FakeLocation::Object(self.put(FakeObject { ty: ty.clone(), fields, items: Vec::new() })),
            ty.clone(),
        ))
    }
    fn copy(&self, val: &V) -> R<V> {
        Ok(self.val(self.stored(val), val.ty.clone()))
    }
    fn copy_struct(&self, val: &V) -> R<V> {
        let FakeValue::Object(id) = self.stored(val) else { return Ok(val.clone()) };
        Ok(TypedValue::at(FakeLocation::Object(self.copy(id)), val.ty.clone()))
    }
    fn is_variable(&self, _: &V) -> bool {
        true
    }
    fn write(&self, place: &V, value: &V) -> R<V> {
        self.put_at(place.path().unwrap(), self.stored(value));
        Ok(place.clone())
    }
    fn set_property(&self, of: Option<&V>, property: &PropertyRef, arguments: &[V], value: &V) -> R<()> {
        let of = of.unwrap();
        self.ran.borrow_mut().push(format!("set_{}", property.property.name));
        let name = match arguments {
            [] => property.property.name.to_string(),
            [key] => match self.load(key)? {
                Some(Constant::Text(key)) => key,
                _ => {
                    let place =
                        FakeLocation::Item(Box::new(of.path().unwrap().clone()), self.number(key) as usize);
                    self.put_at(&place, self.stored(value));
                    return Ok(());
                }
            },
            _ => return Err("too many".into()),
        };
        self.put_at(&FakeLocation::Field(Box::new(of.path().unwrap().clone()), name), self.stored(value));
        Ok(())
    }
    fn type_object(&self, ty: &Ty) -> R<V> {
        Ok(TypedValue::text(format!("typeof {}", self.types().type_text(ty))))
    }
    fn size_of(&self, _: &Ty) -> R<i32> {
        Ok(8)
    }
    fn text_of(&self, val: &V) -> R<String> {
        self.ran.borrow_mut().push("ToString".into());
        Ok(self.shown(val))
    }
    fn format(&self, val: &V, format: &str) -> R<String> {
        Ok(format!("{}:{format}", self.shown(val)))
    }
    fn enum_name(&self, ty: &Ty, number: i128) -> Option<String> {
        self.world.all_members(self.types().def(ty)?).iter().find_map(|member| match member {
            Member::Field(field)
                if matches!(field.constant, Some(Constant::Int(_,
                value)) if value == number) =>
            {
                Some(field.name.to_string())
            }
            _ => None,
        })
    }
    fn exception_error(&self, val: &V) -> String {
        format!("thrown {}", self.shown(val))
    }
    fn items(&self, of: &V, most: usize) -> R<(Vec<V>, bool)> {
        let ty = self.types().item_of(&of.ty).unwrap_or(Ty::Other);
        let all = self.items_in(of);
        let is_cut = all.len() > most;
        Ok((all.into_iter().take(most).map(|item| self.val(item, ty.clone())).collect(), is_cut))
    }
    fn order(&self, count: usize, levels: &[SortKeys<FakeLocation>]) -> R<Vec<usize>> {
        self.ran.borrow_mut().push("order".into());
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| {
            levels.iter().fold(Ordering::Equal, |order, level| {
                let by = self.shown(&level.keys[*a]).cmp(&self.shown(&level.keys[*b]));
                order.then(if level.is_descending { by.reverse() } else { by })
            })
        });
        Ok(order)
    }
    fn group_equal_keys(&self, keys: &[V], _: Option<&V>) -> R<Vec<Vec<usize>>> {
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let key = self.shown(key).to_lowercase();
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, group)) => group.push(at),
                None => groups.push((key, vec![at])),
            }
        }
        Ok(groups.into_iter().map(|(_, group)| group).collect())
    }
    fn new_dictionary(&self, ty: &Ty, pairs: Vec<(V, V)>, _: Option<&V>) -> R<V> {
        let mut fields = HashMap::new();
        for (key, value) in pairs {
            let key = self.shown(&key).trim_matches('"').to_owned();
            if fields.insert(key, self.stored(&value)).is_some() {
                return Err("ArgumentException: An item with the same key has already been added".into());
            }
        }
        Ok(TypedValue::at(
            FakeLocation::Object(self.put(FakeObject { ty: ty.clone(), fields, items: Vec::new() })),
            ty.clone(),
        ))
    }
    fn new_groups(&self, _: &Ty, _: &[Rc<Grouping<FakeLocation>>]) -> R<V> {
        Err("groups in the program".into())
    }
    fn replace_items(&self, of: &V, items: Vec<V>) -> R<()> {
        let FakeValue::Object(id) = self.read(of.path().unwrap()) else { panic!() };
        let items = items.iter().map(|item| self.stored(item)).collect();
        self.heap.borrow_mut()[id].items = items;
        Ok(())
    }
}

/// Evaluates an expression to its result or its error. The fake records effects.
pub(crate) fn evaluated(fake: &FakeProgram, text: &str) -> String {
    let expr = match crate::syntax::parse(text) {
        Ok(expr) => expr,
        Err(error) => return format!("! {error}"),
    };
    let bound = match crate::bind::bind(&expr, &fake.scope, None, fake) {
        Ok(bound) => bound,
        Err(refusal) => return format!("! {refusal:?}"),
    };
    let crate::bind::Meaning::Value(value) = bound.meaning else { return "! no value".into() };
    fake.ran.borrow_mut().clear();
    match evaluate(&value, bound.slots, text, fake) {
        Ok(Some(val)) => fake.shown(&val),
        Ok(None) => "void".into(),
        Err(error) => format!("! {error}"),
    }
}
