//! A kernel with everything that is known of it: IR, and what launches ask.
//!
//! In: IR as the front end or autodiff made it. Out: a [`Unit`], which needs no host any more. It is optimized when its
//! code has to be made, or when something asks for what only optimized IR tells; where the disk has the code, nothing
//! does.

use crate::cache::DiskCache;
use crate::code::Specialization;
use crate::counters::{Phase, timed};
use crate::kept::Kept;
use crate::key::Key;
use crate::summary::Summary;
use crate::writes::indexed_dimensions;
use autodiff::Fact;
use diagnostics::SourceMap;
use ir::{FuncRef, Function, FunctionKind, Module, Site, Type};
use runtime::Sums;
use runtime::abi::MAX_RANK;
use std::sync::OnceLock;
use transform::{Refused, Sharing};

/// What is compiled at once: a kernel and all that it calls.
#[derive(Debug)]
pub struct Unit {
    pub kernel: FuncRef,
    /// What the spans of the module's sites point into.
    pub sources: SourceMap,
    /// Of an adjoint kernel: what it does with each argument of the kernel that it differentiates.
    pub facts: Vec<Fact>,
    /// Of an adjoint kernel: it reads memory that is no argument's.
    pub reads_elsewhere: bool,
    /// Of an adjoint kernel: its primer must run before.
    pub has_primer: bool,
    /// Of an adjoint kernel: what it keeps in memory that all threads share.
    pub tapes: Vec<Type>,
    /// Per dimension of a launch: whether the kernel asks for a thread's index along it.
    pub indexed: [bool; MAX_RANK],
    pub(crate) kind: FunctionKind,
    /// The name of its entry point in an object file.
    pub(crate) symbol: String,
    source: Source,
    key: Key,
    /// Where [`Unit::summary`] may be found.
    disk: OnceLock<DiskCache>,
    summary: OnceLock<Summary>,
    optimized: OnceLock<Module>,
    /// For a kernel over thread blocks, what the CPU runs; made on first use.
    program: OnceLock<Result<Module, Refused>>,
    /// The module for launches whose arrays are distinct, where that is another; made on first use.
    distinct: OnceLock<Module>,
}

/// IR before the optimizer, and all that decides what becomes of it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) ir: SourceIr,
    pub(crate) launch_rank: u32,
    /// What shares memory in all launches.
    pub(crate) sharing: Sharing,
    /// Which arrays launches leave out, as for `transform::settle_nulls`.
    pub(crate) nulls: Option<u64>,
}

/// IR as it was made, or as it lies on disk, to be read when it is asked for.
#[derive(Debug)]
pub(crate) struct SourceIr {
    module: OnceLock<Module>,
    kept: Option<Kept>,
}

impl SourceIr {
    pub(crate) fn made(module: Module) -> SourceIr {
        SourceIr { module: OnceLock::from(module), kept: None }
    }

    pub(crate) fn kept(kept: Kept) -> SourceIr {
        SourceIr { module: OnceLock::new(), kept: Some(kept) }
    }

    pub(crate) fn module(&self) -> &Module {
        self.module.get_or_init(|| self.kept.as_ref().map(Kept::module).unwrap_or_default())
    }
}

impl Unit {
    pub(crate) fn new(source: Source, sources: SourceMap) -> Unit {
        let module = source.ir.module();
        let Some(kernel) = module.kernel() else { panic!("no kernel is in\n{module}") };
        // As written: what the optimizer concludes from an index takes for granted that launches keep to its range.
        let indexed = indexed_dimensions(module.func(kernel));
        let (kind, symbol) = (module.func(kernel).kind, codegen::symbol(module, kernel));
        let key = source.key();
        Unit::with(source, kernel, kind, symbol, sources, indexed, key)
    }

    /// A unit whose module is optimized already, under the key that it had before; nothing where no kernel is in it.
    pub(crate) fn of_optimized(
        module: Module,
        launch_rank: u32,
        sources: SourceMap,
        indexed: [bool; MAX_RANK],
        key: Key,
    ) -> Option<Unit> {
        let kernel = module.kernel()?;
        let optimized = OnceLock::from(module.clone());
        let (kind, symbol) = (module.func(kernel).kind, codegen::symbol(&module, kernel));
        let source = Source { ir: SourceIr::made(module), launch_rank, sharing: Sharing::Arrays, nulls: None };
        Some(Unit { optimized, ..Unit::with(source, kernel, kind, symbol, sources, indexed, key) })
    }

    /// The same kernel for launches where elements of an array that it writes to may share memory.
    pub fn with_shared_elements(self) -> Unit {
        let Unit { sources, indexed, source, kernel, kind, symbol, .. } = self;
        let source = Source { sharing: Sharing::Elements, ..source };
        let key = source.key();
        Unit::with(source, kernel, kind, symbol, sources, indexed, key)
    }

    pub(crate) fn with(
        source: Source,
        kernel: FuncRef,
        kind: FunctionKind,
        symbol: String,
        sources: SourceMap,
        indexed: [bool; MAX_RANK],
        key: Key,
    ) -> Unit {
        Unit {
            kernel,
            kind,
            symbol,
            sources,
            facts: Vec::new(),
            has_primer: false,
            reads_elsewhere: false,
            tapes: Vec::new(),
            indexed,
            source,
            key,
            disk: OnceLock::new(),
            summary: OnceLock::new(),
            optimized: OnceLock::new(),
            program: OnceLock::new(),
            distinct: OnceLock::new(),
        }
    }

