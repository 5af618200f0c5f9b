//! The blocks of nodes, one unit per node: their Frobenius norms, which are the matrix of nodes,
//! and their entries, for a matrix in BSR format.
//!
//! ```text
//! n_IJ = ‖A_IJ‖_F        A_IJ: the block that connects node J to node I
//! ```
//!
//! The last node may lack rows. The rows of a node need not have the same columns, so the next
//! block of a row of blocks is the first that a binary search finds in any of them. Memory traffic:
//! columns twice, values once, and the result.

use cubecl::prelude::*;

use super::lowering::{Sides, scaled_entry};
use super::product_values::first_from;
use super::vector::position;

/// Comes after the last node.
const NO_NODE: u32 = u32::MAX;

/// The first node from `from` on that the rows of a node are connected to.
#[cube]
fn next_node(row_ptr: &Array<u32>, columns: &Array<u32>, node: u32, block: u32, rows: u32, from: u32) -> u32 {
    let mut found = NO_NODE.runtime();
    for row in node * block..end_of_node(node, block, rows) {
        let end = row_ptr[row as usize + 1];
        let k = first_from(columns, row_ptr[row as usize], end, from * block);
        if k < end {
            let other = columns[k as usize] / block;
            found = select(other < found, other, found);
        }
    }
    found
}

/// The row after the last of a node.
#[cube]
fn end_of_node(node: u32, block: u32, rows: u32) -> u32 {
    let end = (node + 1) * block;
    select(end > rows, rows, end)
}

/// The number of blocks of each node.
#[cube(launch_unchecked)]
pub(crate) fn count_blocks(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    counts: &mut Array<u32>,
    block: u32,
    nodes: u32,
    rows: u32,
) {
    let node = u32::cast_from(position());
    if node < nodes {
        let mut count = 0u32;
        let mut next = next_node(row_ptr, columns, node, block, rows, 0u32);
        while next != NO_NODE {
            count += 1;
            next = next_node(row_ptr, columns, node, block, rows, next + 1);
        }
        counts[node as usize] = count;
    }
}

/// The norms of the blocks.
#[cube(launch_unchecked)]
pub(crate) fn block_norms<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    node_row_ptr: &Array<u32>,
    node_columns: &mut Array<u32>,
    norms: &mut Array<C>,
    block: u32,
    nodes: u32,
    rows: u32,
) {
    let node = u32::cast_from(position());
    if node < nodes {
        let mut other = next_node(row_ptr, columns, node, block, rows, 0u32);
        for place in node_row_ptr[node as usize]..node_row_ptr[node as usize + 1] {
            let mut sum = C::new(0.0);
            for row in node * block..end_of_node(node, block, rows) {
                let end = row_ptr[row as usize + 1];
                let begin = first_from(columns, row_ptr[row as usize], end, other * block);
                let after = first_from(columns, begin, end, (other + 1) * block);
                for k in begin..after {
                    sum += values[k as usize] * values[k as usize];
                }
            }
            node_columns[place as usize] = other;
            norms[place as usize] = sum.sqrt();
            other = next_node(row_ptr, columns, node, block, rows, other + 1);
        }
    }
}

/// The columns of the blocks, and their entries times their factors, row by row; those that the
/// matrix lacks are zeros.
#[cube(launch_unchecked)]
pub(crate) fn fill_blocks<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    left: &Array<C>,
    right: &Array<C>,
    node_row_ptr: &Array<u32>,
    node_columns: &mut Array<u32>,
    blocks: &mut Array<C>,
    factor: C,
    block: u32,
    nodes: u32,
    rows: u32,
    #[comptime] sides: Sides,
) {
    let node = u32::cast_from(position());
    if node < nodes {
        let mut other = next_node(row_ptr, columns, node, block, rows, 0u32);
        for place in node_row_ptr[node as usize]..node_row_ptr[node as usize + 1] {
            for unknown in 0..block {
                let row = (node * block + unknown) as usize;
                let mut k = 0u32;
                let mut end = 0u32;
                if row < rows as usize {
                    end = row_ptr[row + 1];
                    k = first_from(columns, row_ptr[row], end, other * block);
                }
                for column in other * block..(other + 1) * block {
                    let mut value = C::new(0.0);
                    if k < end {
                        let there = columns[k as usize];
                        if there == column {
                            value = scaled_entry::<C>(
                                values[k as usize],
                                left,
                                right,
                                row,
                                column,
                                factor,
                                sides,
                            );
                            k += 1;
                        }
                    }
                    blocks[((place * block + unknown) * block + column - other * block) as usize] = value;
                }
            }
            node_columns[place as usize] = other;
            other = next_node(row_ptr, columns, node, block, rows, other + 1);
        }
    }
}
