//! A vector in the memory of some device, with its number type and length known at run time.
//!
//! Who allocates, copies and combines vectors need not know where they are: a [`Device`] does that.
//! It finds its own memory in the vector ([`Vector::memory`]), which is checked in every build.

use std::any::{Any, type_name};
use std::fmt::Debug;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::number::{Kind, Store};

/// The memory of a vector or a matrix: a type of its device.
///
/// ```
/// use ziggurat_sparse::device::Memory;
/// fn is_memory(_: &dyn Memory) {}
/// is_memory(&vec![1.0, 2.0]);
/// ```
pub trait Memory: Any + Debug + Send + Sync {}

impl<M: Any + Debug + Send + Sync> Memory for M {}

/// The memory as the type that a device uses; `kind` is for the message if it has another one.
impl dyn Memory {
    #[track_caller]
    pub(super) fn typed<M: Memory>(&self, kind: Kind) -> &M {
        let memory: &dyn Any = self;
        memory.downcast_ref().unwrap_or_else(|| foreign::<M>(kind))
    }

    #[track_caller]
    pub(super) fn typed_mut<M: Memory>(&mut self, kind: Kind) -> &mut M {
        let memory: &mut dyn Any = self;
        memory.downcast_mut().unwrap_or_else(|| foreign::<M>(kind))
    }

    #[track_caller]
    pub(super) fn into_typed<M: Memory>(self: Box<Self>, kind: Kind) -> M {
        let memory: Box<dyn Any> = self;
        *memory.downcast().unwrap_or_else(|_| foreign::<M>(kind))
    }
}

/// Ends with a message for the programmer.
#[cold]
#[track_caller]
#[allow(clippy::panic)] // see `Vector::memory`
fn foreign<M>(kind: Kind) -> ! {
    panic!("{kind} numbers of another device or type, where {} is used", type_name::<M>())
}

/// A vector: numbers of one type, in the memory of a device.
///
/// ```
/// use ziggurat_sparse::{Kind, device::{Cpu, Device, DeviceExt, Vector}};
/// let x = Cpu::new().upload(&[3.0, 4.0])?;
/// assert_eq!((x.kind(), x.len()), (Kind::F64, 2));
/// assert_eq!(x.elements::<f64>(), Some(&[3.0, 4.0][..])); // the CPU's memory is the host's
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
///
/// An array of the host is a vector, too, for devices that compute in host memory:
///
/// ```
/// use ziggurat_sparse::device::{Cpu, DeviceExt, Vector};
/// assert_eq!(Cpu::new().norm(&Vector::from(vec![3.0, 4.0])), 5.0);
/// ```
#[derive(Debug)]
pub struct Vector {
    kind: Kind,
    len: usize,
    memory: Box<dyn Memory>,
}

impl Vector {
    /// A vector of `len` numbers of type `T` in memory of some device.
    ///
    /// ```
    /// use ziggurat_sparse::device::Vector;
    /// assert_eq!(Vector::new::<f64>(2, vec![1.0, 2.0]).elements::<f64>(), Some(&[1.0, 2.0][..]));
    /// ```
    pub fn new<T: Store>(len: usize, memory: impl Memory) -> Self {
        Vector { kind: T::KIND, len, memory: Box::new(memory) }
    }

    /// The type of its numbers.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of elements; among several processes, of those that this one holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Memory used by its elements, in bytes.
    pub fn bytes(&self) -> usize {
        self.len * self.kind.facts().bytes
    }

    /// Its memory as the type that a device uses.
    ///
    /// # Panics
    /// If it belongs to another kind of device, or has other numbers: an error of the algorithm.
    #[track_caller]
    pub fn memory<M: Memory>(&self) -> &M {
        self.memory.typed(self.kind)
    }

    /// As [`memory`](Vector::memory), mutably.
    ///
    /// # Panics
    /// As [`memory`](Vector::memory).
    #[track_caller]
    pub fn memory_mut<M: Memory>(&mut self) -> &mut M {
        self.memory.typed_mut(self.kind)
    }

    /// As [`memory`](Vector::memory), by value.
    ///
    /// # Panics
    /// As [`memory`](Vector::memory).
    #[track_caller]
    pub fn into_memory<M: Memory>(self) -> M {
        self.memory.into_typed(self.kind)
    }

    /// The elements; `None` if they are not in host memory, or of another type.
    pub fn elements<T: Store>(&self) -> Option<&[T]> {
        (&*self.memory as &dyn Any).downcast_ref::<Vec<T>>().map(Vec::as_slice)
    }

