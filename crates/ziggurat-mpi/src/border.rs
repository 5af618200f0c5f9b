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
use std::sync::{Mutex, MutexGuard, PoisonError};

use ziggurat_sparse::device::{Device, DeviceError, DeviceExt, Halo, Matrix, Remote, Vector};
use ziggurat_sparse::{Csr, MatrixError, Reads, Real, Store, with_arithmetic, with_pair, with_storage};

use crate::neighbourhood::Neighbourhood;

/// The entries of own rows in remote columns.
#[derive(Debug)]
pub(crate) struct Border {
    rows: Vec<u32>,
    /// A row for each of them, a column for each halo element: a [`Csr`] on the host.
    matrix: Matrix,
    halo: Halo,
    buffers: Mutex<Buffers>,
    /// For vectors in the memory of the device.
    there: Option<There>,
}

/// Matrices on a device with its own memory.
#[derive(Debug)]
struct There {
    /// Selects the elements to be sent.
    pick: Matrix,
    /// A row for each own row, a column for each halo element.
    remote: Matrix,
}

/// Memory of products. Vectors are allocated by the first product in each number type.
#[derive(Debug)]
struct Buffers {
    messages: Messages,
    staged: Vec<Staged>,
    /// b − A_remote x_halo.
    rests: Vec<Vector>,
}

/// Elements to send and received ones, in memory for doubles.
#[derive(Debug)]
struct Messages {
    outgoing: Vec<u64>,
    incoming: Vec<u64>,
}

/// The same on a device, in one number type.
#[derive(Debug)]
struct Staged {
    outgoing: Vector,
    incoming: Vector,
}

/// The element of a list that has the wanted number type, made by the first call.
fn of_kind<T>(
    list: &mut Vec<T>,
    is_of_kind: impl FnMut(&T) -> bool,
    make: impl FnOnce() -> Result<T, DeviceError>,
) -> Result<&mut T, DeviceError> {
    let at = match list.iter().position(is_of_kind) {
        Some(at) => at,
        None => {
            list.push(make()?);
            list.len() - 1
        }
    };
    Ok(&mut list[at])
}

/// The vector of a list that has the number type of b.
fn like<'a>(
    b: &Vector,
    list: &'a mut Vec<Vector>,
    device: &dyn Device,
) -> Result<&'a mut Vector, DeviceError> {
    of_kind(list, |vector| vector.kind() == b.kind(), || device.zeros(b.kind(), b.len()))
}

/// Whether the elements of a vector can be read without a device.
pub(crate) fn is_in_host_memory(x: &Vector) -> bool {
    with_storage!(x.kind(), |T| x.elements::<T>().is_some())
}

impl Border {
    /// The border of a matrix with `own` rows and columns. `remote` is a [`Remote<S>`].
    pub(crate) fn new<S: Store>(
        device: &dyn Device,
        own: (usize, usize),
        remote: Box<dyn Any>,
    ) -> Result<Self, DeviceError> {
        let Ok(remote) = remote.downcast::<Remote<S>>() else {
            unreachable!("remote columns of another type than {}: see `Processes`", S::KIND)
        };
        let Remote { rows, matrix, halo } = *remote;
        let around = Neighbourhood::of(&halo);
        let there = match device.traffic() {
            None => None,
            Some(_) => {
                let upload = |made: Result<Csr<S>, MatrixError>| {
                    let made = made.map_err(|error| DeviceError::Lost {
                        device: device.name(),
                        reason: error.to_string(),
                    })?;
                    device.upload_matrix(made)
                };
                let pick = upload(around.selection(own.1))?;
                let remote = upload(spread(own.0, &rows, &matrix))?;
                Some(There { pick, remote })
            }
        };
        let messages =
            Messages { outgoing: vec![0; around.sent_rows()], incoming: vec![0; around.halo_rows()] };
        let buffers = Mutex::new(Buffers { messages, staged: Vec::new(), rests: Vec::new() });
        let matrix = Matrix::new::<S>((matrix.rows(), matrix.cols()), matrix);
        Ok(Border { rows, matrix, halo, buffers, there })
    }

    /// y ← y + α d∘(A_remote x_halo), where `own` computes what own columns give, while messages
    /// are in transit. `d` is only for vectors in host memory; without it, y ← y + α A_remote
    /// x_halo.
    pub(crate) fn product(
        &self,
        device: &dyn Device,
        alpha: f64,
        d: Option<&Vector>,
        x: &Vector,
        y: &mut Vector,
        mut own: impl FnMut(&mut Vector),
    ) -> Result<(), DeviceError> {
        let Buffers { messages, staged, .. } = &mut *self.lock();
        match self.device_matrices(x) {
            Some(there) => {
                let incoming = self.exchange_there(device, there, messages, staged, x, &mut || own(y))?;
                device.spmv(alpha, &there.remote, incoming, 1.0, y);
            }
            None => {
                self.exchange(messages, x, &mut || own(y));
                self.add(messages, alpha, d, y);
            }
        }
        Ok(())
    }

