//! Row products of interpolation and restriction between grids, with one unit per row.
//!
//! ```text
//! P_ij = w_z w_y w_x,   R = Pᵀ
//! ```
//!
//! A fine point has at most two coarse neighbours along each axis, and a coarse point at most three
//! fine ones, itself included. A unit adds up the elements of x around its point, axis by axis,
//! which gives the products of weights of all paths without storing an intermediate vector. P
//! takes z first and R takes x first, so that a weight is loaded once for all paths that share it.
//! Positions are computed, so no index is stored. With several unknowns per point, rows are ordered
//! by unknown, and all unknowns have the same weights. Memory traffic in bytes: 7/4 weights per
//! fine point in three dimensions, 4 per scaled row or column, and the vectors.

use std::cmp::Ordering;

use cubecl::prelude::*;
use ziggurat_sparse::Store;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::grid::{Grid, GridTransfer, TransferDirection};

use crate::Gpu;
use crate::device_format::{Buffer, DeviceFormat, RowsCall};
use crate::kernels::row_products::{Operation, UNITS, finish_row};
use crate::kernels::widen::{Packing, value};
use crate::launch::{countable, launch};
use crate::numbers::{Coefficient, packing, with_pair};
use crate::requests::{PLANE, Requests, words};

/// Compile-time arguments of [`grid_transfer_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TransferShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    /// Whether it restricts; otherwise it interpolates.
    pub(crate) restricts: bool,
    /// The axes along which the grid is coarsened.
    pub(crate) along_x: bool,
    pub(crate) along_y: bool,
    pub(crate) along_z: bool,
    /// Whether rows and columns have scale factors.
    pub(crate) left: bool,
    pub(crate) right: bool,
}

/// Points of the fine and the coarse grid, and where the weights of an axis begin. Those towards
/// larger coordinates are `uppers` places behind those towards smaller ones.
#[derive(CubeType, Clone, Copy)]
struct Sizes {
    nx: u32,
    ny: u32,
    nz: u32,
    cx: u32,
    cy: u32,
    cz: u32,
    y_weights: u32,
    z_weights: u32,
    uppers: u32,
}

/// The coarse coordinate on one side of a fine one: 0 is the smaller one, 1 the larger one and the
/// coordinate of a coarse point itself. None is `coarse` or larger: before the first, one is
/// subtracted from 0 modulo 2³².
#[cube]
fn coarse_beside(at: u32, side: u32, coarse: u32, #[comptime] along: bool) -> u32 {
    let mut found = at;
    if along {
        found = select(at % 2 > side, coarse, at / 2 + side - 1);
    }
    found
}

/// The fine coordinate beside a coarse one: 0 is before it, 1 the point itself, 2 behind it.
#[cube]
fn fine_beside(at: u32, step: u32, #[comptime] along: bool) -> u32 {
    let mut found = at;
    if along {
        found = 2 * at + step;
    }
    found
}

/// The weight at a place; one for a fine point that is also a coarse one.
#[allow(clippy::collapsible_if)] // the outer one is known at compile time
#[cube]
fn weight<V: Numeric, C: Float>(
    weights: &Array<V>,
    place: u32,
    fine: u32,
    #[comptime] along: bool,
    #[comptime] packing: Packing,
) -> C {
    let mut found = C::new(1.0);
    if along {
        if fine & 1 == 0 {
            found = value::<V, C>(weights, place as usize, packing);
        }
    }
    found
}

/// An element of x, times the scale factor of its column.
#[cube]
fn scaled<C: Float>(x: &Array<C>, right: &Array<f32>, column: u32, #[comptime] is_scaled: bool) -> C {
    let mut found = x[column as usize];
    if is_scaled {
        found *= C::cast_from(right[column as usize]);
    }
    found
}