    /// The elements, mutably; `None` if they are not in host memory, or of another type.
    pub fn elements_mut<T: Store>(&mut self) -> Option<&mut [T]> {
        (&mut *self.memory as &mut dyn Any).downcast_mut::<Vec<T>>().map(Vec::as_mut_slice)
    }
}

impl<T: Store> From<Vec<T>> for Vector {
    /// A vector in host memory.
    fn from(elements: Vec<T>) -> Self {
        Vector::new::<T>(elements.len(), elements)
    }
}

/// A list of vectors, or of references to them, of the same number type and length.
///
/// ```
/// use ziggurat_sparse::device::{Vector, Vectors};
/// let [x, y] = [1.0, 2.0].map(|x| Vector::from(vec![x]));
/// assert_eq!(Vectors::from(&[&y, &x]).get(1).elements(), Some(&[1.0][..]));
/// assert_eq!(Vectors::from(&[y, x]).len(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Vectors<'a> {
    /// Vectors.
    Own(&'a [Vector]),
    /// References to vectors.
    Borrowed(&'a [&'a Vector]),
}

impl<'a> Vectors<'a> {
    /// No vectors.
    pub const NONE: Vectors<'static> = Vectors::Own(&[]);

    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Vectors::Own(vectors) => vectors.len(),
            Vectors::Borrowed(vectors) => vectors.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(self, index: usize) -> &'a Vector {
        match self {
            Vectors::Own(vectors) => &vectors[index],
            Vectors::Borrowed(vectors) => vectors[index],
        }
    }
}

impl<'a> From<&'a [Vector]> for Vectors<'a> {
    fn from(vectors: &'a [Vector]) -> Self {
        Vectors::Own(vectors)
    }
}

impl<'a, const N: usize> From<&'a [Vector; N]> for Vectors<'a> {
    fn from(vectors: &'a [Vector; N]) -> Self {
        Vectors::Own(vectors)
    }
}

impl<'a> From<&'a Vec<Vector>> for Vectors<'a> {
    fn from(vectors: &'a Vec<Vector>) -> Self {
        Vectors::Own(vectors)
    }
}

impl<'a> From<&'a [&'a Vector]> for Vectors<'a> {
    fn from(vectors: &'a [&'a Vector]) -> Self {
        Vectors::Borrowed(vectors)
    }
}

impl<'a, const N: usize> From<&'a [&'a Vector; N]> for Vectors<'a> {
    fn from(vectors: &'a [&'a Vector; N]) -> Self {
        Vectors::Borrowed(vectors)
    }
}

/// An array of the host, with its number type known at run time.
///
/// ```
/// use ziggurat_sparse::{Kind, device::HostSlice};
/// let slice = HostSlice::of(&[1.0_f32, 2.0]);
/// assert_eq!((slice.kind(), slice.elements::<f32>()), (Kind::F32, &[1.0, 2.0][..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HostSlice<'a> {
    kind: Kind,
    bytes: &'a [u8],
}

impl<'a> HostSlice<'a> {
    /// An array.
    pub fn of<T: Store>(elements: &'a [T]) -> Self {
        HostSlice { kind: T::KIND, bytes: cast_slice(elements) }
    }

    /// The type of its numbers.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Its elements.
    ///
    /// # Panics
    /// If they are of another type.
    pub fn elements<T: Store>(self) -> &'a [T] {
        assert_eq!(self.kind, T::KIND, "the numbers of an array");
        cast_slice(self.bytes)
    }
}

/// As [`HostSlice`], mutable.
///
/// ```
/// use ziggurat_sparse::device::HostSliceMut;
/// let mut x = [1.0, 2.0];
/// HostSliceMut::of(&mut x).elements::<f64>()[0] = 3.0;
/// assert_eq!(x, [3.0, 2.0]);
/// ```
#[derive(Debug)]
pub struct HostSliceMut<'a> {
    kind: Kind,
    bytes: &'a mut [u8],
}

impl<'a> HostSliceMut<'a> {
    /// An array.
    pub fn of<T: Store>(elements: &'a mut [T]) -> Self {
        HostSliceMut { kind: T::KIND, bytes: cast_slice_mut(elements) }
    }

    /// The type of its numbers.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its elements.
    ///
    /// # Panics
    /// If they are of another type.
    pub fn elements<T: Store>(self) -> &'a mut [T] {
        assert_eq!(self.kind, T::KIND, "the numbers of an array");
        cast_slice_mut(self.bytes)
    }
}
