//! Loads compiled code into the program: as an assembly, in the context of the expression's code. Does not
//! call it ([`super`]).

use std::rc::Rc;

use clr_metadata::metadata::Metadata;
use cordebug::value::element;
use tandem_wire::Failure;

use crate::compiler::LoadStrategy;
use crate::cor;
use crate::expression_syntax::failed;
use crate::func_eval::EvalContext;
use crate::modules::LoadedModule;
use crate::modules::injected::LOADER;
use crate::session::ClrSession;
use crate::typed_value::{Constant, TypedValue, ValueLocation};
use crate::types::Ty;
use crate::types::members::MethodInstance;
use crate::types::ty::{OBJECT, STRING};
use crate::value_path::Path;

/// Source of the loader, which runs in the program and loads the rest.
pub(super) const LOADER_SOURCE: &str = include_str!("in_program/Loader.cs");
const BYTES: Ty = Ty::Primitive(element::U1);

/// Whether the program can load an assembly.
pub(super) fn is_possible(session: &ClrSession) -> bool {
    load_of_bytes(session).is_some()
}

fn load_of_bytes(session: &ClrSession) -> Option<MethodInstance> {
    static_method(session, "System.Reflection.Assembly", "Load", &[BYTES.vector()])
}

/// Loads an assembly from bytes with the runtime's own method: it finds the assemblies that the
/// program itself can load.
///
/// # Errors
/// Exceptions of the program.
pub(super) fn load_plainly(
    session: &mut ClrSession,
    site: &EvalContext,
    (name, image): (&str, &[u8]),
) -> Result<Rc<LoadedModule>, Failure> {
    let load = load_of_bytes(session).ok_or_else(|| failed("the program cannot load assemblies"))?;
    let bytes = bytes(session, site, image)?;
    session.call(site, &load, None, &[bytes], "Assembly.Load(byte[])")?;
    find_loaded(session, name)
}

/// Loads an assembly into the load context of a module.
///
/// # Errors
/// Exceptions of the program.
pub(super) fn load(
    session: &mut ClrSession,
    site: &EvalContext,
    way: &LoadStrategy,
    beside: &LoadedModule,
    (name, image): (&str, &[u8]),
) -> Result<Rc<LoadedModule>, Failure> {
    let LoadStrategy::Loader(loader) = way else { return load_plainly(session, site, (name, image)) };
    let method = method_of(session, loader, LOADER, "Load")
        .ok_or_else(|| failed("the loader of expressions is damaged"))?;
    let anchor = anchor(session, site, beside);
    let bytes = bytes(session, site, image)?;
    let anchor = anchor.map_or_else(TypedValue::null, |path| TypedValue::at(path, OBJECT));
    session.call(site, &method, None, &[bytes, anchor], "load a compiled expression")?;
    find_loaded(session, name)
}

/// Unloads all assemblies of expressions.
///
/// # Errors
/// Exceptions of the program.
pub(super) fn unload(
    session: &mut ClrSession,
    site: &EvalContext,
    way: &LoadStrategy,
) -> Result<(), Failure> {
    let LoadStrategy::Loader(loader) = way else { return Ok(()) };
    let method = method_of(session, loader, LOADER, "Unload")
        .ok_or_else(|| failed("the loader of expressions is damaged"))?;
    session.call(site, &method, None, &[], "unload compiled expressions").map(drop)
}

