//! Coarsening of a grid along some of its axes: interpolation, and the Galerkin product.
//!
//! Along an axis, the coarse grid has the points 1, 3, 5, …. A point e between two of them
//! interpolates with weights from its stencil, summed over the other axes:
//!
//! ```text
//! w∓(e) = −σ∓ / σ₀,   σ_k = Σ_d a_(k,d)(e),   k = −1, 0, 1 along the axis, d across it
//! ```
//!
//! This is the interpolation of PFMG (S. Ashby & R. Falgout, *A parallel multigrid preconditioned
//! conjugate gradient algorithm for groundwater flow simulations*, Nucl. Sci. Eng. 124, 1996). It
//! follows jumps of the coefficient, because for a flux through layers it is the exact solution
//! between two coarse points. A weight is limited so that both of a point sum to at most one.
//! Coarsening along all axes, z first, gives the full coarsening by eight in three dimensions, and
//! fewer axes give semi-coarsening. The matrix of each coarser grid is Pᵀ A P.
//!
//! The grids between two axes are never stored. A task goes through consecutive coarse planes; of
//! every grid in between it keeps the last two planes, and of their weights the last three:
//!
//! ```text
//! planes of A       2k  2k+1  2k+2
//!                     ╲  │  ╱
//! coarse along z         k          and its weights along y
//! … and y              k − 1        with the weights along y of planes k − 2, k − 1, k
//! … and x              k − 2        with the weights along x of planes k − 3, k − 2, k − 1
//! ```
//!
//! Cost: the stencils are read once, and the coarse ones and the weights are written once. Tasks
//! begin and end with up to two planes that their neighbours compute as well.

use std::ops::Range;

use super::matrix::pieces;
use super::plane::{PlaneWeights, Scratch, Step};
use super::transfer::{AxisWeights, GridTransfer, TransferDirection};
use super::{GridMatrix, GridPattern};
use crate::parallel::{consume, threads, zeros};

/// The fewest planes per task, so that those that two tasks compute are few.
const FEWEST_PLANES: usize = 8;

impl GridMatrix {
    /// Interpolation from every second point along the given axes, and the matrix of these points.
    /// `None` without axes, or if the grid has fewer than two points along one of them.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, coarse) = a.coarsen(&[0]).ok_or("too few points")?;
    /// assert_eq!(coarse.grid().points(), [4, 1, 9]);
    /// assert_eq!(coarse.stencil().len(), 9);
    /// assert_eq!((p.rows(), p.cols()), (81, 36));
    /// assert!(a.coarsen(&[1]).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coarsen(&self, axes: &[usize]) -> Option<(GridTransfer<f64>, GridMatrix)> {
        let points = self.grid().points();
        if axes.is_empty() || axes.iter().any(|&axis| points.get(axis).is_none_or(|&along| along < 2)) {
            return None;
        }
        let steps = steps(&self.pattern(), axes);
        let mut weights: Vec<AxisWeights<f64>> =
            steps.iter().map(|step| AxisWeights::zeros(step.axis(), step.fine())).collect();
        let mut rest: Vec<[&mut [f64]; 2]> =
            weights.iter_mut().map(|along| [&mut along.lower[..], &mut along.upper[..]]).collect();
        let product = self.product(axes, &steps, |planes, last| {
            let mut of_task = Vec::new();
            for (step, [lower, upper]) in steps.iter().zip(&mut rest) {
                // Along z there may be a plane after the last coarse one.
                let len = if last { lower.len() } else { planes.len() * step.weights_of_plane() };
                of_task.push([lower, upper].map(|rest| rest.split_off_mut(..len).unwrap_or_default()));
            }
            Weights::Made(of_task)
        });
        Some((GridTransfer::of_axes(weights, TransferDirection::Prolongation), product))
    }

    /// Pᵀ A P for an interpolation on the same grid.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, coarse) = a.coarsen(&[0, 2]).ok_or("too few points")?;
    /// assert_eq!(a.coarsen_by(&p), coarse);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the interpolation belongs to another grid.
    #[must_use]
    pub fn coarsen_by(&self, p: &GridTransfer<f64>) -> GridMatrix {
        assert_eq!(p.grids().0, self.grid(), "the fine grid of the interpolation");
        let axes = p.axes();
        self.product(&axes, &steps(&self.pattern(), &axes), |_, _| Weights::Given(p.steps()))
    }

    /// Pᵀ A P. `weights` returns the weights of consecutive coarse planes; it is called for one
    /// task after another and told which is the last.
    fn product<'a>(
        &'a self,
        axes: &[usize],
        steps: &'a [Step],
        mut weights: impl FnMut(&Range<usize>, bool) -> Weights<'a>,
    ) -> GridMatrix {
        let GridPattern { grid, stencil, .. } = self.pattern().coarse(axes);
        let mut values = zeros(stencil.len() * grid.len());
        let planes = grid.points()[2];
        let tasks = (planes / FEWEST_PLANES).clamp(1, 2 * threads());
        let mut outputs = pieces(&mut values, grid.len(), grid.stride(2)).into_iter();
        let tasks: Vec<Task<'_, '_>> = (0..tasks)
            .map(|task| {
                let planes = task * planes / tasks..(task + 1) * planes / tasks;
                let outputs = outputs.by_ref().take(planes.len()).collect();
                Task { a: self, steps, weights: weights(&planes, task + 1 == tasks), planes, outputs }
            })
            .collect();
        consume(tasks, &|_, task| task.run());
        GridMatrix::by_direction(grid, stencil, values)
    }
}

