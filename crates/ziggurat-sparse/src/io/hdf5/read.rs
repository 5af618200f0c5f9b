//! Reading an object of a file.

use std::collections::{HashMap, VecDeque};

use hdf5_pure::{AttrValue, DType, Dataset, Error, File, FormatError, Group, H5Element};

use crate::algebra::transpose;
use crate::io::BinaryFault;
use crate::io::binary_fault::{Located, check_finite};
use crate::io::compressed::{indices, pointers, same_length};
use crate::io::content::{Content, Wanted};
use crate::io::limits::{check_size, most_bytes};
use crate::{Csr, Dense};

/// Objects among which the wanted one is searched, and the length of their paths. Groups may
/// contain each other, so that a search would not end by itself.
const MOST_OBJECTS: usize = 10_000;
const LONGEST_PATH: usize = 1024;

/// Objects that an error lists.
const LISTED: usize = 8;

/// Reads the object of this name, or else the one that suits best.
pub(in crate::io) fn read(bytes: Vec<u8>, object: Option<&str>, wanted: Wanted) -> Result<Content, Located> {
    let length = bytes.len();
    let file = File::from_bytes(bytes).map_err(|cause| unreadable(&cause).at(0))?;
    let input = Input { file, bytes: length };
    match object {
        Some(name) => input.object(name.trim_matches('/'), wanted),
        None => input.object(&input.choose(wanted)?, wanted),
    }
}

fn unreadable(cause: &Error) -> BinaryFault {
    BinaryFault::Unreadable { cause: cause.to_string() }
}

/// The kinds of objects that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sparse,
    Vector,
    Dense,
}

/// A kind of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Integer,
    Real,
    Complex,
}

/// The numbers of a type; `None` if it is text or anything else.
fn element(dtype: &DType) -> Option<Element> {
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Some(Element::Integer),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Some(Element::Integer),
        DType::F32 | DType::F64 => Some(Element::Real),
        // A pair; its names depend on the program that wrote it.
        DType::Compound(fields) => {
            let real = fields.iter().all(|(_, field)| element(field) == Some(Element::Real));
            (fields.len() == 2 && real).then_some(Element::Complex)
        }
        _ => None,
    }
}

/// The numbers of a dataset. The text and the empty arrays of MATLAB only look like numbers.
fn numbers_of(
    dataset: &Dataset,
    attributes: &HashMap<String, AttrValue>,
) -> Result<Option<Element>, BinaryFault> {
    let marked = |mark: &str| attributes.contains_key(mark);
    let dtype = dataset.dtype().map_err(|cause| unreadable(&cause))?;
    Ok(element(&dtype).filter(|_| !marked("MATLAB_int_decode") && !marked("MATLAB_empty")))
}

/// The kind of a dataset; `None` for a single number, of which MATLAB's structures have several.
fn kind(dataset: &Dataset) -> Result<Option<Kind>, BinaryFault> {
    let attributes = dataset.attrs().map_err(|cause| unreadable(&cause))?;
    if numbers_of(dataset, &attributes)?.is_none() {
        return Ok(None);
    }
    Ok(match dataset.shape().map_err(|cause| unreadable(&cause))?[..] {
        [1, 1] => None,
        [_] | [1, _] | [_, 1] => Some(Kind::Vector),
        [_, _] => Some(Kind::Dense),
        _ => None,
    })
}

/// An open file.
struct Input {
    file: File,
    bytes: usize,
}

impl Input {
    /// The path of the object that suits best.
    fn choose(&self, wanted: Wanted) -> Result<String, Located> {
        let root = |fault: BinaryFault| fault.in_object("/");
        let objects = self.objects().map_err(root)?;
        let (kinds, names, what): (_, &[&str], _) = match wanted {
            Wanted::Matrix => {
                let what = "matrix (a group with the attribute MATLAB_sparse, or a dataset of numbers)";
                ([Kind::Sparse, Kind::Dense, Kind::Vector], &["A"], what)
            }
            Wanted::Vector => ([Kind::Vector, Kind::Sparse, Kind::Dense], &["b", "rhs"], "vector"),
            Wanted::Dense => ([Kind::Dense, Kind::Vector, Kind::Sparse], &["coord"], "dense matrix"),
        };
        let usual = |path: &str| path.rsplit('/').next().is_some_and(|name| names.contains(&name));
        let mut found: Vec<&str> =
            objects.iter().map(|(path, _)| path.as_str()).filter(|path| usual(path)).collect();
        for kind in kinds {
            if found.is_empty() {
                let same = objects.iter().filter(|(_, other)| *other == kind);
                found = same.map(|(path, _)| path.as_str()).collect();
            }
        }
        match found[..] {
            [] => Err(root(BinaryFault::NoSuchObject { what })),
            [path] => Ok(path.to_owned()),
            _ => Err(root(BinaryFault::SeveralObjects { found: listed(&found) })),
        }
    }