    /// The name of all that is made of this unit.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The kernel's name, kind and parameters, and its body before the optimizer.
    pub fn func(&self) -> &Function {
        self.source.ir.module().func(self.kernel)
    }

    pub fn is_over_blocks(&self) -> bool {
        self.kind == FunctionKind::BlockKernel
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Optimized and verified IR with everything that the kernel calls inlined.
    pub fn module(&self) -> &Module {
        self.optimized.get_or_init(|| {
            let module = timed(Phase::Optimized, || self.source.optimize());
            assert!(module.kernel() == Some(self.kernel), "the kernel moved in optimization:\n{module}");
            module
        })
    }

    /// The module that code for the CPU is made from.
    pub fn code_for(&self, special: Specialization) -> Result<&Module, codegen::Error> {
        if !special.distinct || self.holds_tiles() {
            return self.code();
        }
        let make = || {
            let mut module = self.module().clone();
            timed(Phase::Optimized, || {
                let kernel = module.funcs.get_mut(self.kernel.index());
                if kernel.is_some_and(|kernel| {
                    transform::demote_atomics(kernel, self.source.launch_rank, Sharing::Nothing).0
                }) {
                    transform::optimize(&mut module);
                }
            });
            // A launch gives both the same accumulators.
            let has_same_sums = Sums::of(module.func(self.kernel)) == self.summary().sums;
            if has_same_sums { module } else { self.module().clone() }
        };
        Ok(self.distinct.get_or_init(make))
    }

    /// As [`Unit::code_for`] of any launch: a kernel over thread blocks runs as a program there.
    pub fn code(&self) -> Result<&Module, codegen::Error> {
        if !self.is_over_blocks() && !self.holds_tiles() {
            return Ok(self.module());
        }
        let make = || {
            let mut module = self.module().clone();
            timed(Phase::Optimized, || {
                if let (false, Some(kernel)) = (self.is_over_blocks(), module.funcs.get_mut(self.kernel.index())) {
                    let _ = transform::tiles_in_blocks(kernel, module.block_dim, self.source.launch_rank);
                }
                let _ = transform::fission_barriers(&mut module)?;
                transform::optimize(&mut module);
                Ok(module)
            })
        };
        let program = self.program.get_or_init(make);
        program.as_ref().map_err(|refused| codegen::Error::Unsupported(refused.to_string()))
    }

    /// Whether the kernel is over threads which hold tiles together, several a block.
    fn holds_tiles(&self) -> bool {
        let module = self.module();
        module.block_dim > 1 && analysis::shares_tiles(module.func(self.kernel))
    }

    /// What the optimized kernel does, from the disk where it is there.
    pub fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| {
            let (disk, key) = (self.disk.get(), Key::new(&[self.key.as_bytes(), b"summary"]));
            let entry = disk.and_then(|disk| disk.read(&key));
            if let Some(known) = entry.and_then(|entry| Summary::unpack(&entry)) {
                return known;
            }
            let made = Summary::of(self.module().func(self.kernel), self.source.launch_rank);
            if let Some(disk) = disk {
                disk.write(&key, &made.pack());
            }
            made
        })
    }

    /// Says where on disk the summary is found, and kept.
    pub fn look_in(&self, disk: Option<&DiskCache>) {
        if let Some(disk) = disk {
            self.disk.get_or_init(|| disk.clone());
        }
    }

    /// A place that a failed check names.
    pub fn site(&self, site: u32) -> Option<&Site> {
        // A program has the kernel's own sites first, then more.
        self.code().unwrap_or_else(|_| self.module()).sites.get(site as usize)
    }
}

impl Source {
    fn key(&self) -> Key {
        let Source { ir, launch_rank, sharing, nulls } = self;
        let how = format!("{launch_rank} {sharing:?} {nulls:?}");
        let texts = [&ir.module().to_string(), &how, env!("CARGO_PKG_VERSION"), crate::FINGERPRINT];
        Key::new(&texts.map(str::as_bytes))
    }

    fn optimize(&self) -> Module {
        let mut module = self.ir.module().clone();
        transform::optimize(&mut module);
        // Only now do accesses name the kernel's own parameters.
        let is_kernel = |func: &&mut Function| func.kind == FunctionKind::Kernel;
        let mut kernels = module.funcs.iter_mut().filter(is_kernel);
        if kernels.any(|kernel| transform::demote_atomics(kernel, self.launch_rank, self.sharing).0) {
            transform::optimize(&mut module);
        }
        if self.sharing == Sharing::Nothing {
            for kernel in module.funcs.iter_mut().filter(is_kernel) {
                let _ = transform::sink_stores(kernel);
            }
        }
        if let Some(nulls) = self.nulls {
            let mut kernels = module.funcs.iter_mut().filter(|func| func.kind.is_kernel());
            if kernels.any(|kernel| transform::settle_nulls(kernel, nulls).0) {
                transform::optimize(&mut module);
            }
        }
        module
    }
}
