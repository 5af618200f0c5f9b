//! The kernels of setup, with number types known at run time.

use super::{
    ClassicalStrength, FilteredStep, RowStep, SparseFactors, SparseSize, StoredSparse, SymmetricStrength,
};
use crate::algebra::Truncation;
use crate::device::{Device, DeviceError, Matrix, Memory, Vector};
use crate::matrix::Csr;
use crate::number::{Kind, Real};

/// A matrix in compressed rows that a device computes with in setup.
///
/// ```
/// use ziggurat_sparse::device::{Device, Reference, SetupDevice};
/// use ziggurat_sparse::{Csr, Kind};
/// let device = Reference.setup().ok_or("no setup")?;
/// let a = device.upload_sparse(Kind::F32, &Csr::identity(3)?)?;
/// assert_eq!((a.kind(), a.rows(), a.size().entries), (Kind::F32, 3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sparse {
    kind: Kind,
    size: SparseSize,
    memory: Box<dyn Memory>,
}

impl Sparse {
    /// A matrix of numbers of type `T` in memory of some device.
    pub fn new<T: Real>(size: SparseSize, memory: impl Memory) -> Self {
        Sparse { kind: T::KIND, size, memory: Box::new(memory) }
    }

    /// The type of its numbers.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its size.
    pub fn size(&self) -> SparseSize {
        self.size
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.size.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.size.cols
    }

    /// Its memory as the type that a device uses.
    ///
    /// # Panics
    /// If it belongs to another kind of device, or has other numbers: an error of the algorithm.
    #[track_caller]
    pub fn memory<M: Memory>(&self) -> &M {
        self.memory.typed(self.kind)
    }

    /// As [`memory`](Sparse::memory), mutably.
    ///
    /// # Panics
    /// As [`memory`](Sparse::memory).
    #[track_caller]
    pub fn memory_mut<M: Memory>(&mut self) -> &mut M {
        self.memory.typed_mut(self.kind)
    }
}

