//! Coarsening: which rows the next level keeps, or which rows it joins.
