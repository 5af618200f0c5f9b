//! The setup of a device, whose number types are known at run time, against the typed kernels of
//! its backend: the same bits from every method. See [`dispatch`](super::dispatch).

#![allow(clippy::expect_used)] // the suite runs in tests only

use super::aggregation_kernels::Symmetric;
use super::dispatch::{assert_same, elements};
use crate::algebra::Truncation;
use crate::device::{
    AggregationKernels, ClassicalKernels, ClassicalStrength, Cpu, Device, DeviceError, DeviceExt,
    FilteredStep, LoweringKernels, Matrix, Reads, RowStep, SetupDevice, SetupKernels, Sparse, SparseFactors,
    SymmetricStrength, Vector,
};
use crate::hash::uniform_signed;
use crate::matrix::Csr;
use crate::number::{Real, Store};

/// Rows of the matrix: a whole number of nodes of two rows.
const ROWS: usize = 500;

/// A symmetric matrix with a positive diagonal.
fn symmetric() -> Csr<f64> {
    Symmetric { rows: ROWS, per_row: 4, reach: 30, seed: 7 }.matrix()
}

/// A matrix of the same pattern that is not symmetric, and whose entries use all digits.
fn general(seed: u64) -> Csr<f64> {
    let mut a = symmetric();
    let digits = |index: usize| 1.0 + uniform_signed(index as u64 ^ seed << 32) / 8.0;
    a.values_mut().iter_mut().enumerate().for_each(|(index, value)| *value *= digits(index));
    a
}

/// The kernels of setup, as a device has them and as its backend has them.
struct Both<'a, K> {
    device: &'a dyn Device,
    setup: &'a dyn SetupDevice,
    kernels: &'a K,
}

/// The same matrix for a device and for its kernels.
struct Twin<K: SetupKernels, C: Real> {
    given: Sparse,
    typed: K::Sparse<C>,
}

impl<'a, K: SetupKernels> Both<'a, K> {
    fn new(device: &'a dyn Device, kernels: &'a K) -> Self {
        Both { device, setup: device.setup().expect("a device with the kernels of setup"), kernels }
    }

    fn upload<C: Real>(&self, host: &Csr<f64>) -> Twin<K, C> {
        let typed = self.kernels.upload_sparse(&host.view().stored_as::<C>());
        self.twin("upload_sparse", self.setup.upload_sparse(C::KIND, host), typed)
    }

    /// The result of both, which has the same bits.
    fn twin<C: Real>(
        &self,
        what: &str,
        given: Result<Sparse, DeviceError>,
        typed: Result<K::Sparse<C>, DeviceError>,
    ) -> Twin<K, C> {
        let twin = Twin { given: given.expect(what), typed: typed.expect(what) };
        self.check(what, &twin);
        twin
    }

    fn check<C: Real>(&self, what: &str, Twin { given, typed }: &Twin<K, C>) {
        let size = self.kernels.size(typed);
        assert_eq!((given.kind(), given.size()), (C::KIND, size), "{what}");
        assert_eq!((given.rows(), given.cols()), (size.rows, size.cols), "{what}");
        let found = self.setup.download_sparse(given).expect("a download");
        let expected = self.kernels.download_sparse(typed).expect("a download").view().stored_as::<f64>();
        assert_eq!((found.row_ptr(), found.columns()), (expected.row_ptr(), expected.columns()), "{what}");
        assert_same(what, found.values(), expected.values());
    }

    fn check_vector<C: Real>(&self, what: &str, given: &Vector, typed: &K::Vector<C>) {
        assert_eq!((given.kind(), given.len()), (C::KIND, self.kernels.len(typed)), "{what}");
        let [mut found, mut expected] = [C::zero(); 2].map(|zero| vec![zero; given.len()]);
        self.device.copy_to(given, &mut found).expect("a download");
        self.kernels.download(typed, &mut expected).expect("a download");
        assert_same(what, &found, &expected);
    }

    /// Compares products with a vector.
    fn check_product<C: Reads<S>, S: Store>(&self, what: &str, given: &Matrix, typed: &K::Matrix<S>) {
        assert_eq!((given.kind(), given.shape()), (S::KIND, self.kernels.shape(typed)), "{what}");
        let (x, (rows, _)) = (elements::<C>(9), given.shape());
        let (given_x, typed_x) = (self.device.upload(&x), self.kernels.upload(&x));
        let mut found = self.device.zeros(C::KIND, rows).expect("zeros");
        self.device.spmv(1.0, given, &given_x.expect("an upload"), 0.0, &mut found);
        let mut expected = self.kernels.zeros(rows).expect("zeros");
        self.kernels.spmv(C::one(), typed, &typed_x.expect("an upload"), C::zero(), &mut expected);
        self.check_vector(what, &found, &expected);
    }
}

