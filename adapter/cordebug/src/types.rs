//! Types with their generic arguments: ICorDebugType, and how to make one. They stay good when the process
//! runs.

use crate::Result;
use crate::com::{ComPtr, call, get};
use crate::frame::Frame;
use crate::module::Class;
use crate::raw;
use crate::thread::Thread;
use crate::value::{Value, element};

/// A type with its generic arguments.
#[derive(Clone)]
pub struct Type(pub(crate) ComPtr<raw::ICorDebugType>);

impl Type {
    /// One of [`element`].
    ///
    /// # Errors
    /// From the runtime.
    pub fn element_type(&self) -> Result<u32> {
        let mut kind = 0;
        call!(self.0, ICorDebugType.GetType(&raw mut kind))?;
        Ok(kind)
    }

    /// The class of the type.
    ///
    /// # Errors
    /// From the runtime; primitives and arrays have none.
    pub fn class(&self) -> Result<Class> {
        get!(self.0, ICorDebugType.GetClass()).map(Class)
    }

    /// The base type of the type.
    ///
    /// # Errors
    /// From the runtime; `object` has none.
    pub fn base(&self) -> Result<Type> {
        get!(self.0, ICorDebugType.GetBase()).map(Type)
    }

    /// Element type of an array or pointer.
    ///
    /// # Errors
    /// From the runtime.
    pub fn first_parameter(&self) -> Result<Type> {
        get!(self.0, ICorDebugType.GetFirstTypeParameter()).map(Type)
    }

    /// Its generic arguments, in order.
    ///
    /// # Errors
    /// From the runtime.
    pub fn parameters(&self) -> Result<Vec<Type>> {
        types_of(&get!(self.0, ICorDebugType.EnumerateTypeParameters())?)
    }

    /// Dimensions of an array.
    ///
    /// # Errors
    /// From the runtime.
    pub fn rank(&self) -> Result<u32> {
        let mut rank = 0;
        call!(self.0, ICorDebugType.GetRank(&raw mut rank))?;
        Ok(rank)
    }

    /// A static field. `frame` says which thread's, for thread statics.
    ///
    /// # Errors
    /// From the runtime; `CORDBG_E_STATIC_VAR_NOT_AVAILABLE` before the class was initialised.
    pub fn static_field(&self, token: u32, frame: &Frame) -> Result<Value> {
        get!(self.0, ICorDebugType.GetStaticFieldValue(token, frame.0.as_ptr())).map(Value::from)
    }
}

/// The types in an enumerator.
pub(crate) fn types_of(list: &ComPtr<raw::ICorDebugTypeEnum>) -> Result<Vec<Type>> {
    let mut types = Vec::new();
    loop {
        let (mut next, mut count) = (core::ptr::null_mut(), 0);
        call!(list, ICorDebugTypeEnum.Next(1, &raw mut next, &raw mut count))?;
        if count == 0 {
            return Ok(types);
        }
        // SAFETY: the enumerator gave us one reference.
        types.push(Type(unsafe { ComPtr::own("ICorDebugTypeEnum::Next", next) }?));
    }
}

impl Class {
    /// The type of this class with these generic arguments (those of its enclosing classes first).
    ///
    /// # Errors
    /// From the runtime.
    pub fn with(&self, is_value: bool, arguments: &[Type]) -> Result<Type> {
        let class: ComPtr<raw::ICorDebugClass2> = self.0.cast()?;
        let kind = if is_value { element::VALUETYPE } else { element::CLASS };
        let mut list: Vec<_> = arguments.iter().map(|argument| argument.0.as_ptr()).collect();
        let made =
            get!(class, ICorDebugClass2.GetParameterizedType(kind, list.len() as u32, list.as_mut_ptr()));
        made.map(Type)
    }
}

impl Thread {
    /// An array of this element type: `SZARRAY` with rank 1, `ARRAY`, or a pointer (`PTR`, `BYREF`; rank 0).
    ///
    /// # Errors
    /// From the runtime.
    pub fn array_of(&self, kind: u32, rank: u32, of: &Type) -> Result<Type> {
        let domain: ComPtr<raw::ICorDebugAppDomain> = get!(self.0, ICorDebugThread.GetAppDomain())?;
        let domain: ComPtr<raw::ICorDebugAppDomain2> = domain.cast()?;
        get!(domain, ICorDebugAppDomain2.GetArrayOrPointerType(kind, rank, of.0.as_ptr())).map(Type)
    }
}
