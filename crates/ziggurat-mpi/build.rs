//! Gives the shared library its name: programs that are linked with it look for
//! `libziggurat_mpi.so` and the number of its binary interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libziggurat_mpi.so.0");
    }
}