/// (P x)_i for a fine point i of an unknown whose elements of x begin at `before`.
#[cube]
fn interpolated<V: Numeric, C: Float>(
    weights: &Array<V>,
    right: &Array<f32>,
    x: &Array<C>,
    row: u32,
    before: u32,
    n: &Sizes,
    #[comptime] shape: TransferShape,
) -> C {
    let (first_x, first_y, first_z) =
        comptime!((u32::from(!shape.along_x), u32::from(!shape.along_y), u32::from(!shape.along_z)));
    let at_x = row % n.nx;
    let at_y = row / n.nx % n.ny;
    let at_z = row / n.nx / n.ny;
    let mut sum = C::new(0.0);
    for side_z in first_z..2u32 {
        let z = coarse_beside(at_z, side_z, n.cz, shape.along_z);
        if z < n.cz {
            let place = n.z_weights + side_z * n.uppers + at_x + n.nx * (at_y + n.ny * (at_z / 2));
            let weight_z = weight::<V, C>(weights, place, at_z, shape.along_z, shape.packing);
            let mut of_plane = C::new(0.0);
            for side_y in first_y..2u32 {
                let y = coarse_beside(at_y, side_y, n.cy, shape.along_y);
                if y < n.cy {
                    let place =
                        n.y_weights + side_y * n.uppers + at_x + n.nx * (at_y / 2 + (n.ny - n.cy) * z);
                    let weight_y = weight::<V, C>(weights, place, at_y, shape.along_y, shape.packing);
                    let mut of_line = C::new(0.0);
                    let line = y + n.cy * z;
                    for side_x in first_x..2u32 {
                        let k = coarse_beside(at_x, side_x, n.cx, shape.along_x);
                        if k < n.cx {
                            let place = side_x * n.uppers + at_x / 2 + (n.nx - n.cx) * line;
                            let weight_x = weight::<V, C>(weights, place, at_x, shape.along_x, shape.packing);
                            of_line +=
                                weight_x * scaled::<C>(x, right, before + k + n.cx * line, shape.right);
                        }
                    }
                    of_plane += weight_y * of_line;
                }
            }
            sum += weight_z * of_plane;
        }
    }
    sum
}

