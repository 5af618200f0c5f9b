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
//! lib/libziggurat_mpi.so
//! lib/pkgconfig/ziggurat_mpi.pc
//! share/ziggurat/pcziggurat.c
//! ```
//!
//! The number in the name of the shared library is that of its binary interface (`SONAME`, set in
//! `crates/ziggurat-capi/build.rs`). All files find each other relative to their own place, so that
//! the prefix can be moved.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use thiserror::Error;

use crate::programs;

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

/// The number of the binary interface.
const INTERFACE: u32 = 0;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// For programs on MPI ranks that use pkg-config. Their compiler knows MPI.
fn pkg_config_mpi() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: \
         ziggurat_mpi\nDescription: Algebraic multigrid on MPI ranks\nVersion: {VERSION}\nCflags: \
         -I${{includedir}}\nLibs: -L${{libdir}} -lziggurat_mpi\n"
    )
}

/// For programs that use pkg-config.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: \
         ziggurat\nDescription: Algebraic multigrid for large sparse linear systems\nVersion: \
         {VERSION}\nCflags: -I${{includedir}}\nLibs: -L${{libdir}} -lziggurat\nLibs.private: -lm -lpthread \
         -ldl\n"
    )
}

/// For programs that use CMake: the target `Ziggurat::ziggurat`.
fn cmake_package() -> String {
    format!(
        "get_filename_component(_ziggurat_prefix \"${{CMAKE_CURRENT_LIST_DIR}}/../../..\" ABSOLUTE)\n\
         if(NOT TARGET Ziggurat::ziggurat)\n  add_library(Ziggurat::ziggurat SHARED IMPORTED)\n  \
         set_target_properties(Ziggurat::ziggurat PROPERTIES\n    IMPORTED_LOCATION \
         \"${{_ziggurat_prefix}}/lib/libziggurat.so.{VERSION}\"\n    IMPORTED_SONAME \
         \"libziggurat.so.{INTERFACE}\"\n    INTERFACE_INCLUDE_DIRECTORIES \
         \"${{_ziggurat_prefix}}/include\")\nendif()\nunset(_ziggurat_prefix)\n"
    )
}

/// Versions with the same first number that is not zero are compatible.
fn cmake_version() -> String {
    format!(
        "set(PACKAGE_VERSION \"{VERSION}\")\n\
         if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION\n   OR NOT PACKAGE_FIND_VERSION_MAJOR \
         EQUAL 0)\n  set(PACKAGE_VERSION_COMPATIBLE FALSE)\nelse()\n  set(PACKAGE_VERSION_COMPATIBLE \
         TRUE)\n  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n    set(PACKAGE_VERSION_EXACT \
         TRUE)\n  endif()\nendif()\n"
    )
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
    let versioned = format!("libziggurat.so.{VERSION}");
    let named = format!("libziggurat.so.{INTERFACE}");
    copy(&built.join("libziggurat_capi.so"), &lib.join(&versioned))?;
    copy(&built.join("libziggurat_capi.a"), &lib.join("libziggurat.a"))?;
    link(&versioned, &lib.join(&named))?;
    link(&named, &lib.join("libziggurat.so"))?;
    write(&lib.join("pkgconfig/ziggurat.pc"), &pkg_config())?;
    write(&lib.join("cmake/Ziggurat/ZigguratConfig.cmake"), &cmake_package())?;
    write(&lib.join("cmake/Ziggurat/ZigguratConfigVersion.cmake"), &cmake_version())
}

/// The same for the library for MPI ranks, and the plug-in for PETSc as source.
fn place_mpi(built: &Path, root: &Path, prefix: &Path) -> Result<(), InstallError> {
    let crates = root.join("crates");
    copy(&crates.join("ziggurat-mpi/include/ziggurat_mpi.h"), &prefix.join("include/ziggurat_mpi.h"))?;
    copy(&crates.join("ziggurat-capi/petsc/pcziggurat.c"), &prefix.join("share/ziggurat/pcziggurat.c"))?;
    let lib = prefix.join("lib");
    copy(&built.join("libziggurat_mpi.so"), &lib.join("libziggurat_mpi.so"))?;
    write(&lib.join("pkgconfig/ziggurat_mpi.pc"), &pkg_config_mpi())
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

    #[test]
    fn pkg_config_finds_a_prefix_that_was_moved() {
        let folder = std::env::temp_dir().join(format!("ziggurat-install-{}", std::process::id()));
        let (built, prefix, moved) = (folder.join("built"), folder.join("prefix"), folder.join("moved"));
        for name in ["ziggurat", "libziggurat_capi.so", "libziggurat_capi.a", "libziggurat_mpi.so"] {
            write(&built.join(name), name).unwrap();
        }
        for _ in 0..2 {
            place(&built, crate::workspace_root(), &prefix).unwrap(); // also over an older one
            place_mpi(&built, crate::workspace_root(), &prefix).unwrap();
        }
        std::fs::rename(&prefix, &moved).unwrap();
        let lib = moved.join("lib");
        assert_eq!(std::fs::read_to_string(lib.join("libziggurat.so")).unwrap(), "libziggurat_capi.so");
        let mut pkg_config = Command::new("pkg-config");
        pkg_config.args(["--cflags", "--libs", "ziggurat"]).env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
        let said = String::from_utf8(pkg_config.output().unwrap().stdout).unwrap();
        let include = said.split_whitespace().find_map(|word| word.strip_prefix("-I")).unwrap();
        assert!(Path::new(include).join("ziggurat.h").exists(), "{said}");
        let found = said.split_whitespace().find_map(|word| word.strip_prefix("-L")).unwrap();
        assert!(Path::new(found).join("libziggurat.so").exists() && said.contains("-lziggurat"), "{said}");
        let mut pkg_config = Command::new("pkg-config");
        pkg_config.args(["--cflags", "--libs", "ziggurat_mpi"]).env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
        let said = String::from_utf8(pkg_config.output().unwrap().stdout).unwrap();
        let include = said.split_whitespace().find_map(|word| word.strip_prefix("-I")).unwrap();
        assert!(
            Path::new(include).join("ziggurat_mpi.h").exists() && said.contains("-lziggurat_mpi"),
            "{said}"
        );
        let error = place(&folder.join("nothing"), crate::workspace_root(), &prefix).unwrap_err();
        assert!(error.to_string().contains("nothing/ziggurat"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
