//! Calls of `base.Member` that an object's class overrides. An evaluation of the debugging library dispatches
//! virtual methods; a delegate for the code of a method does not.
//!
//! Not here: whether the object's class overrides a method ([`super::method_calls`]).

use tandem_wire::Failure;

use super::{TypedValue, failed};
use crate::func_eval::EvalContext;
use crate::session::ClrSession;
use crate::stop_context::StopContext;
use crate::types::members::MethodInstance;
use crate::types::ty::VOID;
use crate::types::{ClrTypeSystem, Ty};

/// `Func` and `Action` take at most this many parameters.
const MAX_PARAMETERS: usize = 16;

/// A call of exactly this method, also if the object's class overrides it.
pub(super) struct BaseCall<'c> {
    pub(super) method: &'c MethodInstance,
    pub(super) of: &'c TypedValue,
    /// The member as the source names it.
    pub(super) name: &'c str,
    pub(super) site: &'c EvalContext,
}

impl BaseCall<'_> {
    pub(super) fn run(
        &self,
        session: &mut ClrSession,
        arguments: &[TypedValue],
    ) -> Result<TypedValue, Failure> {
        let Self { method, name, site, .. } = *self;
        let image = method.loaded.image();
        if image.is_some_and(|image| image.metadata.is_abstract(method.token)) {
            return Err(failed(format!("`base.{name}` is abstract, so it cannot be called")));
        }
        let delegate = self.delegate_type(&session.program.types).ok_or_else(|| {
            failed(format!(
                "`base.{name}` is overridden in the object's class, and its code cannot be called \
                    directly: it is generic, has too many parameters, or has one that `Func` and `Action` \
                    cannot pass"
            ))
        })?;
        let code = self.code(session)?;
        let takes = ["System.Object", "System.IntPtr"];
        let made = session.construct_with(&delegate, &takes, &[self.of.clone(), code], site)?;
        let invoke = session.program.types.methods_named(&delegate, "Invoke").into_iter().next();
        let invoke = invoke.ok_or_else(|| failed("a delegate has no `Invoke`"))?;
        session.call(site, &invoke, Some(&made), arguments, &format!("base.{name}(…)"))
    }

    /// The delegate type with the parameters of a method.
    fn delegate_type(&self, program: &ClrTypeSystem) -> Option<Ty> {
        let method = self.method;
        let count = method.parameters.len();
        let mut types = method.parameters.clone();
        let name = match method.result == VOID {
            true if count == 0 => return program.ty_named("System.Action"),
            true => format!("System.Action`{count}"),
            false => {
                types.push(method.result.clone());
                format!("System.Func`{}", count + 1)
            }
        };
        let is_passed = |ty: &Ty| {
            let is_by_ref = program.is_ref_struct(ty);
            !matches!(ty, Ty::Reference(_) | Ty::Pointer(_) | Ty::Other) && !ty.is_open() && !is_by_ref
        };
        let is_possible = method.types.is_empty() && count <= MAX_PARAMETERS && types.iter().all(is_passed);
        is_possible.then(|| program.ty_generic(&name, types)).flatten()
    }

    /// The address of a method's code, by reflection.
    fn code(&self, session: &mut ClrSession) -> Result<TypedValue, Failure> {
        let Self { method, site, .. } = *self;
        let token = i32::try_from(method.token).map_err(|_| failed("the method has no metadata token"))?;
        let owner = session.type_object(&method.owner, site)?;
        let module = session.call_known(TYPE, "get_Module", Vec::new(), &[], Some(&owner), &[], site)?;
        let (takes, given) = (["System.Int32"], [TypedValue::int(token)]);
        let open =
            session.call_known(MODULE, "ResolveMethod", Vec::new(), &takes, Some(&module), &given, site)?;
        let mut handle =
            session.call_known(METHOD_BASE, "get_MethodHandle", Vec::new(), &[], Some(&open), &[], site)?;
        if !method.owner.arguments().is_empty() {
            let ty = session.call_known(TYPE, "get_TypeHandle", Vec::new(), &[], Some(&owner), &[], site)?;
            let (takes, given) = ([METHOD_HANDLE, "System.RuntimeTypeHandle"], [handle, ty]);
            let name = "GetMethodFromHandle";
            let closed = session.call_known(METHOD_BASE, name, Vec::new(), &takes, None, &given, site)?;
            handle = session.call_known(
                METHOD_BASE,
                "get_MethodHandle",
                Vec::new(),
                &[],
                Some(&closed),
                &[],
                site,
            )?;
        }
        session.call_known(METHOD_HANDLE, "GetFunctionPointer", Vec::new(), &[], Some(&handle), &[], site)
    }
}

/// The method that `base.Member` runs in a frame: the last override of `method` among the base types of
/// the frame's class.
pub(super) fn seen_by_base(
    stop: &StopContext<'_>,
    method: MethodInstance,
    site: &EvalContext,
) -> MethodInstance {
    let Some(image) = method.loaded.image() else { return method };
    let name = image.metadata.method_name(method.token).to_owned();
    let is_override = |own: &MethodInstance| {
        let metadata = own.loaded.image().map(|image| &image.metadata);
        own.parameters == method.parameters
            && metadata.is_some_and(|of| of.is_virtual(own.token) && !of.is_new_slot(own.token))
    };
    let Some(class) = stop.class_at(site.thread, site.frame) else { return method };
    let bases = stop.types.chain(&class).into_iter().skip(1);
    let found = bases
        .take_while(|base| *base != method.owner)
        .find_map(|base| stop.types.methods_named(&base, &name).into_iter().find(is_override));
    found.unwrap_or(method)
}

const TYPE: &str = "System.Type";
const MODULE: &str = "System.Reflection.Module";
const METHOD_BASE: &str = "System.Reflection.MethodBase";
const METHOD_HANDLE: &str = "System.RuntimeMethodHandle";
