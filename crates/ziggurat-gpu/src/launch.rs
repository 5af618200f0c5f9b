//! Kernel launches. All go through one macro, which counts them and can record their sources.

use cubecl::prelude::CubeCount;
use cubecl::server::Handle;
use ziggurat_sparse::device::DeviceError;

/// An array in device memory with `len` elements of the kernel's element type.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) handle: &'a Handle,
    pub(crate) len: usize,
}

/// A grid of at least `cubes` cubes whose sides are within the device's limit. Kernels use the
/// linear position and skip the surplus cubes, which are fewer than one row of the grid.
pub(crate) fn grid(cubes: usize, most: u32) -> CubeCount {
    let cubes = cubes.max(1) as u64;
    let down = cubes.div_ceil(u64::from(most));
    CubeCount::Static(cubes.div_ceil(down) as u32, down as u32, 1)
}

/// Kernels use 32-bit indices and may compute positions slightly beyond the last element before
/// they check the bounds.
const MOST: usize = u32::MAX as usize - (1 << 20);

/// Converts a number of elements to 32 bits, or fails if it is too large for kernels.
pub(crate) fn countable(what: &'static str, found: usize) -> Result<u32, DeviceError> {
    if found > MOST { Err(DeviceError::TooLarge { what, found, most: MOST }) } else { Ok(found as u32) }
}

/// Launches a kernel:
/// `launch!(gpu, module::Kernel<types>, cubes, units, [arrays], [scalars], |target| [shapes])`, or
/// without types.
///
/// `module` is the module that `#[cube(launch_unchecked)]` generates for a kernel, and `Kernel` is
/// its type in that module. Shapes are the compile-time arguments of a kernel for the capabilities
/// `target`, which belong to this device or to another target whose sources are recorded.
macro_rules! launch {
    ($gpu:expr, $module:ident::$kernel:ident $(<$($t:ty),*>)?, $cubes:expr, $units:expr,
     [$($array:expr),*], [$($scalar:expr),*], |$target:ident| [$($shape:expr),*]) => {{
        let gpu: &$crate::Gpu = $gpu;
        let dim = cubecl::prelude::CubeDim::new_1d($units);
        #[cfg(feature = "sources")]
        $crate::launch::for_each_target!(gpu, |recorded, $target| {
            $crate::launch::record!(gpu, recorded, dim, $module::$kernel<$($($t),*)?>,
                [$($array),*], [$($scalar),*], [$($shape),*]);
        });
        let $target = gpu.capabilities();
        let _ = $target;
        $crate::launch::run!(gpu, $cubes, dim, $module<$($($t),*)?>,
            [$($array),*], [$($scalar),*], [$($shape),*]);
    }};
}
pub(crate) use launch;

/// As [`launch!`], for a kernel that needs something not every device has, with cubes of
/// `found.units`: `|target| found, |found| shape`. Whether this device has it.
macro_rules! launch_if {
    ($gpu:expr, $module:ident::$kernel:ident<$($t:ty),*>, $cubes:expr,
     [$($array:expr),*], [$($scalar:expr),*], |$target:ident| $find:expr, |$found:ident| $shape:expr) => {{
        let gpu: &$crate::Gpu = $gpu;
        #[cfg(feature = "sources")]
        $crate::launch::for_each_target!(gpu, |recorded, $target| {
            if let Some($found) = $find {
                let dim = cubecl::prelude::CubeDim::new_1d($found.units);
                $crate::launch::record!(gpu, recorded, dim, $module::$kernel<$($t),*>,
                    [$($array),*], [$($scalar),*], [$shape]);
            }
        });
        let $target = gpu.capabilities();
        let found = $find;
        if let Some($found) = found {
            let dim = cubecl::prelude::CubeDim::new_1d($found.units);
            $crate::launch::run!(gpu, $cubes, dim, $module<$($t),*>,
                [$($array),*], [$($scalar),*], [$shape]);
        }
        found.is_some()
    }};
}
pub(crate) use launch_if;

/// Evaluates the body for each target whose sources are recorded, with its capabilities.
#[cfg(feature = "sources")]
macro_rules! for_each_target {
    ($gpu:ident, |$recorded:ident, $target:ident| $body:block) => {
        if $gpu.sources().is_some() {
            for $recorded in $crate::sources::Target::ALL {
                let $target = &$recorded.capabilities();
                let _ = $target;
                $body
            }
        }
    };
}
#[cfg(feature = "sources")]
pub(crate) use for_each_target;

/// Records the source of a kernel for one target.
#[cfg(feature = "sources")]
macro_rules! record {
    ($gpu:ident, $recorded:ident, $dim:ident, $module:ident::$kernel:ident<$($t:ty),*>,
     [$($array:expr),*], [$($scalar:expr),*], [$($shape:expr),*]) => {
        if let Some(sources) = $gpu.sources() {
            $crate::runtime::with_client!($gpu.client(), |client: R| {
                let kernel = $module::$kernel::<$($t,)* R>::new(
                    cubecl::prelude::KernelSettings::default().cube_dim($dim),
                    client.clone(),
                    $($crate::sources::of_array(&$array),)*
                    $($crate::sources::of_scalar(&$scalar),)*
                    $($shape),*
                );
                let shapes: Vec<String> = vec![$(format!("{:?}", $shape)),*];
                let types: Vec<&str> = vec![$(std::any::type_name::<$t>()),*];
                sources.keep($recorded, stringify!($module), &types.join(" "), &shapes.join(" "), kernel);
            })
        }
    };
}
#[cfg(feature = "sources")]
pub(crate) use record;

/// Launches a kernel whose shapes are known.
macro_rules! run {
    ($gpu:ident, $cubes:expr, $dim:ident, $module:ident<$($t:ty),*>,
     [$($array:expr),*], [$($scalar:expr),*], [$($shape:expr),*]) => {
        let count = $crate::launch::grid($cubes, $gpu.capabilities().cubes);
        $gpu.count_kernel();
        $crate::runtime::with_client!($gpu.client(), |client: R| {
            // SAFETY: each span's handle has at least `len` elements (checked on construction), and
            // kernels check every index against the lengths they are given; the indices stored in
            // matrices are valid by the invariants of their host formats.
            #[allow(unsafe_code)]
            unsafe {
                $module::launch_unchecked::<$($t,)* R>(
                    client,
                    count,
                    $dim,
                    $(cubecl::prelude::ArrayArg::from_raw_parts($array.handle.clone(), $array.len),)*
                    $($scalar,)*
                    $($shape),*
                );
            }
        })
    };
}
pub(crate) use run;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_contain_all_cubes_within_the_limits() {
        for (cubes, expected) in [(0, (1, 1)), (7, (7, 1)), (65_536, (32_768, 2)), (1_000_000, (62_500, 16))]
        {
            let CubeCount::Static(x, y, 1) = grid(cubes, 65_535) else { panic!("a static count") };
            assert_eq!((x, y), expected);
        }
    }

    #[test]
    fn too_many_elements_are_rejected() {
        assert_eq!(countable("rows", 7), Ok(7));
        let error = countable("rows", u32::MAX as usize).unwrap_err();
        assert!(matches!(error, DeviceError::TooLarge { what: "rows", .. }));
    }
}
