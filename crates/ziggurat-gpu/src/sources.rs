//! CUDA and HIP sources of the launched kernels, as CubeCL would pass them to those compilers.
//!
//! Kernels depend on the runtime only through their shape: the number of units that share a row
//! follows from the plane size. A solve on any device therefore determines which kernels are
//! needed, and their sources can be compiled for GPUs that are not present, because NVIDIA's and
//! AMD's compilers need no GPU. This verifies that the kernels compile and shows their register
//! usage; it does not show that they run.
//!
//! ```
//! # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
//! use ziggurat_sparse::device::DeviceExt;
//! let gpu = gpu.keeping_sources();
//! let x = gpu.upload(&[1.0_f64; 10])?;
//! gpu.norm(&x);
//! let sources = gpu.sources().map(|sources| sources.all()).unwrap_or_default();
//! let cuda = sources.iter().find(|source| source.kernel == "fold_blocks").ok_or("no kernel")?;
//! assert!(cuda.text.as_ref().is_ok_and(|text| text.contains("__global__")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use cubecl::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind, StorageType, UIntKind};
use cubecl::prelude::{ArrayCompilationArg, CubeKernel, ExecutionMode};
use cubecl_cpp::cuda::CudaDialect;
use cubecl_cpp::cuda::mma::CudaWmmaCompiler;
use cubecl_cpp::hip::HipDialect;
use cubecl_cpp::hip::mma::WmmaIntrinsicCompiler;
use cubecl_cpp::shared::{CompilationOptions, CppCompiler, CppSupportedFeatures, Dialect};
use cubecl_runtime::compiler::CubeTask;
use cubecl_runtime::kernel::KernelTask;

use crate::capabilities::{Capabilities, DENSE_FROM, balanced_beyond};
use crate::launch::Span;
use crate::matrix_units::MatrixUnitSet;
use crate::runtime::Vendor;

/// The compiler that a source is for.
///
/// ```
/// use ziggurat_gpu::sources::Target;
/// assert_eq!(Target::ALL.map(Target::extension), ["cu", "hip"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// CUDA on NVIDIA GPUs, with planes of 32 units.
    Cuda,
    /// HIP on AMD CDNA GPUs, with planes of 64 units.
    Hip,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 2] = [Target::Cuda, Target::Hip];

    /// The file extension of the sources.
    pub fn extension(self) -> &'static str {
        match self {
            Target::Cuda => "cu",
            Target::Hip => "hip",
        }
    }

    /// The capabilities of a typical device.
    pub(crate) fn capabilities(self) -> Capabilities {
        let (plane_size, vendor) = match self {
            Target::Cuda => (32, Vendor::Nvidia),
            Target::Hip => (64, Vendor::Amd),
        };
        Capabilities {
            f64: true,
            f16: true,
            planes: true,
            plane_size,
            largest_array: u64::MAX,
            cubes: i32::MAX as u32,
            balanced_beyond: balanced_beyond(vendor),
            matrix_units: self.matrix_units(),
            dense_from: DENSE_FROM,
        }
    }

    /// The matrix units of an A100 or newer: those that CubeCL's runtime lists, and `f64`, which it
    /// does not. CubeCL's intrinsics for AMD are for RDNA; for CDNA it needs the headers of
    /// rocWMMA.
    fn matrix_units(self) -> MatrixUnitSet {
        let shape = |stored, summed, m, n, k| {
            let type_of = |kind| StorageType::Scalar(ElemType::Float(kind));
            MmaConfig { a_type: type_of(stored), b_type: type_of(stored), cd_type: type_of(summed), m, n, k }
        };
        match self {
            Target::Cuda => {
                let mut offered = vec![shape(FloatKind::F64, FloatKind::F64, 8, 8, 4)];
                for stored in [FloatKind::F16, FloatKind::BF16] {
                    for (m, n, k) in [(16, 16, 16), (32, 8, 16), (8, 32, 16)] {
                        offered.push(shape(stored, FloatKind::F32, m, n, k));
                    }
                }
                MatrixUnitSet::of(&offered, 32)
            }
            Target::Hip => MatrixUnitSet::default(),
        }
    }
}

/// The source of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The compiler it is for.
    pub target: Target,
    /// Name of the kernel and of its entry point.
    pub kernel: String,
    /// The number types it is compiled for.
    pub numbers: String,
    /// Its other compile-time arguments.
    pub shape: String,
    /// The source text, or the reason why generating it failed.
    pub text: Result<String, String>,
}

/// Target, kernel, numbers and shape.
type Key = (Target, String, String, String);

/// The distinct sources of the kernels that a device has launched.
#[derive(Default)]
pub struct Sources {
    kept: Mutex<BTreeMap<Key, Result<String, String>>>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("kernels", &self.all().len()).finish()
    }
}

impl Sources {
    /// All sources, sorted by target, kernel, numbers and shape.
    pub fn all(&self) -> Vec<Source> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let source = |(key, text): (&Key, &Result<String, String>)| {
            let (target, kernel, numbers, shape) = key.clone();
            Source { target, kernel, numbers, shape, text: text.clone() }
        };
        kept.iter().map(source).collect()
    }

    /// Records the source of a kernel unless it is already present.
    pub(crate) fn keep<K: CubeKernel>(
        &self,
        target: Target,
        name: &str,
        numbers: &str,
        shape: &str,
        kernel: K,
    ) {
        let key = (target, name.to_owned(), numbers.to_owned(), shape.to_owned());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry(key).or_insert_with(|| match target {
            Target::Cuda => text::<CudaDialect<CudaWmmaCompiler>, K>(kernel, 32),
            Target::Hip => text::<HipDialect<WmmaIntrinsicCompiler>, K>(kernel, 64),
        });
    }
}

/// Generates the C++ source of a kernel with the options of CubeCL's runtimes.
fn text<D: Dialect, K: CubeKernel>(kernel: K, warp_size: u32) -> Result<String, String> {
    let address = StorageType::Scalar(ElemType::UInt(UIntKind::U32));
    let supports_features = CppSupportedFeatures { fast_math: true, ..Default::default() };
    let options = CompilationOptions { warp_size, supports_features };
    let task = KernelTask::<CppCompiler<D>, K>::new(kernel);
    let compiled = task.compile(&mut CppCompiler::default(), &options, ExecutionMode::Unchecked, address);
    compiled.map(|kernel| kernel.source).map_err(|error| error.to_string())
}

/// Compilation argument of an array.
pub(crate) fn of_array(_: &Span<'_>) -> ArrayCompilationArg {
    ArrayCompilationArg { inplace: None }
}

/// Compilation argument of a scalar: none.
pub(crate) fn of_scalar<T>(_: &T) {}
