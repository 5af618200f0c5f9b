//! Every error a user can cause: one line that names the cause, one that says what to do, exit code
//! 1, and nothing on standard output. A test per message.

use std::process::Command;

use crate::command::Place;

const GENERAL: &str = "%%MatrixMarket matrix coordinate real general\n";
const ARRAY: &str = "%%MatrixMarket matrix array real general\n";

/// A folder with a matrix of two rows in it, `ok.mtx`.
fn place(test: &str) -> Place {
    let place = Place::new(test);
    place.write("ok.mtx", &format!("{GENERAL}2 2 2\n1 1 1\n2 2 2\n"));
    place
}

/// Runs the command and checks both lines: each holds all of its parts.
fn fails(place: &Place, arguments: &[&str], cause: &[&str], hint: &[&str]) {
    let said = place.run(arguments);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{arguments:?}: {}", said.err);
    let lines: Vec<&str> = said.err.lines().collect();
    let [first, second] = lines[..] else { panic!("{arguments:?}: two lines, not\n{}", said.err) };
    assert!(first.starts_with("error: ") && second.starts_with("hint: "), "{}", said.err);
    for part in cause {
        assert!(first.contains(part), "{arguments:?}: `{part}` is not in\n{first}");
    }
    for part in hint {
        assert!(second.contains(part), "{arguments:?}: `{part}` is not in\n{second}");
    }
}

macro_rules! errors {
    ($($name:ident: $arguments:expr, $cause:expr, $hint:expr;)*) => {$(
        #[test]
        fn $name() {
            fails(&place(stringify!($name)), &$arguments, &$cause, &$hint);
        }
    )*};
}

// The command line.
errors! {
    unknown_command: ["slove"], ["unrecognized subcommand 'slove'"], ["did you mean `solve`?"];
    unknown_option: ["solve", "ok.mtx", "--rtoll", "1"], ["unexpected argument '--rtoll'"], ["did you mean `--rtol`?"];
    option_like_no_other: ["solve", "ok.mtx", "--zzz"], ["'--zzz'"], ["`ziggurat solve --help`"];
    one_file_too_many: ["solve", "ok.mtx", "more.mtx"], ["unexpected argument 'more.mtx'"], ["`ziggurat solve --help`"];
    option_without_value: ["solve", "ok.mtx", "--rhs"], ["--rhs <FILE>", "value is required"], ["--help"];
    unknown_method: ["solve", "ok.mtx", "--method", "clasical"],
        ["'clasical'", "--method"], ["did you mean `classical`?", "auto, sa, classical, pairwise"];
    unknown_krylov: ["solve", "ok.mtx", "--krylov", "zzz"],
        ["'zzz'", "--krylov"], ["give one of auto, cg, fcg, gmres, fgmres, bicgstab, minres, idr, cgs, none"];
    unknown_precision: ["solve", "ok.mtx", "--precision", "f61"],
        ["'f61'", "--precision"], ["did you mean", "auto, f64, f32, f16, bf16"];
    unknown_device: ["solve", "ok.mtx", "--device", "cpus"], ["'cpus'", "--device"], ["did you mean `cpu`?"];
    unknown_shell: ["completions", "tcsh"], ["'tcsh'"], ["bash, elvish, fish, powershell, zsh"];
    no_threads: ["solve", "ok.mtx", "--threads", "0"], ["'0' for '--threads"], ["give a whole number from 1 to 1024"];
    threads_in_words: ["inspect", "ok.mtx", "--threads", "two"], ["'two'"], ["whole number from 1 to 1024"];
    zero_tolerance: ["solve", "ok.mtx", "--rtol", "0"], ["'0' for '--rtol"], ["between 0 and 1, such as 1e-8"];
    tolerance_of_one: ["solve", "ok.mtx", "--rtol", "1"], ["'1' for '--rtol"], ["between 0 and 1"];
    tolerance_not_a_number: ["solve", "ok.mtx", "--rtol", "nan"], ["'nan' for '--rtol"], ["between 0 and 1"];
    iterations_in_words: ["solve", "ok.mtx", "--max-iterations", "many"],
        ["'many' for '--max-iterations"], ["give a whole number, such as 200"];
    seconds_in_words: ["solve", "ok.mtx", "--max-seconds", "few"],
        ["'few' for '--max-seconds"], ["give a positive number of seconds, such as 30"];
    column_zero: ["solve", "ok.mtx", "--rhs", "ok.mtx", "--rhs-column", "0"],
        ["'0' for '--rhs-column"], ["give a whole number, at least 1"];
    column_of_nothing: ["solve", "ok.mtx", "--rhs-column", "1"], ["not provided: --rhs <FILE>"], ["--help"];
    loud_and_quiet: ["solve", "ok.mtx", "-v", "-q"], ["'--verbose' cannot be used with '--quiet'"], ["--help"];
    shuffle_by_nothing: ["solve", "ok.mtx", "--shuffle", "0"], ["'0' for '--shuffle"], ["whole number from 1"];
}

