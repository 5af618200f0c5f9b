//! A_remote x_halo: what the columns of other ranks add to a product, and the messages for it.
//!
//! If vectors are in host memory, own elements are packed into a message, and the few rows with
//! remote columns are computed one by one. If they are in the memory of a device, it packs them
//! itself, by a product with a matrix that has a one in each row. The packed elements are
//! downloaded, exchanged and uploaded, and a product with A_remote, whose other rows are empty,
//! does the rest. So any device serves, and only halos cross the bus.
//!
//! Cost on a device: the elements sent and received, and a pass over the vector that the result is
//! added to. Kernels do not allocate, except the first in each precision.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ziggurat_sparse::device::{Device, DeviceError, Remote};
use ziggurat_sparse::{Csr, MatrixError, Reads, Real, Store};

use crate::neighbourhood::{HaloOf, Neighbourhood};

/// The entries of own rows in remote columns.
#[derive(Debug)]
pub(crate) struct Border<S: Store, D: Device> {
    rows: Vec<u32>,
    matrix: Csr<S>,
    halo: Arc<Neighbourhood>,
    buffers: Mutex<Buffers>,
    /// For vectors in the memory of the device.
    there: Option<There<S, D>>,
}

/// Data for a device with its own memory.
#[derive(Debug)]
struct There<S: Store, D: Device> {
    /// Selects the elements to be sent.
    pick: D::Matrix<S>,
    /// A row for each own row, a column for each halo element.
    remote: D::Matrix<S>,
}

/// Send and receive buffers, large enough for doubles, and vectors in either precision that the
/// first use allocates.
struct Buffers {
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
    vectors: Vec<Box<dyn Any + Send>>,
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").finish_non_exhaustive()
    }
}

/// Vectors in one precision.
struct Vectors<C: Real, D: Device> {
    outgoing: D::Vector<C>,
    incoming: D::Vector<C>,
    /// b − A_remote x_halo.
    rest: Option<D::Vector<C>>,
}

/// A_remote and x_halo on a device.
type Received<'a, C, S, D> = (&'a There<S, D>, &'a mut Vectors<C, D>);

impl Buffers {
    /// The one of a type, made by the first call.
    fn of_type<V: Send + 'static>(
        vectors: &mut Vec<Box<dyn Any + Send>>,
        make: impl FnOnce() -> Result<V, DeviceError>,
    ) -> Result<Option<&mut V>, DeviceError> {
        if !vectors.iter().any(|vector| vector.is::<V>()) {
            vectors.push(Box::new(make()?));
        }
        Ok(vectors.iter_mut().find_map(|vector| vector.downcast_mut::<V>()))
    }
}

impl<S: Store, D: Device> Border<S, D> {
    /// The border of a matrix with `own` rows and columns.
    pub(crate) fn new(
        device: &D,
        own: (usize, usize),
        remote: Remote<S, HaloOf>,
    ) -> Result<Self, DeviceError> {
        let halo = remote.halo.0;
        let there = match device.traffic() {
            None => None,
            Some(_) => {
                let upload = |made: Result<Csr<S>, MatrixError>| {
                    let made = made.map_err(|error| DeviceError::Lost {
                        device: device.name(),
                        reason: error.to_string(),
                    })?;
                    device.upload_matrix(made.into())
                };
                let pick = upload(halo.selection(own.1))?;
                let remote = upload(spread(own.0, &remote.rows, &remote.matrix))?;
                Some(There { pick, remote })
            }
        };
        let (outgoing, incoming) = (vec![0; halo.sent_rows()], vec![0; halo.halo_rows()]);
        let buffers = Mutex::new(Buffers { outgoing, incoming, vectors: Vec::new() });
        Ok(Border { rows: remote.rows, matrix: remote.matrix, halo, buffers, there })
    }

    /// y ← y + A_remote x_halo in some form, where `own` computes what own columns give, while
    /// messages are in transit. In host memory, `add` gets each row with its share; on a device,
    /// `multiply` gets A_remote and x_halo.
    pub(crate) fn product<C: Reads<S>>(
        &self,
        device: &D,
        x: &D::Vector<C>,
        y: &mut D::Vector<C>,
        mut own: impl FnMut(&mut D::Vector<C>),
        mut add: impl FnMut(&mut [C], usize, C),
        multiply: impl FnOnce(&D::Matrix<S>, &D::Vector<C>, &mut D::Vector<C>),
    ) -> Result<(), DeviceError> {
        let mut buffers = self.lock();
        if let Some(x) = device.elements(x) {
            self.exchange(&mut buffers, x, &mut || own(y));
            if let Some(y) = device.elements_mut(y) {
                self.shares(&buffers.incoming, |row, share| add(y, row, share));
            }
            return Ok(());
        }
        if let Some((there, vectors)) = self.exchange_there(device, &mut buffers, x, &mut || own(y))? {
            multiply(&there.remote, &vectors.incoming, y);
        }
        Ok(())
    }