/// A device that makes the levels of a hierarchy: sparse algebra
/// ([`SetupKernels`](super::SetupKernels)), the steps of aggregation
/// ([`AggregationKernels`](super::AggregationKernels)) and of classical coarsening
/// ([`ClassicalKernels`](super::ClassicalKernels)), and lowering
/// ([`LoweringKernels`](super::LoweringKernels)), where each method is described.
///
/// ```
/// use ziggurat_sparse::device::{Device, DeviceError, Reference, SetupDevice, SymmetricStrength};
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::{Csr, Kind};
///
/// /// The number of aggregates of a matrix, on any device.
/// fn coarse_rows(device: &dyn SetupDevice, a: &Csr<f64>) -> Result<usize, DeviceError> {
///     let a = device.upload_sparse(Kind::F64, a)?;
///     let strength = SymmetricStrength { threshold: 0.08, most: None, sampled: false };
///     let strong = device.strong_connections(&a, &strength)?;
///     Ok(device.aggregates(&strong, &a)?.cols())
/// }
/// let a = "poisson2d:10".parse::<Problem>()?.matrix()?;
/// let device = Reference.setup().ok_or("no setup")?;
/// assert_eq!(coarse_rows(device, &a)?, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SetupDevice: Device {
    /// Whether both are the same device, so that matrices of one can be used by the other.
    fn shares_memory_with(&self, other: &dyn Device) -> bool;

    // Sparse algebra

    /// Copies a matrix to the device, rounded to a number type that it computes in.
    fn upload_sparse(&self, number: Kind, host: &Csr<f64>) -> Result<Sparse, DeviceError>;

    /// Copies a matrix to the host.
    fn download_sparse(&self, a: &Sparse) -> Result<Csr<f64>, DeviceError>;

    /// The matrix as one that vectors are multiplied by, in its own number type.
    fn matrix(&self, a: &Sparse) -> Result<Matrix, DeviceError>;

    /// T = Aᵀ
    fn transpose(&self, a: &Sparse) -> Result<Sparse, DeviceError>;

    /// C = A B
    fn product(&self, a: &Sparse, b: &Sparse) -> Result<Sparse, DeviceError>;

    /// C = R (A P), the coarse matrix of multigrid.
    fn triple_product(&self, r: &Sparse, a: &Sparse, p: &Sparse) -> Result<Sparse, DeviceError>;

    // Aggregation

    /// 1/√a_ii, and the Gershgorin bound of ρ(D⁻¹A).
    fn diagonal_scales(&self, a: &Sparse) -> Result<(Vector, f64), DeviceError>;

    /// The strong connections.
    fn strong_connections(&self, a: &Sparse, strength: &SymmetricStrength) -> Result<Sparse, DeviceError>;

    /// MIS-2 aggregates of the rows of a graph.
    fn aggregates(&self, strong: &Sparse, a: &Sparse) -> Result<Sparse, DeviceError>;

    /// Pairs of rows by graph matching.
    fn pairs(&self, a: &Sparse, rounds: usize) -> Result<Sparse, DeviceError>;

    /// The matrix of nodes with `block` rows each.
    fn node_matrix(&self, a: &Sparse, block: usize) -> Result<Sparse, DeviceError>;

    /// Tentative interpolation of `count` near-kernel vectors, and those of the coarse level.
    fn tentative(
        &self,
        aggregates: &Sparse,
        kernel: &Vector,
        count: usize,
    ) -> Result<(Sparse, Vector), DeviceError>;

    /// Gives dead unknowns of Pᵀ A P a diagonal entry, and returns which they are.
    fn set_dead_diagonal(
        &self,
        a: &mut Sparse,
        kernel: &Vector,
        count: usize,
    ) -> Result<Vec<u32>, DeviceError>;

    /// 1 − ω D⁻¹ A_F
    fn smoothing_matrix(
        &self,
        a: &Sparse,
        nodes: &Sparse,
        step: &FilteredStep,
    ) -> Result<Sparse, DeviceError>;

    // Classical coarsening

    /// The strong connections by the classical measure, each with its entry, and the diagonal.
    fn dependences(&self, a: &Sparse, strength: &ClassicalStrength) -> Result<Sparse, DeviceError>;

    /// The coarse rows of a graph by PMIS.
    fn coarse_rows(&self, strong: &Sparse, again: Option<&Sparse>) -> Result<Sparse, DeviceError>;

    /// The coarse rows that are connected by at least `least` strong paths of one or two steps.
    fn paths(&self, strong: &Sparse, coarse: &Sparse, least: u32) -> Result<Sparse, DeviceError>;

    /// Extended+i interpolation, truncated.
    fn extended_i(
        &self,
        a: &Sparse,
        strong: &Sparse,
        coarse: &Sparse,
        to: Option<&Sparse>,
        symmetric: bool,
        truncation: Truncation,
    ) -> Result<Sparse, DeviceError>;

    /// Two-stage interpolation P₁ P₂ with truncated rows.
    fn two_stage(
        &self,
        p1: &Sparse,
        p2: &Sparse,
        first: &Sparse,
        truncation: Truncation,
    ) -> Result<Sparse, DeviceError>;

    // Lowering

    /// The step of a smoother in every row; `None` if any is not a finite number other than zero.
    fn steps(&self, a: &Sparse, step: RowStep) -> Result<Option<Vector>, DeviceError>;

    /// |a_ii| of every row; where that is zero, max_j |a_ij|.
    fn row_sizes(&self, a: &Sparse) -> Result<Vector, DeviceError>;

    /// The [`root_exponent`](super::root_exponent) of every element, as a number.
    fn root_exponents(&self, sizes: &Vector) -> Result<Vector, DeviceError>;

    /// Powers of two with these exponents, limited to an interval.
    fn powers_of_two(
        &self,
        exponents: &Vector,
        within: (i32, i32),
        inverse: bool,
        shift: i32,
    ) -> Result<Vector, DeviceError>;

    /// max |l_i a_ij m_j| times the factor of L A M.
    fn largest_scaled(&self, a: &Sparse, factors: SparseFactors<'_, Vector>) -> Result<f64, DeviceError>;

    /// L A M, rounded once to `storage`, in the format with the fewest bytes.
    fn stored(
        &self,
        a: &Sparse,
        factors: SparseFactors<'_, Vector>,
        block: usize,
        storage: Kind,
    ) -> Result<StoredSparse<Matrix>, DeviceError>;
}

