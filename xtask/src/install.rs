//! `cargo xtask install --prefix DIR`: the command and the C library, where C programs look for
//! them.
//!
//! ```text
//! bin/ziggurat
//! include/ziggurat.h, ziggurat.hpp
//! share/ziggurat/ziggurat.f90
//! lib/libziggurat.so -> libziggurat.so.0 -> libziggurat.so.0.1.0
//! lib/libziggurat.a
//! lib/pkgconfig/ziggurat.pc
//! lib/cmake/Ziggurat/ZigguratConfig.cmake, ZigguratConfigVersion.cmake
//! ```
//!
//! and, with `--mpi`, which needs an MPI library and libclang,
//!
//! ```text
//! include/ziggurat_mpi.h
//! share/ziggurat/ziggurat_mpi.f90, pcziggurat.c
//! lib/libziggurat_mpi.so -> libziggurat_mpi.so.0 -> libziggurat_mpi.so.0.1.0
//! lib/pkgconfig/ziggurat_mpi.pc
//! lib/cmake/Ziggurat/Ziggurat-MPI.cmake
//! ```
//!
//! The number in the names of the shared libraries is the version of their binary interface
//! (`SONAME`, set in the `build.rs` of `ziggurat-capi` and `ziggurat-mpi`). All files find each
//! other relative to their own place, so that the prefix can be moved. The texts for pkg-config and
//! CMake are in the folder `install`.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use tasks::programs;
use thiserror::Error;

/// Where to install.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder that gets bin, include and lib.
    #[arg(long)]
    prefix: PathBuf,
    /// Install the library for MPI ranks, too.
    #[arg(long)]
    mpi: bool,
}

