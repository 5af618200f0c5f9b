//! The two finite-element problems of Tsai's thesis, which it takes from MFEM: −∇·(c∇u) = 1 with
//! u = 0 on the boundary, in cubic elements on squares or cubes, with nodes at Gauss–Lobatto
//! points.
//!
//! | problem | domain | rows | entries |
//! |---|---|--:|--:|
//! | beam | 8 × 1 × 1, 64 × 8 × 8 cells; c = 1 in the first half, 0.1 in the second | 120,625 | 14,070,001 |
//! | L-shape | three squares of 128 × 128 cells; c = 1 | 443,905 | 11,066,881 |
//!
//! Rows, columns and entries are as in the thesis: rows of the boundary stay, with a one on the
//! diagonal and stored zeros beside it. The coefficient of the beam is piecewise constant, between
//! 0.1 and 1, and changes at the midpoint of its length (section 5.4).

use std::sync::Arc;

use ziggurat::amg::interpolate::NearKernel;
use ziggurat_sparse::matrix::Coo;

use super::super::BenchError;
use super::super::systems::ModelSystem;

/// Nodes of a cell along an axis.
const NODES: usize = 4;

/// A lattice of cells, some of which are in the domain.
struct Mesh {
    name: &'static str,
    dimension: usize,
    /// Cells along each axis; 1 beyond the dimension.
    cells: [usize; 3],
    /// The coefficient of a cell; `None` outside the domain.
    coefficient: fn(cell: [usize; 3], cells: [usize; 3]) -> Option<f64>,
}

/// The beam, refined so that it is `height` cells high.
pub(super) fn beam(height: usize) -> Result<ModelSystem, BenchError> {
    let cells = [8 * height, height, height];
    let coefficient =
        |cell: [usize; 3], cells: [usize; 3]| Some(if 2 * cell[0] < cells[0] { 1.0 } else { 0.1 });
    Mesh { name: "beam", dimension: 3, cells, coefficient }.system()
}

/// The L-shape, whose squares have `cells` by `cells` cells.
pub(super) fn l_shape(cells: usize) -> Result<ModelSystem, BenchError> {
    let coefficient = |cell: [usize; 3], cells: [usize; 3]| {
        let missing = [0, 1].iter().all(|&axis| 2 * cell[axis] >= cells[axis]);
        (!missing).then_some(1.0)
    };
    Mesh { name: "L-shape", dimension: 2, cells: [2 * cells, 2 * cells, 1], coefficient }.system()
}

impl Mesh {
    /// Lattice points along an axis.
    fn points(&self, axis: usize) -> usize {
        if axis < self.dimension { (NODES - 1) * self.cells[axis] + 1 } else { 1 }
    }

    /// The place of a lattice point.
    fn place(&self, point: [usize; 3]) -> usize {
        (point[2] * self.points(1) + point[1]) * self.points(0) + point[0]
    }

    /// The lattice points of a cell, with the node of each along every axis.
    fn nodes(&self, cell: [usize; 3]) -> Vec<(usize, [usize; 3])> {
        let deep = if self.dimension == 3 { NODES } else { 1 };
        let mut nodes = Vec::new();
        for local in 0..deep * NODES * NODES {
            let node = [local % NODES, local / NODES % NODES, local / (NODES * NODES)];
            let point = [0, 1, 2].map(|axis| match axis < self.dimension {
                true => (NODES - 1) * cell[axis] + node[axis],
                false => 0,
            });
            nodes.push((self.place(point), node));
        }
        nodes
    }

    /// The cells in the domain.
    fn domain(&self) -> impl Iterator<Item = ([usize; 3], f64)> + '_ {
        let [nx, ny, nz] = self.cells;
        let cell = move |index: usize| [index % nx, index / nx % ny, index / (nx * ny)];
        (0..nx * ny * nz).filter_map(move |index| {
            (self.coefficient)(cell(index), self.cells).map(|coefficient| (cell(index), coefficient))
        })
    }

    /// Assembles the system.
    fn system(&self) -> Result<ModelSystem, BenchError> {
        let lattice: usize = (0..3).map(|axis| self.points(axis)).product();
        // How often a lattice point is a corner of the cells around it: inside 2^d times per cell
        // side, fewer on the boundary.
        let (mut numbers, mut around) = (vec![u32::MAX; lattice], vec![0u32; lattice]);
        for (cell, _) in self.domain() {
            for (place, node) in self.nodes(cell) {
                numbers[place] = 0;
                let inner = (0..self.dimension).filter(|&axis| (1..NODES - 1).contains(&node[axis])).count();
                around[place] += 1 << inner;
            }
        }
        let inside = |place: usize| around[place] == 1 << self.dimension;
        let present = numbers.iter_mut().filter(|number| **number == 0);
        let rows = present.zip(0..).map(|(number, next)| *number = next).count();
        let mut all = Coo::with_capacity(rows, rows, 0)?;
        let mut b = vec![0.0; rows];
        let side = 1.0 / (self.cells[1] as f64);
        let (stiffness, mass) = cubic_element(side);
        for (cell, coefficient) in self.domain() {
            let nodes = self.nodes(cell);
            for &(row_place, i) in &nodes {
                let row = numbers[row_place] as usize;
                let weight = |axis: usize| mass[i[axis]].iter().sum::<f64>();
                if inside(row_place) {
                    b[row] += (0..self.dimension).map(weight).product::<f64>();
                }
                for &(column_place, j) in &nodes {
                    let term = |along: usize| {
                        let factor = |axis: usize| {
                            let matrix = if axis == along { &stiffness } else { &mass };
                            matrix[i[axis]][j[axis]]
                        };
                        (0..self.dimension).map(factor).product::<f64>()
                    };
                    let value = match inside(row_place) && inside(column_place) {
                        true => coefficient * (0..self.dimension).map(term).sum::<f64>(),
                        false => 0.0,
                    };
                    all.push(row, numbers[column_place] as usize, value)?;
                }
            }
        }
        for place in (0..lattice).filter(|&place| numbers[place] != u32::MAX && !inside(place)) {
            all.push(numbers[place] as usize, numbers[place] as usize, 1.0)?;
        }
        let near_kernel = NearKernel::constants(rows, 1);
        let near_kernel =
            near_kernel.map_err(|error| BenchError::Solve(self.name.to_owned(), error.to_string()))?;
        Ok(ModelSystem { name: self.name.to_owned(), a: Arc::new(all.into_csr()), b, block: 1, near_kernel })
    }
}