/// Uploads, products and transposes.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn algebra<K: LoweringKernels, C: Reads<C>>(device: &dyn Device, kernels: &K) {
    let both = Both::new(device, kernels);
    let setup = both.setup;
    assert!(setup.shares_memory_with(device) && !setup.shares_memory_with(&Cpu::new()));
    let [a, b, c] = [1, 2, 3].map(|seed| both.upload::<C>(&general(seed)));
    both.twin("transpose", setup.transpose(&a.given), kernels.transpose(&a.typed));
    let typed = kernels.product_once(&a.typed, &b.typed);
    both.twin("product", setup.product(&a.given, &b.given), typed);
    let typed = kernels.triple_product(&a.typed, &b.typed, &c.typed);
    both.twin("triple_product", setup.triple_product(&a.given, &b.given, &c.given), typed);
    let (given, typed) = (setup.matrix(&a.given), kernels.matrix(&a.typed));
    both.check_product::<C, C>("matrix", &given.expect("a matrix"), &typed.expect("a matrix"));
}

/// The steps of aggregation.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn aggregation<K: AggregationKernels, C: Real>(device: &dyn Device, kernels: &K) {
    let both = Both::new(device, kernels);
    let (setup, a) = (both.setup, both.upload::<C>(&symmetric()));
    let (given, typed) = (setup.diagonal_scales(&a.given), kernels.diagonal_scales(&a.typed));
    let (given, typed) = (given.expect("scales"), typed.expect("scales"));
    both.check_vector("diagonal_scales", &given.0, &typed.0);
    assert_same("the bound of diagonal_scales", &[given.1], &[typed.1]);

    let strongest = SymmetricStrength { threshold: 0.0, most: Some(1.0), sampled: true };
    let typed = kernels.strong_connections(&a.typed, &strongest);
    both.twin("the strongest connections", setup.strong_connections(&a.given, &strongest), typed);
    let strength = SymmetricStrength { threshold: 0.125, most: None, sampled: false };
    let typed = kernels.strong_connections(&a.typed, &strength);
    let strong = both.twin("strong_connections", setup.strong_connections(&a.given, &strength), typed);
    let typed = kernels.aggregates(&strong.typed, &a.typed);
    let aggregates = both.twin("aggregates", setup.aggregates(&strong.given, &a.given), typed);
    both.twin("pairs", setup.pairs(&a.given, 2), kernels.pairs(&a.typed, 2));
    let nodes = both.twin("node_matrix", setup.node_matrix(&a.given, 2), kernels.node_matrix(&a.typed, 2));
    let step = FilteredStep { filter: 0.1, damping: 1.25, radius: 2.0 };
    let typed = kernels.smoothing_matrix(&a.typed, &nodes.typed, &step);
    both.twin("smoothing_matrix", setup.smoothing_matrix(&a.given, &nodes.given, &step), typed);

    // Two near-kernel vectors. Where both elements are zero, an unknown is dead.
    let element = |k: usize| if k % 7 < 2 { 0.0 } else { uniform_signed(k as u64) };
    let kernel: Vec<C> = (0..2 * ROWS).map(|k| C::narrow(element(k))).collect();
    let given_kernel = device.upload(&kernel).expect("an upload");
    let typed_kernel = kernels.upload(&kernel).expect("an upload");
    let given = setup.tentative(&aggregates.given, &given_kernel, 2).expect("tentative");
    let typed = kernels.tentative(&aggregates.typed, &typed_kernel, 2).expect("tentative");
    both.twin("tentative", Ok(given.0), Ok(typed.0));
    both.check_vector("the near-kernel of tentative", &given.1, &typed.1);
    let mut a = a;
    let given = setup.set_dead_diagonal(&mut a.given, &given_kernel, 2).expect("a diagonal");
    let typed = kernels.set_dead_diagonal(&mut a.typed, &typed_kernel, 2).expect("a diagonal");
    assert_eq!(given, typed, "set_dead_diagonal");
    both.check("set_dead_diagonal", &a);
}

