//! Interpolation: how a value on the coarse level becomes values on the fine one.