/// Why nothing, or not everything, was installed.
#[derive(Debug, Error)]
pub(crate) enum InstallError {
    /// The build failed.
    #[error("the build failed:\n{0}")]
    Build(String),
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The number of the binary interface, the same for both libraries.
const INTERFACE: &str = "0";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A text for pkg-config or CMake, with the numbers of this version.
fn filled(template: &str) -> String {
    template.replace("@VERSION@", VERSION).replace("@INTERFACE@", INTERFACE)
}

/// Builds and installs.
pub(crate) fn run(options: &Options, root: &Path) -> Result<(), InstallError> {
    let packages = ["--package", "ziggurat-capi", "--package", "ziggurat-cli"];
    let built = programs::build(&["--release"], &packages).map_err(InstallError::Build)?;
    let prefix = std::path::absolute(&options.prefix).map_err(at(&options.prefix))?;
    place(&built, root, &prefix)?;
    if options.mpi {
        let built = programs::build(&["--release"], &["--package", "ziggurat-mpi"]);
        place_mpi(&built.map_err(InstallError::Build)?, root, &prefix)?;
    }
    let lib = prefix.join("lib");
    println!(
        "installed in {}; if it is not a folder of the system, programs need\n  export \
         PKG_CONFIG_PATH={lib}/pkgconfig LD_LIBRARY_PATH={lib}\nor -DCMAKE_PREFIX_PATH={} for CMake",
        prefix.display(),
        prefix.display(),
        lib = lib.display()
    );
    Ok(())
}

/// Copies what was built into `built`, and writes the files for pkg-config and CMake.
pub(crate) fn place(built: &Path, root: &Path, prefix: &Path) -> Result<(), InstallError> {
    copy(&built.join("ziggurat"), &prefix.join("bin/ziggurat"))?;
    let capi = root.join("crates/ziggurat-capi");
    for (from, to) in [
        ("include/ziggurat.h", "include/ziggurat.h"),
        ("include/ziggurat.hpp", "include/ziggurat.hpp"),
        ("fortran/ziggurat.f90", "share/ziggurat/ziggurat.f90"),
    ] {
        copy(&capi.join(from), &prefix.join(to))?;
    }
    let lib = prefix.join("lib");
    place_library(&built.join("libziggurat_capi.so"), &lib, "libziggurat.so")?;
    copy(&built.join("libziggurat_capi.a"), &lib.join("libziggurat.a"))?;
    for (to, template) in [
        ("pkgconfig/ziggurat.pc", include_str!("install/ziggurat.pc.in")),
        ("cmake/Ziggurat/ZigguratConfig.cmake", include_str!("install/ZigguratConfig.cmake.in")),
        (
            "cmake/Ziggurat/ZigguratConfigVersion.cmake",
            include_str!("install/ZigguratConfigVersion.cmake.in"),
        ),
    ] {
        write(&lib.join(to), &filled(template))?;
    }
    Ok(())
}

/// The same for the library for MPI ranks, and the plug-in for PETSc as source.
fn place_mpi(built: &Path, root: &Path, prefix: &Path) -> Result<(), InstallError> {
    let crates = root.join("crates");
    for (from, to) in [
        ("ziggurat-mpi/include/ziggurat_mpi.h", "include/ziggurat_mpi.h"),
        ("ziggurat-mpi/fortran/ziggurat_mpi.f90", "share/ziggurat/ziggurat_mpi.f90"),
        ("ziggurat-capi/petsc/pcziggurat.c", "share/ziggurat/pcziggurat.c"),
    ] {
        copy(&crates.join(from), &prefix.join(to))?;
    }
    let lib = prefix.join("lib");
    place_library(&built.join("libziggurat_mpi.so"), &lib, "libziggurat_mpi.so")?;
    for (to, template) in [
        ("pkgconfig/ziggurat_mpi.pc", include_str!("install/ziggurat_mpi.pc.in")),
        ("cmake/Ziggurat/Ziggurat-MPI.cmake", include_str!("install/Ziggurat-MPI.cmake.in")),
    ] {
        write(&lib.join(to), &filled(template))?;
    }
    Ok(())
}

/// Copies a shared library under the name of its version. Links to it have the names that programs
/// and linkers look for.
fn place_library(built: &Path, lib: &Path, name: &str) -> Result<(), InstallError> {
    let (versioned, named) = (format!("{name}.{VERSION}"), format!("{name}.{INTERFACE}"));
    copy(built, &lib.join(&versioned))?;
    link(&versioned, &lib.join(&named))?;
    link(&named, &lib.join(name))
}

fn at(path: &Path) -> impl Fn(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::File { path: path.clone(), source }
}

fn folder_of(path: &Path) -> Result<(), InstallError> {
    path.parent().map_or(Ok(()), |folder| std::fs::create_dir_all(folder).map_err(at(folder)))
}

/// Copies a file. An older one is removed first: programs that run it keep theirs.
fn copy(from: &Path, to: &Path) -> Result<(), InstallError> {
    folder_of(to)?;
    remove(to)?;
    std::fs::copy(from, to).map(drop).map_err(at(from))
}

fn write(path: &Path, text: &str) -> Result<(), InstallError> {
    folder_of(path)?;
    std::fs::write(path, text).map_err(at(path))
}

fn link(to: &str, path: &Path) -> Result<(), InstallError> {
    remove(path)?;
    std::os::unix::fs::symlink(to, path).map_err(at(path))
}

fn remove(path: &Path) -> Result<(), InstallError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A folder with a prefix that was moved after everything had been installed there, twice.
    struct Moved(PathBuf);

    impl Moved {
        /// `build` writes a library to a path, by its name.
        fn new(name: &str, build: impl Fn(&Path, &str)) -> Moved {
            let folder = std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
            let (built, prefix) = (folder.join("built"), folder.join("prefix"));
            for name in ["ziggurat", "libziggurat_capi.a"] {
                write(&built.join(name), name).unwrap();
            }
            for name in ["ziggurat_capi", "ziggurat_mpi"] {
                build(&built.join(format!("lib{name}.so")), name);
            }
            for _ in 0..2 {
                place(&built, tasks::workspace_root(), &prefix).unwrap(); // also over an older one
                place_mpi(&built, tasks::workspace_root(), &prefix).unwrap();
            }
            std::fs::rename(&prefix, folder.join("moved")).unwrap();
            Moved(folder)
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.join("moved").join(path)
        }

        /// The options of pkg-config for a package.
        fn pkg_config(&self, package: &str) -> Vec<String> {
            let mut pkg_config = Command::new("pkg-config");
            pkg_config.args(["--cflags", "--libs", package]);
            output(pkg_config.env("PKG_CONFIG_PATH", self.path("lib/pkgconfig")))
                .split_whitespace()
                .map(str::to_owned)
                .collect()
        }
    }

    impl Drop for Moved {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The output of a command, which must succeed.
    fn output(command: &mut Command) -> String {
        let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let said = String::from_utf8_lossy(&[&done.stdout[..], &done.stderr[..]].concat()).into_owned();
        assert!(done.status.success(), "{command:?}: {said}");
        said
    }

