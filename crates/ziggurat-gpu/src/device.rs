//! Implementation of [`Kernels`] for a GPU, with host fallbacks for unsupported number types.
//!
//! A kernel is compiled for a compute type and a storage type. A device without `f64` keeps `f64`
//! vectors on the host, where [`Cpu`] operates on them. A Krylov method in `f64` then runs on the
//! host and its preconditioner in `f32` on the device; vectors are transferred where the precision
//! changes.

use ziggurat_sparse::device::{Cpu, DeviceError, Direction, HostMatrix, Kernels, SetupDevice, Traffic};
use ziggurat_sparse::{Kind, Reads, Real, Store, device_of_kernels, setup_device_of_kernels};

use crate::Gpu;
use crate::kernels::reduce::Fold;
use crate::kernels::row_products::Operation;
use crate::launch::countable;
use crate::matrix::GpuMatrix;
use crate::vector::{GpuVector, Place};

impl Kernels for Gpu {
    type Vector<T: Store> = GpuVector<T>;
    type Matrix<S: Store> = GpuMatrix<S>;

    fn name(&self) -> String {
        format!("{} ({})", self.found().name, self.found().description)
    }

    fn computes_in(&self, number: Kind) -> bool {
        self.capabilities().computes_in(number)
    }

    fn traffic(&self) -> Option<Traffic> {
        Some(self.counted())
    }

    fn zeros<T: Store>(&self, len: usize) -> Result<GpuVector<T>, DeviceError> {
        let place = if self.keeps_on_host(T::KIND) {
            Place::Host(Cpu::new().zeros(len)?)
        } else {
            Place::Device(self.zeroed(bytes_of::<T>(len)?)?)
        };
        Ok(GpuVector { place, len })
    }

    fn upload<T: Store>(&self, host: &[T]) -> Result<GpuVector<T>, DeviceError> {
        let place = if self.keeps_on_host(T::KIND) {
            Place::Host(Cpu::new().upload(host)?)
        } else {
            bytes_of::<T>(host.len())?;
            Place::Device(self.send(bytemuck::cast_slice(host))?)
        };
        Ok(GpuVector { place, len: host.len() })
    }

    fn write<T: Store>(&self, host: &[T], x: &mut GpuVector<T>) -> Result<(), DeviceError> {
        assert_eq!(host.len(), x.len, "lengths");
        match &mut x.place {
            Place::Host(elements) => elements.copy_from_slice(host),
            // Queued kernels may still read the old array, so allocate a new one.
            Place::Device(handle) => *handle = self.send(bytemuck::cast_slice(host))?,
        }
        Ok(())
    }

    fn download<T: Store>(&self, x: &GpuVector<T>, host: &mut [T]) -> Result<(), DeviceError> {
        assert_eq!(host.len(), x.len, "lengths");
        match &x.place {
            Place::Host(elements) => host.copy_from_slice(elements),
            Place::Device(_) if x.len == 0 => {}
            Place::Device(handle) => self.fetch(handle, bytemuck::cast_slice_mut(host))?,
        }
        Ok(())
    }

    fn upload_matrix<S: Store>(&self, host: HostMatrix<S>) -> Result<GpuMatrix<S>, DeviceError> {
        self.lay_out(host)
    }

    fn len<T: Store>(&self, x: &GpuVector<T>) -> usize {
        x.len
    }

    fn shape<S: Store>(&self, a: &GpuMatrix<S>) -> (usize, usize) {
        (a.rows, a.cols)
    }

    fn finish(&self) -> Result<(), DeviceError> {
        self.wait()
    }

