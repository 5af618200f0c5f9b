//! Vectors whose precision is known only at run time.
//!
//! Inside a level everything is typed. Between levels, and between the finest level and a Krylov
//! method, a vector is in one of two precisions. The borrowed forms let the finest level work
//! directly on the caller's vectors.

use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::{Kind, Real};

/// An owned vector in one of the working precisions.
#[derive(Debug)]
pub(crate) enum Work<D: Device> {
    F64(D::Vector<f64>),
    F32(D::Vector<f32>),
}

/// A borrowed vector in one of the working precisions.
#[derive(Debug)]
pub(crate) enum WorkRef<'a, D: Device> {
    F64(&'a D::Vector<f64>),
    F32(&'a D::Vector<f32>),
}

/// A vector to be written, in one of the working precisions.
#[derive(Debug)]
pub(crate) enum WorkMut<'a, D: Device> {
    F64(&'a mut D::Vector<f64>),
    F32(&'a mut D::Vector<f32>),
}

impl<D: Device> Work<D> {
    /// Zeros in the given working precision. Storage precisions count as `f32`, which can represent
    /// them.
    pub(crate) fn zeros(device: &D, working: Kind, len: usize) -> Result<Self, DeviceError> {
        Ok(match working {
            Kind::F64 => Work::F64(device.zeros(len)?),
            _ => Work::F32(device.zeros(len)?),
        })
    }

    pub(crate) fn view(&self) -> WorkRef<'_, D> {
        match self {
            Work::F64(x) => WorkRef::F64(x),
            Work::F32(x) => WorkRef::F32(x),
        }
    }

    pub(crate) fn view_mut(&mut self) -> WorkMut<'_, D> {
        match self {
            Work::F64(x) => WorkMut::F64(x),
            Work::F32(x) => WorkMut::F32(x),
        }
    }
}

impl<D: Device> WorkMut<'_, D> {
    /// The same vector, reborrowed for a shorter lifetime.
    pub(crate) fn reborrow(&mut self) -> WorkMut<'_, D> {
        match self {
            WorkMut::F64(x) => WorkMut::F64(&mut **x),
            WorkMut::F32(x) => WorkMut::F32(&mut **x),
        }
    }

    pub(crate) fn view(&self) -> WorkRef<'_, D> {
        match self {
            WorkMut::F64(x) => WorkRef::F64(&**x),
            WorkMut::F32(x) => WorkRef::F32(&**x),
        }
    }
}

// Deriving would require `D: Copy`.
impl<D: Device> Clone for WorkRef<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: Device> Copy for WorkRef<'_, D> {}

/// Typed access for a level, which knows its working precision at compile time. A vector of the
/// other precision is a bug in the cycle, hence the panic.
pub(crate) trait Working<D: Device>: Real {
    fn get<'a>(x: WorkRef<'a, D>) -> &'a D::Vector<Self>;
    fn get_mut<'a>(x: WorkMut<'a, D>) -> &'a mut D::Vector<Self>;
    fn wrap(x: D::Vector<Self>) -> Work<D>;
}

macro_rules! working {
    ($t:ty, $variant:ident) => {
        #[allow(clippy::panic)] // see the trait
        impl<D: Device> Working<D> for $t {
            fn get<'a>(x: WorkRef<'a, D>) -> &'a D::Vector<Self> {
                match x {
                    WorkRef::$variant(x) => x,
                    _ => panic!("a vector in the working precision of its level"),
                }
            }

            fn get_mut<'a>(x: WorkMut<'a, D>) -> &'a mut D::Vector<Self> {
                match x {
                    WorkMut::$variant(x) => x,
                    _ => panic!("a vector in the working precision of its level"),
                }
            }

            fn wrap(x: D::Vector<Self>) -> Work<D> {
                Work::$variant(x)
            }
        }
    };
}
working!(f64, F64);
working!(f32, F32);

/// y ← x, for any two precisions.
pub(crate) fn convert<D: Device>(device: &D, x: WorkRef<'_, D>, y: WorkMut<'_, D>) {
    match (x, y) {
        (WorkRef::F64(x), WorkMut::F64(y)) => device.copy(x, y),
        (WorkRef::F32(x), WorkMut::F32(y)) => device.copy(x, y),
        (WorkRef::F64(x), WorkMut::F32(y)) => device.cast(x, y),
        (WorkRef::F32(x), WorkMut::F64(y)) => device.cast(x, y),
    }
}

/// y ← α x + β y for vectors of the same precision.
pub(crate) fn axpby<D: Device>(device: &D, alpha: f64, x: WorkRef<'_, D>, beta: f64, y: WorkMut<'_, D>) {
    match y {
        WorkMut::F64(y) => device.axpby(alpha, f64::get(x), beta, y),
        WorkMut::F32(y) => device.axpby(alpha as f32, f32::get(x), beta as f32, y),
    }
}

/// x · y for vectors of the same precision.
pub(crate) fn dot<D: Device>(device: &D, x: WorkRef<'_, D>, y: WorkRef<'_, D>) -> f64 {
    match x {
        WorkRef::F64(x) => device.dot(x, f64::get(y)),
        WorkRef::F32(x) => device.dot(x, f32::get(y)),
    }
}
