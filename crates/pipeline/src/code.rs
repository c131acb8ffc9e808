//! From a unit to code that can run.
//!
//! In: a [`Unit`] and a [`Specialization`]. Out: a loaded module, from this process, the disk cache or LLVM, whichever
//! has it first.

use crate::ahead;
use crate::cache::DiskCache;
use crate::counters::{Mishap, Phase, record, record_mishap, timed};
use crate::key::Key;
use crate::unit::Unit;
use codegen::{CpuOptions, Gang, Isa, LoadedModule};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// What compiled code may rely on beyond the kernel's types. The launch checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Specialization {
    /// Every array argument is row-major without gaps.
    pub contiguous: bool,
    /// No array that the kernel writes to shares memory with another argument. For units that gain by it.
    pub distinct: bool,
    /// Dimensions of the launch.
    pub rank: u32,
}

impl Specialization {
    pub fn options(self) -> CpuOptions {
        let Specialization { contiguous, distinct, rank } = self;
        CpuOptions { contiguous, distinct, rank, isa: Isa::Host, gang: Gang::from_env() }
    }
}

/// Loaded code by key. Code that no kernel holds any more stays until there is too much of it.
static LOADED: Mutex<Option<HashMap<Key, Arc<LoadedModule>>>> = Mutex::new(None);
const MAX_LOADED: usize = 1024;

/// Compiles a unit, or finds it compiled.
pub fn load(
    unit: &Unit,
    special: Specialization,
    disk: Option<&DiskCache>,
) -> Result<Arc<LoadedModule>, codegen::Error> {
    let start = Instant::now();
    let key = code_key(unit, special);
    if let Some(known) = loaded().as_ref().and_then(|modules| modules.get(&key).cloned()) {
        record(Phase::Reused, start.elapsed());
        return Ok(known);
    }
    let symbol = &unit.symbol;
    let module = match read(&key, disk, symbol) {
        Some(module) => module,
        None => {
            let object = generate(unit, special, &key, disk)?;
            timed(Phase::Loaded, || codegen::load(&object, symbol))?
        }
    };
    Ok(keep(key, Arc::new(module)))
}

/// A unit's object file, from the disk cache or made for it.
pub(crate) fn object(
    unit: &Unit,
    special: Specialization,
    disk: Option<&DiskCache>,
) -> Result<Vec<u8>, codegen::Error> {
    let key = code_key(unit, special);
    match disk.and_then(|disk| disk.read(&key)) {
        Some(object) => Ok(object),
        None => generate(unit, special, &key, disk),
    }
}

fn generate(
    unit: &Unit,
    special: Specialization,
    key: &Key,
    disk: Option<&DiskCache>,
) -> Result<Vec<u8>, codegen::Error> {
    let code = unit.code_for(special)?;
    let object = timed(Phase::Generated, || codegen::compile(code, unit.kernel, &special.options()))?;
    if let Some(disk) = disk {
        disk.write(key, &object);
    }
    Ok(object)
}

/// Loads the object of a file compiled ahead of time, or the disk's; one that does not link is as good as damaged.
fn read(key: &Key, disk: Option<&DiskCache>, symbol: &str) -> Option<LoadedModule> {
    let start = Instant::now();
    let object = match ahead::find(key) {
        Some(object) => object.to_vec(),
        None => disk?.read(key)?,
    };
    record(Phase::Cached, start.elapsed());
    let module = timed(Phase::Loaded, || codegen::load(&object, symbol));
    module.inspect_err(|_| record_mishap(Mishap::Damaged)).ok()
}

/// Where two threads compiled the same code, both get the first one's.
fn keep(key: Key, module: Arc<LoadedModule>) -> Arc<LoadedModule> {
    let mut loaded = loaded();
    let modules = loaded.get_or_insert_default();
    if modules.len() >= MAX_LOADED {
        modules.retain(|_, module| Arc::strong_count(module) > 1);
    }
    modules.entry(key).or_insert(module).clone()
}

fn loaded() -> MutexGuard<'static, Option<HashMap<Key, Arc<LoadedModule>>>> {
    LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The name of a unit's code: the unit's own, and all else that decides what LLVM makes of it.
pub fn code_key(unit: &Unit, special: Specialization) -> Key {
    let [triple, cpu, features, speed] = codegen::host_target();
    let gang = match special.options().gang {
        Gang::Auto => 0,
        Gang::Off => 1,
        Gang::Width(width) => width as u8,
        Gang::Masked(width) => 128 + width as u8,
    };
    let flags = [u8::from(special.contiguous), u8::from(special.distinct), special.rank as u8, gang];
    Key::new(&[
        unit.key().as_bytes(),
        &flags,
        triple.as_bytes(),
        cpu.as_bytes(),
        features.as_bytes(),
        speed.as_bytes(),
        codegen::llvm_version().as_bytes(),
        // The unit may be of another version's file.
        crate::FINGERPRINT.as_bytes(),
    ])
}

/// LLVM's name of this machine's processor.
pub fn cpu_name() -> &'static str {
    codegen::host_target()[1]
}
