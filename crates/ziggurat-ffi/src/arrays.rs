//! The caller's arrays: checked and copied.

use std::ffi::{CStr, c_char};

use ziggurat::sparse::parallel;

use crate::status::Failure;

/// An array of the caller.
///
/// # Safety
/// `data` points to `len` elements that nobody changes during the call, or is null.
pub unsafe fn array<'a, T>(name: &str, data: *const T, len: usize) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    check(name, data, len)?;
    // SAFETY: neither null nor misaligned nor longer than memory; the rest is the caller's word.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// An array of the caller that is written.
///
/// # Safety
/// `data` points to `len` elements that nobody else uses during the call, or is null.
pub unsafe fn array_mut<'a, T>(name: &str, data: *mut T, len: usize) -> Result<&'a mut [T], Failure> {
    if len == 0 {
        return Ok(&mut []);
    }
    check(name, data, len)?;
    // SAFETY: as in `array`.
    Ok(unsafe { std::slice::from_raw_parts_mut(data, len) })
}

fn check<T>(name: &str, data: *const T, len: usize) -> Result<(), Failure> {
    if data.is_null() {
        return Err(Failure::argument(format!("{name} is a null pointer")));
    }
    if !data.is_aligned() {
        return Err(Failure::argument(format!("{name} is not aligned to {} bytes", align_of::<T>())));
    }
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::argument(format!("{name} has {len} elements, more than memory can hold")));
    }
    Ok(())
}

/// A number of rows, vectors or alike.
pub fn count(name: &str, value: i64) -> Result<usize, Failure> {
    usize::try_from(value).map_err(|_| Failure::argument(format!("{name} is {value}")))
}

/// A text of the caller.
///
/// # Safety
/// `text` points to a text that ends with a zero, or is null.
pub unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format!("{name} is a null pointer")));
    }
    // SAFETY: not null; the rest is the caller's word.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// Number of rows per task.
const ROWS: usize = 4096;

/// An integer type of indices.
pub trait Index: Copy + Send + Sync + Into<i64> {}
impl Index for i32 {}
impl Index for i64 {}

/// Rows of a matrix, and where their values are in the caller's array. Columns are of type `C`.
#[derive(Debug)]
pub struct Rows<C> {
    /// Where rows begin and end; counted from zero.
    pub row_ptr: Vec<usize>,
    /// Increasing within each row, unless there are duplicates; counted from zero.
    pub columns: Vec<C>,
    /// As many values.
    pub values: Vec<f64>,
    /// For each entry, its place in the caller's array; `None` if it is the same.
    pub places: Option<Vec<usize>>,
}

impl<C: Copy + Default + Ord + Send + Sync + TryFrom<i64>> Rows<C> {
    /// Copies compressed rows, whose indices are counted from `base`. The columns of a row may be
    /// in any order.
    ///
    /// # Safety
    /// `row_ptr` points to `rows + 1` elements, `columns` and `values` to as many as its last one
    /// says. They may be null.
    pub unsafe fn read<I: Index>(
        rows: i64,
        row_ptr: *const I,
        columns: *const I,
        values: *const f64,
        base: i32,
    ) -> Result<Self, Failure> {
        let rows = count("rows", rows)?;
        if base != 0 && base != 1 {
            return Err(Failure::argument(format!("base is {base}; indices are counted from 0 or 1")));
        }
        let base = i64::from(base);
        // SAFETY: the caller's word.
        let row_ptr = unsafe { array("row_ptr", row_ptr, rows.saturating_add(1)) }?;
        let first: i64 = row_ptr[0].into();
        if first != base {
            let text = format!("row_ptr[0] is {first}, but indices are counted from {base}");
            return Err(Failure::argument(text));
        }
        if let Some(row) = row_ptr.windows(2).position(|pair| pair[0].into() > pair[1].into()) {
            return Err(Failure::argument(format!("row_ptr decreases at row {row}")));
        }
        let row_ptr =
            parallel::collect(row_ptr.len(), |row| (Into::<i64>::into(row_ptr[row]) - base) as usize);
        let entries = row_ptr[rows];
        // SAFETY: the caller's word.
        let (columns, values) =
            unsafe { (array("columns", columns, entries)?, array("values", values, entries)?) };
        let column = |given: I| C::try_from(given.into().wrapping_sub(base)).ok();
        if let Some(k) = parallel::first_position(columns, |&given| column(given).is_none()) {
            let found: i64 = columns[k].into();
            return Err(Failure::argument(format!("columns[{k}] is {found}, which is out of range")));
        }
        let columns = parallel::collect(entries, |k| column(columns[k]).unwrap_or_default());
        let places = places(&row_ptr, &columns);
        let (columns, values) = match &places {
            Some(places) => (ordered(places, &columns), ordered(places, values)),
            None => (columns, values.to_vec()),
        };
        Ok(Rows { row_ptr, columns, values, places })
    }
}

/// Refuses an input that is also the output.
pub fn disjoint(
    input_name: &str,
    input: *const f64,
    output_name: &str,
    output: *const f64,
    len: usize,
) -> Result<(), Failure> {
    let apart = input.addr().abs_diff(output.addr()) >= len.saturating_mul(size_of::<f64>());
    if apart || input.is_null() || output.is_null() {
        return Ok(());
    }
    Err(Failure::argument(format!("{input_name} and {output_name} overlap; give two vectors")))
}

/// Writes a text and a zero into a buffer, cut to its size. Returns the length of the whole text.
///
/// # Safety
/// `buffer` points to `room` bytes, or is null.
pub unsafe fn write_text(buffer: *mut c_char, room: usize, text: &str) -> usize {
    if !buffer.is_null() && room > 0 {
        let length = text.floor_char_boundary(room - 1);
        // SAFETY: the buffer has `room` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, length);
            *buffer.add(length) = 0;
        }
    }
    text.len()
}

/// The elements of the caller's array in the order of the matrix.
pub fn ordered<T: Copy + Default + Send + Sync>(places: &[usize], array: &[T]) -> Vec<T> {
    parallel::collect(places.len(), |k| array[places[k]])
}

/// The places of the entries of each row in increasing order of columns; `None` if all rows are in
/// that order already.
fn places<C: Copy + Ord + Sync>(row_ptr: &[usize], columns: &[C]) -> Option<Vec<usize>> {
    let rows = 0..row_ptr.len() - 1;
    let is_sorted = |row: usize| columns[row_ptr[row]..row_ptr[row + 1]].is_sorted();
    if parallel::all_pieces(rows.clone(), ROWS, &|mut rows| rows.all(is_sorted)) {
        return None;
    }
    let mut places = parallel::collect(columns.len(), |k| k);
    parallel::over_values(row_ptr, rows, &mut places, &|rows, places| {
        let first = row_ptr[rows.start];
        for row in rows {
            places[row_ptr[row] - first..row_ptr[row + 1] - first].sort_by_key(|&place| columns[place]);
        }
    });
    Some(places)
}