    /// The matrices and vectors of the file, with their paths.
    fn objects(&self) -> Result<Vec<(String, Kind)>, BinaryFault> {
        let (mut objects, mut visited) = (Vec::new(), 0);
        let mut groups = VecDeque::from([(String::new(), self.file.root())]);
        let mut visit = || {
            visited += 1;
            if visited <= MOST_OBJECTS {
                return Ok(());
            }
            let found = format!("choosing among more than {MOST_OBJECTS} objects");
            let supported = "name one of them, as in `FILE:NAME`";
            Err(BinaryFault::NotSupported { found, supported })
        };
        while let Some((above, group)) = groups.pop_front() {
            for (name, dataset) in group.iter_datasets().map_err(|cause| unreadable(&cause))? {
                visit()?;
                let path = format!("{above}{name}");
                if path.len() <= LONGEST_PATH {
                    objects.extend(kind(&dataset)?.map(|kind| (path, kind)));
                }
            }
            for (name, group) in group.iter_groups().map_err(|cause| unreadable(&cause))? {
                visit()?;
                let path = format!("{above}{name}");
                if path.len() > LONGEST_PATH {
                    continue;
                }
                if group.attrs().map_err(|cause| unreadable(&cause))?.contains_key("MATLAB_sparse") {
                    objects.push((path, Kind::Sparse));
                } else if !name.starts_with('#') {
                    // Otherwise it is `#refs#`, in which MATLAB keeps the contents of cells.
                    groups.push_back((path + "/", group));
                }
            }
        }
        Ok(objects)
    }

    /// Reads the object with this path.
    fn object(&self, path: &str, wanted: Wanted) -> Result<Content, Located> {
        let at = |fault: BinaryFault| fault.in_object(path);
        match self.file.dataset(path) {
            Ok(dataset) => self.dense(&dataset, wanted).map(Content::Dense).map_err(at),
            Err(Error::NotADataset(_)) => {
                let group = self.file.group(path).map_err(|cause| at(unreadable(&cause)))?;
                self.sparse(&group, path).map(Content::Sparse)
            }
            Err(Error::NotAGroup(_) | Error::Format(FormatError::PathNotFound(_))) => {
                let objects = self.objects().unwrap_or_default();
                let found: Vec<&str> = objects.iter().map(|(path, _)| path.as_str()).collect();
                Err(at(BinaryFault::NoSuchName { found: listed(&found) }))
            }
            Err(cause) => Err(at(unreadable(&cause))),
        }
    }

