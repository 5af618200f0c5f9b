//! How a kernel is launched: one macro, so that every launch is counted, and its source can be had.

use cubecl::prelude::CubeCount;
use cubecl::server::Handle;
use ziggurat_sparse::device::DeviceError;

/// An array in a device's memory, of `len` elements as a kernel sees them.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) handle: &'a Handle,
    pub(crate) len: usize,
}

/// So many cubes, as a grid whose sides are within the device's limits; kernels go by the linear position. A grid has fewer than a
/// row of cubes too many.
pub(crate) fn grid(cubes: usize, most: u32) -> CubeCount {
    let cubes = cubes.max(1) as u64;
    let down = cubes.div_ceil(u64::from(most));
    CubeCount::Static(cubes.div_ceil(down) as u32, down as u32, 1)
}

/// Kernels count in 32 bits, and positions a little beyond the last are computed before they are compared.
const MOST: usize = u32::MAX as usize - (1 << 20);

/// A number of elements, if kernels can count it.
pub(crate) fn countable(what: &'static str, found: usize) -> Result<u32, DeviceError> {
    if found > MOST { Err(DeviceError::TooLarge { what, found, most: MOST }) } else { Ok(found as u32) }
}

/// Launches a kernel: `launch!(gpu, module::Kernel<types>, cubes, units, [arrays], [scalars], |target| [shapes])`.
///
/// `module` is what `#[cube(launch_unchecked)]` makes of a kernel, `Kernel` its type in there. Shapes are the arguments known when a
/// kernel is compiled, as they are on `target`: that is this device, and also others where their sources are wanted.
macro_rules! launch {
    ($gpu:expr, $module:ident::$kernel:ident<$($t:ty),*>, $cubes:expr, $units:expr,
     [$($array:expr),*], [$($scalar:expr),*], |$target:ident| [$($shape:expr),*]) => {{
        let gpu: &$crate::Gpu = $gpu;
        let dim = cubecl::prelude::CubeDim::new_1d($units);
        let count = $crate::launch::grid($cubes, gpu.capabilities().cubes);
        gpu.count_kernel();
        $crate::runtime::with_client!(gpu.client(), |client: R| {
            #[cfg(feature = "sources")]
            if let Some(sources) = gpu.sources() {
                for target in $crate::sources::Target::ALL {
                    let $target = &target.capabilities();
                    let _ = $target;
                    let settings = cubecl::prelude::KernelSettings::default().cube_dim(dim);
                    let kernel = $module::$kernel::<$($t,)* R>::new(
                        settings,
                        client.clone(),
                        $($crate::sources::of_array(&$array),)*
                        $($crate::sources::of_scalar(&$scalar),)*
                        $($shape),*
                    );
                    let shapes: Vec<String> = vec![$(format!("{:?}", $shape)),*];
                    let types = [$(std::any::type_name::<$t>()),*].join(" ");
                    sources.keep(target, stringify!($module), &types, &shapes.join(" "), kernel);
                }
            }
            let $target = gpu.capabilities();
            let _ = $target;
            // SAFETY: each span's handle has at least `len` elements (checked where it is made), and kernels compare every index
            // with the lengths that they are given; indices within matrices are invariants of their host formats.
            #[allow(unsafe_code)]
            unsafe {
                $module::launch_unchecked::<$($t,)* R>(
                    client,
                    count,
                    dim,
                    $(cubecl::prelude::ArrayArg::from_raw_parts($array.handle.clone(), $array.len),)*
                    $($scalar,)*
                    $($shape),*
                );
            }
        })
    }};
}
pub(crate) use launch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_hold_all_cubes_within_the_limits() {
        for (cubes, expected) in [(0, (1, 1)), (7, (7, 1)), (65_536, (32_768, 2)), (1_000_000, (62_500, 16))]
        {
            let CubeCount::Static(x, y, 1) = grid(cubes, 65_535) else { panic!("a static count") };
            assert_eq!((x, y), expected);
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        assert_eq!(countable("rows", 7), Ok(7));
        let error = countable("rows", u32::MAX as usize).unwrap_err();
        assert!(matches!(error, DeviceError::TooLarge { what: "rows", .. }));
    }
}