    #[test]
    fn pkg_config_finds_a_prefix_that_was_moved() {
        let moved = Moved::new("install", |path, name| write(path, name).unwrap());
        for (package, built) in [("ziggurat", "ziggurat_capi"), ("ziggurat_mpi", "ziggurat_mpi")] {
            for suffix in ["so", "so.0", concat!("so.", env!("CARGO_PKG_VERSION"))] {
                let library = moved.path(&format!("lib/lib{package}.{suffix}"));
                assert_eq!(std::fs::read_to_string(library).unwrap(), built);
            }
            let words = moved.pkg_config(package);
            let folder = |option: &str| {
                let found = words.iter().find_map(|word| word.strip_prefix(option));
                Path::new(found.unwrap_or_else(|| panic!("{words:?}"))).to_owned()
            };
            assert!(folder("-I").join(format!("{package}.h")).exists(), "{words:?}");
            assert!(folder("-L").join(format!("lib{package}.so")).exists(), "{words:?}");
            assert!(words.contains(&format!("-l{package}")), "{words:?}");
            assert!(moved.path(&format!("share/ziggurat/{package}.f90")).exists());
        }
        let error = place(&moved.0.join("nothing"), tasks::workspace_root(), &moved.0).unwrap_err();
        assert!(error.to_string().contains("nothing/ziggurat"), "{error}");
    }

    /// With libraries of one function each, and a component that does not exist.
    #[test]
    #[cfg(target_os = "linux")]
    fn programs_are_linked_by_pkg_config_and_by_cmake() {
        let missing = |program: &str| Command::new(program).arg("--version").output().is_err();
        if missing("mpicc") || missing("cmake") {
            return; // CI has both
        }
        let moved = Moved::new("link", |path, name| {
            let (function, soname) = match name {
                "ziggurat_mpi" => ("ziggurat_mpi_solver_rows", "libziggurat_mpi.so.0"),
                _ => ("ziggurat_rows", "libziggurat.so.0"),
            };
            let source = path.with_extension("c");
            let text = format!("long long {function}(void *solver) {{ return solver ? 0 : 42; }}\n");
            write(&source, &text).unwrap();
            let mut compiler = Command::new("cc");
            compiler.args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}")]).arg(source);
            output(compiler.arg("-o").arg(path));
        });
        let project = moved.0.join("project");
        let source = "
            #include <ziggurat_mpi.h>
            int main(void) {
              int initialized = 1;
              MPI_Initialized(&initialized);
              return initialized || ziggurat_rows(NULL) != 42 || ziggurat_mpi_solver_rows(NULL) != 42;
            }
        ";
        let lists = "
            cmake_minimum_required(VERSION 3.16)
            project(program C)
            find_package(Ziggurat 0.1 CONFIG REQUIRED COMPONENTS MPI OPTIONAL_COMPONENTS Config)
            if(Ziggurat_Config_FOUND)
              message(FATAL_ERROR found)
            endif()
            add_executable(program program.c)
            target_link_libraries(program Ziggurat::ziggurat Ziggurat::mpi)
        ";
        write(&project.join("program.c"), source).unwrap();
        write(&project.join("CMakeLists.txt"), lists).unwrap();

        let mut compiler = Command::new("mpicc");
        compiler.arg(project.join("program.c"));
        compiler.args(moved.pkg_config("ziggurat")).args(moved.pkg_config("ziggurat_mpi"));
        output(compiler.arg("-o").arg(project.join("program")));
        output(Command::new(project.join("program")).env("LD_LIBRARY_PATH", moved.path("lib")));

        let build = project.join("build");
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(&project).arg("-B").arg(&build);
        output(cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", moved.path("").display())));
        output(Command::new("cmake").arg("--build").arg(&build));
        output(&mut Command::new(build.join("program"))); // CMake has set its path
    }

    #[test]
    fn libraries_are_installed_under_the_number_they_are_built_with() {
        for (part, name) in [("capi", "libziggurat"), ("mpi", "libziggurat_mpi")] {
            let path = tasks::workspace_root().join(format!("crates/ziggurat-{part}/build.rs"));
            let script = std::fs::read_to_string(path).unwrap();
            assert!(script.contains(&format!("-soname,{name}.so.{INTERFACE}\"")), "{part}");
        }
    }
}
