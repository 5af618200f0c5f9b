//! When setup has to stop before it is done: after some time, or on request.
//!
//! Setup asks between its stages: before each stage of each level, before a level is lowered,
//! before its smoother is set up, and before a sparse factorisation, which is not begun if its
//! operations are expected to take longer than what is left. A stage that has begun is finished:
//! cancelling takes as long as the longest stage, which is a few products with the matrix of the
//! level for most, and the whole of a factorisation that was expected to be fast enough.
//!
//! Cost: a clock is read for each stage. On several processes, which have to stop together, a
//! message is exchanged for each stage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::SetupError;

/// A time limit, and a flag by which another thread can ask to stop.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use ziggurat_amg::{Cancel, Hierarchy, HierarchyConfig, SetupError};
/// use ziggurat_amg::{MatrixProperties, interpolate::{NearKernel, Symmetry}};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
/// let near_kernel = NearKernel::constants(a.rows(), 1)?;
/// let known = MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
/// let flag = Arc::new(AtomicBool::new(false));
/// let cancel = Cancel::on(flag.clone()).within(60.0);
/// let config = HierarchyConfig::default();
/// assert!(Hierarchy::with_properties_until(&a, known.clone(), &config, &cancel).is_ok());
///
/// flag.store(true, Ordering::Relaxed); // another thread
/// let error = Hierarchy::with_properties_until(&a, known, &config, &cancel).unwrap_err();
/// assert_eq!(error.to_string(), "level 0, strength: interrupted on request");
/// assert_eq!(error.cause(), &SetupError::Interrupted);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    limit: Option<Limit>,
    requested: Option<Arc<AtomicBool>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    end: Instant,
    /// The given limit, for messages.
    seconds: f64,
}

impl Cancel {
    /// Never.
    pub const NEVER: Cancel = Cancel { limit: None, requested: None };

    /// As soon as the flag is true.
    pub const fn on(flag: Arc<AtomicBool>) -> Self {
        Cancel { limit: None, requested: Some(flag) }
    }

    /// Also after this many seconds from now.
    ///
    /// ```
    /// use ziggurat_amg::Cancel;
    /// let error = Cancel::NEVER.within(0.0).check().unwrap_err();
    /// assert_eq!(error.to_string(), "the time limit of 0 s was reached; raise `stopping.max_seconds`");
    /// ```
    #[must_use]
    pub fn within(&self, seconds: f64) -> Self {
        // Centuries are no limit.
        let end = Duration::try_from_secs_f64(seconds.max(0.0)).ok();
        let end = end.and_then(|seconds| Instant::now().checked_add(seconds));
        let limit = end.map(|end| Limit { end, seconds });
        let earlier = match (self.limit, limit) {
            (Some(one), Some(other)) => Some(if one.end <= other.end { one } else { other }),
            (one, other) => one.or(other),
        };
        Cancel { limit: earlier, requested: self.requested.clone() }
    }

    /// Whether it can never be time to stop.
    ///
    /// ```
    /// use ziggurat_amg::Cancel;
    /// assert!(Cancel::NEVER.is_never() && !Cancel::NEVER.within(1.0).is_never());
    /// ```
    pub fn is_never(&self) -> bool {
        self.limit.is_none() && self.requested.is_none()
    }

    /// Succeeds unless it is time to stop.
    ///
    /// # Errors
    /// [`SetupError::Interrupted`] or [`SetupError::TimeLimit`].
    pub fn check(&self) -> Result<(), SetupError> {
        self.check_for(0.0)
    }

    /// As [`check`](Self::check), for a step that is expected to take this many seconds.
    ///
    /// ```
    /// use ziggurat_amg::Cancel;
    /// let cancel = Cancel::NEVER.within(10.0);
    /// assert!(cancel.check_for(5.0).is_ok());
    /// let error = cancel.check_for(20.0).unwrap_err().to_string();
    /// assert!(error.starts_with("it is expected to take 20.0 s, and the time limit of 10 s leaves "), "{error}");
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn check_for(&self, expected: f64) -> Result<(), SetupError> {
        if self.requested.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(SetupError::Interrupted);
        }
        let Some(Limit { end, seconds: limit }) = self.limit else { return Ok(()) };
        let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
        if left == 0.0 {
            return Err(SetupError::TimeLimit { limit });
        }
        if expected > left { Err(SetupError::TooLong { expected, left, limit }) } else { Ok(()) }
    }
}

/// Two are equal if they stop at the same time.
impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        let same_flag = match (&self.requested, &other.requested) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        same_flag && self.limit == other.limit
    }
}
