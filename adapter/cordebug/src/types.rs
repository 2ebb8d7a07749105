//! Types with their generic arguments, and how to construct them: ICorDebugType. They stay valid when the
//! process runs. Not here: their names, which the crate `clr-metadata` reads.

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
    /// The CorElementType of the type, one of [`element`].
    ///
    /// # Errors
    /// From `ICorDebugType::GetType`.
    pub fn element_type(&self) -> Result<u32> {
        let mut kind = 0;
        call!(self.0, ICorDebugType.GetType(&raw mut kind))?;
        Ok(kind)
    }

    /// The class of the type.
    ///
    /// # Errors
    /// From `ICorDebugType::GetClass`; primitive types and arrays have no class.
    pub fn class(&self) -> Result<Class> {
        get!(self.0, ICorDebugType.GetClass()).map(Class)
    }

    /// The base type of the type.
    ///
    /// # Errors
    /// From `ICorDebugType::GetBase`; `object` has no base type.
    pub fn base(&self) -> Result<Type> {
        get!(self.0, ICorDebugType.GetBase()).map(Type)
    }

    /// The element type of an array or pointer.
    ///
    /// # Errors
    /// From `ICorDebugType::GetFirstTypeParameter`.
    pub fn first_parameter(&self) -> Result<Type> {
        get!(self.0, ICorDebugType.GetFirstTypeParameter()).map(Type)
    }

    /// The generic arguments of the type, in order.
    ///
    /// # Errors
    /// From `ICorDebugType::EnumerateTypeParameters`.
    pub fn parameters(&self) -> Result<Vec<Type>> {
        types_of(&get!(self.0, ICorDebugType.EnumerateTypeParameters())?)
    }

    /// The number of dimensions of an array.
    ///
    /// # Errors
    /// From `ICorDebugType::GetRank`.
    pub fn rank(&self) -> Result<u32> {
        let mut rank = 0;
        call!(self.0, ICorDebugType.GetRank(&raw mut rank))?;
        Ok(rank)
    }

    /// A static field of the type. For a thread static, `frame` selects the thread.
    ///
    /// # Errors
    /// From `ICorDebugType::GetStaticFieldValue`; `CORDBG_E_STATIC_VAR_NOT_AVAILABLE` before the
    /// class is initialised.
    pub fn static_field(&self, token: u32, frame: &Frame) -> Result<Value> {
        get!(self.0, ICorDebugType.GetStaticFieldValue(token, frame.0.as_ptr())).map(Value::from)
    }
}

/// Collects the types of an enumerator.
pub(crate) fn types_of(list: &ComPtr<raw::ICorDebugTypeEnum>) -> Result<Vec<Type>> {
    let mut types = Vec::new();
    loop {
        let (mut next, mut count) = (core::ptr::null_mut(), 0);
        call!(list, ICorDebugTypeEnum.Next(1, &raw mut next, &raw mut count))?;
        if count == 0 {
            return Ok(types);
        }
        // SAFETY: the enumerator returned one reference.
        types.push(Type(unsafe { ComPtr::own("ICorDebugTypeEnum::Next", next) }?));
    }
}

impl Class {
    /// The type of this class with these generic arguments (those of its enclosing classes first).
    ///
    /// # Errors
    /// From `ICorDebugClass2::GetParameterizedType`.
    pub fn parameterized(&self, is_value: bool, arguments: &[Type]) -> Result<Type> {
        let class: ComPtr<raw::ICorDebugClass2> = self.0.cast()?;
        let kind = if is_value { element::VALUETYPE } else { element::CLASS };
        let mut list: Vec<_> = arguments.iter().map(|argument| argument.0.as_ptr()).collect();
        let made =
            get!(class, ICorDebugClass2.GetParameterizedType(kind, list.len() as u32, list.as_mut_ptr()));
        made.map(Type)
    }
}

impl Thread {
    /// An array type with this element type (`SZARRAY` with rank 1, `ARRAY`), or a pointer type (`PTR`,
    /// `BYREF`, with rank 0).
    ///
    /// # Errors
    /// From `ICorDebugThread::GetAppDomain` or `ICorDebugAppDomain2::GetArrayOrPointerType`.
    pub fn array_of(&self, kind: u32, rank: u32, of: &Type) -> Result<Type> {
        let domain: ComPtr<raw::ICorDebugAppDomain> = get!(self.0, ICorDebugThread.GetAppDomain())?;
        let domain: ComPtr<raw::ICorDebugAppDomain2> = domain.cast()?;
        get!(domain, ICorDebugAppDomain2.GetArrayOrPointerType(kind, rank, of.0.as_ptr())).map(Type)
    }
}
