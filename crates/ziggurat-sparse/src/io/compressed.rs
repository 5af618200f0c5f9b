//! Checks of compressed rows or columns from a file: pointers and indices, which a matrix is built
//! from only if they are valid.

use super::BinaryFault;

/// The pointers to the first entry of `count` rows or columns, followed by the number of entries.
pub(super) fn pointers(pointers: Vec<i64>, count: usize, entries: usize) -> Result<Vec<usize>, BinaryFault> {
    same_length(pointers.len(), count + 1)?;
    let fault = |entry: usize, expected: String| {
        let (entry, found) = (entry as u64, pointers[entry]);
        Err(BinaryFault::Pointer { entry, found, expected })
    };
    if pointers[0] != 0 {
        return fault(0, "0".to_owned());
    }
    if let Some(at) = (1..pointers.len()).find(|&at| pointers[at] < pointers[at - 1]) {
        return fault(at, format!("at least {}", pointers[at - 1]));
    }
    if pointers[count] != entries as i64 {
        return fault(count, format!("{entries}, the number of entries"));
    }
    Ok(pointers.into_iter().map(|pointer| pointer as usize).collect())
}

/// Indices below `extent`, which has at most 32 bits.
pub(super) fn indices(indices: Vec<i64>, extent: usize) -> Result<Vec<u32>, BinaryFault> {
    match indices.iter().position(|index| !(0..extent as i64).contains(index)) {
        None => Ok(indices.into_iter().map(|index| index as u32).collect()),
        Some(at) => {
            let (entry, found, extent) = (at as u64, indices[at], extent as u64);
            Err(BinaryFault::IndexOutOfRange { entry, found, extent })
        }
    }
}

/// Rejects an array of another length than expected.
pub(super) fn same_length(found: usize, expected: usize) -> Result<(), BinaryFault> {
    if found == expected {
        return Ok(());
    }
    Err(BinaryFault::Shape { found: format!("({found})"), expected: format!("({expected})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_start_at_zero_and_never_decrease() {
        assert_eq!(pointers(vec![0, 2, 2, 3], 3, 3), Ok(vec![0, 2, 2, 3]));
        assert_eq!(pointers(vec![0], 0, 0), Ok(vec![0]));
        let fault = |found: &[i64]| pointers(found.to_vec(), 3, 3).unwrap_err().to_string();
        assert_eq!(fault(&[0, 1, 3]), "the shape is (3), expected (4)");
        assert_eq!(fault(&[1, 2, 2, 3]), "pointer 0 is 1, expected 0");
        assert_eq!(fault(&[0, 2, 1, 3]), "pointer 2 is 1, expected at least 2");
        assert_eq!(fault(&[0, 2, 2, 4]), "pointer 3 is 4, expected 3, the number of entries");
        assert_eq!(fault(&[0, -1, i64::MAX, i64::MIN]), "pointer 1 is -1, expected at least 0");
    }

    #[test]
    fn indices_are_within_the_matrix() {
        assert_eq!(indices(vec![3, 0, 3], 4), Ok(vec![3, 0, 3]));
        let fault = |found: &[i64]| indices(found.to_vec(), 4).unwrap_err().to_string();
        assert_eq!(fault(&[0, 4]), "entry 1: the index 4 is outside 0..4");
        assert_eq!(fault(&[-1]), "entry 0: the index -1 is outside 0..4");
    }
}