/// The factors with the memories of their vectors.
pub fn factors_of<M: Memory>(factors: SparseFactors<'_, Vector>) -> SparseFactors<'_, M> {
    let [left, right] = [factors.left, factors.right].map(|vector| vector.map(Vector::memory));
    SparseFactors { left, right, factor: factors.factor }
}

/// Implements [`SetupDevice`](crate::device::SetupDevice) for a type that implements the kernels of
/// setup.
#[doc(hidden)]
#[macro_export]
macro_rules! setup_device_of_kernels {
    ($device:ty) => {
        const _: () = {
            use $crate::device::dispatch::factors_of;
            use $crate::device::{
                AggregationKernels as Aggregation, ClassicalKernels as Classical, ClassicalStrength, Device,
                DeviceError, FilteredStep, Kernels, LoweringKernels as Lowering, Matrix, RowStep,
                SetupDevice, SetupKernels as Setup, Sparse, SparseFactors, StoredSparse, SymmetricStrength,
                Vector,
            };
            use $crate::{Csr, Kind, Real, Store, with_arithmetic, with_storage};

            type Made<T> = <$device as Setup>::Sparse<T>;

            fn sparse<T: Real>(device: &$device, memory: Made<T>) -> Sparse {
                Sparse::new::<T>(Setup::size(device, &memory), memory)
            }

            fn vector<T: Store>(device: &$device, memory: <$device as Kernels>::Vector<T>) -> Vector {
                Vector::new::<T>(Kernels::len(device, &memory), memory)
            }

            fn matrix<S: Store>(device: &$device, memory: <$device as Kernels>::Matrix<S>) -> Matrix {
                Matrix::new::<S>(Kernels::shape(device, &memory), memory)
            }

            impl SetupDevice for $device {
                fn shares_memory_with(&self, other: &dyn Device) -> bool {
                    let other = (other as &dyn std::any::Any).downcast_ref::<$device>();
                    other.is_some_and(|other| Lowering::shares_memory_with(self, other))
                }

                fn upload_sparse(&self, number: Kind, host: &Csr<f64>) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(number, |T| {
                        Ok(sparse::<T>(self, Setup::upload_sparse(self, &host.view().stored_as::<T>())?))
                    })
                }

                fn download_sparse(&self, a: &Sparse) -> Result<Csr<f64>, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(Setup::download_sparse::<T>(self, a.memory())?.view().stored_as())
                    })
                }

                fn matrix(&self, a: &Sparse) -> Result<Matrix, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(matrix::<T>(self, Setup::matrix::<T>(self, a.memory())?))
                    })
                }

                fn transpose(&self, a: &Sparse) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(self, Setup::transpose::<T>(self, a.memory())?))
                    })
                }

                fn product(&self, a: &Sparse, b: &Sparse) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(self, Setup::product_once::<T>(self, a.memory(), b.memory())?))
                    })
                }

                fn triple_product(&self, r: &Sparse, a: &Sparse, p: &Sparse) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        let (r, a, p) = (r.memory(), a.memory(), p.memory());
                        Ok(sparse::<T>(self, Setup::triple_product::<T>(self, r, a, p)?))
                    })
                }

                fn diagonal_scales(&self, a: &Sparse) -> Result<(Vector, f64), DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        let (scales, bound) = Aggregation::diagonal_scales::<T>(self, a.memory())?;
                        Ok((vector::<T>(self, scales), bound))
                    })
                }

                fn strong_connections(
                    &self,
                    a: &Sparse,
                    strength: &SymmetricStrength,
                ) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(
                            self,
                            Aggregation::strong_connections::<T>(self, a.memory(), strength)?,
                        ))
                    })
                }

                fn aggregates(&self, strong: &Sparse, a: &Sparse) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(
                            self,
                            Aggregation::aggregates::<T>(self, strong.memory(), a.memory())?,
                        ))
                    })
                }

                fn pairs(&self, a: &Sparse, rounds: usize) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(self, Aggregation::pairs::<T>(self, a.memory(), rounds)?))
                    })
                }

                fn node_matrix(&self, a: &Sparse, block: usize) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(self, Aggregation::node_matrix::<T>(self, a.memory(), block)?))
                    })
                }

                fn tentative(
                    &self,
                    aggregates: &Sparse,
                    kernel: &Vector,
                    count: usize,
                ) -> Result<(Sparse, Vector), DeviceError> {
                    with_arithmetic!(kernel.kind(), |T| {
                        let (aggregates, kernel) = (aggregates.memory(), kernel.memory());
                        let (p, coarse) = Aggregation::tentative::<T>(self, aggregates, kernel, count)?;
                        Ok((sparse::<T>(self, p), vector::<T>(self, coarse)))
                    })
                }

                fn set_dead_diagonal(
                    &self,
                    a: &mut Sparse,
                    kernel: &Vector,
                    count: usize,
                ) -> Result<Vec<u32>, DeviceError> {
                    with_arithmetic!(kernel.kind(), |T| {
                        Aggregation::set_dead_diagonal::<T>(self, a.memory_mut(), kernel.memory(), count)
                    })
                }

                fn smoothing_matrix(
                    &self,
                    a: &Sparse,
                    nodes: &Sparse,
                    step: &FilteredStep,
                ) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        let (a, nodes) = (a.memory(), nodes.memory());
                        Ok(sparse::<T>(self, Aggregation::smoothing_matrix::<T>(self, a, nodes, step)?))
                    })
                }

                fn dependences(
                    &self,
                    a: &Sparse,
                    strength: &ClassicalStrength,
                ) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(sparse::<T>(self, Classical::dependences::<T>(self, a.memory(), strength)?))
                    })
                }

                fn coarse_rows(
                    &self,
                    strong: &Sparse,
                    again: Option<&Sparse>,
                ) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(strong.kind(), |T| {
                        let again = again.map(|again| again.memory());
                        Ok(sparse::<T>(self, Classical::coarse_rows::<T>(self, strong.memory(), again)?))
                    })
                }

                fn paths(&self, strong: &Sparse, coarse: &Sparse, least: u32) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(strong.kind(), |T| {
                        let (strong, coarse) = (strong.memory(), coarse.memory());
                        Ok(sparse::<T>(self, Classical::paths::<T>(self, strong, coarse, least)?))
                    })
                }

                fn extended_i(
                    &self,
                    a: &Sparse,
                    strong: &Sparse,
                    coarse: &Sparse,
                    to: Option<&Sparse>,
                    symmetric: bool,
                    truncation: $crate::algebra::Truncation,
                ) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        let (a, strong, coarse) = (a.memory(), strong.memory(), coarse.memory());
                        let to = to.map(|to| to.memory());
                        let p =
                            Classical::extended_i::<T>(self, a, strong, coarse, to, symmetric, truncation)?;
                        Ok(sparse::<T>(self, p))
                    })
                }

                fn two_stage(
                    &self,
                    p1: &Sparse,
                    p2: &Sparse,
                    first: &Sparse,
                    truncation: $crate::algebra::Truncation,
                ) -> Result<Sparse, DeviceError> {
                    with_arithmetic!(p1.kind(), |T| {
                        let (p1, p2, first) = (p1.memory(), p2.memory(), first.memory());
                        Ok(sparse::<T>(self, Classical::two_stage::<T>(self, p1, p2, first, truncation)?))
                    })
                }

                fn steps(&self, a: &Sparse, step: RowStep) -> Result<Option<Vector>, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        let steps = Lowering::steps::<T>(self, a.memory(), step)?;
                        Ok(steps.map(|steps| vector::<T>(self, steps)))
                    })
                }

                fn row_sizes(&self, a: &Sparse) -> Result<Vector, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Ok(vector::<T>(self, Lowering::row_sizes::<T>(self, a.memory())?))
                    })
                }

                fn root_exponents(&self, sizes: &Vector) -> Result<Vector, DeviceError> {
                    with_arithmetic!(sizes.kind(), |T| {
                        Ok(vector::<T>(self, Lowering::root_exponents::<T>(self, sizes.memory())?))
                    })
                }

                fn powers_of_two(
                    &self,
                    exponents: &Vector,
                    within: (i32, i32),
                    inverse: bool,
                    shift: i32,
                ) -> Result<Vector, DeviceError> {
                    with_arithmetic!(exponents.kind(), |T| {
                        let exponents = exponents.memory();
                        let made = Lowering::powers_of_two::<T>(self, exponents, within, inverse, shift)?;
                        Ok(vector::<T>(self, made))
                    })
                }

                fn largest_scaled(
                    &self,
                    a: &Sparse,
                    factors: SparseFactors<'_, Vector>,
                ) -> Result<f64, DeviceError> {
                    with_arithmetic!(a.kind(), |T| {
                        Lowering::largest_scaled::<T>(self, a.memory(), factors_of(factors))
                    })
                }

                fn stored(
                    &self,
                    a: &Sparse,
                    factors: SparseFactors<'_, Vector>,
                    block: usize,
                    storage: Kind,
                ) -> Result<StoredSparse<Matrix>, DeviceError> {
                    with_arithmetic!(a.kind(), |T| with_storage!(storage, |S| {
                        let factors = factors_of(factors);
                        let stored = Lowering::stored::<T, S>(self, a.memory(), factors, block)?;
                        let StoredSparse { matrix: made, considered } = stored;
                        Ok(StoredSparse { matrix: matrix::<S>(self, made), considered })
                    }))
                }
            }
        };
    };
}
