//! A description of the machine: processor, cores, caches, vector instructions, memory.
//!
//! Everything is read from `/proc` and `/sys`, so no tool has to be installed. On systems without
//! them, the fields are empty and the benchmark still runs. Bandwidth is measured, see
//! [`super::bandwidth`].

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use serde::Serialize;

/// The vector instruction sets that are reported, in Linux's spelling, oldest first.
const SIMD: [&str; 13] = [
    "sse2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512_bf16",
    "avx512_fp16",
    "amx_bf16",
    "asimd",
    "sve",
];

/// The properties of a machine that need no measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Machine {
    /// The processor's name.
    pub(crate) cpu: String,
    /// Physical cores that this system has access to.
    pub(crate) cores: usize,
    /// Threads that can run at the same time.
    pub(crate) threads: usize,
    /// The data caches of the first core.
    pub(crate) caches: Vec<Cache>,
    /// Vector instructions that kernels may use.
    pub(crate) simd: Vec<String>,
    /// Main memory in GiB.
    pub(crate) memory_gib: Option<f64>,
    /// When the system uses huge pages: `always`, `madvise` or `never`. Small pages cost bandwidth.
    pub(crate) huge_pages: Option<String>,
}

/// One level of cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cache {
    /// 1 is closest to the core.
    pub(crate) level: u32,
    /// In Linux's spelling: `32K`.
    pub(crate) size: String,
    /// The processors that share it, in Linux's spelling: `0-1`.
    pub(crate) shared_by: String,
}

/// Processor time since the system started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProcessorTime {
    /// Total time, including idle time.
    all: f64,
    /// Time that this virtual machine wanted and its host gave to others.
    stolen: f64,
}

impl ProcessorTime {
    /// Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
    /// Guest time is part of user time.
    fn from_stat(text: &str) -> Option<Self> {
        let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let ticks: Vec<f64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
        Some(ProcessorTime { all: ticks.iter().sum(), stolen: *ticks.get(7)? })
    }

    /// The fraction that was stolen until `later`.
    pub(crate) fn stolen_until(self, later: ProcessorTime) -> f64 {
        (later.stolen - self.stolen) / (later.all - self.all).max(1.0)
    }
}

/// The processor time until now; `None` where the system does not report it.
pub(crate) fn processor_time() -> Option<ProcessorTime> {
    ProcessorTime::from_stat(&fs::read_to_string("/proc/stat").ok()?)
}

impl Machine {
    /// The machine that this program runs on.
    pub(crate) fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let mut machine = Machine::from_cpuinfo(&read("/proc/cpuinfo"));
        machine.threads = std::thread::available_parallelism().map_or(1, usize::from);
        if machine.cores == 0 {
            machine.cores = machine.threads;
        }
        machine.caches = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        machine.memory_gib = memory_gib(&read("/proc/meminfo"));
        machine.huge_pages = chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled"));
        machine
    }

    /// Reads `/proc/cpuinfo`: the name, the cores (distinct pairs of package and core) and the
    /// features.
    fn from_cpuinfo(text: &str) -> Self {
        let mut machine = Machine { cpu: "unknown processor".to_owned(), ..Machine::default() };
        let (mut cores, mut package) = (BTreeSet::new(), "");
        let mut flags = BTreeSet::new();
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match key.trim() {
                "model name" => value.clone_into(&mut machine.cpu),
                "physical id" => package = value,
                "core id" => {
                    cores.insert((package, value));
                }
                "flags" | "Features" => flags.extend(value.split_whitespace()),
                _ => {}
            }
        }
        machine.cores = cores.len();
        machine.simd =
            SIMD.iter().filter(|name| flags.contains(*name)).map(|&name| name.to_owned()).collect();
        machine
    }
}

/// The data caches in a folder like `/sys/devices/system/cpu/cpu0/cache`.
fn caches(folder: &Path) -> Vec<Cache> {
    (0..)
        .map(|index| folder.join(format!("index{index}")))
        .take_while(|folder| folder.is_dir())
        .filter_map(|folder| {
            let read =
                |file: &str| fs::read_to_string(folder.join(file)).map(|text| text.trim().to_owned()).ok();
            if read("type")? == "Instruction" {
                return None;
            }
            Some(Cache {
                level: read("level")?.parse().ok()?,
                size: read("size")?,
                shared_by: read("shared_cpu_list")?,
            })
        })
        .collect()
}

/// `MemTotal` of `/proc/meminfo`.
fn memory_gib(text: &str) -> Option<f64> {
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: f64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((kib / f64::from(1 << 20) * 10.0).round() / 10.0)
}

/// The load average of the last minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| Some(word.strip_prefix('[')?.strip_suffix(']')?.to_owned()))
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} cores, {} threads", self.cpu, self.cores, self.threads)?;
        for cache in &self.caches {
            write!(f, ", L{} {}", cache.level, cache.size)?;
        }
        if let Some(gib) = self.memory_gib {
            write!(f, ", {gib} GiB")?;
        }
        if let Some(huge) = &self.huge_pages {
            write!(f, ", huge pages: {huge}")?;
        }
        write!(f, "\nSIMD: {}", self.simd.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_once_per_package_and_hyperthread() {
        let processor = |package: u32, core: u32| {
            format!(
                "model name\t: Some CPU @ 2.50GHz\nphysical id\t: {package}\ncore id\t\t: {core}\n\
                 flags\t\t: fpu sse2 avx2 avx512f\n\n"
            )
        };
        // Two packages of two cores, two hyperthreads each.
        let text: String = (0..8).map(|k| processor(k / 4, k % 2)).collect();
        let machine = Machine::from_cpuinfo(&text);
        assert_eq!((machine.cpu.as_str(), machine.cores), ("Some CPU @ 2.50GHz", 4));
        assert_eq!(machine.simd, ["sse2", "avx2", "avx512f"]);
    }

    #[test]
    fn an_unknown_system_has_a_description() {
        assert_eq!(Machine::from_cpuinfo("").cpu, "unknown processor");
        assert_eq!((memory_gib(""), chosen("")), (None, None));
        assert!(caches(Path::new("/no/such/folder")).is_empty());
        let here = Machine::here();
        assert!(here.cores > 0 && here.threads > 0);
    }

    #[test]
    fn stolen_time_is_measured() {
        let at = |text| ProcessorTime::from_stat(text).unwrap();
        let before = at("cpu  100 0 10 80 5 0 5 0 0 0\ncpu0 1 2");
        let after = at("cpu  150 0 10 110 5 0 5 20 7 0\n");
        assert_eq!(before.stolen_until(after), 0.2);
        assert_eq!(before.stolen_until(before), 0.0);
        assert_eq!(ProcessorTime::from_stat(""), None);
        assert_eq!(ProcessorTime::from_stat("cpu  1 2 3"), None);
    }

    #[test]
    fn memory_and_huge_pages_are_read() {
        assert_eq!(memory_gib("MemTotal:       16777216 kB\nMemFree: 5 kB\n"), Some(16.0));
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
    }
}
