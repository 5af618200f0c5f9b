//! Where vectors live and kernels run.

pub mod cpu;
