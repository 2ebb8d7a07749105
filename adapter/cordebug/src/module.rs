//! Modules and classes: ICorDebugModule, ICorDebugClass.

use crate::Result;
use crate::com::{ComPtr, IUnknown, Interface, call, get};
use crate::frame::Function;
use crate::hresult::CorError;
use crate::raw;

/// CORDEBUG_JIT_DISABLE_OPTIMIZATION.
const NO_OPTIMIZATION: u32 = 3;
/// Longest name we ask for, UTF-16 units.
const MAX_NAME_LEN: usize = 32 * 1024;

/// Largest metadata that is read, bytes.
const MAX_METADATA_LEN: u32 = 256 * 1024 * 1024;

/// A module that the program has loaded.
#[derive(Clone)]
pub struct Module(pub(crate) ComPtr<raw::ICorDebugModule>);

impl Module {
    /// Its path; a made-up name for modules without a file.
    ///
    /// # Errors
    /// From the runtime.
    pub fn name(&self) -> Result<String> {
        let mut length = 0;
        call!(self.0, ICorDebugModule.GetName(0, &raw mut length, core::ptr::null_mut()))?;
        let mut name = vec![0u16; (length as usize).min(MAX_NAME_LEN)];
        call!(self.0, ICorDebugModule.GetName(name.len() as u32, &raw mut length, name.as_mut_ptr()))?;
        Ok(String::from_utf16_lossy(name.split(|unit| *unit == 0).next().unwrap_or_default()))
    }

    /// Address at which it is loaded.
    ///
    /// # Errors
    /// From the runtime.
    pub fn base_address(&self) -> Result<u64> {
        let mut address = 0;
        call!(self.0, ICorDebugModule.GetBaseAddress(&raw mut address))?;
        Ok(address)
    }

    /// How many bytes are loaded there.
    ///
    /// # Errors
    /// From the runtime.
    pub fn size(&self) -> Result<u32> {
        let mut size = 0;
        call!(self.0, ICorDebugModule.GetSize(&raw mut size))?;
        Ok(size)
    }

    /// Whether it is made at run time, by `AssemblyBuilder`: types may still come.
    ///
    /// # Errors
    /// From the runtime.
    pub fn is_dynamic(&self) -> Result<bool> {
        let mut dynamic = 0;
        call!(self.0, ICorDebugModule.IsDynamic(&raw mut dynamic))?;
        Ok(dynamic != 0)
    }

    /// Whether it was made at run time, or has no file.
    ///
    /// # Errors
    /// From the runtime.
    pub fn is_without_file(&self) -> Result<bool> {
        let mut in_memory = 0;
        call!(self.0, ICorDebugModule.IsInMemory(&raw mut in_memory))?;
        Ok(in_memory != 0 || self.is_dynamic()?)
    }

    /// Its metadata as the runtime has it now (ECMA-335 II.24.2): of a module made at run time, which has no
    /// file.
    ///
    /// # Errors
    /// From the runtime.
    pub fn metadata(&self) -> Result<Vec<u8>> {
        let wanted = raw::IMetaDataTables2::IID;
        let unknown: ComPtr<IUnknown> =
            get!(self.0, ICorDebugModule.GetMetaDataInterface(&raw const wanted))?;
        let tables: ComPtr<raw::IMetaDataTables2> = unknown.cast()?;
        let (mut start, mut size) = (core::ptr::null(), 0u32);
        call!(tables, IMetaDataTables2.GetMetaDataStorage(&raw mut start, &raw mut size))?;
        if start.is_null() || size > MAX_METADATA_LEN {
            return Err(CorError::null("IMetaDataTables2::GetMetaDataStorage"));
        }
        // SAFETY: the call returned an address and a size of memory that is valid as long as `tables`.
        Ok(unsafe { core::slice::from_raw_parts(start.cast::<u8>(), size as usize) }.to_vec())
    }

    /// The method with this MethodDef token.
    ///
    /// # Errors
    /// From the runtime.
    pub fn function(&self, token: u32) -> Result<Function> {
        get!(self.0, ICorDebugModule.GetFunctionFromToken(token)).map(Function)
    }

    /// The class with this TypeDef token.
    ///
    /// # Errors
    /// From the runtime.
    pub fn class(&self, token: u32) -> Result<Class> {
        get!(self.0, ICorDebugModule.GetClassFromToken(token)).map(Class)
    }

    /// Keeps its code from being optimised; only while it is being loaded.
    ///
    /// # Errors
    /// From the runtime; `CORDBG_E_CANNOT_BE_ON_ATTACH` after attaching.
    pub fn disable_optimization(&self) -> Result<()> {
        let module: ComPtr<raw::ICorDebugModule2> = self.0.cast()?;
        call!(module, ICorDebugModule2.SetJITCompilerFlags(NO_OPTIMIZATION)).map(drop)
    }

    /// Says whether its code is the user's, for steps in just-my-code.
    ///
    /// # Errors
    /// From the runtime.
    pub fn set_user_code(&self, user: bool) -> Result<()> {
        let module: ComPtr<raw::ICorDebugModule2> = self.0.cast()?;
        call!(module, ICorDebugModule2.SetJMCStatus(i32::from(user), 0, core::ptr::null_mut())).map(drop)
    }

    /// Whether the runtime has bound a reference of this module (an AssemblyRef token) to the assembly of
    /// another.
    ///
    /// # Errors
    /// From the runtime, also where the reference is not bound yet.
    pub fn refers_to(&self, reference: u32, other: &Self) -> Result<bool> {
        let module: ComPtr<raw::ICorDebugModule2> = self.0.cast()?;
        let bound = get!(module, ICorDebugModule2.ResolveAssembly(reference))?;
        Ok(bound.is_same(&get!(other.0, ICorDebugModule.GetAssembly())?))
    }

    /// Whether both are the same module.
    pub fn is(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}

/// A class without its generic arguments.
#[derive(Clone)]
pub struct Class(pub(crate) ComPtr<raw::ICorDebugClass>);

impl Class {
    /// Its TypeDef token.
    ///
    /// # Errors
    /// From the runtime.
    pub fn token(&self) -> Result<u32> {
        let mut token = 0;
        call!(self.0, ICorDebugClass.GetToken(&raw mut token))?;
        Ok(token)
    }

    /// The module it is in.
    ///
    /// # Errors
    /// From the runtime.
    pub fn module(&self) -> Result<Module> {
        get!(self.0, ICorDebugClass.GetModule()).map(Module)
    }
}

impl Class {
    /// A static field of a class without generic arguments. `frame` says which thread's, for thread statics.
    ///
    /// # Errors
    /// From the runtime; `CORDBG_E_STATIC_VAR_NOT_AVAILABLE` before the class was initialised.
    pub fn static_field(&self, token: u32, frame: &crate::frame::Frame) -> Result<crate::value::Value> {
        get!(self.0, ICorDebugClass.GetStaticFieldValue(token, frame.0.as_ptr()))
            .map(crate::value::Value::from)
    }
}
