//! `ziggurat generate`: what it writes is what the library makes, and belongs together.

use crate::command::Place;
use ziggurat_sparse::gallery::{Problem, rigid_body_modes};
use ziggurat_sparse::io::{read_dense, read_matrix, read_vector};

#[test]
fn files_hold_what_the_library_makes() {
    let place = Place::new("files_hold_what_the_library_makes");
    for name in ["poisson2d:7", "convection3d:4", "elasticity3d:2", "neumann3d:3"] {
        let problem: Problem = name.parse().unwrap();
        let text =
            place.succeed(&["generate", name, "-o", "a.mtx.gz", "--rhs", "b.mtx", "--coords", "c.mtx"]);
        assert!(text.starts_with(&format!("{name}: ")) && text.lines().count() == 4, "{text}");
        assert_eq!(read_matrix(place.path("a.mtx.gz")).unwrap(), problem.matrix().unwrap());
        assert_eq!(read_vector(place.path("b.mtx")).unwrap(), problem.rhs().unwrap());
        let (read, made) = (read_dense(place.path("c.mtx")).unwrap(), problem.coordinates().unwrap());
        assert_eq!((read.rows(), read.cols()), (made.len(), if name.contains("2d") { 2 } else { 3 }));
        for (axis, column) in read.columns().enumerate() {
            assert!(column.iter().zip(&made).all(|(&x, point)| x == point[axis]), "{name}");
        }
    }
}

#[test]
fn a_shuffled_problem_comes_with_shuffled_coordinates() {
    let place = Place::new("a_shuffled_problem_comes_with_shuffled_coordinates");
    place.succeed(&["generate", "elasticity3d:4", "-o", "a.mtx", "--coords", "c.mtx", "--shuffle", "16"]);
    let (a, c) = (read_matrix(place.path("a.mtx")).unwrap(), read_dense(place.path("c.mtx")).unwrap());
    assert_ne!(a, "elasticity3d:4".parse::<Problem>().unwrap().matrix().unwrap());
    // The product with a rotation vanishes away from the clamped face only if the coordinates are
    // the matrix's own.
    let points: Vec<[f64; 3]> =
        (0..c.rows()).map(|node| [0, 1, 2].map(|axis| c.column(axis)[node])).collect();
    let rotation = &rigid_body_modes(&points)[4];
    let product = a.all_rows().map(|row| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(|(&column, value)| value * rotation[column as usize]).sum::<f64>()
    });
    let quiet = product.filter(|value| value.abs() < 1e-12).count();
    assert!(quiet * 2 > a.rows(), "{quiet} of {}", a.rows());
}

#[test]
fn standard_output_holds_the_matrix_and_nothing_else() {
    let place = Place::new("standard_output_holds_the_matrix_and_nothing_else");
    let text = place.succeed(&["generate", "poisson2d:3", "-o", "-"]);
    let read = ziggurat_sparse::io::read_matrix_from(text.as_bytes(), "output").unwrap();
    assert_eq!(read, "poisson2d:3".parse::<Problem>().unwrap().matrix().unwrap());
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let place = Place::new("completions_and_manual_pages_name_every_command");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.succeed(&["completions", shell]);
        assert!(
            ["solve", "inspect", "generate", "--precision"]
                .iter()
                .all(|word| script.contains(word.trim_start_matches('-')))
        );
    }
    assert!(place.succeed(&["man"]).contains(".TH ziggurat 1"));
    place.succeed(&["man", "pages"]);
    for page in ["ziggurat.1", "ziggurat-solve.1", "ziggurat-inspect.1", "ziggurat-generate.1"] {
        assert!(place.path("pages").join(page).exists(), "{page}");
    }
}