    fn spmv<C: Reads<S>, S: Store>(
        &self,
        alpha: C,
        a: &GpuMatrix<S>,
        x: &GpuVector<C>,
        beta: C,
        y: &mut GpuVector<C>,
    ) {
        assert_eq!((a.rows, a.cols), (y.len, x.len), "shape of A, lengths of y and x");
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().spmv(alpha, a.host(), x.host(), beta, y.host_mut());
        }
        let operation = if beta.is_zero() { Operation::Product } else { Operation::ProductAdded };
        self.rows(a, operation, (alpha, beta), [x, x, x], y);
    }

    fn residual<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        x: &GpuVector<C>,
        b: &GpuVector<C>,
        r: &mut GpuVector<C>,
    ) {
        assert_eq!([a.rows, a.rows, a.cols], [b.len, r.len, x.len], "shape of A, lengths of b, r and x");
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().residual(a.host(), x.host(), b.host(), r.host_mut());
        }
        self.rows(a, Operation::Residual, (C::zero(), C::zero()), [x, b, b], r);
    }

    fn sweep<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        omega: C,
        d: &GpuVector<C>,
        b: &GpuVector<C>,
        x: &GpuVector<C>,
        beta: C,
        y: &mut GpuVector<C>,
    ) {
        assert_eq!([a.cols, d.len, b.len, x.len, y.len], [a.rows; 5], "a square A, lengths of d, b, x, y");
        if self.keeps_on_host(C::KIND) {
            let (d, b, x) = (d.host(), b.host(), x.host());
            return Cpu::new().sweep(a.host(), omega, d, b, x, beta, y.host_mut());
        }
        let operation = if beta.is_zero() { Operation::Sweep } else { Operation::SweepWithMomentum };
        self.rows(a, operation, (omega, beta), [x, b, d], y);
    }

    fn gauss_seidel<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        d: &GpuVector<C>,
        b: &GpuVector<C>,
        x: Option<&GpuVector<C>>,
        block: usize,
        direction: Direction,
        y: &mut GpuVector<C>,
    ) {
        let guess = x.map_or(a.rows, |x| x.len);
        assert_eq!([a.cols, d.len, b.len, guess, y.len], [a.rows; 5], "a square A, lengths of d, b, x, y");
        if self.keeps_on_host(C::KIND) {
            let (d, b, x) = (d.host(), b.host(), x.map(GpuVector::host));
            return Cpu::new().gauss_seidel(a.host(), d, b, x, block, direction, y.host_mut());
        }
        self.blocks_of_rows(a, [d, b], x, (block, direction), y);
    }

    fn fill<C: Real>(&self, value: C, x: &mut GpuVector<C>) {
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().fill(value, x.host_mut());
        }
        self.filled(value, x);
    }

    fn copy<C: Real>(&self, x: &GpuVector<C>, y: &mut GpuVector<C>) {
        self.cast(x, y);
    }

    fn cast<X: Real, Y: Real>(&self, x: &GpuVector<X>, y: &mut GpuVector<Y>) {
        assert_eq!(x.len, y.len, "lengths of x and y");
        if self.keeps_on_host(X::KIND) || self.keeps_on_host(Y::KIND) {
            self.through_host(x, y, Cpu::cast);
            return;
        }
        self.converted(x, y);
    }

    fn cast_scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&GpuVector<f32>>,
        x: &GpuVector<X>,
        y: &mut GpuVector<Y>,
    ) {
        assert_eq!([x.len, d.map_or(x.len, |d| d.len)], [y.len; 2], "lengths of x, d and y");
        if !self.computes_in(Kind::F64) {
            let _ = self.scaled_on_host(alpha, d, x, y);
            return;
        }
        self.scaled(alpha, d, x, y, false);
    }

    fn cast_scaled_max<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&GpuVector<f32>>,
        x: &GpuVector<X>,
        y: &mut GpuVector<Y>,
    ) -> f64 {
        assert_eq!([x.len, d.map_or(x.len, |d| d.len)], [y.len; 2], "lengths of x, d and y");
        if !self.computes_in(Kind::F64) {
            return self.scaled_on_host(alpha, d, x, y);
        }
        self.scaled(alpha, d, x, y, true)
    }

    fn axpby<C: Real>(&self, alpha: C, x: &GpuVector<C>, beta: C, y: &mut GpuVector<C>) {
        assert_eq!(x.len, y.len, "lengths of x and y");
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().axpby(alpha, x.host(), beta, y.host_mut());
        }
        self.added(alpha, x, beta, y);
    }

    fn axpbypcz<C: Real>(
        &self,
        alpha: C,
        x: &GpuVector<C>,
        beta: C,
        y: &GpuVector<C>,
        gamma: C,
        z: &mut GpuVector<C>,
    ) {
        assert_eq!([x.len, y.len], [z.len; 2], "lengths of x, y and z");
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().axpbypcz(alpha, x.host(), beta, y.host(), gamma, z.host_mut());
        }
        self.added_three([alpha, beta, gamma], x, y, z);
    }

    fn diagonal<C: Real>(&self, alpha: C, d: &GpuVector<C>, x: &GpuVector<C>, beta: C, y: &mut GpuVector<C>) {
        assert_eq!([d.len, x.len], [y.len; 2], "lengths of d, x and y");
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().diagonal(alpha, d.host(), x.host(), beta, y.host_mut());
        }
        self.multiplied(alpha, d, x, beta, y);
    }

    fn step_and_turn<C: Real>(
        &self,
        alpha: C,
        x: &mut GpuVector<C>,
        beta: C,
        z: &GpuVector<C>,
        p: &mut GpuVector<C>,
    ) {
        assert_eq!([x.len, z.len], [p.len; 2], "lengths of x, z and p");
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().step_and_turn(alpha, x.host_mut(), beta, z.host(), p.host_mut());
        }
        self.stepped(alpha, x, beta, z, p);
    }

    fn combine<C: Real>(
        &self,
        coefficients: &[C],
        xs: &[&GpuVector<C>],
        beta: C,
        y: &mut GpuVector<C>,
    ) -> f64 {
        assert_eq!(coefficients.len(), xs.len(), "coefficients and vectors");
        for x in xs {
            assert_eq!(x.len, y.len, "lengths of x and y");
        }
        if self.keeps_on_host(C::KIND) {
            let xs: Vec<&Vec<C>> = xs.iter().map(|x| x.host()).collect();
            return Cpu::new().combine(coefficients, &xs, beta, y.host_mut());
        }
        self.combined(coefficients, xs, beta, y)
    }

    fn dots<C: Real>(&self, xs: &[&GpuVector<C>], y: &GpuVector<C>, out: &mut [f64]) {
        assert_eq!(xs.len(), out.len(), "vectors and results");
        for x in xs {
            assert_eq!(x.len, y.len, "lengths of x and y");
        }
        if self.keeps_on_host(C::KIND) {
            let xs: Vec<&Vec<C>> = xs.iter().map(|x| x.host()).collect();
            return Cpu::new().dots(&xs, y.host(), out);
        }
        self.folded(Fold::Sum, xs, y, out);
    }

    fn norm_max<C: Real>(&self, x: &GpuVector<C>) -> f64 {
        if self.keeps_on_host(C::KIND) {
            return Cpu::new().norm_max(x.host());
        }
        let mut out = [0.0];
        self.folded(Fold::Max, &[x], x, &mut out);
        out[0]
    }
}

device_of_kernels!(
    Gpu,
    fn setup(&self) -> Option<&dyn SetupDevice> {
        Some(self)
    }
);
setup_device_of_kernels!(Gpu);

/// Size of a vector in bytes.
fn bytes_of<T: Store>(len: usize) -> Result<usize, DeviceError> {
    countable("elements of a vector", len)?;
    Ok(len * size_of::<T>())
}
