//! The numeric phase of a sparse product C = A B on the device; the kernel is in
//! `kernels/product_values.rs`.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::DeviceError;

use super::pattern::RowPlan;
use super::sparse::{GpuSparse, Pattern};
use super::tile_product::TilePlan;
use crate::Gpu;
use crate::kernels::gauss_seidel::TURNS;
use crate::kernels::product_values::{ValuesShape, product_values};
use crate::kernels::row_lists::{FILLED, UNITS_OF_CLASS};
use crate::kernels::row_products::UNITS;
use crate::launch::launch;
use crate::numbers::with_real;

/// Loop iterations per entry of A: the entries of a row of B that are in one piece of C, and for
/// the pieces of long rows two binary searches in it.
const TURNS_PER_ENTRY: [usize; 2] = [1 + FILLED as usize, 1 + FILLED as usize + 2 * 32];

/// The symbolic phase of a product on a GPU.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::{Csr, device::SetupKernels};
/// let a = gpu.upload_sparse(&Csr::<f32>::identity(3)?)?;
/// let plan: ziggurat_gpu::GpuProductPlan = gpu.plan_product(&a, &a)?;
/// assert_eq!(gpu.size(&gpu.product(&plan, &a, &a)?).entries, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GpuProductPlan {
    rows: RowPlan,
    /// For a product by matrix units.
    tiles: Option<TilePlan>,
}

impl GpuProductPlan {
    pub(super) fn new<T: Real>(gpu: &Gpu, a: &GpuSparse<T>, b: &GpuSparse<T>) -> Result<Self, DeviceError> {
        let rows = RowPlan::new(gpu, a.pattern(), b.pattern())?;
        Ok(GpuProductPlan { rows, tiles: TilePlan::new(gpu, a, b)? })
    }

    /// The pattern of C.
    pub(super) fn pattern(&self) -> &Pattern {
        self.rows.pattern()
    }

    /// Computes the values of C.
    pub(super) fn compute<T: Real>(
        &self,
        gpu: &Gpu,
        a: &GpuSparse<T>,
        b: &GpuSparse<T>,
        c: &GpuSparse<T>,
    ) -> Result<(), DeviceError> {
        assert_eq!([a.size(), b.size()], self.rows.factors(), "sizes of A and B");
        assert_eq!(c.size(), self.pattern().size, "size of C");
        if let Some(tiles) = &self.tiles
            && tiles.compute(gpu, a, b, c)?
        {
            return Ok(());
        }
        let ([a_row_ptr, a_columns], [b_row_ptr, b_columns]) = (a.pattern().spans(), b.pattern().spans());
        let [row_ptr, columns] = self.pattern().spans();
        let classes = UNITS_OF_CLASS.into_iter().map(|units| (units, false)).chain([(UNITS, true)]);
        for (class, (units, pieces)) in classes.enumerate() {
            let (first, number) = self.rows.lists().class(class);
            if number == 0 {
                continue;
            }
            let at_once = TURNS / TURNS_PER_ENTRY[usize::from(pieces)];
            for from in (0..self.rows.longest()).step_by(at_once) {
                let shape = ValuesShape { units, pieces, continued: from > 0 };
                with_real!(T::KIND, |N| launch!(
                    gpu,
                    product_values::ProductValues<N>,
                    number.div_ceil(UNITS / units) as usize,
                    UNITS,
                    [
                        a_row_ptr,
                        a_columns,
                        a.values(),
                        b_row_ptr,
                        b_columns,
                        b.values(),
                        self.rows.lists().pairs(),
                        row_ptr,
                        columns,
                        c.values()
                    ],
                    [first, number, from as u32, (from + at_once) as u32],
                    |_target| [shape]
                ));
            }
        }
        Ok(())
    }
}
