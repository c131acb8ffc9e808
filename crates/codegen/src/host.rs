//! The machine that code is made for, and what is known of its speed that LLVM does not ask.

use crate::llvm::Abilities;
use inkwell::targets::TargetMachine;
use std::sync::OnceLock;

/// Which instructions the code may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isa {
    /// All that this machine has.
    #[default]
    Host,
    /// What every x86-64 machine has.
    Baseline,
}

/// What a gather costs beside scalar loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathers {
    /// More than as many scalar loads.
    Slow,
    /// About as much, so that loops which threads leave apart gain by what else they do in all lanes at once.
    Fair,
}

struct Host {
    triple: String,
    cpu: String,
    features: String,
    /// Intel's, with vectors of 64 bytes.
    is_wide_intel: bool,
    gathers: Gathers,
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let features = TargetMachine::get_host_cpu_features().to_string();
        let is_wide_intel = has(&features, "+avx512f") && is_intel();
        Host {
            triple: TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned(),
            cpu: TargetMachine::get_host_cpu_name().to_string(),
            is_wide_intel,
            // 16 lanes take 16 to 18 cycles. Elsewhere they take twice that, and where the kernel or the processor's
            // microcode keeps gathers from leaking data, ten times.
            gathers: if is_wide_intel && gathers_are_safe() { Gathers::Fair } else { Gathers::Slow },
            features,
        }
    })
}

fn has(features: &str, name: &str) -> bool {
    features.split(',').any(|feature| feature == name)
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let id = std::arch::x86_64::__cpuid(0);
    [id.ebx, id.edx, id.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

/// Whether no mitigation slows gathers down, as far as the system tells.
fn gathers_are_safe() -> bool {
    let path = "/sys/devices/system/cpu/vulnerabilities/gather_data_sampling";
    std::fs::read_to_string(path).is_ok_and(|text| text.starts_with("Not affected"))
}

/// The machine that code is made for: triple, processor and features as LLVM names them, and what else decides about the
/// code.
pub fn host_target() -> [&'static str; 4] {
    let host = host();
    let speed = match (host.is_wide_intel, host.gathers) {
        (true, Gathers::Fair) => "roots, gathers",
        (true, Gathers::Slow) => "roots",
        (false, _) => "",
    };
    [&host.triple, &host.cpu, &host.features, speed]
}

/// LLVM's name of the processor, and its features.
pub(crate) fn cpu(isa: Isa) -> (&'static str, &'static str) {
    match isa {
        Isa::Host => (&host().cpu, &host().features),
        Isa::Baseline => ("x86-64", ""),
    }
}

pub(crate) fn abilities(isa: Isa) -> Abilities {
    let has = |name| has(cpu(isa).1, name);
    let is_wide_intel = isa == Isa::Host && host().is_wide_intel;
    Abilities {
        half: has("+f16c"),
        permutes: has("+avx512f"),
        estimates_roots: is_wide_intel,
        prefetches: is_wide_intel,
    }
}

pub(crate) fn gathers(isa: Isa) -> Gathers {
    if isa == Isa::Host { host().gathers } else { Gathers::Slow }
}