    /// Calls `relax` with b − A_remote x_halo instead of b: a sweep within own rows does the rest.
    pub(crate) fn with_rest(
        &self,
        device: &dyn Device,
        x: &Vector,
        b: &Vector,
        relax: impl FnOnce(&Vector),
    ) -> Result<(), DeviceError> {
        let Buffers { messages, staged, rests } = &mut *self.lock();
        let rest = match self.device_matrices(x) {
            Some(there) => {
                let incoming = self.exchange_there(device, there, messages, staged, x, &mut || ())?;
                let rest = like(b, rests, device)?;
                device.residual(&there.remote, incoming, b, rest);
                rest
            }
            None => {
                self.exchange(messages, x, &mut || ());
                let rest = like(b, rests, device)?;
                device.copy(b, rest);
                self.add(messages, -1.0, None, rest);
                rest
            }
        };
        relax(rest);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn around(&self) -> &Neighbourhood {
        Neighbourhood::of(&self.halo)
    }

    /// The matrices on the device if x is in its memory.
    fn device_matrices(&self, x: &Vector) -> Option<&There> {
        self.there.as_ref().filter(|_| !is_in_host_memory(x))
    }

    /// The exchange for vectors in host memory. Calls `meanwhile` while the remote elements of x
    /// are in transit.
    fn exchange(&self, messages: &mut Messages, x: &Vector, meanwhile: &mut dyn FnMut()) {
        with_arithmetic!(x.kind(), |C| {
            let (outgoing, incoming) = messages.of_type::<C>();
            self.around().pack::<C>(x.memory::<Vec<C>>(), outgoing);
            self.around().swap(outgoing, incoming, self.around().block(), meanwhile);
        });
    }

    /// y ← y + α d∘(A_remote x_halo), in host memory.
    fn add(&self, messages: &mut Messages, alpha: f64, d: Option<&Vector>, y: &mut Vector) {
        with_pair!(y.kind(), self.matrix.kind(), |C, S| {
            let alpha = C::narrow(alpha);
            let (d, y) = (d.map(|d| d.memory::<Vec<C>>()), y.memory_mut::<Vec<C>>());
            self.shares::<C, S>(messages.of_type().1, |row, share| {
                y[row] += d.map_or(alpha, |d| alpha * d[row]) * share;
            });
        });
    }

    /// Calls `add(i, (A_remote x_halo)_i)` for every row i with remote columns.
    fn shares<C: Reads<S>, S: Store>(&self, x: &[C], mut add: impl FnMut(usize, C)) {
        let matrix = self.matrix.memory::<Csr<S>>();
        for (place, &row) in self.rows.iter().enumerate() {
            let (columns, values) = matrix.row(place);
            let mut sum = C::zero();
            for (&column, &value) in columns.iter().zip(values) {
                sum += C::read(value) * x[column as usize];
            }
            add(row as usize, sum);
        }
    }

    /// The exchange for vectors in device memory, which returns the received elements. Messages are
    /// exchanged even if the device fails, because other ranks wait for them.
    fn exchange_there<'a>(
        &self,
        device: &dyn Device,
        there: &There,
        messages: &mut Messages,
        staged: &'a mut Vec<Staged>,
        x: &Vector,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<&'a Vector, DeviceError> {
        with_arithmetic!(x.kind(), |C| {
            let (outgoing, incoming) = messages.of_type::<C>();
            let staged = of_kind(
                staged,
                |staged| staged.outgoing.kind() == x.kind(),
                || {
                    let [outgoing, incoming] =
                        [outgoing.len(), incoming.len()].map(|len| device.zeros(x.kind(), len));
                    Ok(Staged { outgoing: outgoing?, incoming: incoming? })
                },
            );
            let packed = staged.and_then(|staged| {
                if !outgoing.is_empty() {
                    device.spmv(1.0, &there.pick, x, 0.0, &mut staged.outgoing);
                    device.copy_to(&staged.outgoing, outgoing)?;
                }
                Ok(staged)
            });
            self.around().swap(outgoing, incoming, self.around().block(), meanwhile);
            let staged = packed?;
            if !incoming.is_empty() {
                device.overwrite(incoming, &mut staged.incoming)?;
            }
            Ok(&staged.incoming)
        })
    }
}

impl Messages {
    /// Outgoing and incoming elements.
    fn of_type<C: Real>(&mut self) -> (&mut [C], &mut [C]) {
        let Messages { outgoing, incoming } = self;
        let (sent, received) = (outgoing.len(), incoming.len());
        (&mut bytemuck::cast_slice_mut(outgoing)[..sent], &mut bytemuck::cast_slice_mut(incoming)[..received])
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