// Choices that the solver does not have are not offered.
errors! {
    structured_method: ["solve", "ok.mtx", "--method", "structurd"],
        ["'structurd'", "--method"], ["auto, sa, classical, pairwise, structured"];
    misspelt_smoother: ["solve", "ok.mtx", "--smoother", "l1-chebishev"],
        ["'l1-chebishev'", "--smoother"], ["did you mean `l1-chebyshev`?"];
}

// Configurations.
errors! {
    unknown_preset: ["solve", "ok.mtx", "--preset", "robst"],
        ["unknown preset `robst`; did you mean `robust`?"], ["low-memory: pairwise"];
    preset_and_configuration: ["solve", "ok.mtx", "--preset", "fast", "--config", "c.toml"],
        ["'--preset <NAME>' cannot be used with '--config <FILE>'"], ["`ziggurat solve --help`"];
    missing_configuration: ["solve", "ok.mtx", "--config", "c.toml"], ["cannot read c.toml"], ["check the path"];
    configuration_of_unknown_format: ["solve", "ok.mtx", "--config", "c.yaml"],
        ["--config c.yaml", "neither TOML nor JSON"], [".toml or .json"];
}

/// Solves with this configuration, which must fail.
fn refuses(test: &str, name: &str, config: &str, cause: &[&str], hint: &[&str]) {
    let place = place(test);
    place.write(name, config);
    fails(&place, &["solve", "ok.mtx", "--config", name], cause, hint);
}

#[test]
fn unknown_key() {
    let cause = ["c.toml: unknown key `smoother.omgea`; did you mean `smoother.omega`?"];
    refuses(
        "unknown_key",
        "c.toml",
        "[smoother]\nomgea = 1.0\n",
        &cause,
        &["--dump-config` prints every key"],
    );
}

#[test]
fn key_in_the_wrong_place() {
    let cause = ["unknown key `rtol`; did you mean `stopping.rtol`?"];
    refuses("key_in_the_wrong_place", "c.json", "{ \"rtol\": 1e-3 }", &cause, &["--dump-config"]);
}

#[test]
fn unknown_name_in_a_configuration() {
    let cause = ["c.toml: `method`: unknown method `clasical`; did you mean `classical`?"];
    refuses("unknown_name_in_a_configuration", "c.toml", "method = 'clasical'", &cause, &["--dump-config"]);
}

#[test]
fn value_of_the_wrong_type() {
    let cause = ["c.toml: `restart`: invalid type: string \"ten\""];
    refuses("value_of_the_wrong_type", "c.toml", "restart = 'ten'", &cause, &["--dump-config"]);
}

#[test]
fn value_without_sense() {
    let cause = ["c.toml: `smoother.ratio` is 0.5; it must be finite and above 1"];
    refuses("value_without_sense", "c.toml", "smoother.ratio = 0.5", &cause, &["usual value"]);
}

