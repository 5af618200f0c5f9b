//! The comparison of a device with typed kernels must notice that they are not its own: here, they
//! have one fault, and those of the device have none (`conformance_catches.rs`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::conformance_catches::{Broken, Fault};
use ziggurat_sparse::device::conformance::{dispatch, setup_dispatch};
use ziggurat_sparse::device::{Device, SetupDevice};
use ziggurat_sparse::{bf16, device_of_kernels, setup_device_of_kernels};

device_of_kernels!(
    Broken,
    fn setup(&self) -> Option<&dyn SetupDevice> {
        Some(self)
    }
);
setup_device_of_kernels!(Broken);

/// Whether a device without faults differs from typed kernels with one.
fn is_noticed(fault: Fault) -> bool {
    let suite = [
        dispatch::memory::<_, f64> as fn(&dyn Device, &Broken),
        dispatch::matrix::<_, f64, f64>,
        dispatch::vectors::<_, f64>,
        dispatch::casts::<_, f64, f64>,
        dispatch::compressed::<_, f64, bf16>,
        setup_dispatch::algebra::<_, f64>,
        setup_dispatch::aggregation::<_, f64>,
        setup_dispatch::classical::<_, f64>,
        setup_dispatch::factors::<_, f64>,
        setup_dispatch::stored::<_, f64, f64>,
    ];
    let (device, kernels) = (Broken(Fault::None), Broken(fault));
    suite.into_iter().any(|test| catch_unwind(AssertUnwindSafe(|| test(&device, &kernels))).is_err())
}

/// Faults that change no results here: those of special input (zeros, NaN, β = 0), and of kernels
/// that a device does not call.
const WITHOUT_EFFECT: [Fault; 16] = [
    Fault::None,
    Fault::SpmvReadsOldContent,
    Fault::SweepReadsOldContent,
    Fault::CastScaledMaxIgnoresSign,
    Fault::NormMaxLosesNan,
    Fault::CompressRoundsTwice,
    Fault::CombineCompressedReadsOldContent,
    Fault::UploadSparseForgetsEmptyRows,
    Fault::ProductDropsZeros,
    Fault::UpdateKeepsOldValues,
    Fault::UpdateAddsToOldValues,
    Fault::DependencesAreNegative,
    Fault::ExtendedForgetsItself,
    Fault::ExtendedDividesByZero,
    Fault::TwoStageLosesSums,
    Fault::SizesOfDiagonalsOnly,
];

#[test]
fn other_kernels_are_noticed() {
    for &fault in Fault::ALL.iter().filter(|fault| !WITHOUT_EFFECT.contains(fault)) {
        assert!(is_noticed(fault), "nobody noticed {fault:?}");
    }
}

#[test]
fn the_same_kernels_pass() {
    assert!(!is_noticed(Fault::None));
}
