//! Kernels compiled ahead of time, in one file.
//!
//! In: optimized kernels and machine code for them. Out: bytes that another process on such a machine makes the same of.
//! A file holds the IR, so that nothing of the source is asked again, and the machine code by its [`Key`], as the disk
//! cache holds it: code that the file lacks, or that is for another processor, is made from the IR.
//!
//! A BLAKE3 checksum of all that follows comes first, after [`MAGIC`].

use crate::bytes::{Reader, bytes, number};
use crate::cache::DiskCache;
use crate::code::{Specialization, code_key, object};
use crate::cuda::{self, CudaError, CudaSpecialization, CudaTuning};
use crate::key::Key;
use crate::unit::Unit;
use diagnostics::{FileId, SourceFile, SourceMap, Span};
use runtime_cuda::Device;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

const MAGIC: &[u8; 8] = b"GSAOT\0\0\x02";

/// A kernel for one signature and one set of options.
#[derive(Debug)]
pub struct Compiled {
    /// What the caller knows it by.
    pub label: String,
    pub unit: Arc<Unit>,
    /// Dimensions of the launches that it is for.
    pub rank: u32,
    pub codes: Vec<(Key, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it holds no kernels that were compiled ahead of time")]
    Foreign,
    #[error("it is damaged")]
    Damaged,
    #[error("version {0} wrote it, this is {version}: compile it again", version = env!("CARGO_PKG_VERSION"))]
    Version(String),
}

impl Compiled {
    /// Compiles a unit for the CPU: for arrays without gaps, and for any; for distinct ones besides where that is other
    /// code.
    pub fn for_cpu(
        label: String,
        unit: Arc<Unit>,
        rank: u32,
        disk: Option<&DiskCache>,
    ) -> Result<Compiled, codegen::Error> {
        let mut codes = Vec::new();
        let distinct: &[bool] = if unit.summary().gains_by_distinct { &[true, false] } else { &[false] };
        let layouts = [true, false].into_iter().flat_map(|contiguous| distinct.iter().map(move |&d| (contiguous, d)));
        for (contiguous, distinct) in layouts {
            let special = Specialization { contiguous, distinct, rank };
            codes.push((code_key(&unit, special), object(&unit, special, disk)?));
        }
        Ok(Compiled { label, unit, rank, codes })
    }
}

impl Compiled {
    /// Compiles a unit for a CUDA device, and for those of its architecture.
    pub fn for_cuda(
        label: String,
        unit: Arc<Unit>,
        rank: u32,
        device: &'static Device,
        disk: Option<&DiskCache>,
    ) -> Result<Compiled, CudaError> {
        let usual = usual(&unit, rank, device.properties.sm).into_iter();
        let codes = usual.map(|special| cuda::entry(&unit, special, device, disk));
        Ok(Compiled { codes: codes.collect::<Result<_, _>>()?, label, unit, rank })
    }

    /// Compiles a unit to PTX for a CUDA architecture, `sm_90` by 90; no device is needed.
    pub fn for_architecture(label: String, unit: Arc<Unit>, rank: u32, sm: u32) -> Result<Compiled, codegen::Error> {
        let codes = usual(&unit, rank, sm).into_iter().map(|special| cuda::ptx_entry(&unit, special, sm));
        Ok(Compiled { codes: codes.collect::<Result<_, _>>()?, label, unit, rank })
    }
}

/// What launches on a GPU rely on, but for very large ones.
fn usual(unit: &Unit, rank: u32, sm: u32) -> Vec<CudaSpecialization> {
    let layouts = [(true, true), (true, false), (false, false)];
    let found = layouts.map(|(contiguous, aligned)| CudaSpecialization {
        contiguous,
        aligned,
        rank,
        strided: false,
        few_threads: false,
        summed: 0,
        in_order: !unit.summary().grid_sums.is_empty(),
        max_threads: 0,
        tuning: CudaTuning::default(),
    });
    let few = found.map(|special| CudaSpecialization { few_threads: true, ..special });
    let few = few.into_iter().filter(|&special| cuda::jams(unit, special, sm, None));
    found.into_iter().chain(few).collect()
}

/// Machine code that was read from such files.
static AHEAD: Mutex<Option<HashMap<Key, Arc<[u8]>>>> = Mutex::new(None);

/// Makes the machine code of files known to this process.
pub fn install(codes: Vec<(Key, Vec<u8>)>) {
    ahead().get_or_insert_default().extend(codes.into_iter().map(|(key, code)| (key, code.into())));
}

/// Machine code from a file, under the name that the disk cache has for it.
pub(crate) fn find(key: &Key) -> Option<Arc<[u8]>> {
    ahead().as_ref()?.get(key).cloned()
}

fn ahead() -> MutexGuard<'static, Option<HashMap<Key, Arc<[u8]>>>> {
    AHEAD.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The bytes of a file.
pub fn pack(kernels: &[Compiled]) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(&mut out, env!("CARGO_PKG_VERSION").as_bytes());
    number(&mut out, kernels.len());
    for Compiled { label, unit, rank, codes } in kernels {
        bytes(&mut out, label.as_bytes());
        number(&mut out, *rank as usize);
        bytes(&mut out, unit.key().as_bytes());
        bytes(&mut out, unit.module().to_string().as_bytes());
        unit.indexed.iter().for_each(|&is_indexed| number(&mut out, is_indexed.into()));
        sources(&mut out, unit);
        number(&mut out, codes.len());
        for (key, code) in codes {
            bytes(&mut out, key.as_bytes());
            bytes(&mut out, code);
        }
    }
    [&MAGIC[..], blake3::hash(&out).as_bytes(), &out].concat()
}

