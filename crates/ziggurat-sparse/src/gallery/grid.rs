//! A box of grid nodes, numbered x fastest, and their neighbour relations.

/// Nodes per direction: x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) extents: [u64; 3],
}

/// The six faces of a cell, ordered by the number of the neighbour behind them. The cell itself
/// comes between the third and the fourth. Each face is an axis and a direction.
pub(super) const FACES: [(usize, Side); 6] = [
    (2, Side::Below),
    (1, Side::Below),
    (0, Side::Below),
    (0, Side::Above),
    (1, Side::Above),
    (2, Side::Above),
];

/// Towards smaller or larger coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Below,
    Above,
}

impl Grid {
    pub(super) fn cube(n: u64) -> Grid {
        Grid { extents: [n; 3] }
    }

    /// The number of nodes.
    pub(super) fn nodes(&self) -> u64 {
        self.extents.iter().product()
    }

    /// The position of node `node`.
    #[inline]
    pub(super) fn position(&self, node: u64) -> [u64; 3] {
        debug_assert!(node < self.nodes(), "node {node} is outside the grid {:?}", self.extents);
        let [nx, ny, _] = self.extents;
        let line = node / nx;
        [node - line * nx, line % ny, line / ny]
    }

    /// The difference between the numbers of two neighbours along `axis`.
    #[inline]
    pub(super) fn stride(&self, axis: usize) -> u64 {
        self.extents[..axis].iter().product()
    }

    /// Whether the node has a neighbour on this side.
    #[inline]
    pub(super) fn has_neighbour(&self, position: [u64; 3], (axis, side): (usize, Side)) -> bool {
        match side {
            Side::Below => position[axis] > 0,
            Side::Above => position[axis] + 1 < self.extents[axis],
        }
    }

    /// The position of the neighbour on this side, if there is one.
    #[inline]
    pub(super) fn neighbour(&self, mut position: [u64; 3], face: (usize, Side)) -> Option<[u64; 3]> {
        if !self.has_neighbour(position, face) {
            return None;
        }
        match face.1 {
            Side::Below => position[face.0] -= 1,
            Side::Above => position[face.0] += 1,
        }
        Some(position)
    }

    /// The number of nodes that share a face with this one, including itself.
    #[inline]
    pub(super) fn star_len(&self, position: [u64; 3]) -> usize {
        1 + FACES.iter().filter(|&&face| self.has_neighbour(position, face)).count()
    }

    /// [`Grid::star_len`] summed over all nodes.
    pub(super) fn star_total(&self) -> u64 {
        let nodes = self.nodes();
        nodes + self.extents.iter().map(|extent| 2 * (nodes - nodes / extent)).sum::<u64>()
    }

    /// The number of nodes that share a face or an edge, summed over all nodes.
    pub(super) fn star_and_edges_total(&self) -> u64 {
        let [x, y, z] = self.extents;
        let edges = (x - 1) * (y - 1) * z + (x - 1) * y * (z - 1) + x * (y - 1) * (z - 1);
        self.star_total() + 4 * edges
    }

    /// The nodes at most one step away in each direction (including diagonals), as the first and
    /// last position per axis.
    #[inline]
    fn reach(&self, position: [u64; 3]) -> [(u64, u64); 3] {
        [0, 1, 2].map(|axis| {
            let first = position[axis].saturating_sub(1);
            (first, (position[axis] + 1).min(self.extents[axis] - 1))
        })
    }

    /// The number of nodes that [`Grid::for_box`] visits.
    #[inline]
    pub(super) fn box_len(&self, position: [u64; 3]) -> usize {
        self.reach(position).iter().map(|(first, last)| (last - first + 1) as usize).product()
    }

    /// [`Grid::box_len`] summed over all nodes.
    pub(super) fn box_total(&self) -> u64 {
        self.extents.iter().map(|extent| 3 * extent - 2).product()
    }

    /// Calls `visit` for every node at most one step away in each direction, in increasing order of
    /// node number. The first argument is its slot among the 27 neighbours of an interior node (13
    /// is the node itself), the second its number.
    #[inline]
    pub(super) fn for_box(&self, position: [u64; 3], mut visit: impl FnMut(usize, u64)) {
        let [nx, ny, _] = self.extents;
        let [x_reach, y_reach, z_reach] = self.reach(position);
        let slot = |axis: usize, at: u64| (at + 1 - position[axis]) as usize;
        for z in z_reach.0..=z_reach.1 {
            for y in y_reach.0..=y_reach.1 {
                let (line, line_slot) = ((z * ny + y) * nx, 9 * slot(2, z) + 3 * slot(1, y));
                for x in x_reach.0..=x_reach.1 {
                    visit(line_slot + slot(0, x), line + x);
                }
            }
        }
    }
}