/// The steps of classical coarsening, aggressively.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn classical<K: ClassicalKernels, C: Real>(device: &dyn Device, kernels: &K) {
    let both = Both::new(device, kernels);
    let (setup, a) = (both.setup, both.upload::<C>(&general(4)));
    let strength = ClassicalStrength { threshold: 0.25, max_row_sum: Some(0.75) };
    let typed = kernels.dependences(&a.typed, &strength);
    let strong = both.twin("dependences", setup.dependences(&a.given, &strength), typed);
    let typed = kernels.coarse_rows(&strong.typed, None);
    let first = both.twin("coarse_rows", setup.coarse_rows(&strong.given, None), typed);
    let typed = kernels.transpose(&first.typed);
    let of_first = both.twin("transpose", setup.transpose(&first.given), typed);
    let typed = kernels.paths(&strong.typed, &first.typed, 2);
    both.twin("two paths", setup.paths(&strong.given, &first.given, 2), typed);
    let typed = kernels.paths(&strong.typed, &first.typed, 1);
    let paths = both.twin("paths", setup.paths(&strong.given, &first.given, 1), typed);
    let given = setup.coarse_rows(&paths.given, Some(&of_first.given));
    let typed = kernels.coarse_rows(&paths.typed, Some(&of_first.typed));
    let second = both.twin("coarse_rows again", given, typed);
    let typed = kernels.product_once(&first.typed, &second.typed);
    let second = both.twin("product", setup.product(&first.given, &second.given), typed);

    let truncation = Truncation { relative: 0.2, max_entries: Some(4), keep_row_sums: true };
    let given = setup.extended_i(&a.given, &strong.given, &first.given, None, false, truncation);
    let typed = kernels.extended_i(&a.typed, &strong.typed, &first.typed, None, false, truncation);
    let p1 = both.twin("extended_i", given, typed);
    let to = (Some(&first.given), Some(&first.typed));
    let given = setup.extended_i(&a.given, &strong.given, &second.given, to.0, true, truncation);
    let typed = kernels.extended_i(&a.typed, &strong.typed, &second.typed, to.1, true, truncation);
    let p2 = both.twin("extended_i to some rows", given, typed);
    let typed = kernels.product_once(&of_first.typed, &p2.typed);
    let p2 = both.twin("product", setup.product(&of_first.given, &p2.given), typed);
    for truncation in [Truncation { max_entries: Some(2), ..truncation }, Truncation::default()] {
        let given = setup.two_stage(&p1.given, &p2.given, &first.given, truncation);
        both.twin("two_stage", given, kernels.two_stage(&p1.typed, &p2.typed, &first.typed, truncation));
    }
}

/// The steps of smoothers, and the factors of lowering.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn factors<K: LoweringKernels, C: Real>(device: &dyn Device, kernels: &K) {
    let both = Both::new(device, kernels);
    let (setup, a) = (both.setup, both.upload::<C>(&general(5)));
    for step in [RowStep::Jacobi, RowStep::L1, RowStep::Spai0, RowStep::ProvedSpai0(0.5)] {
        let (given, typed) = (setup.steps(&a.given, step), kernels.steps(&a.typed, step));
        match (given.expect("steps"), typed.expect("steps")) {
            (Some(given), Some(typed)) => both.check_vector("steps", &given, &typed),
            (given, typed) => assert_eq!(given.is_some(), typed.is_some(), "{step:?}"),
        }
    }
    let (given, typed) = (setup.row_sizes(&a.given), kernels.row_sizes(&a.typed));
    let (given, typed) = (given.expect("sizes"), typed.expect("sizes"));
    both.check_vector("row_sizes", &given, &typed);
    let (given, typed) = (setup.root_exponents(&given), kernels.root_exponents(&typed));
    let (given, typed) = (given.expect("exponents"), typed.expect("exponents"));
    both.check_vector("root_exponents", &given, &typed);
    let given = setup.powers_of_two(&given, (0, 1), true, 2).expect("powers");
    let typed = kernels.powers_of_two(&typed, (0, 1), true, 2).expect("powers");
    both.check_vector("powers_of_two", &given, &typed);
}

/// A matrix that is scaled from both sides and rounded.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn stored<K: LoweringKernels, C: Reads<S>, S: Store>(device: &dyn Device, kernels: &K) {
    let both = Both::new(device, kernels);
    let (setup, a) = (both.setup, both.upload::<C>(&general(6)));
    let [left, right] = [1, 2].map(elements::<C>);
    let upload = |x: &[C]| (device.upload(x).expect("an upload"), kernels.upload(x).expect("an upload"));
    let (left, right, factor) = (upload(&left), upload(&right), 0.1);
    let given = SparseFactors { left: Some(&left.0), right: Some(&right.0), factor };
    let typed = SparseFactors { left: Some(&left.1), right: Some(&right.1), factor };
    let largest = setup.largest_scaled(&a.given, given).expect("the largest entry");
    let expected = kernels.largest_scaled(&a.typed, typed).expect("the largest entry");
    assert_same("largest_scaled", &[largest], &[expected]);
    for block in [1, 2] {
        let given = setup.stored(&a.given, given, block, S::KIND).expect("a matrix");
        let typed = kernels.stored::<C, S>(&a.typed, typed, block).expect("a matrix");
        assert_eq!(given.considered, typed.considered);
        both.check_product::<C, S>("stored", &given.matrix, &typed.matrix);
    }
}