/// (R x)_i for a coarse point i of an unknown whose elements of x begin at `before`.
#[cube]
fn restricted<V: Numeric, C: Float>(
    weights: &Array<V>,
    right: &Array<f32>,
    x: &Array<C>,
    row: u32,
    before: u32,
    n: &Sizes,
    #[comptime] shape: TransferShape,
) -> C {
    let (first_x, first_y, first_z) =
        comptime!((u32::from(!shape.along_x), u32::from(!shape.along_y), u32::from(!shape.along_z)));
    let (end_x, end_y, end_z) = comptime!((3 - first_x, 3 - first_y, 3 - first_z));
    let at_x = row % n.cx;
    let at_y = row / n.cx % n.cy;
    let at_z = row / n.cx / n.cy;
    let mut sum = C::new(0.0);
    for step_x in first_x..end_x {
        let k = fine_beside(at_x, step_x, shape.along_x);
        if k < n.nx {
            // Behind the coarse point, the weight towards smaller coordinates leads to it.
            let upper = (1 - step_x / 2) * n.uppers;
            let place = upper + k / 2 + (n.nx - n.cx) * (at_y + n.cy * at_z);
            let weight_x = weight::<V, C>(weights, place, k, shape.along_x, shape.packing);
            let mut of_plane = C::new(0.0);
            for step_y in first_y..end_y {
                let y = fine_beside(at_y, step_y, shape.along_y);
                if y < n.ny {
                    let upper = (1 - step_y / 2) * n.uppers;
                    let place = n.y_weights + upper + k + n.nx * (y / 2 + (n.ny - n.cy) * at_z);
                    let weight_y = weight::<V, C>(weights, place, y, shape.along_y, shape.packing);
                    let mut of_line = C::new(0.0);
                    for step_z in first_z..end_z {
                        let z = fine_beside(at_z, step_z, shape.along_z);
                        if z < n.nz {
                            let upper = (1 - step_z / 2) * n.uppers;
                            let place = n.z_weights + upper + k + n.nx * (y + n.ny * (z / 2));
                            let weight_z = weight::<V, C>(weights, place, z, shape.along_z, shape.packing);
                            let column = before + k + n.nx * (y + n.ny * z);
                            of_line += weight_z * scaled::<C>(x, right, column, shape.right);
                        }
                    }
                    of_plane += weight_y * of_line;
                }
            }
            sum += weight_x * of_plane;
        }
    }
    sum
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn grid_transfer_rows<V: Numeric, C: Float + CubeElement>(
    weights: &Array<V>,
    left: &Array<f32>,
    right: &Array<f32>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    factor: C,
    rows: u32,
    nx: u32,
    ny: u32,
    nz: u32,
    cx: u32,
    cy: u32,
    cz: u32,
    y_weights: u32,
    z_weights: u32,
    uppers: u32,
    #[comptime] shape: TransferShape,
) {
    let index = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    if index < rows as usize {
        let n = Sizes { nx, ny, nz, cx, cy, cz, y_weights, z_weights, uppers };
        let row = u32::cast_from(index);
        let (fine, coarse) = (nx * ny * nz, cx * cy * cz);
        let gathered = if comptime!(shape.restricts) {
            restricted::<V, C>(weights, right, x, row % coarse, row / coarse * fine, &n, shape)
        } else {
            interpolated::<V, C>(weights, right, x, row % fine, row / fine * coarse, &n, shape)
        };
        let mut product = gathered * factor;
        if comptime!(shape.left) {
            product *= C::cast_from(left[index]);
        }
        finish_row::<C>(index, product, x, b, d, y, alpha, beta, comptime!(shape.operation));
    }
}

/// Where the points and weights of a transfer are.
#[derive(Clone, Copy, Debug)]
struct Layout {
    restricts: bool,
    fine: Grid,
    coarse: Grid,
    /// Whether the grid is coarsened along x, y and z.
    along: [bool; 3],
    /// Where the weights towards smaller coordinates begin, for each axis.
    starts: [usize; 3],
    /// The number of all weights towards smaller coordinates, which come first.
    uppers: usize,
}

impl Layout {
    fn of<S: Store>(a: &GridTransfer<S>) -> Self {
        let (fine, coarse) = a.grids();
        let counts = [0, 1, 2].map(|axis| a.weights(axis).map_or(0, |[lower, _]| lower.len()));
        Layout {
            restricts: a.direction() == TransferDirection::Restriction,
            fine,
            coarse,
            along: [0, 1, 2].map(|axis| a.weights(axis).is_some()),
            starts: [0, counts[0], counts[0] + counts[1]],
            uppers: counts.iter().sum(),
        }
    }
}

/// The arrays of a transfer between grids.
#[derive(Debug)]
pub(super) struct TransferArrays {
    weights: Buffer,
    left: Option<Buffer>,
    right: Option<Buffer>,
    factor: f64,
    layout: Layout,
}

impl TransferArrays {
    pub(super) fn upload<S: Store>(gpu: &Gpu, a: &GridTransfer<S>) -> Result<Self, DeviceError> {
        countable("weights between two grids", a.nnz())?;
        let of_axes: Vec<[&[S]; 2]> = [0, 1, 2].into_iter().filter_map(|axis| a.weights(axis)).collect();
        let side = |side: usize| of_axes.iter().flat_map(move |weights| weights[side]).copied();
        let weights: Vec<S> = side(0).chain(side(1)).collect();
        let (left, right, factor) = a.scales();
        Ok(TransferArrays {
            weights: gpu.values(&weights)?,
            left: left.map(|scales| gpu.values(scales)).transpose()?,
            right: right.map(|scales| gpu.values(scales)).transpose()?,
            factor,
            layout: Layout::of(a),
        })
    }
}

impl DeviceFormat for TransferArrays {
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>) {
        let Layout { restricts, fine, coarse, along, starts, uppers } = self.layout;
        let [nx, ny, nz, cx, cy, cz, y_weights, z_weights, uppers] = {
            let ([nx, ny, nz], [cx, cy, cz]) = (fine.points(), coarse.points());
            [nx, ny, nz, cx, cy, cz, starts[1], starts[2], uppers].map(|size| size as u32)
        };
        let [left, right] = [&self.left, &self.right]
            .map(|scales| scales.as_ref().map_or_else(|| gpu.nothing(), Buffer::span));
        let weights = self.weights.span();
        let [along_x, along_y, along_z] = along;
        let ([x, b, d, y], (alpha, beta), operation) = (call.vectors, call.coefficients, call.operation);
        with_pair!(call.computed, call.stored, |N, V| launch!(
            gpu,
            grid_transfer_rows::GridTransferRows<V, N>,
            call.rows.div_ceil(UNITS as usize),
            UNITS,
            [weights, left, right, x, b, d, y],
            [
                N::of(alpha),
                N::of(beta),
                N::of(self.factor),
                call.rows as u32,
                nx,
                ny,
                nz,
                cx,
                cy,
                cz,
                y_weights,
                z_weights,
                uppers
            ],
            |target| [TransferShape {
                packing: packing(call.stored, target),
                operation,
                restricts,
                along_x,
                along_y,
                along_z,
                left: self.left.is_some(),
                right: self.right.is_some()
            }]
        ));
    }
}