/// The paths of the assemblies that the program can load, as its host reports them; empty if it reports none.
pub(super) fn platform(session: &mut ClrSession, site: &EvalContext) -> Result<Vec<String>, Failure> {
    const NAME: &str = "TRUSTED_PLATFORM_ASSEMBLIES";
    let Some(get) = static_method(session, "System.AppContext", "GetData", &[STRING]) else {
        return Ok(Vec::new());
    };
    let val = session.call(site, &get, None, &[TypedValue::text(NAME)], "AppContext.GetData(…)")?;
    Ok(match session.at_stop().load(&val)? {
        Some(Constant::Text(paths)) => {
            paths.split(':').filter(|path| path.starts_with('/')).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    })
}

/// A method of a module's class, by name.
pub(super) fn method_of(
    session: &ClrSession,
    loaded: &Rc<LoadedModule>,
    class: &str,
    name: &str,
) -> Option<MethodInstance> {
    let metadata = &loaded.image()?.metadata;
    let token = metadata.find_type(class)?;
    let method = metadata.methods(token).find(|method| metadata.method_name(*method) == name)?;
    method_with(session, loaded, method, Vec::new())
}

/// A static method with these generic arguments.
pub(super) fn method_with(
    session: &ClrSession,
    loaded: &Rc<LoadedModule>,
    token: u32,
    types: Vec<Ty>,
) -> Option<MethodInstance> {
    let metadata: &Metadata = &loaded.image()?.metadata;
    let signature = metadata.method_signature(token)?;
    (!signature.has_this).then_some(())?;
    let close = |of| session.program.types.ty_of(loaded, of).with(&[], &types);
    Some(MethodInstance {
        loaded: loaded.clone(),
        token,
        owner: session.program.types.defined(loaded, metadata.owner_of(token), None, Vec::new()),
        parameters: signature.parameters.iter().map(close).collect(),
        result: close(&signature.result),
        types,
        is_static: true,
    })
}

fn static_method(session: &ClrSession, class: &str, name: &str, parameters: &[Ty]) -> Option<MethodInstance> {
    let (loaded, token) = session.program.types.type_named(class)?;
    let metadata = &loaded.image()?.metadata;
    let named = metadata.methods(token).filter(|method| metadata.method_name(*method) == name);
    let mut fitting = named.filter_map(|method| method_with(session, &loaded, method, Vec::new()));
    fitting.find(|method| method.parameters == parameters)
}

/// An array of a type of the module, which tells the loader the module's load context.
fn anchor(session: &mut ClrSession, site: &EvalContext, beside: &LoadedModule) -> Option<Path> {
    let metadata = &beside.image()?.metadata;
    let is_plain = |token: &u32| {
        let is_class = metadata.base_name(*token).is_some_and(|base| base == "System.Object");
        is_class && metadata.generic_parameters(*token).is_empty()
    };
    let token = metadata.type_tokens().find(is_plain)?;
    let ty = session.program.types.defined(beside, token, Some(false), Vec::new());
    let of = session.program.types.runtime_type(&session.program.debuggee, site.thread, &ty).ok()?;
    let made = session.run_in(site, "new array", None, |eval| eval.new_array(&of, 0)).ok()?;
    session.program.values.hold_object(&made?, "new array")
}

/// An array of bytes in the program.
fn bytes(session: &mut ClrSession, site: &EvalContext, bytes: &[u8]) -> Result<TypedValue, Failure> {
    let lost = || failed("the program could not make an array");
    let length = u32::try_from(bytes.len()).map_err(|_| lost())?;
    let of = session.program.types.runtime_type(&session.program.debuggee, site.thread, &BYTES)?;
    let made = session.run_in(site, "new byte[]", None, |eval| eval.new_array(&of, length))?;
    let path = session.program.values.hold_object(&made.ok_or_else(lost)?, "new byte[]").ok_or_else(lost)?;
    let array = crate::bare_value::bare(&session.at_stop().fetch(&path)?).and_then(|value| value.as_array());
    let first = array.ok_or_else(lost)?.element(0).and_then(|element| element.address());
    let address = first.map_err(cor("find the bytes of a new array"))?;
    let written =
        session.program.debuggee.process()?.write_memory(address, bytes).map_err(cor("fill a new array"))?;
    match written == bytes.len() {
        true => Ok(TypedValue { data: ValueLocation::At(path), ty: BYTES.vector() }),
        false => Err(failed("the program's memory could not be written to")),
    }
}

/// The module of an assembly that was just loaded for an expression.
fn find_loaded(session: &ClrSession, name: &str) -> Result<Rc<LoadedModule>, Failure> {
    let found = session
        .program
        .types
        .modules
        .all()
        .iter()
        .rev()
        .find(|loaded| loaded.path == std::path::Path::new(name));
    found
        .cloned()
        .ok_or_else(|| failed("the program loaded a compiled expression, but its runtime did not report it"))
}