/// Stiffness and mass matrix of one cell of this length, along one axis.
fn cubic_element(length: f64) -> ([[f64; NODES]; NODES], [[f64; NODES]; NODES]) {
    let inner = 0.2_f64.sqrt();
    let nodes = [-1.0, -inner, inner, 1.0];
    // Gauss points and weights of degree 7, which is exact for products of cubics.
    let (near, far) = (2.0 / 7.0 * 1.2_f64.sqrt(), 18.0_f64);
    let points = [3.0 / 7.0 - near, 3.0 / 7.0 + near].map(f64::sqrt);
    let weights = [(far + 30.0_f64.sqrt()) / 36.0, (far - 30.0_f64.sqrt()) / 36.0];
    let (mut stiffness, mut mass) = ([[0.0; NODES]; NODES], [[0.0; NODES]; NODES]);
    for (point, weight) in points.into_iter().zip(weights).flat_map(|(x, w)| [(x, w), (-x, w)]) {
        let (value, slope) = lagrange(&nodes, point);
        for i in 0..NODES {
            for j in 0..NODES {
                stiffness[i][j] += weight * slope[i] * slope[j] * 2.0 / length;
                mass[i][j] += weight * value[i] * value[j] * length / 2.0;
            }
        }
    }
    (stiffness, mass)
}

/// The values and slopes of Lagrange's polynomials at a point.
fn lagrange(nodes: &[f64; NODES], x: f64) -> ([f64; NODES], [f64; NODES]) {
    let (mut values, mut slopes) = ([1.0; NODES], [0.0; NODES]);
    for i in 0..NODES {
        let others: Vec<f64> = (0..NODES).filter(|&k| k != i).map(|k| nodes[k]).collect();
        let scale: f64 = others.iter().map(|node| nodes[i] - node).product();
        values[i] = others.iter().map(|node| x - node).product::<f64>() / scale;
        let without =
            |k: usize| (0..others.len()).filter(|&m| m != k).map(|m| x - others[m]).product::<f64>();
        slopes[i] = (0..others.len()).map(without).sum::<f64>() / scale;
    }
    (values, slopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_thesis() {
        // (3·64+1)(3·8+1)² rows and (64·16−63)(8·16−7)² entries, for fewer cells.
        let small = beam(1).unwrap().a;
        assert_eq!((small.rows(), small.nnz()), (25 * 4 * 4, (8 * 16 - 7) * 16 * 16));
        let small = l_shape(2).unwrap().a;
        let (points, entries) = (7, 2 * 16 - 1);
        assert_eq!(small.rows(), 3 * points * points - 2 * points);
        assert_eq!(small.nnz(), 3 * entries * entries - 2 * entries);
    }

    #[test]
    fn elements_are_exact_for_cubics() {
        let (stiffness, mass) = cubic_element(0.5);
        let inner = 0.2_f64.sqrt();
        let cubes = [-1.0, -inner, inner, 1.0].map(|x: f64| x.powi(3));
        let form = |matrix: &[[f64; NODES]; NODES]| -> f64 {
            (0..NODES)
                .flat_map(|i| (0..NODES).map(move |j| (i, j)))
                .map(|(i, j)| cubes[i] * matrix[i][j] * cubes[j])
                .sum()
        };
        // ∫ (3x²)² dx = 18/5 and ∫ x⁶ dx = 2/7 on [-1, 1], scaled to a cell of length ½.
        assert!((form(&stiffness) - 18.0 / 5.0 * 4.0).abs() < 1e-12);
        assert!((form(&mass) - 2.0 / 7.0 / 4.0).abs() < 1e-14);
    }

    #[test]
    fn the_matrix_is_symmetric_and_the_boundary_is_fixed() {
        let system = l_shape(2).unwrap();
        let a = &system.a;
        for row in 0..a.rows() {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                let reverse = a.get(column as usize, row).unwrap();
                assert!((value - reverse).abs() < 1e-14, "({row}, {column})");
            }
        }
        let fixed = (0..a.rows()).filter(|&row| system.b[row] == 0.0).count();
        // The boundary of the L has 8 sides of 6 node distances.
        assert_eq!(fixed, 8 * 6);
    }
}