/// The files that a unit's sites lie in, and where in them.
fn sources(out: &mut Vec<u8>, unit: &Unit) {
    let mut files: Vec<FileId> = unit.module().sites.iter().map(|site| site.span.file).collect();
    files.sort_unstable();
    files.dedup();
    let known: Vec<_> = files.iter().filter_map(|&id| unit.sources.get(id).map(|file| (id, file))).collect();
    number(out, known.len());
    for (_, file) in &known {
        bytes(out, file.name.as_bytes());
        bytes(out, file.text.as_bytes());
    }
    for site in &unit.module().sites {
        // One past the last file: text that no user wrote.
        number(out, known.iter().position(|&(id, _)| id == site.span.file).unwrap_or(known.len()));
        number(out, site.span.start as usize);
        number(out, site.span.end as usize);
    }
}

/// The kernels of a file.
pub fn unpack(file: &[u8]) -> Result<Vec<Compiled>, Unreadable> {
    let rest = file.strip_prefix(MAGIC).ok_or(Unreadable::Foreign)?;
    let (sum, rest) = rest.split_at_checked(blake3::OUT_LEN).ok_or(Unreadable::Damaged)?;
    if blake3::hash(rest).as_bytes().as_slice() != sum {
        return Err(Unreadable::Damaged);
    }
    let mut reader = Reader(rest);
    let version = reader.text().ok_or(Unreadable::Damaged)?;
    if version != env!("CARGO_PKG_VERSION") {
        return Err(Unreadable::Version(version));
    }
    let kernels = reader.number().and_then(|n| (0..n).map(|_| reader.kernel()).collect());
    kernels.ok_or(Unreadable::Damaged)
}

impl Reader<'_> {
    fn kernel(&mut self) -> Option<Compiled> {
        let label = self.text()?;
        let rank = self.number()? as u32;
        let key = Key::from_bytes(self.bytes()?)?;
        let mut module = ir::parse::parse_module(&self.text()?).ok()?;
        // A file is not trusted to hold what the verifier has seen.
        ir::verify::verify(&module).ok()?;
        let mut indexed = [false; runtime::abi::MAX_RANK];
        for is_indexed in &mut indexed {
            *is_indexed = self.flag()?;
        }
        let sources = self.sources(&mut module)?;
        let unit = Unit::of_optimized(module, rank, sources, indexed, key)?;
        let n_codes = self.number()?;
        let code = |_| Some((Key::from_bytes(self.bytes()?)?, self.bytes()?.to_vec()));
        let unit = Arc::new(unit);
        Some(Compiled { label, unit, rank, codes: (0..n_codes).map(code).collect::<Option<_>>()? })
    }

    fn sources(&mut self, module: &mut ir::Module) -> Option<SourceMap> {
        let mut sources = SourceMap::default();
        let mut files = Vec::new();
        for _ in 0..self.number()? {
            let file = SourceFile::new(self.text()?, self.text()?);
            files.push(sources.add(Arc::new(file)));
        }
        for site in &mut module.sites {
            let (file, start, end) = (self.number()?, self.number()? as u32, self.number()? as u32);
            site.span = files.get(file).map_or(Span::NONE, |&file| Span::new(file, start, end));
        }
        Some(sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Compiled {
        let text = "kernel @k(v0: array<f32, 1>) {\n  v1: i64 = tid 0\n  check_bounds v0[v1] {site 0}\n  v2: f32 = load v0[v1]\n  \
                    store v0[v1], v2\n  return\n}\n\nsite 0: array-index \"a\"\n";
        let Ok(mut module) = ir::parse::parse_module(text) else { panic!("not parsed") };
        let mut sources = SourceMap::default();
        let file = sources.add(Arc::new(SourceFile::new("k.py", "a[i] = a[i]\n")));
        module.sites[0].span = Span::new(file, 7, 11);
        let Some(unit) = Unit::of_optimized(module, 1, sources, [true, false, false, false], Key::new(&[])) else {
            panic!("no kernel")
        };
        Compiled {
            label: "k f32".into(),
            unit: Arc::new(unit),
            rank: 1,
            codes: vec![(Key::new(&[b"k"]), b"code".to_vec())],
        }
    }

    #[test]
    fn what_is_packed_comes_back() {
        let packed = pack(&[kernel()]);
        let found = unpack(&packed).unwrap_or_else(|error| panic!("{error}"));
        let [found] = found.as_slice() else { panic!("{} kernels", found.len()) };
        let wanted = kernel();
        assert_eq!(found.unit.module().to_string(), wanted.unit.module().to_string());
        assert_eq!((found.unit.indexed, found.unit.key()), (wanted.unit.indexed, wanted.unit.key()));
        assert_eq!(found.unit.summary(), wanted.unit.summary());
        assert_eq!((&found.label, found.rank, &found.codes), (&wanted.label, 1, &wanted.codes));
        let site = &found.unit.module().sites[0];
        let file = found.unit.sources.get(site.span.file).map(|file| file.position(site.span.start));
        assert_eq!(file, Some((1, 8)));
    }

    #[test]
    fn damage_is_found() {
        let packed = pack(&[kernel()]);
        for at in [MAGIC.len(), MAGIC.len() + 40, packed.len() - 1] {
            let mut damaged = packed.clone();
            damaged[at] ^= 1;
            assert_eq!(unpack(&damaged).err(), Some(Unreadable::Damaged), "byte {at}");
        }
        assert_eq!(unpack(&packed[..packed.len() - 1]).err(), Some(Unreadable::Damaged));
        assert_eq!(unpack(b"\x7fELF").err(), Some(Unreadable::Foreign));
    }
}