/// The weights of interpolation in the planes of a task.
enum Weights<'a> {
    /// To be computed and stored: lower and upper ones of each axis in these planes.
    Made(Vec<[&'a mut [f64]; 2]>),
    /// The weights of all planes.
    Given(&'a [AxisWeights<f64>]),
}

impl Weights<'_> {
    /// The weights along an axis in one of its planes, of which `compute` knows the stencils.
    fn of_plane(
        &self,
        axis: usize,
        at: usize,
        out: &mut PlaneWeights,
        compute: impl FnOnce(&mut PlaneWeights),
    ) {
        match self {
            Weights::Made(_) => compute(out),
            Weights::Given(steps) => out.copy_from(&steps[axis], at),
        }
    }

    /// Stores the weights of an axis in a plane of this task.
    fn store(&mut self, axis: usize, at: usize, weights: &PlaneWeights) {
        if let Weights::Made(all) = self {
            weights.copy_to(&mut all[axis], at);
        }
    }
}

impl GridPattern {
    /// The grid of every second point along the given axes, and the directions of its matrix.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::recognise;
    /// let a = "poisson3d:9".parse::<Problem>()?.matrix()?;
    /// let coarse = recognise(a.view())?.coarse(&[0, 2]);
    /// assert_eq!((coarse.grid.points(), coarse.stencil.len()), ([4, 9, 4], 27));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn coarse(&self, axes: &[usize]) -> GridPattern {
        let last = steps(self, axes).pop();
        last.map_or_else(
            || self.clone(),
            |step| GridPattern { grid: step.coarse(), stencil: step.coarse_stencil().to_vec(), ..*self },
        )
    }
}

/// The steps of coarsening along the given axes, falling.
fn steps(pattern: &GridPattern, axes: &[usize]) -> Vec<Step> {
    let (mut grid, mut stencil) = (pattern.grid, pattern.stencil.clone());
    let mut steps = Vec::new();
    for axis in [2, 1, 0].into_iter().filter(|axis| axes.contains(axis)) {
        let step = Step::new(grid, &stencil, axis);
        (grid, stencil) = (step.coarse(), step.coarse_stencil().to_vec());
        steps.push(step);
    }
    steps
}

/// The work for consecutive planes of the coarse grid.
struct Task<'a, 'b> {
    a: &'a GridMatrix,
    /// The axes, falling.
    steps: &'a [Step],
    planes: Range<usize>,
    weights: Weights<'a>,
    /// The values of all directions in each of these planes.
    outputs: Vec<Vec<&'b mut [f64]>>,
}

/// The grid before an axis: the last two planes, and the weights along the axis of the last three.
struct Between {
    planes: [Vec<f64>; 2],
    weights: [PlaneWeights; 3],
}