/// The size of the arrays in bytes, and the requests of a product.
pub(super) fn traffic<S: Store>(a: &GridTransfer<S>, computed: usize) -> (usize, Requests) {
    let (left, right, _) = a.scales();
    let scales = [left, right].into_iter().flatten().map(size_of_val::<[f32]>).sum::<usize>();
    let loads = Loads { layout: Layout::of(a), value: size_of::<S>(), computed, right: right.is_some() };
    let rows_of = if loads.layout.restricts { loads.layout.coarse } else { loads.layout.fine };
    let order = if loads.layout.restricts { [0, 1, 2] } else { [2, 1, 0] };
    let mut requests = Requests::default();
    // As if unknowns began at multiples of the rows of a plane.
    for first in (0..a.unknowns()).flat_map(|_| (0..rows_of.len()).step_by(PLANE)) {
        let rows = first..(first + PLANE).min(rows_of.len());
        let points: Vec<[usize; 3]> = rows.clone().map(|row| rows_of.position(row)).collect();
        loads.follow(&order, &points, &mut requests);
        if left.is_some() {
            requests.load(4, rows.clone());
        }
        requests.store(computed, rows);
    }
    (words(size_of::<S>() * a.nnz()) + scales, requests)
}

/// The parameters of the loads of a plane.
struct Loads {
    layout: Layout,
    value: usize,
    computed: usize,
    right: bool,
}

impl Loads {
    /// The loads of a plane whose units are at these points, along the remaining axes.
    fn follow(&self, axes: &[usize], points: &[[usize; 3]], requests: &mut Requests) {
        let Layout { restricts, fine, coarse, along, .. } = self.layout;
        let Some((&axis, rest)) = axes.split_first() else {
            let [nx, ny, _] = if restricts { fine } else { coarse }.points();
            let columns = || points.iter().map(|&[x, y, z]| x + nx * (y + ny * z));
            requests.load(self.computed, columns());
            if self.right {
                requests.load(4, columns());
            }
            return;
        };
        let steps = if along[axis] { 0..2 + usize::from(restricts) } else { 1..2 };
        for step in steps {
            let moved = points.iter().filter_map(|&at| self.moved(axis, step, at));
            let (points, places): (Vec<_>, Vec<_>) = moved.unzip();
            requests.load(self.value, places.into_iter().flatten());
            self.follow(rest, &points, requests);
        }
    }

    /// A point beside another along an axis, as the kernels find it, and the place of the weight.
    /// The coordinates along earlier axes are already coordinates of x.
    fn moved(&self, axis: usize, step: usize, at: [usize; 3]) -> Option<([usize; 3], Option<usize>)> {
        let Layout { restricts, fine, coarse, along, starts, uppers } = self.layout;
        if !along[axis] {
            return Some((at, None));
        }
        let (on_fine, to, upper) = if restricts {
            let to = 2 * at[axis] + step;
            (to, to, 1 - step / 2)
        } else {
            let to = if at[axis] % 2 > step { None } else { (at[axis] / 2 + step).checked_sub(1) }?;
            (at[axis], to, step)
        };
        let extent = if restricts { fine } else { coarse }.points()[axis];
        // Weights are on the fine grid along smaller axes, and on the coarse one along larger axes.
        let mut number = 0;
        for other in [2, 1, 0] {
            let (n, c) = (fine.points()[other], coarse.points()[other]);
            let (extent, position) = match other.cmp(&axis) {
                Ordering::Less => (n, at[other]),
                Ordering::Equal => (n - c, on_fine / 2),
                Ordering::Greater => (c, at[other]),
            };
            number = number * extent + position;
        }
        let place = starts[axis] + upper * uppers + number;
        let mut moved = at;
        moved[axis] = to;
        (to < extent).then(|| (moved, (on_fine % 2 == 0).then_some(place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::SECTOR;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::grid::{GridMatrix, recognise};

    /// Interpolation along x, y or z in a cube with an edge of 16, counted by hand.
    #[test]
    fn a_product_requests_the_weights_and_the_vectors() {
        let a = "poisson3d:16".parse::<Problem>().unwrap().matrix().unwrap();
        let a = GridMatrix::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap();
        // Along z, planes of 32 rows have one coordinate z. Planes of even z read two weights per
        // row, and x twice, except for the first.
        let (p, _) = a.coarsen(&[2]).unwrap();
        let (arrays, requests) = traffic(&p, 8);
        assert_eq!(arrays, 8 * 4096);
        assert_eq!(requests.sectors * SECTOR, 8 * 256 * (7 * 4 + 2 + 8 + 16));
        // The coarse points read x three times, except for the last plane.
        let (_, requests) = traffic(&p.transposed(), 8);
        assert_eq!(requests.sectors * SECTOR, 8 * 256 * (8 * 3 - 1 + 8 * 2 - 1 + 8));
        // Along x, a load for every second unit fetches the sectors of all.
        let (p, _) = a.coarsen(&[0]).unwrap();
        let (_, requests) = traffic(&p, 8);
        assert!(requests.sectors * SECTOR > 8 * (4096 + 2 * 2048 + 2048));
    }
}
