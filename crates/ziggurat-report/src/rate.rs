//! How fast a solve converged, and whether the precision that was asked for slows it.

use crate::outcome::Outcome;

impl Outcome {
    /// The average factor by which an iteration multiplies the true residual; `None` without
    /// iterations, or if a residual is zero or not finite.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::gallery::Problem};
    /// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
    /// let solver = Solver::builder().build(&a)?;
    /// let outcome = ziggurat_report::Outcome::of(&solver, &solver.solve(&vec![1.0; 512])?, (0.5, 0.25));
    /// assert!((0.001..0.9).contains(&outcome.convergence_factor().unwrap()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn convergence_factor(&self) -> Option<f64> {
        let first = self.true_residuals.first().filter(|point| point.0 == 0).map_or(1.0, |point| point.1);
        let factor = (self.relative_residual / first).powf((self.iterations as f64).recip());
        (self.iterations > 0 && factor.is_finite() && factor > 0.0).then_some(factor)
    }

    /// The convergence factor in words; the residual may also have grown.
    pub(crate) fn convergence(&self) -> Option<String> {
        let factor = self.convergence_factor()?;
        Some(match factor {
            factor if factor < 0.9995 => format!("residual × {factor:.2} per iteration"),
            factor => format!("the residual did not fall (× {factor:.2} per iteration)"),
        })
    }

    /// Adds whether rounding to the precision that was asked for slows the solve. Where a stronger
    /// smoother was needed, single precision slows ill-conditioned systems as well: its advice is
    /// double precision.
    ///
    /// ```
    /// use ziggurat::{Solver, sparse::Csr};
    /// let solver = Solver::builder().build(&Csr::identity(3)?)?;
    /// let outcome = ziggurat_report::Outcome::of(&solver, &solver.solve(&[1.0, 2.0, 3.0])?, (0.1, 0.2));
    /// assert!(outcome.with_rounding(true).rounding.unwrap().contains("f32"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_rounding(self, slows: bool) -> Self {
        let wider = if self.promoted_to.is_some() { "f64" } else { "f32" };
        let rounding = slows.then(|| {
            format!(
                "rounding to {} slows this solve: the same cycle in f32 reduces the error by more in an \
                 iteration; choose precision {wider} or auto",
                self.config.precision
            )
        });
        Outcome { rounding, ..self }
    }
}
