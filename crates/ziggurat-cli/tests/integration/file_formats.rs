//! The same system in files of every format.

use serde_json::Value;
use ziggurat_sparse::io::{FileFormat, read_dense, read_matrix, read_vector};

use crate::command::Place;

fn report(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.succeed(&[&["solve", "--json", "-"], arguments].concat())).unwrap()
}

#[test]
fn a_system_is_solved_the_same_from_every_format() {
    let place = Place::new("a_system_is_solved_the_same_from_every_format");
    for problem in ["elasticity3d:6", "convection3d:9"] {
        let mut first = None;
        for (a, others) in [
            ("A.mtx", ["b.mtx", "c.mtx", "x.mtx"]),
            ("A.npz", ["b.npy", "c.npy", "x.npy"]),
            ("A.petsc", ["b.petsc", "c.petsc", "x.petsc"]),
            ("A.rb", ["b.npy.gz", "c.mtx.gz", "x.petsc.gz"]),
            ("A.rb.gz", ["b.mtx", "c.mtx", "x.mtx.gz"]),
        ] {
            let [b, c, x] = others;
            place.succeed(&["generate", problem, "-o", a, "--rhs", b, "--coords", c]);
            let report = report(&place, &[a, "--rhs", b, "--coords", c, "--output", x]);
            let solution = read_vector(place.path(x)).unwrap();
            let found = (report["iterations"].clone(), report["residuals"].clone(), solution);
            assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{a}");
        }
    }
    // A written file has the format that its name says.
    let matrix = read_matrix(place.path("A.mtx")).unwrap();
    for (name, format) in
        [("A.npz", FileFormat::Npz), ("A.petsc", FileFormat::Petsc), ("A.rb", FileFormat::RutherfordBoeing)]
    {
        assert_eq!(FileFormat::detect(&std::fs::read(place.path(name)).unwrap(), "data"), format);
        assert_eq!(read_matrix(place.path(name)).unwrap(), matrix, "{name}");
    }
    let points = read_dense(place.path("c.mtx")).unwrap();
    assert_eq!(read_dense(place.path("c.npy")).unwrap(), points);
    assert_eq!(read_dense(place.path("c.petsc")).unwrap(), points);
}

#[test]
fn a_petsc_file_may_hold_the_matrix_and_the_right_hand_side() {
    let place = Place::new("a_petsc_file_may_hold_the_matrix_and_the_right_hand_side");
    place.succeed(&["generate", "poisson2d:9", "-o", "A.petsc", "--rhs", "b.petsc"]);
    let bytes = |name: &str| std::fs::read(place.path(name)).unwrap();
    std::fs::write(place.path("system.dat"), [bytes("A.petsc"), bytes("b.petsc")].concat()).unwrap();
    let one = report(&place, &["system.dat", "--rhs", "system.dat"]);
    let two = report(&place, &["A.petsc", "--rhs", "b.petsc"]);
    assert_eq!(one["residuals"], two["residuals"]);
}

/// A file in the layout of MATLAB, with a matrix, a right-hand side and coordinates.
#[cfg(feature = "hdf5")]
#[test]
fn an_hdf5_file_may_hold_the_whole_system() {
    let place = Place::new("an_hdf5_file_may_hold_the_whole_system");
    let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../ziggurat-sparse/tests/files");
    std::fs::copy(files.join("matlab.mat"), place.path("system.mat")).unwrap();
    place.succeed(&["inspect", "system.mat"]);
    place.succeed(&["inspect", "system.mat:Problem/Zeros"]);
    for (arguments, expected) in [
        (&["inspect", "system.mat:B"][..], "system.mat:B, object `B`: the file has no such object (it has "),
        (&["inspect", "system.mat:Problem/title"], "object `Problem/title`: a dataset of anything but"),
        (&["inspect", "none.mat:A"], "cannot read none.mat:A: no such file or directory"),
        (
            &["solve", "system.mat", "--rhs", "system.mat:Problem/id"],
            "system.mat:Problem/id has 1 value, but system.mat has 5 rows",
        ),
        (
            &["solve", "system.mat:Problem/A", "--output", "system.mat"],
            "--output would overwrite the input system.mat",
        ),
    ] {
        let said = place.run(arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}");
        assert!(said.err.contains(expected) && said.err.contains("\nhint: "), "{}", said.err);
    }
}

#[test]
fn unsuitable_names_are_refused_before_the_work() {
    let place = Place::new("unsuitable_names_are_refused_before_the_work");
    for (arguments, expected) in [
        (
            &["solve", "--problem", "poisson2d:9", "--output", "x.npz"][..],
            "x.npz: scipy .npz files hold no vectors",
        ),
        (&["generate", "poisson2d:9", "-o", "A.npy"], "A.npy: NumPy .npy files hold no sparse matrices"),
        (
            &["generate", "poisson2d:9", "-o", "A.npz", "--rhs", "b.npz"],
            "b.npz: scipy .npz files hold no vectors",
        ),
        (
            &["generate", "poisson2d:9", "-o", "A.npz", "--coords", "c.rb"],
            "c.rb: Rutherford–Boeing files hold no",
        ),
    ] {
        let said = place.run(arguments);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains(expected) && said.err.contains("hint: use ."), "{}", said.err);
        assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn damaged_files_are_errors_with_a_hint() {
    let place = Place::new("damaged_files_are_errors_with_a_hint");
    place.succeed(&["generate", "poisson2d:9", "-o", "A.npz", "--rhs", "b.petsc"]);
    let cut = |name: &str, to: &str| {
        let bytes = std::fs::read(place.path(name)).unwrap();
        std::fs::write(place.path(to), &bytes[..bytes.len() / 2]).unwrap();
    };
    cut("A.npz", "half.npz");
    cut("b.petsc", "half.petsc");
    place.write("not.rb", "title\n1 1 1 1\nnot a type\n");
    for (arguments, expected) in [
        (&["inspect", "half.npz"][..], "half.npz, array `format`: the data is damaged"),
        (&["solve", "A.npz", "--rhs", "half.petsc"], "half.petsc, byte 8: 648 bytes are declared here"),
        (&["solve", "A.npz", "--rhs", "A.npz"], "A.npz has 81 columns, but one vector is needed"),
        (
            &["solve", "A.npz", "--coords", "A.npz"],
            "A.npz, byte 0: expected a dense matrix, found a sparse one",
        ),
        (&["inspect", "not.rb"], "not.rb, line 3: `not` is not a matrix type such as `rua` or `rsa`"),
    ] {
        let said = place.run(arguments);
        assert!(
            said.code == Some(1) && said.err.contains(expected) && said.err.contains("\nhint: "),
            "{}",
            said.err
        );
    }
}