#[test]
fn tolerance_without_sense_in_a_configuration() {
    let (test, cause) = ("tolerance_without_sense_in_a_configuration", ["c.toml: stopping: `rtol` is -1"]);
    refuses(test, "c.toml", "stopping.rtol = -1.0", &cause, &["usual value"]);
}

#[test]
fn parameter_of_a_method_without_sense() {
    let (test, text) = ("parameter_of_a_method_without_sense", "sa.strength.filter.threshold = 3.0");
    let cause = ["c.toml: `sa.strength.filter.threshold` is 3.0; it must be from 0.0 to 1.0"];
    refuses(test, "c.toml", text, &cause, &["usual value"]);
}

#[test]
fn broken_toml() {
    let cause = ["c.toml: invalid TOML: line 2: "];
    refuses("broken_toml", "c.toml", "restart = 3\nmethod = = 1\n", &cause, &["correct the file"]);
}

#[test]
fn broken_json() {
    refuses("broken_json", "c.json", "{", &["c.json: invalid JSON", "line 1"], &["correct the file"]);
}

#[test]
fn report_over_configuration() {
    let place = place("report_over_configuration");
    place.write("c.json", "{}");
    fails(
        &place,
        &["solve", "ok.mtx", "--config", "c.json", "--json", "c.json"],
        &["--json would overwrite the input c.json"],
        &["give --json another name"],
    );
}

// Where the matrix comes from.
errors! {
    no_matrix: ["solve"], ["no matrix given"], ["A.mtx", "--problem poisson3d:50"];
    file_and_problem: ["solve", "ok.mtx", "--problem", "poisson2d:4"],
        ["a file (ok.mtx) and --problem poisson2d:4 are both given"], ["give only one of them"];
    missing_file: ["inspect", "nope.mtx"], ["cannot read nope.mtx", "no such file"], ["check the path"];
    problem_in_place_of_a_file: ["inspect", "poisson3d:20"],
        ["no file poisson3d:20"], ["use --problem poisson3d:20"];
    folder_with_matrices: ["inspect", "."], [". is a folder"], ["./ok.mtx"];
    folder_without: ["inspect", "/"], ["/ is a folder"], ["(.mtx, .mtx.gz, .npz, .petsc, .rb)"];
    unknown_problem: ["inspect", "--problem", "poison3d:20"],
        ["unknown problem `poison3d`; did you mean `poisson3d`?"], ["ziggurat generate --help"];
    problem_without_size: ["solve", "--problem", "jump3d"], ["`jump3d`", "NAME:SIZE"], ["ziggurat generate --help"];
    problem_of_size_zero: ["generate", "jump3d:0", "-o", "a.mtx"], ["`jump3d:0`", "1 to 100000"], ["--help"];
    more_rows_than_can_be_indexed: ["inspect", "--problem", "poisson3d:5000"],
        ["125000000000 rows are more"], ["smaller SIZE"];
    unknown_problem_to_generate: ["generate", "elastic3d:3", "-o", "a.mtx"], ["did you mean `elasticity3d`?"], ["--help"];
    nowhere_to_generate: ["generate", "poisson3d:3"], ["not provided: --output"], ["`ziggurat generate --help`"];
}

// Where results go.
errors! {
    no_such_folder: ["generate", "poisson2d:3", "-o", "no/a.mtx"], ["cannot write no/a.mtx"], ["mkdir -p"];
    folder_for_output: ["generate", "poisson2d:3", "-o", "."], ["cannot write .: is a directory"], ["name a file in"];
    file_for_folder: ["generate", "poisson2d:3", "-o", "ok.mtx/a.mtx"], ["not a directory"], ["part of the path is a file"];
    two_outputs_in_one: ["generate", "poisson2d:3", "-o", "a.mtx", "--rhs", "./a.mtx"],
        ["--output and --rhs both name ./a.mtx"], ["give --rhs another name"];
    solution_over_matrix: ["solve", "ok.mtx", "--output", "./ok.mtx"],
        ["--output would overwrite the input ./ok.mtx"], ["give --output another name"];
    report_over_matrix: ["inspect", "ok.mtx", "--json", "ok.mtx"], ["--json would overwrite"], ["another name"];
    solution_without_a_folder: ["solve", "ok.mtx", "--output", "no/x.mtx"], ["cannot write no/x.mtx"], ["mkdir -p"];
    report_without_a_folder: ["solve", "ok.mtx", "--json", "no/r.json"], ["cannot write no/r.json"], ["mkdir -p"];
    solution_to_standard_output: ["solve", "ok.mtx", "--output", "-"], ["does not name a file"], ["--output x.mtx"];
}

