//! NVIDIA's compilers, from its Python wheels: NVRTC, which CubeCL calls at run time, and ptxas.

#![allow(unsafe_code)] // NVRTC is a C library

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::{Library, Symbol};

use super::{SourcesError, Use};

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

/// Both compilers.
pub(super) struct Compiler {
    nvrtc: Library,
    folder: PathBuf,
}

impl Compiler {
    /// Loads the compilers from `ZIGGURAT_NVIDIA`, or from the folder into which `.ci/run` unpacks
    /// the wheels.
    pub(super) fn find() -> Result<Self, SourcesError> {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let folder = std::env::var_os("ZIGGURAT_NVIDIA")
            .map_or_else(|| home.join(".cache/ziggurat/nvidia"), PathBuf::from)
            .join("nvidia");
        let library = folder.join("cuda_nvrtc/lib/libnvrtc.so.12");
        // SAFETY: NVIDIA's library has no initialiser with preconditions.
        let nvrtc = unsafe { Library::new(&library) }.map_err(|error| {
            SourcesError::Missing(format!(
                "NVRTC cannot be loaded ({error}); `.ci/run` unpacks NVIDIA's wheels, or set ZIGGURAT_NVIDIA"
            ))
        })?;
        Ok(Compiler { nvrtc, folder })
    }

    /// Compiles a source for a GPU generation. Returns the resources of the kernel, from ptxas.
    pub(super) fn compile(&self, source: &Path, generation: &str) -> Result<Use, String> {
        let text = std::fs::read_to_string(source).map_err(|error| error.to_string())?;
        let options = [
            format!("--gpu-architecture=compute_{generation}"),
            format!("-I{}", self.folder.join("cuda_runtime/include").display()),
            format!("-I{}", self.folder.join("cuda_nvcc/include").display()), // crt/mma.h
            "-std=c++17".to_owned(),
        ];
        let assembly = self.assembly(&text, &options).map_err(|error| error.to_string())??;
        let path = source.with_extension(format!("{generation}.ptx"));
        std::fs::write(&path, assembly).map_err(|error| error.to_string())?;
        let mut ptxas = Command::new(self.folder.join("cuda_nvcc/bin/ptxas"));
        ptxas
            .arg("-v")
            .arg(format!("-arch=sm_{generation}"))
            .arg(&path)
            .arg("-o")
            .arg(path.with_extension("cubin"));
        let output = ptxas.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(said.lines().next().unwrap_or("ptxas failed").to_owned());
        }
        used(&said).ok_or_else(|| "ptxas did not print the resources of the kernel".to_owned())
    }

    /// Compiles a source with NVRTC: the assembly, or its error message.
    fn assembly(&self, text: &str, options: &[String]) -> Result<Result<String, String>, libloading::Error> {
        let Ok(text) = CString::new(text) else { return Ok(Err("a source with a NUL in it".to_owned())) };
        let options: Vec<CString> =
            options.iter().filter_map(|option| CString::new(option.as_str()).ok()).collect();
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = std::ptr::null_mut();
        // SAFETY: the types match nvrtc.h. Strings end in NUL and outlive the calls. The
        // program is created before it is used, and destroyed once. Texts are written into buffers
        // of the sizes that the library returned, which include the NUL.
        unsafe {
            let create: Symbol<'_, Create> = self.nvrtc.get(b"nvrtcCreateProgram")?;
            let compile: Symbol<'_, Compile> = self.nvrtc.get(b"nvrtcCompileProgram")?;
            let destroy: Symbol<'_, Destroy> = self.nvrtc.get(b"nvrtcDestroyProgram")?;
            let name = c"kernel.cu".as_ptr();
            if create(&raw mut program, text.as_ptr(), name, 0, std::ptr::null(), std::ptr::null()) != 0 {
                return Ok(Err("NVRTC refused the source".to_owned()));
            }
            let failed = compile(program, options.len() as c_int, options.as_ptr()) != 0;
            let (size, read): (&[u8], &[u8]) = if failed {
                (b"nvrtcGetProgramLogSize", b"nvrtcGetProgramLog")
            } else {
                (b"nvrtcGetPTXSize", b"nvrtcGetPTX")
            };
            let (size, read): (Symbol<'_, Size>, Symbol<'_, Text>) =
                (self.nvrtc.get(size)?, self.nvrtc.get(read)?);
            let mut bytes = 0;
            let mut buffer = Vec::new();
            if size(program, &raw mut bytes) == 0 {
                buffer.resize(bytes, 0u8);
                read(program, buffer.as_mut_ptr().cast());
            }
            destroy(&raw mut program);
            let text = String::from_utf8_lossy(&buffer).trim_end_matches('\0').to_owned();
            Ok(if failed { Err(text) } else { Ok(text) })
        }
    }
}

/// Reads the output of ptxas: `… bytes spill stores, … bytes spill loads` and `Used … registers`.
fn used(said: &str) -> Option<Use> {
    let before = |what: &str| -> Option<u32> {
        let rest = said.lines().find_map(|line| line.split_once(what))?.0;
        rest.split_whitespace().last()?.parse().ok()
    };
    Some(Use { registers: before(" registers")?, spilled: before(" bytes spill stores")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ptxas_says_is_read() {
        let said = "ptxas info    : Compiling entry function 'k' for 'sm_70'\n\
            \x20   0 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 40 registers, used 1 barriers, 432 bytes cmem[0]";
        assert_eq!(used(said), Some(Use { registers: 40, spilled: 12 }));
        assert_eq!(used(""), None);
    }
}