impl Task<'_, '_> {
    fn run(mut self) {
        let (along_z, within) = match self.steps.split_first() {
            Some((first, rest)) if first.axis() == 2 => (Some(first), rest),
            _ => (None, self.steps),
        };
        let (m, count) = (within.len() as isize, self.steps[0].coarse().points()[2] as isize);
        let (first, end) = (self.planes.start as isize, self.planes.end as isize);
        let begin = first - m;
        // Without z, the first of these grids is the grid of `a` itself.
        let mut between: Vec<Between> = (within.iter().enumerate())
            .map(|(j, step)| {
                let len = if j == 0 && along_z.is_none() { 0 } else { step.values_of_plane() };
                Between {
                    planes: [vec![0.0; len], vec![0.0; len]],
                    weights: [(); 3].map(|()| step.no_weights()),
                }
            })
            .collect();
        let mut sides = along_z.map(|step| {
            let start = begin.max(0) as usize;
            let mut sides = [step.no_weights(), step.no_weights()];
            let first = |out: &mut PlaneWeights| step.weights(self.a.plane(2 * start), out);
            self.weights.of_plane(0, start, &mut sides[start % 2], first);
            sides
        });
        let scratch = &mut *Scratch::new();
        for k in begin..end + m {
            if let (Some(step), Some(sides), true) = (along_z, &mut sides, (0..count).contains(&k)) {
                self.across(step, sides, k as usize, between.first_mut(), scratch);
            }
            for (j, step) in within.iter().enumerate() {
                let (before, after) = between.split_at_mut(j + 1);
                let Between { planes, weights } = &mut before[j];
                let plane = |at: isize| match (j, along_z) {
                    (0, None) => self.a.plane(at as usize),
                    _ => step.plane(&planes[at as usize % 2]),
                };
                // The last plane that was made of this grid. Beyond the grid there are no weights.
                let made = k - j as isize;
                let slot = &mut weights[made.rem_euclid(3) as usize];
                let axis = j + usize::from(along_z.is_some());
                if (0..count).contains(&made) {
                    self.weights.of_plane(axis, made as usize, slot, |out| step.weights(plane(made), out));
                } else {
                    slot.clear();
                }
                if (first..end).contains(&made) {
                    self.weights.store(axis, (made - first) as usize, slot);
                }
                // The plane before it, of which the weights of both neighbours are known now.
                let ready = made - 1;
                let further = m - 1 - j as isize;
                if !((first - further).max(0)..(end + further).min(count)).contains(&ready) {
                    continue;
                }
                let around = [-1, 0, 1].map(|side| &weights[(ready + side).rem_euclid(3) as usize]);
                match after.first_mut() {
                    Some(next) => {
                        let out = &mut step.directions(&mut next.planes[ready as usize % 2]);
                        step.product_within(plane(ready), around, out, scratch);
                    }
                    None => {
                        let out = &mut self.outputs[(ready - first) as usize];
                        step.product_within(plane(ready), around, out, scratch);
                    }
                }
            }
        }
    }

    /// Plane `k` of the grid that is coarse along z, from planes 2k, 2k + 1 and 2k + 2. `sides` has
    /// the weights of the even planes; for plane 2k they are known.
    fn across(
        &mut self,
        step: &Step,
        sides: &mut [PlaneWeights; 2],
        k: usize,
        next: Option<&mut Between>,
        scratch: &mut Scratch,
    ) {
        let [e, f] = [2 * k, 2 * k + 1].map(|plane| self.a.plane(plane));
        let right = (2 * k + 2 < step.fine().points()[2]).then(|| self.a.plane(2 * k + 2));
        if let Some(right) = right {
            self.weights.of_plane(0, k + 1, &mut sides[(k + 1) % 2], |out| step.weights(right, out));
        }
        let own = k.wrapping_sub(self.planes.start);
        if self.planes.contains(&k) {
            self.weights.store(0, own, &sides[k % 2]);
            // The plane after the last coarse one.
            if right.is_some() && k + 1 == step.coarse().points()[2] {
                self.weights.store(0, own + 1, &sides[(k + 1) % 2]);
            }
        }
        let around = [&sides[k % 2], &sides[(k + 1) % 2]];
        match next {
            Some(next) => {
                let out = &mut step.directions(&mut next.planes[k % 2]);
                step.product_across([e, f], right, around, out, scratch);
            }
            None => step.product_across([e, f], right, around, &mut self.outputs[own], scratch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::Problem;
    use crate::grid::recognise;

    #[test]
    fn axes_together_are_axes_one_after_another() {
        // Several tasks, odd and even numbers of planes, axes that are left out.
        for (name, axes) in [
            ("jump3d:37", &[2, 1, 0][..]),
            ("poisson3d27:34", &[2, 1, 0]),
            ("convection3d:20", &[1, 0]),
            ("anisotropic3d:33", &[2, 1]),
            ("jump3d:34", &[2, 0]),
            ("poisson2d:70", &[2, 0]),
        ] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let a = GridMatrix::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap();
            let (p, coarse) = a.coarsen(axes).unwrap();
            let mut one_by_one = a;
            for &axis in axes {
                let (along, next) = one_by_one.coarsen(&[axis]).unwrap();
                assert_eq!(p.step(axis), along.step(axis), "{name}, axis {axis}");
                one_by_one = next;
            }
            assert_eq!(coarse, one_by_one, "{name}");
        }
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let a = "jump3d:40".parse::<Problem>().unwrap().matrix().unwrap();
        let a = GridMatrix::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| a.coarsen(&[0, 1, 2]).unwrap())
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn what_cannot_be_coarsened_is_refused() {
        let a = "poisson2d:9".parse::<Problem>().unwrap().matrix().unwrap();
        let a = GridMatrix::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap();
        assert!([&[][..], &[1], &[0, 1], &[3]].into_iter().all(|axes| a.coarsen(axes).is_none()));
    }
}
