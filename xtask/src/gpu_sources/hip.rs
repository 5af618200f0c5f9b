//! AMD's compiler: Debian's `hipcc`, for device code only.

use std::path::Path;
use std::process::Command;

use super::{SourcesError, Use};

/// Checks that it is installed.
pub(super) fn find() -> Result<(), SourcesError> {
    match Command::new("hipcc").arg("--version").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(SourcesError::Missing(format!(
            "hipcc cannot be started ({error}); `.ci/run` installs it (Debian: hipcc libamdhip64-dev)"
        ))),
    }
}

/// Compiles a source. The remarks of the compiler list the resources of the kernel.
pub(super) fn compile(source: &Path, target: &str) -> Result<Use, String> {
    let mut command = Command::new("hipcc");
    command.args(["--cuda-device-only", "-c", "-O3", "-Rpass-analysis=kernel-resource-usage", "-x", "hip"]);
    command.arg(format!("--offload-arch={target}")).arg(source).arg("-o").arg(source.with_extension("o"));
    let output = command.output().map_err(|error| error.to_string())?;
    let remarks = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(remarks
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or("the compiler printed no error")
            .to_owned());
    }
    used(&remarks).ok_or_else(|| "the compiler did not print the resources of the kernel".to_owned())
}

/// Reads the remarks. Spills are counted in registers of four bytes.
fn used(remarks: &str) -> Option<Use> {
    let number = |name: &str| -> Option<u32> {
        let rest = remarks.lines().find_map(|line| line.split_once(&format!(" {name}: ")))?.1;
        rest.split_whitespace().next()?.parse().ok()
    };
    let spilled = 4 * (number("VGPRs Spill")? + number("SGPRs Spill")?);
    Some(Use { registers: number("VGPRs")?, spilled: spilled + number("ScratchSize [bytes/lane]")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_read() {
        let remarks = "k.hip:19:1: remark:     SGPRs: 23 [-Rpass]\nk.hip:19:1: remark:     VGPRs: 14 [-Rpass]\n\
            k.hip:19:1: remark:     ScratchSize [bytes/lane]: 0 [-Rpass]\n\
            k.hip:19:1: remark:     SGPRs Spill: 2 [-Rpass]\nk.hip:19:1: remark:     VGPRs Spill: 1 [-Rpass]";
        assert_eq!(used(remarks), Some(Use { registers: 14, spilled: 12 }));
        assert_eq!(used("nothing"), None);
    }
}
