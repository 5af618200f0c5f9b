//! The C entry of `ziggurat-mpi`, on one process: any arguments that point to as many elements as
//! its contract says lead to an error with a message or to a solution.

#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::ffi::{CString, c_char};
use std::ptr;

use ziggurat_mpi::{Session, ZigguratMpiReport, ziggurat_mpi_solve};

use crate::bytes::Bytes;

thread_local! {
    /// MPI, initialised by the first call and never finalised: the program ends without it.
    static MPI: OnceCell<()> = const { OnceCell::new() };
}

/// Reads the arguments of `ziggurat_mpi_solve` from the input and calls it.
///
/// # Panics
/// If MPI cannot be initialised, or the result contradicts the documentation.
pub fn c_entry(data: &[u8]) {
    MPI.with(|mpi| {
        mpi.get_or_init(|| std::mem::forget(Session::start().expect("MPI can be initialised")));
    });
    let mut input = Bytes::new(data);
    let rows = input.below(40) as i64 - 1;
    let block_size = [0, 1, 2, 3, -1, i64::MAX][input.below(6)];
    let nulls = input.byte();
    // The arrays that the contract asks for. Row pointers may decrease, but stay within what the
    // last one says, or say nothing.
    let count = rows.max(0) as usize;
    let mut row_ptr = vec![0_i64];
    let odd = input.byte().is_multiple_of(8);
    for _ in 0..count {
        let last = row_ptr[row_ptr.len() - 1];
        row_ptr.push(if odd {
            last + i64::from(input.byte() as i8 % 5)
        } else {
            last + input.below(6) as i64
        });
    }
    let entries = usize::try_from(row_ptr[count]).unwrap_or(0);
    let columns: Vec<i64> = if input.byte().is_multiple_of(4) {
        (0..entries).map(|_| i64::from(input.byte() as i8)).collect()
    } else {
        sorted_columns(&row_ptr, entries, &mut input)
    };
    let values: Vec<f64> = (0..entries).map(|_| number(&mut input)).collect();
    let b: Vec<f64> = (0..count).map(|_| number(&mut input)).collect();
    let mut x = vec![0.0; count];
    let mut message = [1 as c_char; 64];
    let mut report = ZigguratMpiReport::default();
    let config = [
        "{ \"stopping\": { \"max_iterations\": 5 } }",
        "{ \"krylov\": \"fgmres\", \"stopping\": { \"max_iterations\": 5 }, \"hierarchy\": { \"coarse_rows\": 2 } }",
        "{ \"method\": \"pairwise\", \"stopping\": { \"max_iterations\": 5 }, \"hierarchy\": { \"coarse_rows\": 2 } }",
        "{ \"restart\": 18446744073709551615 }",
        "{",
    ][input.below(5)];
    let config = CString::new(config).expect("there is no zero in it");
    let unless = |bit: u8, pointer: *const f64| if nulls >> bit & 1 == 1 { ptr::null() } else { pointer };
    let length = input.below(message.len() + 1);
    // SAFETY: MPI is initialised, and every pointer is null or points to as many elements as its
    // array has: `rows + 1` row pointers, as many columns and values as the last of them says, and
    // as many elements of b and x as there are rows.
    let code = unsafe {
        ziggurat_mpi_solve(
            mpi::ffi::RSMPI_COMM_SELF,
            rows,
            block_size,
            if nulls & 1 == 1 { ptr::null() } else { row_ptr.as_ptr() },
            if nulls >> 1 & 1 == 1 { ptr::null() } else { columns.as_ptr() },
            unless(2, values.as_ptr()),
            unless(3, b.as_ptr()),
            unless(4, x.as_ptr()).cast_mut(),
            if nulls >> 5 & 1 == 1 { ptr::null() } else { config.as_ptr() },
            if nulls >> 6 & 1 == 1 { ptr::null_mut() } else { &raw mut report },
            if nulls >> 7 & 1 == 1 { ptr::null_mut() } else { message.as_mut_ptr() },
            length,
        )
    };
    match code {
        0 | 2 => assert!(x.len() == count),
        1 => assert!(nulls >> 7 & 1 == 1 || length == 0 || message[..length].contains(&0)),
        other => panic!("an undocumented result: {other}"),
    }
    x.clear();
}

/// Increasing columns in each row, with the diagonal first in some.
fn sorted_columns(row_ptr: &[i64], entries: usize, input: &mut Bytes<'_>) -> Vec<i64> {
    let mut columns = vec![0; entries];
    for ends in row_ptr.windows(2) {
        let range = usize::try_from(ends[0]).unwrap_or(0)..usize::try_from(ends[1]).unwrap_or(0);
        if let Some(row) = columns.get_mut(range) {
            let mut next = input.below(4) as i64;
            for column in row {
                *column = next;
                next += 1 + input.below(3) as i64;
            }
        }
    }
    columns
}

/// A small integer, or something that is no number.
fn number(input: &mut Bytes<'_>) -> f64 {
    match input.byte() {
        255 => f64::NAN,
        254 => f64::INFINITY,
        253 => 1e300,
        other => f64::from(other % 9) - 4.0,
    }
}
