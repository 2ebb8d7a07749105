//! Modules and classes: ICorDebugModule, ICorDebugClass. Parses no metadata: it returns the bytes, and the
//! crate `clr-metadata` reads them.

use crate::Result;
use crate::com::{ComPtr, IUnknown, Interface, call, get};
use crate::frame::Function;
use crate::hresult::CorError;
use crate::raw;

/// CorDebugJITCompilerFlags: CORDEBUG_JIT_DISABLE_OPTIMIZATION.
const NO_OPTIMIZATION: u32 = 3;
/// Maximum length of a module's name, in UTF-16 units.
const MAX_NAME_LEN: usize = 32 * 1024;

/// Maximum size of metadata that is read, in bytes.
const MAX_METADATA_LEN: u32 = 256 * 1024 * 1024;

/// A module that the program has loaded.
#[derive(Clone)]
pub struct Module(pub(crate) ComPtr<raw::ICorDebugModule>);

impl Module {
    /// The path of the module; a made-up name for a module without a file.
    ///
    /// # Errors
    /// From `ICorDebugModule::GetName`.
    pub fn name(&self) -> Result<String> {
        let mut length = 0;
        call!(self.0, ICorDebugModule.GetName(0, &raw mut length, core::ptr::null_mut()))?;
        let mut name = vec![0u16; (length as usize).min(MAX_NAME_LEN)];
        call!(self.0, ICorDebugModule.GetName(name.len() as u32, &raw mut length, name.as_mut_ptr()))?;
        Ok(String::from_utf16_lossy(name.split(|unit| *unit == 0).next().unwrap_or_default()))
    }

    /// Address at which the module is loaded.
    ///
    /// # Errors
    /// From `ICorDebugModule::GetBaseAddress`.
    pub fn base_address(&self) -> Result<u64> {
        let mut address = 0;
        call!(self.0, ICorDebugModule.GetBaseAddress(&raw mut address))?;
        Ok(address)
    }

    /// Number of bytes that are loaded there.
    ///
    /// # Errors
    /// From `ICorDebugModule::GetSize`.
    pub fn size(&self) -> Result<u32> {
        let mut size = 0;
        call!(self.0, ICorDebugModule.GetSize(&raw mut size))?;
        Ok(size)
    }

    /// Whether the program creates the module at run time, by `AssemblyBuilder`. Types may still be added.
    ///
    /// # Errors
    /// From `ICorDebugModule::IsDynamic`.
    pub fn is_dynamic(&self) -> Result<bool> {
        let mut dynamic = 0;
        call!(self.0, ICorDebugModule.IsDynamic(&raw mut dynamic))?;
        Ok(dynamic != 0)
    }

    /// Whether the module was created at run time, or was loaded from memory.
    ///
    /// # Errors
    /// From `ICorDebugModule::IsInMemory` or `ICorDebugModule::IsDynamic`.
    pub fn is_without_file(&self) -> Result<bool> {
        let mut in_memory = 0;
        call!(self.0, ICorDebugModule.IsInMemory(&raw mut in_memory))?;
        Ok(in_memory != 0 || self.is_dynamic()?)
    }

    /// The current metadata in the runtime (ECMA-335 II.24.2), for a module that was created at run
    /// time and has no file.
    ///
    /// # Errors
    /// From `ICorDebugModule::GetMetaDataInterface` or `IMetaDataTables2::GetMetaDataStorage`; also if the
    /// metadata is larger than 256 MiB.
    pub fn metadata(&self) -> Result<Vec<u8>> {
        let interface = raw::IMetaDataTables2::IID;
        let unknown: ComPtr<IUnknown> =
            get!(self.0, ICorDebugModule.GetMetaDataInterface(&raw const interface))?;
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
    /// From `ICorDebugModule::GetFunctionFromToken`.
    pub fn function(&self, token: u32) -> Result<Function> {
        get!(self.0, ICorDebugModule.GetFunctionFromToken(token)).map(Function)
    }

    /// The class with this TypeDef token.
    ///
    /// # Errors
    /// From `ICorDebugModule::GetClassFromToken`.
    pub fn class(&self, token: u32) -> Result<Class> {
        get!(self.0, ICorDebugModule.GetClassFromToken(token)).map(Class)
    }

    /// Turns optimisation of the module's code off. Only possible while the module is being loaded.
    ///
    /// # Errors
    /// From `ICorDebugModule2::SetJITCompilerFlags`; `CORDBG_E_CANNOT_BE_ON_ATTACH` after attaching.
    pub fn disable_optimization(&self) -> Result<()> {
        let module: ComPtr<raw::ICorDebugModule2> = self.0.cast()?;
        call!(module, ICorDebugModule2.SetJITCompilerFlags(NO_OPTIMIZATION)).map(drop)
    }

    /// Marks the code of the module as user code or not, for steps with Just My Code.
    ///
    /// # Errors
    /// From `ICorDebugModule2::SetJMCStatus`.
    pub fn set_user_code(&self, user: bool) -> Result<()> {
        let module: ComPtr<raw::ICorDebugModule2> = self.0.cast()?;
        call!(module, ICorDebugModule2.SetJMCStatus(i32::from(user), 0, core::ptr::null_mut())).map(drop)
    }

    /// Whether the runtime has bound a reference of this module (an AssemblyRef token) to
    /// the assembly of another.
    ///
    /// # Errors
    /// From `ICorDebugModule2::ResolveAssembly` or `ICorDebugModule::GetAssembly`; also if the
    /// reference is not bound yet.
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
    /// The TypeDef token of the class.
    ///
    /// # Errors
    /// From `ICorDebugClass::GetToken`.
    pub fn token(&self) -> Result<u32> {
        let mut token = 0;
        call!(self.0, ICorDebugClass.GetToken(&raw mut token))?;
        Ok(token)
    }

    /// The module that defines the class.
    ///
    /// # Errors
    /// From `ICorDebugClass::GetModule`.
    pub fn module(&self) -> Result<Module> {
        get!(self.0, ICorDebugClass.GetModule()).map(Module)
    }
}

impl Class {
    /// A static field of a class without generic arguments. For a thread static, `frame` selects the thread.
    ///
    /// # Errors
    /// From `ICorDebugClass::GetStaticFieldValue`; `CORDBG_E_STATIC_VAR_NOT_AVAILABLE` before the
    /// class is initialised.
    pub fn static_field(&self, token: u32, frame: &crate::frame::Frame) -> Result<crate::value::Value> {
        get!(self.0, ICorDebugClass.GetStaticFieldValue(token, frame.0.as_ptr()))
            .map(crate::value::Value::from)
    }
}
