//! From a unit to a kernel on a CUDA device.
//!
//! In: a [`Unit`] and a [`CudaSpecialization`]. Out: loaded machine code, from this process, the disk cache, or LLVM and
//! the driver's compiler. What is kept on disk is the machine code: the driver takes longer over PTX than LLVM over IR.

use crate::ahead;
use crate::cache::DiskCache;
use crate::counters::{Mishap, Phase, record, record_mishap, timed};
use crate::key::Key;
use crate::unit::Unit;
use codegen::nvptx::{self, Lines, Ptx, PtxOptions, Shape};
use runtime_cuda::{Device, Kernel, LinkInput, LinkOptions, Module, driver, link};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// What code for a GPU may rely on beyond the kernel's types. The launch checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CudaSpecialization {
    /// Every array argument is row-major without gaps.
    pub contiguous: bool,
    /// Every array argument starts at a multiple of 16 bytes, and with `contiguous` so does every row of one.
    pub aligned: bool,
    /// Dimensions of the launch.
    pub rank: u32,
    /// The launch has more blocks than a grid may have.
    pub strided: bool,
    /// The launch has too few threads for one to do the work of several.
    pub few_threads: bool,
    /// Array parameters, a bit each, that are small and share memory with no other array.
    pub summed: u64,
    /// Threads of a block at most; 0 leaves it to the compiler.
    pub max_threads: u32,
    /// What all threads add up is the same in every run: the kernel has `Summary::grid_sums`, and takes an array of such
    /// elements for each of them besides its arguments, and one of a u32.
    pub in_order: bool,
    pub tuning: CudaTuning,
}

/// What a kernel's author asks of its code; 0 leaves a number to the compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CudaTuning {
    /// Registers of a thread at most.
    pub max_registers: u32,
    /// Threads of a block at most, whatever a launch has.
    pub max_threads: u32,
    /// Blocks that a multiprocessor runs at a time at least.
    pub min_blocks: u32,
    /// Blocks of a cluster at most.
    pub max_cluster: u32,
    /// What the text says of its source.
    pub lines: Lines,
    /// LLVM leaves the code as it is.
    pub is_unoptimized: bool,
}

/// A kernel on a device, and what a launch must know of it.
#[derive(Debug)]
pub struct CudaCode {
    pub kernel: Kernel,
    pub shape: Shape,
    /// Whether a check can fail.
    pub has_checks: bool,
    /// Whether its blocks wait for each other.
    pub is_cooperative: bool,
    pub shared_bytes: u32,
    /// The machine code, of a kernel that is linked with other code.
    pub image: Option<Vec<u8>>,
    entry: String,
}

impl CudaCode {
    /// Bytes of shared memory that a launch over threads must ask for.
    pub fn asked_shared_bytes(&self) -> u32 {
        if u64::from(self.shared_bytes) > codegen::nvptx::MAX_SHARED { self.shared_bytes } else { 0 }
    }

