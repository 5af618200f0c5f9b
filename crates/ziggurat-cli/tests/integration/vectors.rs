//! A column of a file with several vectors, and a limit of time.

use serde_json::Value;
use ziggurat_sparse::io::{read_vector, write_dense, write_matrix};
use ziggurat_sparse::{Csr, Dense};

use crate::command::Place;

/// A problem of nine rows, `A.mtx`, and three right-hand sides: as `.npy`, `.petsc`, an array,
/// text, and a sparse matrix.
fn place(test: &str) -> (Place, Dense<f64>) {
    let place = Place::new(test);
    place.succeed(&["generate", "poisson2d:3", "-o", "A.mtx"]);
    let sides = Dense::try_new(9, 3, (0..27).map(|k| f64::from(k % 5)).collect()).unwrap();
    for name in ["b.npy", "b.petsc", "b.mtx"] {
        write_dense(place.path(name), &sides).unwrap();
    }
    let sparse: Csr<f64> = sides.to_csr();
    write_matrix(place.path("b.npz"), sparse.view(), &Default::default()).unwrap();
    write_matrix(place.path("sparse.mtx"), sparse.view(), &Default::default()).unwrap();
    let rows =
        (0..9).map(|row| [0, 1, 2].map(|column| sides.column(column)[row].to_string()).join(" ") + "\n");
    place.write("b.txt", &rows.collect::<String>());
    (place, sides)
}

#[test]
fn a_column_is_chosen_from_a_file_of_any_format() {
    let (place, sides) = place("a_column_is_chosen");
    for (column, k) in [("1", 0), ("3", 2)] {
        ziggurat_sparse::io::write_vector(place.path("one.mtx"), sides.column(k)).unwrap();
        place.succeed(&["solve", "A.mtx", "--rhs", "one.mtx", "--output", "expected.npy"]);
        let expected = read_vector(place.path("expected.npy")).unwrap();
        for name in ["b.npy", "b.petsc", "b.mtx", "b.npz", "sparse.mtx", "b.txt"] {
            let arguments = ["solve", "A.mtx", "--rhs", name, "--rhs-column", column, "--output", "x.npy"];
            place.succeed(&arguments);
            assert_eq!(read_vector(place.path("x.npy")).unwrap(), expected, "{name}, column {column}");
        }
    }
    // The solution as a guess, as a column among others.
    let expected = read_vector(place.path("expected.npy")).unwrap();
    let guesses = Dense::try_new(9, 2, [vec![0.0; 9], expected].concat()).unwrap();
    write_dense(place.path("guesses.npy"), &guesses).unwrap();
    let guess = ["--guess", "guesses.npy", "--guess-column", "2", "--json", "-"];
    let side = ["solve", "A.mtx", "--rhs", "b.npy", "--rhs-column", "3"];
    let report: Value = serde_json::from_str(&place.succeed(&[&side[..], &guess].concat())).unwrap();
    assert_eq!(report["iterations"], 0);
}

#[test]
fn commands_that_go_on_with_a_column_name_it() {
    let (place, _) = place("commands_that_go_on");
    let compared = place.succeed(&["compare", "A.mtx", "--rhs", "b.npy", "--rhs-column", "2"]);
    let again = "  ziggurat solve A.mtx --rhs b.npy --rhs-column 2";
    assert!(compared.lines().filter(|line| line.contains(again)).count() > 1, "{compared}");
    let tuned = ["tune", "A.mtx", "--rhs", "b.npy", "--rhs-column", "2", "--seconds", "0.2"];
    assert!(place.succeed(&tuned).contains("tolerance"));
    for command in ["compare", "tune"] {
        let said = place.run(&[command, "A.mtx", "--rhs", "b.npy"]);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains("--rhs-column with a number from 1 to 3"), "{}", said.err);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn ranks_read_a_column_and_refuse_several() {
    let (place, _) = place("ranks_read_a_column");
    let on_ranks = |arguments: &[&str]| {
        let output = std::process::Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", "2", env!("CARGO_BIN_EXE_ziggurat")])
            .args(arguments)
            .current_dir(place.path(""))
            .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let solve = ["solve", "A.mtx", "--no-fallback", "--rhs", "b.npy"];
    place.succeed(&[&solve[..], &["--rhs-column", "2", "--output", "one.npy"]].concat());
    let (code, said) = on_ranks(&[&solve[..], &["--rhs-column", "2", "--output", "two.npy"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let [one, two] = ["one.npy", "two.npy"].map(|name| read_vector(place.path(name)).unwrap());
    assert!(one.iter().zip(&two).all(|(one, two)| (one - two).abs() < 1e-7), "{one:?} {two:?}");
    for (more, expected) in [
        (&[][..], "b.npy has 3 columns, but one vector is needed"),
        (&["--rhs-column", "4"], "b.npy has 3 columns, so there is no column 4"),
    ] {
        let (code, said) = on_ranks(&[&solve[..], more].concat());
        assert!(code == Some(1) && said.contains(expected), "{said}");
        assert!(said.contains("--rhs-column with a number from 1 to 3"), "{said}");
    }
}

#[test]
fn a_limit_of_time_is_an_option() {
    let place = Place::new("a_limit_of_time_is_an_option");
    place.write("slow.toml", "hierarchy.max_levels = 1\nstopping.max_iterations = 1000000\n");
    let slow = ["solve", "--problem", "poisson2d:300", "--config", "slow.toml", "--no-fallback"];
    let said = place.run(&[&slow[..], &["--max-seconds", "0.05", "--json", "-"]].concat());
    assert_eq!(said.code, Some(2), "{}", said.err);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["stop_reason"], "time_limit");
    assert_eq!(report["config"]["stopping"]["max_seconds"], 0.05);
    // The option wins over the file, and without it the file counts.
    place.write("limited.toml", "stopping.max_seconds = 7\n");
    for (option, expected) in [(&["--max-seconds", "9"][..], "max_seconds = 9.0"), (&[], "max_seconds = 7.0")]
    {
        let dump =
            place.succeed(&[&["solve", "--config", "limited.toml", "--dump-config"][..], option].concat());
        assert!(dump.contains(expected), "{dump}");
    }
}
