//! An L-shaped mesh and its first two coarse levels, coloured by aggregate.
//!
//! The mesh has triangles with randomly moved points, the matrix comes from linear elements for the
//! Laplacian. Aggregates are read from the hierarchy of smoothed aggregation with plain
//! interpolation, where each row of P has one entry: the column of its aggregate. A node is drawn
//! as the part of its triangles that is closest to it, between midpoints of edges and centroids.

use std::error::Error;
use std::fmt::Write as _;

use ziggurat::Solver;
use ziggurat::config::{Method, Precision};
use ziggurat::sparse::{Coo, Csr};

use super::drawing::{Anchor, Drawing, PALETTE};

/// Cells along the long side of the L; even.
const SIDE: usize = 18;

type Point = [f64; 2];

/// Points and triangles.
struct Mesh {
    points: Vec<Point>,
    triangles: Vec<[usize; 3]>,
}

/// A number between −0.5 and 0.5 that depends on `seed` only.
fn random(seed: usize) -> f64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 40) as f64) / f64::from(1 << 24) - 0.5
}

/// A square without its upper right quarter.
fn mesh() -> Mesh {
    let inside = |i: usize, j: usize| i * 2 <= SIDE || j * 2 <= SIDE;
    let mut numbers = vec![usize::MAX; (SIDE + 1) * (SIDE + 1)];
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for (j, i) in (0..=SIDE).flat_map(|j| (0..=SIDE).map(move |i| (j, i))).filter(|&(j, i)| inside(i, j)) {
        let place = j * (SIDE + 1) + i;
        let edge = [0, SIDE].contains(&i) || [0, SIDE].contains(&j) || i * 2 >= SIDE && j * 2 >= SIDE;
        let moved = if edge { 0.0 } else { 0.6 };
        numbers[place] = points.len();
        points.push([i as f64 + moved * random(2 * place), j as f64 + moved * random(2 * place + 1)]);
    }
    for (j, i) in (0..SIDE).flat_map(|j| (0..SIDE).map(move |i| (j, i))) {
        if (i + 1) * 2 > SIDE && (j + 1) * 2 > SIDE && i * 2 >= SIDE && j * 2 >= SIDE {
            continue;
        }
        let node = |j: usize, i: usize| numbers[j * (SIDE + 1) + i];
        let (a, b, c, d) = (node(j, i), node(j, i + 1), node(j + 1, i + 1), node(j + 1, i));
        triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
    }
    Mesh { points, triangles }
}

/// The stiffness matrix of linear elements, plus a little of the identity.
fn matrix(mesh: &Mesh) -> Result<Csr<f64>, Box<dyn Error>> {
    let n = mesh.points.len();
    let mut entries = Coo::new(n, n)?;
    for triangle in &mesh.triangles {
        let p = triangle.map(|node| mesh.points[node]);
        let side = |k: usize| [p[(k + 2) % 3][0] - p[(k + 1) % 3][0], p[(k + 2) % 3][1] - p[(k + 1) % 3][1]];
        let doubled = side(2)[0] * -side(1)[1] + side(2)[1] * side(1)[0];
        for k in 0..3 {
            for l in 0..3 {
                let dot = side(k)[0] * side(l)[0] + side(k)[1] * side(l)[1];
                entries.push(triangle[k], triangle[l], dot / (2.0 * doubled))?;
            }
        }
    }
    for node in 0..n {
        entries.push(node, node, 1e-3)?;
    }
    Ok(entries.to_csr())
}

/// For each level but the finest, the row that every node belongs to.
fn aggregates(a: &Csr<f64>) -> Result<Vec<Vec<usize>>, Box<dyn Error>> {
    let solver = Solver::builder().method(Method::Sa).precision(Precision::F64).with(|config| {
        config.sa.plain_levels = Some(10);
        config.hierarchy.coarse_rows = Some(4);
    });
    let solver = solver.build(a)?;
    let mut owner: Vec<usize> = (0..a.rows()).collect();
    let mut levels = Vec::new();
    for level in solver.hierarchy().levels() {
        let Some(p) = level.prolongation() else { break };
        let coarse = |row: usize| p.row(row).0.first().map_or(usize::MAX, |&column| column as usize);
        owner = owner.iter().map(|&row| if row == usize::MAX { row } else { coarse(row) }).collect();
        levels.push(owner.clone());
    }
    Ok(levels)
}