    /// Calls `relax` with b − A_remote x_halo instead of b: a sweep within own rows does the rest.
    pub(crate) fn with_rest<C: Reads<S>>(
        &self,
        device: &D,
        x: &D::Vector<C>,
        b: &D::Vector<C>,
        relax: impl FnOnce(&D::Vector<C>),
    ) -> Result<(), DeviceError> {
        let (mut buffers, rows) = (self.lock(), device.len(b));
        if let Some(x) = device.elements(x) {
            self.exchange(&mut buffers, x, &mut || ());
            let Buffers { incoming, vectors, .. } = &mut *buffers;
            if let Some(rest) = Buffers::of_type(vectors, || device.zeros::<C>(rows))? {
                device.copy(b, rest);
                if let Some(rest) = device.elements_mut(rest) {
                    self.shares(incoming, |row, share: C| rest[row] -= share);
                }
                relax(rest);
            }
            return Ok(());
        }
        if let Some((there, vectors)) = self.exchange_there(device, &mut buffers, x, &mut || ())? {
            let rest = match &mut vectors.rest {
                Some(rest) => rest,
                rest => rest.insert(device.zeros(rows)?),
            };
            device.residual(&there.remote, &vectors.incoming, b, rest);
            relax(rest);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `meanwhile` while the remote elements of x are in transit.
    fn exchange<C: Real>(&self, buffers: &mut Buffers, x: &[C], meanwhile: &mut dyn FnMut()) {
        let outgoing: &mut [C] =
            &mut bytemuck::cast_slice_mut(&mut buffers.outgoing)[..self.halo.sent_rows()];
        let incoming: &mut [C] =
            &mut bytemuck::cast_slice_mut(&mut buffers.incoming)[..self.halo.halo_rows()];
        self.halo.pack(x, outgoing);
        self.halo.swap(outgoing, incoming, self.halo.block(), meanwhile);
    }

    /// Calls `add(i, (A_remote x_halo)_i)` for every row i with remote columns.
    fn shares<C: Reads<S>>(&self, incoming: &[u64], mut add: impl FnMut(usize, C)) {
        let x: &[C] = bytemuck::cast_slice(incoming);
        for (place, &row) in self.rows.iter().enumerate() {
            let (columns, values) = self.matrix.row(place);
            let mut sum = C::zero();
            for (&column, &value) in columns.iter().zip(values) {
                sum += C::read(value) * x[column as usize];
            }
            add(row as usize, sum);
        }
    }

    /// The exchange for vectors in device memory. Messages are exchanged even if the device fails,
    /// because other ranks wait for them.
    fn exchange_there<'a, C: Reads<S>>(
        &'a self,
        device: &D,
        buffers: &'a mut Buffers,
        x: &D::Vector<C>,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Option<Received<'a, C, S, D>>, DeviceError> {
        let Buffers { outgoing, incoming, vectors } = buffers;
        let outgoing: &mut [C] = &mut bytemuck::cast_slice_mut(outgoing)[..self.halo.sent_rows()];
        let incoming: &mut [C] = &mut bytemuck::cast_slice_mut(incoming)[..self.halo.halo_rows()];
        let made = Buffers::of_type(vectors, || {
            let (outgoing, incoming) = (device.zeros(outgoing.len())?, device.zeros(incoming.len())?);
            Ok(Vectors::<C, D> { outgoing, incoming, rest: None })
        });
        let packed = made.and_then(|vectors| {
            let (Some(vectors), Some(there)) = (vectors, &self.there) else { return Ok(None) };
            if !outgoing.is_empty() {
                device.spmv(C::one(), &there.pick, x, C::zero(), &mut vectors.outgoing);
                device.download(&vectors.outgoing, outgoing)?;
            }
            Ok(Some((there, vectors)))
        });
        self.halo.swap(outgoing, incoming, self.halo.block(), meanwhile);
        let mut packed = packed?;
        if let Some((_, vectors)) = &mut packed
            && !incoming.is_empty()
        {
            device.write(incoming, &mut vectors.incoming)?;
        }
        Ok(packed)
    }
}

/// The rows of a matrix at the given places among `count` rows; the others are empty.
fn spread<S: Store>(count: usize, rows: &[u32], matrix: &Csr<S>) -> Result<Csr<S>, MatrixError> {
    let mut row_ptr = vec![0; count + 1];
    for (place, &row) in rows.iter().enumerate() {
        row_ptr[row as usize + 1] = matrix.row(place).0.len();
    }
    for row in 0..count {
        row_ptr[row + 1] += row_ptr[row];
    }
    Csr::try_new(count, matrix.cols(), row_ptr, matrix.columns().to_vec(), matrix.values().to_vec())
}
