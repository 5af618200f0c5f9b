//! The ranks of a few distinct numbers, without branches.
//!
//! Rows in setup are short and in unpredictable order, so sorting one costs more in mispredicted
//! branches than in comparisons. Instead, the rank of a number is found by counting how many others
//! are smaller. The cost is quadratic, but consists of additions that vectorise. More than [`FEW`]
//! numbers are sorted.

/// Above this length, sorting is faster.
const FEW: usize = 32;

/// Writes to `ranks` the position of each of `numbers` in sorted order. The numbers are distinct.
pub(crate) fn ranks(numbers: &[u32], ranks: &mut Vec<u32>) {
    ranks.clear();
    match numbers.len() {
        0 | 1 => ranks.resize(numbers.len(), 0),
        2..=8 => by_counting::<8>(numbers, ranks),
        9..=16 => by_counting::<16>(numbers, ranks),
        17..=FEW => by_counting::<FEW>(numbers, ranks),
        _ => by_sorting(numbers, ranks),
    }
}

/// For at most N numbers, padded with the maximum so that loops have a fixed length.
fn by_counting<const N: usize>(numbers: &[u32], ranks: &mut Vec<u32>) {
    let mut filled = [u32::MAX; N];
    for (slot, &number) in filled.iter_mut().zip(numbers) {
        *slot = number;
    }
    let rank = |&number: &u32| filled.iter().map(|&other| u32::from(other < number)).sum::<u32>();
    ranks.extend(numbers.iter().map(rank));
}

fn by_sorting(numbers: &[u32], ranks: &mut Vec<u32>) {
    let key = |(place, &number): (u64, &u32)| u64::from(number) << 32 | place;
    let mut order: Vec<u64> = (0..).zip(numbers).map(key).collect();
    order.sort_unstable();
    ranks.resize(numbers.len(), 0);
    for (rank, key) in (0..).zip(order) {
        ranks[key as u32 as usize] = rank;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::hash::hash_id;

    #[test]
    fn ranks_are_positions_in_sorted_order() {
        let mut found = Vec::new();
        for length in [0, 1, 2, 8, 9, 16, 17, FEW, FEW + 1, 500] {
            let numbers: Vec<u32> = (0..length as u64).map(|k| (hash_id(k) >> 32) as u32).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            ranks(&numbers, &mut found);
            assert_eq!(found.len(), length);
            for (&number, &rank) in numbers.iter().zip(&found) {
                assert_eq!(sorted[rank as usize], number);
            }
        }
    }
}