/// A colour for each aggregate, different from its neighbours' where the palette permits.
fn colours(mesh: &Mesh, owner: &[usize]) -> Vec<usize> {
    let count = owner.iter().copied().filter(|&owner| owner != usize::MAX).max().map_or(0, |most| most + 1);
    let mut colours = vec![usize::MAX; count];
    for aggregate in 0..count {
        let touching = |triangle: &&[usize; 3]| triangle.iter().any(|&node| owner[node] == aggregate);
        let others = mesh.triangles.iter().filter(touching).flatten().map(|&node| owner[node]);
        let taken: Vec<usize> = others.filter_map(|other| colours.get(other).copied()).collect();
        // Start at another colour each time, so that all of them are used.
        let free = (0..PALETTE.len()).map(|k| (k + aggregate) % PALETTE.len()).find(|k| !taken.contains(k));
        colours[aggregate] = free.unwrap_or(aggregate % PALETTE.len());
    }
    colours
}

pub(crate) fn svg() -> Result<String, Box<dyn Error>> {
    const PANEL: f64 = 216.0;
    let mesh = mesh();
    let levels = aggregates(&matrix(&mesh)?)?;
    let mut drawing = Drawing::new(680, 256);
    // No node of the mesh itself has an owner.
    let finest = vec![usize::MAX; mesh.points.len()];
    for (number, owner) in std::iter::once(&finest).chain(&levels).take(3).enumerate() {
        let left = 8.0 + (PANEL + 8.0) * number as f64;
        let place = |[x, y]: Point| {
            let scale = PANEL / SIDE as f64;
            ((left + scale * x).round(), (PANEL + 8.0 - scale * y).round())
        };
        let colours = colours(&mesh, owner);
        let mut paths = vec![String::new(); PALETTE.len()];
        for triangle in &mesh.triangles {
            let p = triangle.map(|node| mesh.points[node]);
            let middle = |a: Point, b: Point| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
            let centre = [(p[0][0] + p[1][0] + p[2][0]) / 3.0, (p[0][1] + p[1][1] + p[2][1]) / 3.0];
            for k in 0..3 {
                let Some(&colour) = colours.get(owner[triangle[k]]) else { continue };
                let corners = [p[k], middle(p[k], p[(k + 1) % 3]), centre, middle(p[k], p[(k + 2) % 3])];
                let corners = corners.map(&place).map(|(x, y)| format!("{x} {y}"));
                let _ = write!(paths[colour], "M{}z", corners.join(" ")); // a string
            }
        }
        for (path, colour) in paths.iter().zip(PALETTE).filter(|(path, _)| !path.is_empty()) {
            drawing.add(&format!(
                "<path d=\"{path}\" fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"0.7\"/>"
            ));
        }
        let mut edges = String::new();
        for [a, b, c] in mesh.triangles.iter().map(|triangle| triangle.map(|node| place(mesh.points[node]))) {
            let _ = write!(edges, "M{} {} {} {} {} {}z", a.0, a.1, b.0, b.1, c.0, c.1);
        }
        drawing.add(&format!(
            "<path d=\"{edges}\" fill=\"none\" stroke=\"#000\" stroke-opacity=\"0.25\" stroke-width=\"0.5\"/>"
        ));
        let rows =
            owner.iter().copied().filter(|&owner| owner != usize::MAX).max().map_or(0, |most| most + 1);
        let rows = if number == 0 { mesh.points.len() } else { rows };
        let caption = format!("level {number}: {rows} rows");
        drawing.text(left + 0.5 * PANEL, PANEL + 30.0, Anchor::Middle, &caption);
    }
    Ok(drawing.svg())
}