#[test]
fn an_existing_file_survives_a_failure() {
    let place = place("an_existing_file_survives_a_failure");
    place.write("x.mtx", "precious");
    assert_eq!(place.run(&["solve", "nope.mtx", "--output", "x.mtx", "--json", "r.json"]).code, Some(1));
    assert_eq!(std::fs::read_to_string(place.path("x.mtx")).unwrap(), "precious");
    assert!(!place.path("r.json").exists());
}

#[cfg(unix)]
#[test]
fn solution_over_another_name_of_the_matrix() {
    let place = place("solution_over_another_name_of_the_matrix");
    std::fs::hard_link(place.path("ok.mtx"), place.path("linked.mtx")).unwrap();
    std::os::unix::fs::symlink("ok.mtx", place.path("symbolic.mtx")).unwrap();
    for name in ["linked.mtx", "symbolic.mtx"] {
        fails(
            &place,
            &["solve", "ok.mtx", "--output", name],
            &["--output would overwrite the input"],
            &["give --output another name"],
        );
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_stays_dangling_after_a_failure() {
    let place = place("a_dangling_link_stays_dangling_after_a_failure");
    std::os::unix::fs::symlink("target.mtx", place.path("x.mtx")).unwrap();
    assert_eq!(place.run(&["solve", "nope.mtx", "--output", "x.mtx"]).code, Some(1));
    assert!(!place.path("target.mtx").exists() && place.path("x.mtx").is_symlink());
    assert_eq!(place.run(&["solve", "ok.mtx", "--output", "x.mtx"]).code, Some(0));
    assert!(place.path("target.mtx").exists());
}

#[cfg(unix)]
#[test]
fn a_name_cannot_command_the_terminal() {
    let place = place("a_name_cannot_command_the_terminal");
    fails(&place, &["inspect", "no\x1b[2Jpe.mtx"], &["no\\u{1b}[2Jpe.mtx"], &["check the path"]);
    std::fs::copy(place.path("ok.mtx"), place.path("o\x1b[2Jk.mtx")).unwrap();
    let said = place.run(&["solve", "o\x1b[2Jk.mtx"]);
    assert_eq!(said.code, Some(0));
    assert!(said.out.starts_with("o\\u{1b}[2Jk.mtx") && !said.out.contains('\x1b'), "{}", said.out);
}

#[cfg(target_os = "linux")]
#[test]
fn more_memory_than_there_is() {
    // By a limit of our own: some systems promise any amount.
    let limited = "ulimit -v 8000000 && exec \"$0\" inspect --problem poisson3d:1000";
    let output = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_ziggurat")]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: poisson3d:1000 needs 85.6 GiB, which cannot be allocated; use a smaller SIZE or distribute the \
         matrix\nhint: choose a smaller SIZE\n"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk() {
    let place = place("full_disk");
    fails(
        &place,
        &["generate", "poisson2d:60", "-o", "/dev/full"],
        &["cannot write /dev/full: no space left"],
        &["free some space", ".gz"],
    );
}

// The contents of files.

#[test]
fn empty_file() {
    let place = place("empty_file");
    place.write("a.mtx", "");
    fails(&place, &["inspect", "a.mtx"], &["a.mtx is empty"], &["again"]);
}

#[test]
fn another_format() {
    let place = place("another_format");
    place.write("a.mtx", "hello\n");
    fails(&place, &["inspect", "a.mtx"], &["a.mtx, line 1", "`hello`"], &["Matrix Market", "convert"]);
}

#[test]
fn complex_matrix() {
    let place = place("complex_matrix");
    place.write("a.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n");
    fails(&place, &["inspect", "a.mtx"], &["complex matrices are not supported"], &["real"]);
}

#[test]
fn wrong_line() {
    let place = place("wrong_line");
    place.write("a.mtx", &format!("{GENERAL}2 2 1\n3 1 1\n"));
    fails(&place, &["inspect", "a.mtx"], &["a.mtx, line 3: row 3 is outside 1..=2"], &["correct that line"]);
}

#[test]
fn cut_short() {
    let place = place("cut_short");
    place.write("a.mtx", &format!("{GENERAL}2 2 2\n1 1 1\n"));
    fails(&place, &["inspect", "a.mtx"], &["ends after 1 entry"], &["truncated"]);
}

#[test]
fn cut_short_and_compressed() {
    let place = place("cut_short_and_compressed");
    place.succeed(&["generate", "jump3d:12", "-o", "a.mtx.gz"]);
    let whole = std::fs::read(place.path("a.mtx.gz")).unwrap();
    std::fs::write(place.path("b.mtx.gz"), &whole[..whole.len() / 2]).unwrap();
    fails(&place, &["inspect", "b.mtx.gz"], &["b.mtx.gz"], &["damaged or truncated"]);
}

#[test]
fn not_square() {
    let place = place("not_square");
    place.write("a.mtx", &format!("{GENERAL}2 3 1\n1 3 1\n"));
    let shape = ["a.mtx must be square; it is 2 × 3"];
    for command in [&["solve", "a.mtx"][..], &["inspect", "a.mtx", "--shuffle", "2"], &["compare", "a.mtx"]] {
        fails(&place, command, &shape, &["square"]);
    }
}

#[test]
fn no_rows() {
    let place = place("no_rows");
    place.write("a.mtx", &format!("{GENERAL}0 0 0\n"));
    fails(&place, &["solve", "a.mtx"], &["a.mtx has no rows"], &["at least one"]);
}

/// A chain of so many rows, the middle one with this diagonal entry.
fn chain(rows: usize, middle: &str) -> String {
    let mut text =
        format!("%%MatrixMarket matrix coordinate real symmetric\n{rows} {rows} {}\n", 2 * rows - 1);
    for row in 1..=rows {
        text += &format!("{row} {row} {}\n", if row == rows / 2 { middle } else { "2" });
        if row > 1 {
            text += &format!("{row} {} -1\n", row - 1);
        }
    }
    text
}

#[test]
fn zero_on_the_diagonal() {
    let place = place("zero_on_the_diagonal");
    place.write("a.mtx", &chain(1000, "0"));
    for method in ["sa", "classical", "pairwise"] {
        fails(
            &place,
            &["solve", "a.mtx", "--method", method],
            &["row 499", "diagonal entry is 0"],
            &["ziggurat inspect"],
        );
    }
}

#[test]
fn matrix_with_nan() {
    let place = place("matrix_with_nan");
    place.write("a.mtx", &chain(10, "NaN"));
    fails(&place, &["solve", "a.mtx"], &["a.mtx, line 10", "`NaN` is not finite"], &["origin of this value"]);
}

#[test]
fn nodes_on_one_line() {
    let place = place("nodes_on_one_line");
    place.write("a.mtx", &chain(6, "2"));
    place.write("c.mtx", &format!("{ARRAY}2 3\n0\n1\n0\n0\n0\n0\n"));
    fails(
        &place,
        &["solve", "a.mtx", "--coords", "c.mtx"],
        &["no rigid-body modes"],
        &["on one line", "omit --coords"],
    );
}

#[test]
fn right_hand_side_of_another_matrix() {
    let place = place("right_hand_side_of_another_matrix");
    place.write("b.mtx", &format!("{ARRAY}3 1\n1\n2\n3\n"));
    fails(
        &place,
        &["solve", "ok.mtx", "--rhs", "b.mtx"],
        &["b.mtx has 3 values, but ok.mtx has 2 rows"],
        &["belongs to this matrix", "omit --rhs"],
    );
}

#[test]
fn right_hand_side_with_nan() {
    let place = place("right_hand_side_with_nan");
    place.write("b.mtx", &format!("{ARRAY}2 1\n1\nNaN\n"));
    fails(
        &place,
        &["solve", "ok.mtx", "--rhs", "b.mtx"],
        &["b.mtx, line 4", "`NaN` is not finite"],
        &["origin of this value"],
    );
}

#[test]
fn right_hand_side_with_two_columns() {
    let place = place("right_hand_side_with_two_columns");
    place.write("b.mtx", &format!("{ARRAY}2 2\n1\n1\n1\n1\n"));
    fails(
        &place,
        &["solve", "ok.mtx", "--rhs", "b.mtx"],
        &["b.mtx has 2 columns, but one vector is needed"],
        &["--rhs-column with a number from 1 to 2"],
    );
}

#[test]
fn guess_of_another_matrix() {
    let place = place("guess_of_another_matrix");
    place.write("x.mtx", &format!("{ARRAY}3 1\n1\n2\n3\n"));
    let hint = ["one value per row", "a Matrix Market array of size 2 1", "omit --guess"];
    fails(
        &place,
        &["solve", "ok.mtx", "--guess", "x.mtx"],
        &["x.mtx has 3 values, but ok.mtx has 2 rows"],
        &hint,
    );
    place.write("x.mtx", &format!("{ARRAY}2 2\n1\n2\n3\n4\n"));
    fails(
        &place,
        &["solve", "ok.mtx", "--guess", "x.mtx"],
        &["x.mtx has 2 columns, but one vector is needed"],
        &["--guess-column with a number from 1 to 2"],
    );
    let third = ["solve", "ok.mtx", "--guess", "x.mtx", "--guess-column", "3"];
    fails(&place, &third, &["x.mtx has 2 columns, so there is no column 3"], &["a number from 1 to 2"]);
}

#[test]
fn missing_right_hand_side() {
    let place = place("missing_right_hand_side");
    fails(&place, &["solve", "ok.mtx", "--rhs", "b.mtx"], &["cannot read b.mtx"], &["check the path"]);
}

#[test]
fn coordinates_of_another_mesh() {
    let place = place("coordinates_of_another_mesh");
    place.write("c.mtx", &format!("{ARRAY}3 1\n1\n2\n3\n"));
    fails(
        &place,
        &["solve", "ok.mtx", "--coords", "c.mtx"],
        &["c.mtx has coordinates of 3 nodes, but ok.mtx has 2 rows"],
        &["one row per node"],
    );
}

#[test]
fn coordinates_in_four_dimensions() {
    let place = place("coordinates_in_four_dimensions");
    place.write("c.mtx", &format!("{ARRAY}1 4\n1\n2\n3\n4\n"));
    fails(
        &place,
        &["solve", "ok.mtx", "--coords", "c.mtx"],
        &["has 4 columns; coordinates have 1, 2 or 3"],
        &["x, y and z"],
    );
}

#[test]
fn sparse_coordinates() {
    let place = place("sparse_coordinates");
    fails(
        &place,
        &["solve", "--problem", "poisson2d:2", "--coords", "ok.mtx"],
        &["ok.mtx, line 2"],
        &["as an array"],
    );
}

#[test]
fn help_goes_to_standard_output_and_is_no_error() {
    let place = place("help_goes_to_standard_output_and_is_no_error");
    for arguments in [&["--help"][..], &["solve", "--help"], &["help", "inspect"], &["--version"]] {
        assert!(place.succeed(arguments).contains("ziggurat"), "{arguments:?}");
    }
    assert!(place.succeed(&["generate", "--help"]).contains("elasticity3d:N"));
    let said = place.run(&[]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.contains("Usage:"));
}