    /// The same code as a library that another part of the process has loaded from its image, and keeps.
    ///
    /// # Safety
    /// The address is a living `CUlibrary`'s, and stays one.
    pub unsafe fn of_library(&self, library: u64) -> Result<CudaCode, runtime_cuda::Error> {
        // SAFETY: the caller's promise.
        let module = unsafe { Module::of_library(self.kernel.device(), library) }?;
        let CudaCode { shape, has_checks, is_cooperative, shared_bytes, .. } = *self;
        let (kernel, entry) = (Kernel::new(module, &self.entry)?, self.entry.clone());
        Ok(CudaCode { kernel, shape, has_checks, is_cooperative, shared_bytes, image: None, entry })
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum CudaError {
    /// The kernel cannot be compiled, now or later.
    #[error(transparent)]
    Code(#[from] codegen::Error),
    #[error(transparent)]
    Driver(#[from] runtime_cuda::Error),
}

/// Makes machine code of PTX in place of the driver; what went wrong.
pub type LinkBy<'a> = dyn Fn(&str, LinkOptions) -> Result<Vec<u8>, String> + Sync + 'a;

/// What a kernel is linked with.
#[derive(Clone, Copy, Default)]
pub struct Linked<'a> {
    pub inputs: &'a [LinkInput],
    /// Another linker than the driver's.
    pub by: Option<&'a LinkBy<'a>>,
}

type LoadedCode = HashMap<(u32, Key), Arc<CudaCode>>;

/// Loaded code by device and key. It stays for good: a kernel of it may be running.
static LOADED: Mutex<Option<LoadedCode>> = Mutex::new(None);

/// Compiles a unit for a device and links it with other code, or finds it compiled.
pub fn load_cuda(
    unit: &Unit,
    special: CudaSpecialization,
    device: &'static Device,
    disk: Option<&DiskCache>,
    linked: Linked<'_>,
) -> Result<Arc<CudaCode>, CudaError> {
    let start = Instant::now();
    let options = ptx_options(special, device.properties.sm, ptx_version(driver::version()?));
    let key = cuda_key(unit, &options, special.tuning.max_registers, linked.inputs)?;
    let place = (device.ordinal, key);
    if let Some(known) = loaded().as_ref().and_then(|codes| codes.get(&place).cloned()) {
        record(Phase::Reused, start.elapsed());
        return Ok(known);
    }
    let keeps_image = !linked.inputs.is_empty();
    let code = match read(&key, disk, device, keeps_image) {
        Some(code) => code,
        None => {
            let (facts, image) = generate(unit, &options, special.tuning.max_registers, device, linked)?;
            if let Some(disk) = disk {
                disk.write(&key, &facts.pack(&image));
            }
            timed(Phase::Loaded, || facts.load(device, &image, keeps_image))?
        }
    };
    Ok(loaded().get_or_insert_default().entry(place).or_insert(Arc::new(code)).clone())
}

fn generate(
    unit: &Unit,
    options: &PtxOptions,
    max_registers: u32,
    device: &'static Device,
    linked: Linked<'_>,
) -> Result<(Facts, Vec<u8>), CudaError> {
    let ahead = ahead::find(&ptx_key(unit, options));
    let (facts, text) = match ahead.as_deref().and_then(Facts::unpack) {
        Some((facts, text)) => (facts, String::from_utf8_lossy(text).into_owned()),
        None => {
            let ptx =
                timed(Phase::Generated, || nvptx::compile(unit.module(), unit.kernel, options, Some(&unit.sources)))?;
            (Facts::of(&ptx), ptx.text)
        }
    };
    let max_registers = if max_registers == 0 { registers_of(&facts.shape) } else { max_registers };
    let options = LinkOptions { max_registers, has_line_info: options.lines != Lines::None };
    let image = timed(Phase::Assembled, || match linked.by {
        Some(by) => by(&text, options).map_err(runtime_cuda::Error::Refused),
        None => link(device, &text, linked.inputs, options),
    })?;
    Ok((facts, image))
}

/// Most registers of a thread, 0 for any number: where a thread runs several of the launch they fill soon, and a block
/// alone would leave a multiprocessor waiting. Two of 256 threads fit.
fn registers_of(shape: &Shape) -> u32 {
    if shape.is_jammed && shape.max_threads <= 256 { 128 } else { 0 }
}

/// A unit's PTX for an architecture, as [`ahead`] keeps it.
pub(crate) fn ptx_entry(unit: &Unit, special: CudaSpecialization, sm: u32) -> Result<(Key, Vec<u8>), codegen::Error> {
    let options = ptx_options(special, sm, PtxOptions::default().ptx);
    let ptx = nvptx::compile(unit.module(), unit.kernel, &options, None)?;
    Ok((ptx_key(unit, &options), Facts::of(&ptx).pack(ptx.text.as_bytes())))
}

/// The name of PTX that any driver may be given which knows its version.
fn ptx_key(unit: &Unit, options: &PtxOptions) -> Key {
    let options = PtxOptions { ptx: 0, ..*options };
    Key::new(&[unit.key().as_bytes(), b"ptx", format!("{options:?}").as_bytes()])
}

/// A unit's entry in the disk cache, from there or made for it.
pub(crate) fn entry(
    unit: &Unit,
    special: CudaSpecialization,
    device: &'static Device,
    disk: Option<&DiskCache>,
) -> Result<(Key, Vec<u8>), CudaError> {
    let options = ptx_options(special, device.properties.sm, ptx_version(driver::version()?));
    let key = cuda_key(unit, &options, special.tuning.max_registers, &[])?;
    if let Some(known) = disk.and_then(|disk| disk.read(&key)) {
        return Ok((key, known));
    }
    let (facts, image) = generate(unit, &options, special.tuning.max_registers, device, Linked::default())?;
    let entry = facts.pack(&image);
    if let Some(disk) = disk {
        disk.write(&key, &entry);
    }
    Ok((key, entry))
}

/// A unit's PTX for a device that need not be there: the newest version that this compiler writes.
pub fn ptx(unit: &Unit, special: CudaSpecialization, sm: u32) -> Result<String, codegen::Error> {
    let options = ptx_options(special, sm, PtxOptions::default().ptx);
    nvptx::compile(unit.module(), unit.kernel, &options, None).map(|ptx| ptx.text)
}

/// Whether code for launches of many threads differs from code for few.
pub fn jams(unit: &Unit, special: CudaSpecialization, sm: u32, disk: Option<&DiskCache>) -> bool {
    let many = CudaSpecialization { few_threads: false, ..special };
    let options = ptx_options(many, sm, PtxOptions::default().ptx);
    let key = Key::new(&[unit.key().as_bytes(), b"jams", format!("{options:?}").as_bytes()]);
    if let Some([jams]) = disk.and_then(|disk| disk.read(&key)).as_deref() {
        return *jams != 0;
    }
    let jams = nvptx::jams(unit.module(), unit.kernel, &options);
    if let Some(disk) = disk {
        disk.write(&key, &[jams.into()]);
    }
    jams
}

fn ptx_options(special: CudaSpecialization, sm: u32, ptx: u32) -> PtxOptions {
    let default = PtxOptions::default();
    let CudaTuning { max_threads, min_blocks, max_cluster, lines, is_unoptimized, .. } = special.tuning;
    let max_threads = [max_threads, special.max_threads, default.max_threads].into_iter().find(|&n| n > 0).unwrap_or(0);
    // Blocks that add up in warps have whole ones.
    let max_threads = if special.in_order { max_threads.next_multiple_of(32) } else { max_threads };
    PtxOptions {
        sm: nvptx::architecture(sm, ptx).unwrap_or(default.sm),
        ptx,
        contiguous: special.contiguous,
        aligned: special.aligned,
        rank: special.rank,
        strided: special.strided,
        few_threads: special.few_threads,
        summed: special.summed,
        max_threads,
        max_registers: special.tuning.max_registers,
        min_blocks,
        max_cluster,
        lines,
        variant: None,
        is_unoptimized,
        is_function: false,
        in_order: special.in_order,
    }
}

/// The PTX version that comes with a CUDA version: 8.0 with 12.0, 9.0 with 13.0.
fn ptx_version((major, minor): (u32, u32)) -> u32 {
    match (major, minor) {
        (12, 0..=5) => 80 + minor,
        (12, _) => 79 + minor,
        _ => (major - 4) * 10 + minor,
    }
}

fn read(key: &Key, disk: Option<&DiskCache>, device: &'static Device, keeps_image: bool) -> Option<CudaCode> {
    let start = Instant::now();
    let entry = match ahead::find(key) {
        Some(entry) => entry.to_vec(),
        None => disk?.read(key)?,
    };
    record(Phase::Cached, start.elapsed());
    let load = |(facts, image): (Facts, &[u8])| timed(Phase::Loaded, || facts.load(device, image, keeps_image)).ok();
    let loaded = Facts::unpack(&entry).and_then(load);
    if loaded.is_none() {
        record_mishap(Mishap::Damaged);
    }
    loaded
}

/// What an entry on disk says besides the machine code, as text in its first line.
struct Facts {
    entry: String,
    shared_bytes: u32,
    has_checks: bool,
    is_cooperative: bool,
    shape: Shape,
}

impl Facts {
    fn of(ptx: &Ptx) -> Facts {
        let Ptx { entry, shared_bytes, has_checks, is_cooperative, shape, .. } = ptx;
        let (has_checks, is_cooperative) = (*has_checks, *is_cooperative);
        Facts { entry: entry.clone(), shared_bytes: *shared_bytes as u32, has_checks, is_cooperative, shape: *shape }
    }

    fn pack(&self, image: &[u8]) -> Vec<u8> {
        let Facts { entry, shared_bytes, has_checks, is_cooperative, shape } = self;
        // How many blocks run at a time is the device's matter.
        let Shape { rank, max_threads, strided, width, is_jammed, is_resident, max_blocks: _, is_tiled } = *shape;
        let flags = [*has_checks, *is_cooperative, strided, is_jammed, is_resident, is_tiled].map(u32::from);
        let mut line = entry.clone();
        for number in [*shared_bytes, rank, max_threads, width].into_iter().chain(flags) {
            line.push_str(&format!(" {number}"));
        }
        line.push('\n');
        let mut bytes = line.into_bytes();
        bytes.extend_from_slice(image);
        bytes
    }

    fn unpack(bytes: &[u8]) -> Option<(Facts, &[u8])> {
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let mut words = std::str::from_utf8(&bytes[..end]).ok()?.split(' ');
        let entry = words.next()?.to_owned();
        let numbers = words.map(|word| word.parse::<u32>().ok()).collect::<Option<Vec<_>>>()?;
        let (&[shared_bytes, rank, max_threads, width], flags) = numbers.split_first_chunk()?;
        let flags: [u32; 6] = flags.try_into().ok()?;
        let [has_checks, is_cooperative, strided, is_jammed, is_resident, is_tiled] = flags.map(|flag| flag != 0);
        let shape = Shape { rank, max_threads, strided, width, is_jammed, is_resident, max_blocks: 0, is_tiled };
        Some((Facts { entry, shared_bytes, has_checks, is_cooperative, shape }, &bytes[end + 1..]))
    }

    fn load(&self, device: &'static Device, image: &[u8], keeps_image: bool) -> Result<CudaCode, runtime_cuda::Error> {
        let (kernel, entry) = (Kernel::new(Module::load(device, image)?, &self.entry)?, self.entry.clone());
        let image = keeps_image.then(|| image.to_vec());
        let Facts { shared_bytes, has_checks, is_cooperative, mut shape, .. } = *self;
        if shape.is_resident {
            let n_blocks = kernel.blocks_per_multiprocessor(shape.max_threads, 0)?;
            shape.max_blocks = n_blocks * device.properties.n_multiprocessors;
        }
        Ok(CudaCode { kernel, shape, has_checks, is_cooperative, shared_bytes, image, entry })
    }
}

fn loaded() -> MutexGuard<'static, Option<LoadedCode>> {
    LOADED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The name of a unit's machine code: the unit's own, and all else that decides what LLVM and the driver make of it.
fn cuda_key(
    unit: &Unit,
    options: &PtxOptions,
    max_registers: u32,
    inputs: &[LinkInput],
) -> Result<Key, runtime_cuda::Error> {
    let (major, minor) = driver::version()?;
    let target = format!("{options:?} registers {max_registers} driver {major}.{minor}");
    // A unit's name does not say where it comes from.
    let lines = if options.lines == Lines::None { String::new() } else { lines_of(unit) };
    let llvm = codegen::llvm_version();
    let texts = ["cuda", &target, &lines, &llvm, crate::FINGERPRINT];
    let mut parts = vec![unit.key().as_bytes()];
    parts.extend(texts.map(str::as_bytes));
    parts.extend(inputs.iter().map(|input| &input.bytes[..]));
    Ok(Key::new(&parts))
}

/// The line of every instruction, and the files.
fn lines_of(unit: &Unit) -> String {
    let mut text = String::new();
    for inst in &unit.module().func(unit.kernel).insts {
        let file = unit.sources.get(inst.span.file);
        let (line, column) = file.map_or((0, 0), |file| file.position(inst.span.start));
        text.push_str(&format!("{} {line} {column}\n", file.map_or("", |file| file.name.as_str())));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_versions_follow_those_of_cuda() {
        let versions = [(12, 0), (12, 5), (12, 6), (12, 8), (12, 9), (13, 0), (13, 1)];
        assert_eq!(versions.map(ptx_version), [80, 85, 85, 87, 88, 90, 91]);
    }

    #[test]
    fn an_entry_on_disk_says_how_to_launch() {
        let (is_jammed, is_resident, max_blocks, is_tiled) = (false, true, 0, true);
        let (rank, max_threads, strided, width) = (2, 256, true, 4);
        let shape = Shape { rank, max_threads, strided, width, is_jammed, is_resident, max_blocks, is_tiled };
        let entry = "gs_kernel_f".to_owned();
        let facts = Facts { entry, shared_bytes: 1024, has_checks: true, is_cooperative: false, shape };
        let bytes = facts.pack(b"\x7fELF\n");
        let Some((found, image)) = Facts::unpack(&bytes) else { panic!("not read back") };
        assert_eq!((found.entry.as_str(), found.shared_bytes, found.has_checks), ("gs_kernel_f", 1024, true));
        assert_eq!((found.shape, found.is_cooperative, image), (shape, false, &b"\x7fELF\n"[..]));
        assert!(Facts::unpack(b"\x7fELF").is_none());
        assert!(Facts::unpack(b"gs_kernel_f 1 2\n\x7fELF").is_none());
    }
}
