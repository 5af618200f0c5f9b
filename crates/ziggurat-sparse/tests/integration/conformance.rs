//! Every device of this crate against the suite; the CPU once per instruction set that this machine
//! has.

use ziggurat_sparse::device::{Cpu, Reference, Simd};
use ziggurat_sparse::{
    aggregation_conformance_suite, classical_conformance_suite, conformance_suite, setup_conformance_suite,
    setup_device_conformance_suite,
};

/// The CPU with one instruction set; where the machine lacks it, the next best, so that the suite
/// still runs.
fn cpu(simd: Simd) -> Cpu {
    Cpu::with_simd(simd).unwrap_or_default()
}

conformance_suite!(reference, Reference);
conformance_suite!(cpu_avx512, cpu(Simd::Avx512));
conformance_suite!(cpu_avx2, cpu(Simd::Avx2));
conformance_suite!(cpu_portable, cpu(Simd::Portable));
setup_conformance_suite!(setup_of_reference, Reference);
setup_conformance_suite!(setup_of_cpu, Cpu::new());
aggregation_conformance_suite!(aggregation_of_reference, Reference);
classical_conformance_suite!(classical_of_reference, Reference);
setup_device_conformance_suite!(setup_device_of_reference, Reference);
