//! A suite that cannot fail proves nothing: every kernel is broken here, one fault at a time, and
//! the suite must notice.
//!
//! [`Broken`] is the CPU device with one fault. The faults are those that kernels really have: a
//! forgotten last row, a coefficient left out, old content read where β = 0, a result computed in
//! too narrow a number, a lost sign.

#![allow(clippy::unwrap_used)] // tests

use std::panic::{AssertUnwindSafe, catch_unwind};

use ziggurat_sparse::algebra::ProductPlan;
use ziggurat_sparse::device::conformance::{
    aggregation_kernels, classical_kernels, lowering_kernels, matrix_kernels, setup_kernels, vector_kernels,
};
use ziggurat_sparse::device::{Cpu, DeviceError, Direction, HostMatrix, Kernels, SetupKernels, SparseSize};
use ziggurat_sparse::{Csr, Reads, Real, Store, f16};

/// The faults, with a test for each.
macro_rules! faults {
    ($($test:ident: $fault:ident;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Fault {
            None,
            $($fault,)*
        }
        impl Fault {
            pub(crate) const ALL: &[Fault] = &[$(Fault::$fault),*];
        }
        $(#[test]
        fn $test() {
            assert!(is_noticed::<f64, f64>(Fault::$fault), "nobody noticed {:?}", Fault::$fault);
        })*
    };
}
faults! {
    spmv_forgets_last_row: SpmvForgetsLastRow;
    spmv_ignores_alpha: SpmvIgnoresAlpha;
    spmv_ignores_beta: SpmvIgnoresBeta;
    spmv_reads_old_content: SpmvReadsOldContent;
    spmv_in_single_precision: SpmvInSinglePrecision;
    residual_with_wrong_sign: ResidualWithWrongSign;
    residual_forgets_right_hand_side: ResidualForgetsRightHandSide;
    sweep_ignores_omega: SweepIgnoresOmega;
    sweep_with_wrong_momentum: SweepWithWrongMomentum;
    sweep_reads_old_content: SweepReadsOldContent;
    gauss_seidel_is_jacobi: GaussSeidelIsJacobi;
    gauss_seidel_in_one_direction: GaussSeidelInOneDirection;
    gauss_seidel_forgets_guess: GaussSeidelForgetsGuess;
    zeros_are_not: ZerosAreNot;
    write_stops_early: WriteStopsEarly;
    fill_stops_early: FillStopsEarly;
    copy_stops_early: CopyStopsEarly;
    upload_stops_early: UploadStopsEarly;
    to_host_stops_early: ToHostStopsEarly;
    cast_in_half_precision: CastInHalfPrecision;
    cast_scaled_ignores_diagonal: CastScaledIgnoresDiagonal;
    cast_scaled_max_ignores_diagonal: CastScaledMaxIgnoresDiagonal;
    cast_scaled_max_ignores_sign: CastScaledMaxIgnoresSign;
    axpby_ignores_beta: AxpbyIgnoresBeta;
    axpbypcz_ignores_gamma: AxpbypczIgnoresGamma;
    diagonal_ignores_diagonal: DiagonalIgnoresDiagonal;
    step_and_turn_does_not_step: StepAndTurnDoesNotStep;
    combine_returns_half: CombineReturnsHalf;
    dot_forgets_last_entry: DotForgetsLastEntry;
    dot_in_single_precision: DotInSinglePrecision;
    dots_forget_last_vector: DotsForgetLastVector;
    norm_max_loses_nan: NormMaxLosesNan;
    norm_max_ignores_sign: NormMaxIgnoresSign;
    compress_ignores_scale: CompressIgnoresScale;
    compress_rounds_twice: CompressRoundsTwice;
    decompress_ignores_scale: DecompressIgnoresScale;
    dots_compressed_forgets_last_entry: DotsCompressedForgetsLastEntry;
    combine_compressed_ignores_beta: CombineCompressedIgnoresBeta;
    combine_compressed_reads_old_content: CombineCompressedReadsOldContent;
    upload_sparse_forgets_empty_rows: UploadSparseForgetsEmptyRows;
    download_sparse_stops_early: DownloadSparseStopsEarly;
    product_forgets_last_row: ProductForgetsLastRow;
    product_forgets_last_term: ProductForgetsLastTerm;
    product_drops_zeros: ProductDropsZeros;
    product_in_single_precision: ProductInSinglePrecision;
    update_keeps_old_values: UpdateKeepsOldValues;
    update_adds_to_old_values: UpdateAddsToOldValues;
    transpose_of_pattern: TransposeOfPattern;
    transpose_forgets_last_entry: TransposeForgetsLastEntry;
    triple_product_in_wrong_order: TripleProductInWrongOrder;
    scales_are_squared: ScalesAreSquared;
    bound_is_the_smallest: BoundIsTheSmallest;
    strong_ignores_threshold: StrongIgnoresThreshold;
    strong_ignores_number: StrongIgnoresNumber;
    strong_forgets_magnitude: StrongForgetsMagnitude;
    aggregates_leave_voters_out: AggregatesLeaveVotersOut;
    aggregates_keep_lone_rows_out: AggregatesKeepLoneRowsOut;
    pairs_match_once: PairsMatchOnce;
    pairs_ignore_weights: PairsIgnoreWeights;
    norms_are_squared: NormsAreSquared;
    tentative_is_not_normalised: TentativeIsNotNormalised;
    tentative_forgets_kernel: TentativeForgetsKernel;
    dead_stay_zero: DeadStayZero;
    step_ignores_filter: StepIgnoresFilter;
    step_forgets_diagonal: StepForgetsDiagonal;
    dependences_ignore_threshold: DependencesIgnoreThreshold;
    dependences_ignore_sums: DependencesIgnoreSums;
    dependences_forget_diagonal: DependencesForgetDiagonal;
    dependences_are_negative: DependencesAreNegative;
    coarse_rows_ignore_dependents: CoarseRowsIgnoreDependents;
    coarse_rows_ignore_direction: CoarseRowsIgnoreDirection;
    coarse_rows_ignore_numbers: CoarseRowsIgnoreNumbers;
    coarse_rows_keep_isolated: CoarseRowsKeepIsolated;
    paths_count_once: PathsCountOnce;
    paths_forget_direct: PathsForgetDirect;
    extended_forgets_itself: ExtendedForgetsItself;
    extended_forgets_weak: ExtendedForgetsWeak;
    extended_believes_symmetry: ExtendedBelievesSymmetry;
    extended_divides_by_zero: ExtendedDividesByZero;
    extended_ignores_to: ExtendedIgnoresTo;
    extended_ignores_truncation: ExtendedIgnoresTruncation;
    two_stage_loses_sums: TwoStageLosesSums;
    two_stage_ignores_truncation: TwoStageIgnoresTruncation;
    two_stage_truncates_first: TwoStageTruncatesFirst;
    steps_are_jacobi: StepsAreJacobi;
    steps_ignore_proof: StepsIgnoreProof;
    steps_are_always_usable: StepsAreAlwaysUsable;
    sizes_of_diagonals_only: SizesOfDiagonalsOnly;
    exponents_are_rounded_down: ExponentsAreRoundedDown;
    powers_ignore_bounds: PowersIgnoreBounds;
    powers_ignore_sign: PowersIgnoreSign;
    powers_ignore_shift: PowersIgnoreShift;
    largest_ignores_factors: LargestIgnoresFactors;
    stored_ignores_rows: StoredIgnoresRows;
    stored_ignores_columns: StoredIgnoresColumns;
    stored_ignores_factor: StoredIgnoresFactor;
    stored_in_single_precision: StoredInSinglePrecision;
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken(pub(crate) Fault);

/// Rounds every entry to single precision: what a kernel with too narrow an accumulator does.
fn through_f32<C: Real>(x: &mut [C]) {
    for x in x {
        *x = C::narrow(f64::from(x.wide() as f32));
    }
}

impl Kernels for Broken {
    type Vector<T: Store> = Vec<T>;
    type Matrix<S: Store> = HostMatrix<S>;

    fn name(&self) -> String {
        format!("{:?}", self.0)
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<Vec<T>, DeviceError> {
        Ok(if self.0 == Fault::ZerosAreNot { vec![T::narrow(1.0); len] } else { vec![T::default(); len] })
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<Vec<T>, DeviceError> {
        let mut x = host.to_vec();
        if let (Fault::UploadStopsEarly, Some(last)) = (self.0, x.last_mut()) {
            *last = T::default();
        }
        Ok(x)
    }

    fn write<T: Store>(&self, host: &[T], x: &mut Vec<T>) -> Result<(), DeviceError> {
        let end = host.len() - usize::from(self.0 == Fault::WriteStopsEarly && !host.is_empty());
        x[..end].copy_from_slice(&host[..end]);
        Ok(())
    }

    fn download<T: Store>(&self, x: &Vec<T>, host: &mut [T]) -> Result<(), DeviceError> {
        Cpu::new().download(x, host)
    }

    fn to_host<T: Store>(&self, mut x: Vec<T>) -> Result<Vec<T>, DeviceError> {
        if let (Fault::ToHostStopsEarly, Some(last)) = (self.0, x.last_mut()) {
            *last = T::default();
        }
        Ok(x)
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<HostMatrix<S>, DeviceError> {
        Ok(host)
    }

    fn len<T: Store>(&self, x: &Vec<T>) -> usize {
        x.len()
    }

    fn shape<S: Store>(&self, a: &HostMatrix<S>) -> (usize, usize) {
        (a.rows(), a.cols())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn spmv<C: Reads<S>, S: Store>(&self, alpha: C, a: &HostMatrix<S>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        let last = y.last().copied();
        let alpha = if self.0 == Fault::SpmvIgnoresAlpha { C::one() } else { alpha };
        let beta = if self.0 == Fault::SpmvIgnoresBeta { C::zero() } else { beta };
        if self.0 == Fault::SpmvReadsOldContent {
            let old: Vec<C> = y.iter().map(|&y| beta * y).collect();
            Cpu::new().spmv(alpha, a, x, C::zero(), y);
            Cpu::new().axpby(C::one(), &old, C::one(), y);
            return;
        }
        Cpu::new().spmv(alpha, a, x, beta, y);
        match (self.0, y.last_mut()) {
            (Fault::SpmvForgetsLastRow, Some(slot)) => *slot = last.unwrap_or(*slot),
            (Fault::SpmvInSinglePrecision, _) => through_f32(y),
            _ => {}
        }
    }

    fn residual<C: Reads<S>, S: Store>(&self, a: &HostMatrix<S>, x: &Vec<C>, b: &Vec<C>, r: &mut Vec<C>) {
        match self.0 {
            Fault::ResidualWithWrongSign => {
                Cpu::new().residual(a, x, b, r);
                r.iter_mut().for_each(|r| *r = -*r);
            }
            Fault::ResidualForgetsRightHandSide => Cpu::new().residual(a, x, &vec![C::zero(); b.len()], r),
            _ => Cpu::new().residual(a, x, b, r),
        }
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        omega: C,
        d: &Vec<C>,
        b: &Vec<C>,
        x: &Vec<C>,
        beta: C,
        y: &mut Vec<C>,
    ) {
        let cpu = Cpu::new();
        match self.0 {
            Fault::SweepIgnoresOmega => cpu.sweep(a, C::one(), d, b, x, beta, y),
            Fault::SweepWithWrongMomentum => cpu.sweep(a, omega, d, b, x, -beta, y),
            Fault::SweepReadsOldContent => {
                let old: Vec<C> = x.iter().zip(&*y).map(|(&x, &y)| beta * (x - y)).collect();
                cpu.sweep(a, omega, d, b, x, C::zero(), y);
                cpu.axpby(C::one(), &old, C::one(), y);
            }
            _ => cpu.sweep(a, omega, d, b, x, beta, y),
        }
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &HostMatrix<S>,
        d: &Vec<C>,
        b: &Vec<C>,
        x: Option<&Vec<C>>,
        block: usize,
        direction: Direction,
        y: &mut Vec<C>,
    ) {
        let (block, direction, x) = match self.0 {
            Fault::GaussSeidelIsJacobi => (1, direction, x),
            Fault::GaussSeidelInOneDirection => (block, Direction::Forward, x),
            Fault::GaussSeidelForgetsGuess => (block, direction, None),
            _ => (block, direction, x),
        };
        Cpu::new().gauss_seidel(a, d, b, x, block, direction, y);
    }

    fn fill<C: Real>(&self, value: C, x: &mut Vec<C>) {
        let end = x.len() - usize::from(self.0 == Fault::FillStopsEarly && !x.is_empty());
        x[..end].fill(value);
    }

    fn copy<C: Real>(&self, x: &Vec<C>, y: &mut Vec<C>) {
        let end = x.len() - usize::from(self.0 == Fault::CopyStopsEarly && !x.is_empty());
        y[..end].copy_from_slice(&x[..end]);
    }

    fn cast<X: Real, Y: Real>(&self, x: &Vec<X>, y: &mut Vec<Y>) {
        Cpu::new().cast(x, y);
        if self.0 == Fault::CastInHalfPrecision {
            y.iter_mut().for_each(|y| *y = Y::narrow(f16::narrow(y.wide()).wide()));
        }
    }

    fn cast_scaled<X: Real, Y: Real>(&self, alpha: f64, d: Option<&Vec<f32>>, x: &Vec<X>, y: &mut Vec<Y>) {
        let d = d.filter(|_| self.0 != Fault::CastScaledIgnoresDiagonal);
        Cpu::new().cast_scaled(alpha, d, x, y);
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&Vec<f32>>,
        x: &Vec<X>,
        y: &mut Vec<Y>,
    ) -> f64 {
        let d = d.filter(|_| self.0 != Fault::CastScaledMaxIgnoresDiagonal);
        let most = Cpu::new().cast_scaled_max(alpha, d, x, y);
        if self.0 == Fault::CastScaledMaxIgnoresSign {
            return y.iter().map(|y| y.wide()).fold(0.0, f64::max);
        }
        most
    }

    fn axpby<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        let beta = if self.0 == Fault::AxpbyIgnoresBeta { C::zero() } else { beta };
        Cpu::new().axpby(alpha, x, beta, y);
    }

    fn axpbypcz<C: Real>(&self, alpha: C, x: &Vec<C>, beta: C, y: &Vec<C>, gamma: C, z: &mut Vec<C>) {
        let gamma = if self.0 == Fault::AxpbypczIgnoresGamma { C::zero() } else { gamma };
        Cpu::new().axpbypcz(alpha, x, beta, y, gamma, z);
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &Vec<C>, x: &Vec<C>, beta: C, y: &mut Vec<C>) {
        if self.0 == Fault::DiagonalIgnoresDiagonal {
            return Cpu::new().axpby(alpha, x, beta, y);
        }
        Cpu::new().diagonal(alpha, d, x, beta, y);
    }

    fn step_and_turn<C: Real>(&self, alpha: C, x: &mut Vec<C>, beta: C, z: &Vec<C>, p: &mut Vec<C>) {
        let alpha = if self.0 == Fault::StepAndTurnDoesNotStep { C::zero() } else { alpha };
        Cpu::new().step_and_turn(alpha, x, beta, z, p);
    }

    fn combine<C: Real>(&self, c: &[C], xs: &[&Vec<C>], beta: C, y: &mut Vec<C>) -> f64 {
        let norm = Cpu::new().combine(c, xs, beta, y);
        if self.0 == Fault::CombineReturnsHalf { norm / 2.0 } else { norm }
    }

    fn dot<C: Real>(&self, x: &Vec<C>, y: &Vec<C>) -> f64 {
        match self.0 {
            Fault::DotForgetsLastEntry if !x.is_empty() => {
                let end = x.len() - 1;
                Cpu::new().dot(&x[..end].to_vec(), &y[..end].to_vec())
            }
            Fault::DotInSinglePrecision => {
                x.iter().zip(y).map(|(x, y)| x.wide() as f32 * y.wide() as f32).sum::<f32>().into()
            }
            _ => Cpu::new().dot(x, y),
        }
    }

    fn dots<C: Real>(&self, xs: &[&Vec<C>], y: &Vec<C>, out: &mut [f64]) {
        let last = out.last().copied();
        xs.iter().zip(&mut *out).for_each(|(x, out)| *out = self.dot(x, y));
        if let (Fault::DotsForgetLastVector, Some(slot)) = (self.0, out.last_mut()) {
            *slot = last.unwrap_or(*slot);
        }
    }

    fn compresses_vectors(&self) -> bool {
        true
    }

    fn compress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<C>, y: &mut Vec<S>) {
        let alpha = if self.0 == Fault::CompressIgnoresScale { C::one() } else { alpha };
        Cpu::new().compress(alpha, x, y);
        if self.0 == Fault::CompressRoundsTwice {
            y.iter_mut().for_each(|y| *y = S::narrow(f16::narrow(y.wide()).wide()));
        }
    }

    fn decompress<C: Reads<S>, S: Store>(&self, alpha: C, x: &Vec<S>, y: &mut Vec<C>) {
        let alpha = if self.0 == Fault::DecompressIgnoresScale { C::one() } else { alpha };
        Cpu::new().decompress(alpha, x, y);
    }

    fn dots_compressed<C: Reads<S>, S: Store>(&self, xs: &[&Vec<S>], y: &Vec<C>, out: &mut [f64]) {
        let mut y = y.clone();
        if let (Fault::DotsCompressedForgetsLastEntry, Some(last)) = (self.0, y.last_mut()) {
            *last = C::zero();
        }
        Cpu::new().dots_compressed(xs, &y, out);
    }

    fn combine_compressed<C: Reads<S>, S: Store>(
        &self,
        c: &[C],
        xs: &[&Vec<S>],
        beta: C,
        y: &mut Vec<C>,
    ) -> f64 {
        let beta = if self.0 == Fault::CombineCompressedIgnoresBeta { C::zero() } else { beta };
        if self.0 == Fault::CombineCompressedReadsOldContent {
            y.iter_mut().for_each(|y| *y *= beta);
            return Cpu::new().combine_compressed(c, xs, C::one(), y);
        }
        Cpu::new().combine_compressed(c, xs, beta, y)
    }

    fn norm_max<C: Real>(&self, x: &Vec<C>) -> f64 {
        match self.0 {
            Fault::NormMaxLosesNan => x.iter().map(|x| x.wide().abs()).fold(0.0, f64::max),
            Fault::NormMaxIgnoresSign => x.iter().map(|x| x.wide()).fold(0.0, f64::max),
            _ => Cpu::new().norm_max(x),
        }
    }
}

/// A matrix of the same sizes with only those entries that are to be kept.
fn kept<T: Real>(a: &Csr<T>, keep: impl Fn(usize, T) -> bool) -> Csr<T> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..a.rows() {
        for entry in a.row_ptr()[row]..a.row_ptr()[row + 1] {
            if keep(entry, a.values()[entry]) {
                columns.push(a.columns()[entry]);
                values.push(a.values()[entry]);
            }
        }
        row_ptr.push(columns.len());
    }
    Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap()
}

impl SetupKernels for Broken {
    type Sparse<T: Real> = Csr<T>;
    type ProductPlan = ProductPlan;

    fn upload_sparse<T: Real>(&self, host: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        if self.0 != Fault::UploadSparseForgetsEmptyRows {
            return Ok(host.clone());
        }
        let (mut row_ptr, columns, values) = host.clone().into_parts();
        row_ptr.dedup();
        Ok(Csr::try_new(row_ptr.len() - 1, host.cols(), row_ptr, columns, values).unwrap())
    }

    fn download_sparse<T: Real>(&self, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let mut a = a.clone();
        if let (Fault::DownloadSparseStopsEarly, Some(last)) = (self.0, a.values_mut().last_mut()) {
            *last = T::zero();
        }
        Ok(a)
    }

    fn size<T: Real>(&self, a: &Csr<T>) -> SparseSize {
        Cpu::new().size(a)
    }

    fn matrix<T: Real>(&self, a: &Csr<T>) -> Result<HostMatrix<T>, DeviceError> {
        self.upload_matrix(a.clone().into())
    }

    fn plan_product<T: Real>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<ProductPlan, DeviceError> {
        Cpu::new().plan_product(a, b)
    }

    fn product<T: Real>(&self, plan: &ProductPlan, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let mut c = Cpu::new().product(plan, a, b)?;
        let last_row = c.rows().checked_sub(1).map_or(0, |last| c.row_ptr()[last]);
        match self.0 {
            Fault::ProductForgetsLastRow => c = kept(&c, |entry, _| entry < last_row),
            Fault::ProductForgetsLastTerm => {
                let mut fewer = a.clone();
                fewer.values_mut().last_mut().into_iter().for_each(|value| *value = T::zero());
                c = Cpu::new().product(plan, &fewer, b)?;
            }
            Fault::ProductDropsZeros => c = kept(&c, |_, value| !value.is_zero()),
            Fault::ProductInSinglePrecision => through_f32(c.values_mut()),
            _ => {}
        }
        Ok(c)
    }

    fn update_product<T: Real>(
        &self,
        plan: &ProductPlan,
        a: &Csr<T>,
        b: &Csr<T>,
        c: &mut Csr<T>,
    ) -> Result<(), DeviceError> {
        let old = c.clone();
        if self.0 != Fault::UpdateKeepsOldValues {
            *c = self.product(plan, a, b)?;
        }
        if self.0 == Fault::UpdateAddsToOldValues {
            c.values_mut().iter_mut().zip(old.values()).for_each(|(new, &old)| *new += old);
        }
        Ok(())
    }

    fn transpose<T: Real>(&self, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let mut t = Cpu::new().transpose(a)?;
        match self.0 {
            Fault::TransposeOfPattern if t.nnz() == a.nnz() => t.values_mut().copy_from_slice(a.values()),
            Fault::TransposeForgetsLastEntry => {
                let entries = t.nnz();
                t = kept(&t, |entry, _| entry + 1 < entries);
            }
            _ => {}
        }
        Ok(t)
    }

    fn triple_product<T: Real>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let a = if self.0 == Fault::TripleProductInWrongOrder { Cpu::new().transpose(a)? } else { a.clone() };
        Cpu::new().triple_product(r, &a, p)
    }
}

/// Whether the suite, in the given arithmetic and storage, objects to the fault.
fn is_noticed<C: Reads<S>, S: Store>(fault: Fault) -> bool
where
    f64: Reads<S>,
{
    let device = Broken(fault);
    let suite = [
        vector_kernels::memory::<_, C> as fn(&Broken),
        vector_kernels::updates::<_, C>,
        vector_kernels::fused::<_, C>,
        vector_kernels::casts::<_, C>,
        vector_kernels::reductions::<_, C>,
        vector_kernels::compressed::<_, C, S>,
        matrix_kernels::spmv::<_, C, S>,
        matrix_kernels::residual::<_, C, S>,
        matrix_kernels::sweep::<_, C, S>,
        matrix_kernels::gauss_seidel::<_, C, S>,
        setup_kernels::sparse_memory::<_, C>,
        setup_kernels::products::<_, C>,
        setup_kernels::transposes::<_, C>,
        setup_kernels::triple_products::<_, C>,
        aggregation_kernels::diagonal_scales::<_, C>,
        aggregation_kernels::strong_connections::<_, C>,
        aggregation_kernels::aggregates::<_, C>,
        aggregation_kernels::pairs::<_, C>,
        aggregation_kernels::node_matrix::<_, C>,
        aggregation_kernels::tentative::<_, C>,
        aggregation_kernels::set_dead_diagonal::<_, C>,
        aggregation_kernels::smoothing_matrix::<_, C>,
        classical_kernels::dependences::<_, C>,
        classical_kernels::coarse_rows::<_, C>,
        classical_kernels::paths::<_, C>,
        classical_kernels::extended_i::<_, C>,
        classical_kernels::two_stage::<_, C>,
        lowering_kernels::steps::<_, C>,
        lowering_kernels::row_sizes::<_, C>,
        lowering_kernels::powers_of_two::<_, C>,
        lowering_kernels::scaled::<_, C, S>,
        lowering_kernels::rounding::<_, C, S>,
        lowering_kernels::stencils::<_, C, S>,
    ];
    suite.into_iter().any(|test| catch_unwind(AssertUnwindSafe(|| test(&device))).is_err())
}

#[test]
fn the_wrapper_itself_passes() {
    assert!(!is_noticed::<f64, f64>(Fault::None));
}