    /// Reads a sparse matrix, which is stored by columns.
    fn sparse(&self, group: &Group, path: &str) -> Result<Csr<f64>, Located> {
        let at = |fault: BinaryFault| fault.in_object(path);
        let within =
            |name: &'static str| move |fault: BinaryFault| fault.in_object(&format!("{path}/{name}"));
        let rows = declared_rows(group).map_err(at)?;
        let member = |name: &'static str| {
            group.dataset(name).map_err(|cause| {
                within(name)(match cause {
                    Error::Format(FormatError::PathNotFound(_)) => {
                        let found = group.datasets().unwrap_or_default();
                        BinaryFault::NoSuchName { found: listed(&found) }
                    }
                    cause => unreadable(&cause),
                })
            })
        };
        let integers = |name: &'static str| self.integers(&member(name)?).map_err(within(name));
        let column_ptr = integers("jc")?;
        let Some(cols) = column_ptr.len().checked_sub(1) else {
            let (found, expected) = ("(0)".to_owned(), "a pointer for each column and one more".to_owned());
            return Err(within("jc")(BinaryFault::Shape { found, expected }));
        };
        let (found_rows, values) = if column_ptr[cols] == 0 {
            (Vec::new(), Vec::new())
        } else {
            (integers("ir")?, self.reals(&member("data")?).map_err(within("data"))?)
        };
        // Of the arrays, `data` is about the largest.
        let read = self.bytes.saturating_add(values.len().saturating_mul(8));
        let (rows, cols) = check_size(rows, cols as u64, read).map_err(at)?;
        let column_ptr = pointers(column_ptr, cols, values.len()).map_err(within("jc"))?;
        same_length(found_rows.len(), values.len()).map_err(within("ir"))?;
        let found_rows = indices(found_rows, rows).map_err(within("ir"))?;
        let columns = Csr::from_unsorted(cols, rows, column_ptr, found_rows, values);
        let columns = columns.map_err(|fault| at(BinaryFault::TooLarge(fault)))?;
        Ok(transpose(columns.view(), 0..cols))
    }

    /// Reads a vector, as one column, or a dense matrix.
    fn dense(&self, dataset: &Dataset, wanted: Wanted) -> Result<Dense<f64>, BinaryFault> {
        let attributes = dataset.attrs().map_err(|cause| unreadable(&cause))?;
        if numbers_of(dataset, &attributes)?.is_none() {
            let found = "a dataset of anything but integers and numbers of 32 or 64 bits".to_owned();
            return Err(BinaryFault::NotSupported { found, supported: "those are" });
        }
        let by_columns = attributes.contains_key("MATLAB_class");
        let shape = dataset.shape().map_err(|cause| unreadable(&cause))?;
        let (rows, cols) = match shape[..] {
            [rows] => (rows, 1),
            [1, rows] | [rows, 1] if wanted == Wanted::Vector => (rows, 1),
            [cols, rows] if by_columns => (rows, cols),
            [rows, cols] => (rows, cols),
            _ => {
                let (found, expected) = (extents(&shape), "one or two dimensions".to_owned());
                return Err(BinaryFault::Shape { found, expected });
            }
        };
        let (rows, cols) = check_size(rows, cols, self.bytes)?;
        let mut values = self.reals(dataset)?;
        if !by_columns && rows > 1 && cols > 1 {
            values = (0..cols).flat_map(|j| values[j..].iter().step_by(cols).copied()).collect();
        }
        Dense::try_new(rows, cols, values).map_err(BinaryFault::TooLarge)
    }

    /// The integers of a dataset. Those beyond 63 bits become the largest, which no index can be.
    fn integers(&self, dataset: &Dataset) -> Result<Vec<i64>, BinaryFault> {
        let dtype = dataset.dtype().map_err(|cause| unreadable(&cause))?;
        if element(&dtype) != Some(Element::Integer) {
            let (found, supported) = ("an index that is not an integer".to_owned(), "integers are");
            return Err(BinaryFault::NotSupported { found, supported });
        }
        self.values(dataset)
    }

    /// The finite real numbers of a dataset. PETSc stores complex numbers with one more dimension
    /// and the attribute `complex`.
    fn reals(&self, dataset: &Dataset) -> Result<Vec<f64>, BinaryFault> {
        let dtype = dataset.dtype().map_err(|cause| unreadable(&cause))?;
        let attributes = dataset.attrs().map_err(|cause| unreadable(&cause))?;
        if element(&dtype) == Some(Element::Complex) || attributes.contains_key("complex") {
            let (found, supported) = ("an array of complex numbers".to_owned(), "real numbers are");
            return Err(BinaryFault::NotSupported { found, supported });
        }
        let values = self.values(dataset)?;
        check_finite(&values)?;
        Ok(values)
    }

    /// The elements of a dataset. Of one that was never written, a file holds nothing but the
    /// size; so the size is checked first.
    fn values<T: H5Element>(&self, dataset: &Dataset) -> Result<Vec<T>, BinaryFault> {
        let shape = dataset.shape().map_err(|cause| unreadable(&cause))?;
        let chunk = dataset.chunk_shape().map_err(|cause| unreadable(&cause))?;
        let size = dataset.element_size().map_err(|cause| unreadable(&cause))?;
        let limit = most_bytes(self.bytes as u64);
        // A chunk, which is decompressed as a whole, may be larger than its dataset.
        for shape in [&shape, &chunk.unwrap_or_default()] {
            let bytes = shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent));
            if bytes.is_none_or(|bytes| bytes > limit) {
                let expected = format!("at most {limit} bytes in a file with {} bytes", self.bytes);
                return Err(BinaryFault::Shape { found: extents(shape), expected });
            }
        }
        let values = dataset.read().map_err(|cause| unreadable(&cause))?;
        let count = shape.iter().try_fold(1, |count: usize, &extent| {
            usize::try_from(extent).ok().and_then(|extent| count.checked_mul(extent))
        });
        same_length(values.len(), count.unwrap_or(usize::MAX))?;
        Ok(values)
    }
}

/// The rows that the attribute of a sparse matrix declares. `h5writeatt` of MATLAB writes any
/// number as a real one.
fn declared_rows(group: &Group) -> Result<u64, BinaryFault> {
    let attributes = group.attrs().map_err(|cause| unreadable(&cause))?;
    let rows = attributes.get("MATLAB_sparse");
    if let Some(rows) = rows.and_then(AttrValue::as_u64) {
        return Ok(rows);
    }
    let real = || rows.and_then(AttrValue::as_f64).filter(|rows| rows.fract() == 0.0);
    match rows.and_then(AttrValue::as_i64).or_else(|| real().map(|rows| rows as i64)) {
        Some(found) => u64::try_from(found).map_err(|_| BinaryFault::Count { what: "rows", found }),
        None => {
            let found = "a group whose attribute MATLAB_sparse is not a number of rows".to_owned();
            let supported = "sparse matrices are, with this attribute and the datasets data, ir and jc";
            Err(BinaryFault::NotSupported { found, supported })
        }
    }
}

/// A shape in an error.
fn extents(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("({})", extents.join(", "))
}

/// The first of these names.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    let shown = shown.join(", ").escape_debug().to_string();
    match names.len() {
        0 => "none".to_owned(),
        count if count > LISTED => shown + ", …",
        _ => shown,
    }
}

#[cfg(test)]
mod tests;
