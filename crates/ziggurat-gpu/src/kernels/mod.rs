//! The kernels that do not belong to one matrix format, and what the kernels of formats share.
//!
//! The terms are CubeCL's: a *unit* is a thread, a *plane* is a warp (CUDA) or wavefront (HIP), and
//! a *cube* is a thread block with shared memory.

pub(crate) mod aggregates;
pub(crate) mod compaction;
pub(crate) mod dependences;
pub(crate) mod extended_i;
pub(crate) mod filtered_step;
pub(crate) mod fragments;
pub(crate) mod gauss_seidel;
pub(crate) mod lowering;
pub(crate) mod mis2;
pub(crate) mod node_matrix;
pub(crate) mod pairs;
pub(crate) mod pmis;
pub(crate) mod product_marks;
pub(crate) mod product_pattern;
pub(crate) mod product_values;
pub(crate) mod reduce;
pub(crate) mod row_lists;
pub(crate) mod row_products;
pub(crate) mod scan;
pub(crate) mod slots;
pub(crate) mod sort;
pub(crate) mod strong_connections;
pub(crate) mod tentative;
pub(crate) mod tile_products;
pub(crate) mod truncation;
pub(crate) mod vector;
pub(crate) mod widen;
