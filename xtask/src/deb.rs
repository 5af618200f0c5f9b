//! `cargo xtask deb --out DIR`: a Debian package with the command and the C library.
//!
//! It has the files of `cargo xtask install --prefix /usr`, and also manual pages, completions,
//! licences and the changelog. The package needs a C library at least as new as on the machine
//! that builds it, so build it on the oldest system that it is meant for. It needs no root:
//! `dpkg-deb` makes root the owner of all files.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use tasks::programs;
use thiserror::Error;

use crate::install::{self, InstallError};

/// The command line of `cargo xtask deb`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder that gets the package.
    #[arg(long)]
    out: PathBuf,
    /// Pack the command and the libraries in this folder [default: a release build].
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
}

/// Why there is no package.
#[derive(Debug, Error)]
pub(crate) enum DebError {
    #[error("the build failed:\n{0}")]
    Build(String),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("{line} failed:\n{output}")]
    Failed { line: String, output: String },
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds and packs.
pub(crate) fn run(options: &Options, root: &Path) -> Result<(), DebError> {
    let packages = ["--package", "ziggurat-capi", "--package", "ziggurat-cli"];
    let built = match &options.built {
        Some(folder) => folder.clone(),
        None => programs::build(&["--release"], &packages).map_err(DebError::Build)?,
    };
    fs::create_dir_all(&options.out).map_err(at(&options.out))?;
    let package = pack(&built, root, &options.out)?;
    println!("{}\n  install it with: apt install {}", package.display(), package.display());
    Ok(())
}

/// Makes a package of what was built into `built`.
fn pack(built: &Path, root: &Path, out: &Path) -> Result<PathBuf, DebError> {
    let architecture = output("dpkg", &["--print-architecture"])?;
    let staged = out.join(format!("ziggurat_{VERSION}_{architecture}"));
    match fs::remove_dir_all(&staged) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(at(&staged)(source)),
        _ => {}
    }
    let usr = staged.join("usr");
    install::place(built, root, &usr)?;
    documents(&usr, root)?;
    strip(&usr)?;
    let libc = output("dpkg-query", &["--show", "--showformat=${Version}", "libc6"])?;
    let libc = libc.split('-').next().unwrap_or_default();
    let size = kilobytes(&usr)?;
    write(&staged.join("DEBIAN/control"), &control(&architecture, libc, size))?;
    // Programs find the library only after the loader's cache is made again.
    write(&staged.join("DEBIAN/triggers"), "activate-noawait ldconfig\n")?;
    write(&staged.join("DEBIAN/md5sums"), &sums(&staged)?)?;
    let package = out.join(format!("ziggurat_{VERSION}_{architecture}.deb"));
    let [from, to] = [&staged, &package].map(|path| path.display().to_string());
    output("dpkg-deb", &["--build", "--root-owner-group", &from, &to])?;
    fs::remove_dir_all(&staged).map_err(at(&staged))?;
    Ok(package)
}

/// Manual pages, completions, licences and the changelog.
fn documents(usr: &Path, root: &Path) -> Result<(), DebError> {
    let ziggurat = usr.join("bin/ziggurat").display().to_string();
    let pages = usr.join("share/man/man1");
    fs::create_dir_all(&pages).map_err(at(&pages))?;
    output(&ziggurat, &["man", &pages.display().to_string()])?;
    for (shell, place) in [
        ("bash", "share/bash-completion/completions/ziggurat"),
        ("zsh", "share/zsh/vendor-completions/_ziggurat"),
        ("fish", "share/fish/vendor_completions.d/ziggurat.fish"),
    ] {
        write(&usr.join(place), &(output(&ziggurat, &["completions", shell])? + "\n"))?;
    }
    let doc = usr.join("share/doc/ziggurat");
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        let from = root.join(name);
        write(&doc.join(name), &fs::read_to_string(&from).map_err(at(&from))?)?;
    }
    write(
        &doc.join("copyright"),
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: ziggurat\n\n\
         Files: *\nCopyright: The Ziggurat developers\nLicense: MIT or Apache-2.0\n The texts are LICENSE-MIT \
         and LICENSE-APACHE in this folder.\n",
    )
}

