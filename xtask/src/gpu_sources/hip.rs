//! AMD's compiler: Debian's `hipcc`, for the device alone.

use std::path::Path;
use std::process::Command;

use super::{SourcesError, Use};

/// Whether it is there.
pub(super) fn find() -> Result<(), SourcesError> {
    match Command::new("hipcc").arg("--version").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(SourcesError::Missing(format!(
            "hipcc cannot be started ({error}); `.ci/run` installs it (Debian: hipcc libamdhip64-dev)"
        ))),
    }
}

/// Compiles a source; the remarks of the compiler tell what the kernel uses.
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
            .unwrap_or("no error was given")
            .to_owned());
    }
    used(&remarks).ok_or_else(|| "the compiler did not say what the kernel uses".to_owned())
}

/// What the remarks say. Spills are of registers, four bytes each.
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