/// Removes what debuggers need from programs and libraries, as Debian's own packages do.
fn strip(usr: &Path) -> Result<(), DebError> {
    for file in files(usr)?.iter().filter(|file| !file.is_symlink()) {
        let start = fs::read(file).map_err(at(file))?;
        let level = match &start[..] {
            [0x7f, b'E', b'L', b'F', ..] => "--strip-unneeded",
            [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "--strip-debug",
            _ => continue,
        };
        output("strip", &[level, &file.display().to_string()])?;
    }
    Ok(())
}

fn control(architecture: &str, libc: &str, kilobytes: u64) -> String {
    format!(
        "Package: ziggurat\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: math\nPriority: optional\n\
         Maintainer: The Ziggurat developers <ziggurat@localhost>\nInstalled-Size: {kilobytes}\n\
         Depends: libc6 (>= {libc}), libgcc-s1\n\
         Description: algebraic multigrid for large sparse linear systems\n \
         Solves sparse linear systems from differential equations and graphs. Levels\n \
         may be stored in 16 bits; the solution has double precision.\n .\n \
         Contains the command ziggurat, the library for C, C++ and Fortran, and files\n \
         for pkg-config and CMake.\n"
    )
}

/// The size of all files in a folder, rounded up.
fn kilobytes(folder: &Path) -> Result<u64, DebError> {
    let mut bytes = 0;
    for file in files(folder)? {
        bytes += fs::symlink_metadata(&file).map_err(at(&file))?.len();
    }
    Ok(bytes.div_ceil(1024))
}

/// The lines of `md5sums`.
fn sums(staged: &Path) -> Result<String, DebError> {
    let mut lines = String::new();
    for file in files(&staged.join("usr"))?.iter().filter(|file| !file.is_symlink()) {
        let sum = output("md5sum", &[&file.display().to_string()])?;
        let sum = sum.split_whitespace().next().unwrap_or_default();
        let name = file.strip_prefix(staged).unwrap_or(file).display();
        let _ = writeln!(lines, "{sum}  {name}"); // writing to a string does not fail
    }
    Ok(lines)
}

/// Every file and link in a folder and those below, in the order of their paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>, DebError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() && !path.is_symlink() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

fn write(path: &Path, text: &str) -> Result<(), DebError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(at(folder))?;
    fs::write(path, text).map_err(at(path))
}

/// The output of a command, without the line break at its end.
fn output(program: &str, arguments: &[&str]) -> Result<String, DebError> {
    let done = Command::new(program).args(arguments).output();
    let done = done.map_err(|source| DebError::Start { program: program.to_owned(), source })?;
    if !done.status.success() {
        let output = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(DebError::Failed { line: format!("{program} {}", arguments.join(" ")), output });
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DebError {
    let path = path.to_owned();
    move |source| DebError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a script for the command, and empty libraries.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_package_has_the_files_of_an_installation() {
        use std::os::unix::fs::PermissionsExt;
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            return; // not Debian
        }
        let folder = std::env::temp_dir().join(format!("ziggurat-deb-{}", std::process::id()));
        let built = folder.join("built");
        let script = "#!/bin/sh\nif [ $1 = man ]; then echo page > $2/ziggurat.1; else echo $2; fi\n";
        for (name, text) in [("ziggurat", script), ("libziggurat_capi.so", ""), ("libziggurat_capi.a", "")] {
            write(&built.join(name), text).unwrap();
        }
        fs::set_permissions(built.join("ziggurat"), fs::Permissions::from_mode(0o755)).unwrap();
        let package = pack(&built, tasks::workspace_root(), &folder).unwrap().display().to_string();
        let listed = output("dpkg-deb", &["--contents", &package]).unwrap();
        for name in [
            "./usr/bin/ziggurat",
            "./usr/include/ziggurat.h",
            "./usr/lib/libziggurat.so -> libziggurat.so.0",
            "./usr/lib/pkgconfig/ziggurat.pc",
            "./usr/share/man/man1/ziggurat.1",
            "./usr/share/doc/ziggurat/copyright",
        ] {
            assert!(listed.contains(name), "{name} is not in\n{listed}");
        }
        assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
        assert_eq!(output("dpkg-deb", &["--field", &package, "Version"]).unwrap(), VERSION);
        fs::remove_dir_all(folder).unwrap();
    }
}
