//! A unit on disk: what the front end made of a kernel, for a process in which the kernel is the same.
//!
//! In: a [`Unit`], and the files that the process has without it. Out: bytes; and from them a unit that reads its IR only
//! when somebody asks for it, which launches do not where its code is on disk too.

use crate::bytes::{Reader, bytes, number};
use crate::key::Key;
use crate::unit::{Source, SourceIr, Unit};
use autodiff::Fact;
use diagnostics::{FileId, SourceFile, SourceMap, Span};
use frontend::LIBRARY;
use ir::{FuncRef, Function, FunctionKind, InstId, Module};
use std::sync::Arc;

/// IR text, and what that leaves out: the threads of a block, names of parameters, spans.
#[derive(Debug)]
pub(crate) struct Kept(Vec<u8>);

/// How a unit's kernel may stand in a module.
const KINDS: [FunctionKind; 2] = [FunctionKind::Kernel, FunctionKind::BlockKernel];

/// Of a unit as the front end made it. `files` are those that `unpack` will be given; texts of others are kept, but for
/// those of the kernel library.
pub(crate) fn pack(unit: &Unit, files: &[Arc<SourceFile>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    bytes(&mut out, unit.key().as_bytes());
    number(&mut out, unit.kernel.index());
    number(&mut out, KINDS.iter().position(|kind| *kind == unit.kind)?);
    bytes(&mut out, unit.symbol.as_bytes());
    unit.indexed.iter().for_each(|&is_indexed| number(&mut out, is_indexed.into()));
    number(&mut out, unit.sources.files().len());
    for file in unit.sources.files() {
        let known = files.iter().map(|file| (&*file.name, &*file.text)).chain(LIBRARY.iter().copied());
        let place = known.into_iter().position(|known| known == (&*file.name, &*file.text));
        number(&mut out, place.unwrap_or(files.len() + LIBRARY.len()));
        if place.is_none() {
            bytes(&mut out, file.name.as_bytes());
            bytes(&mut out, file.text.as_bytes());
        }
    }
    number(&mut out, unit.facts.len());
    for Fact { reads, reads_after, loads, writes, has_adjoint, only_adds, writes_back } in &unit.facts {
        let flags = [reads, reads_after, loads, writes, has_adjoint, only_adds, writes_back];
        out.extend(flags.map(|&flag| u8::from(flag)));
    }
    number(&mut out, unit.has_primer.into());
    number(&mut out, unit.tapes.len());
    unit.tapes.iter().for_each(|ty| bytes(&mut out, ty.to_string().as_bytes()));
    bytes(&mut out, &Kept::of(unit.source().ir.module()).0);
    Some(out)
}

/// The unit in such bytes; `None` for other bytes. `source` has what the caller knows without them.
pub(crate) fn unpack(
    packed: &[u8],
    files: &[Arc<SourceFile>],
    source: impl FnOnce(SourceIr) -> Source,
) -> Option<Unit> {
    let mut reader = Reader(packed);
    let key = Key::from_bytes(reader.bytes()?)?;
    let kernel = FuncRef(reader.number()?.try_into().ok()?);
    let kind = *KINDS.get(reader.number()?)?;
    let symbol = reader.text()?;
    let mut indexed = [false; runtime::abi::MAX_RANK];
    for is_indexed in &mut indexed {
        *is_indexed = reader.flag()?;
    }
    let mut sources = SourceMap::default();
    for _ in 0..reader.number()? {
        let place = reader.number()?;
        sources.add(match (files.get(place), LIBRARY.get(place.wrapping_sub(files.len()))) {
            (Some(file), _) => file.clone(),
            (None, Some((name, text))) => Arc::new(SourceFile::new(*name, *text)),
            (None, None) => Arc::new(SourceFile::new(reader.text()?, reader.text()?)),
        });
    }
    let n_facts = reader.number()?;
    let facts = (0..n_facts).map(|_| reader.fact()).collect::<Option<_>>()?;
    let has_primer = reader.flag()?;
    let n_tapes = reader.number()?;
    let tapes = (0..n_tapes).map(|_| ir::parse::parse_type(&reader.text()?).ok()).collect::<Option<_>>()?;
    let source = source(SourceIr::kept(Kept(reader.bytes()?.to_vec())));
    let mut unit = Unit::with(source, kernel, kind, symbol, sources, indexed, key);
    (unit.facts, unit.has_primer, unit.tapes) = (facts, has_primer, tapes);
    reader.0.is_empty().then_some(unit)
}

impl Reader<'_> {
    fn fact(&mut self) -> Option<Fact> {
        let (flags, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        let [reads, reads_after, loads, writes, has_adjoint, only_adds, writes_back] = flags.map(|flag| flag != 0);
        Some(Fact { reads, reads_after, loads, writes, has_adjoint, only_adds, writes_back })
    }
}

impl Kept {
    fn of(module: &Module) -> Kept {
        let mut out = Vec::new();
        number(&mut out, module.block_dim as usize);
        bytes(&mut out, module.to_string().as_bytes());
        let params = module.funcs.iter().flat_map(|func| &func.params);
        params.for_each(|param| bytes(&mut out, param.name.as_bytes()));
        let spans = module.funcs.iter().flat_map(|func| in_order(func).into_iter().map(|inst| func.inst(inst).span));
        for Span { file, start, end } in spans.chain(module.sites.iter().map(|site| site.span)) {
            [file.0, start, end].iter().for_each(|number| out.extend(number.to_le_bytes()));
        }
        Kept(out)
    }

    pub(crate) fn module(&self) -> Module {
        self.read().unwrap_or_else(|| panic!("a unit that was kept is not what it was"))
    }

    fn read(&self) -> Option<Module> {
        let mut reader = Reader(&self.0);
        let block_dim = reader.number()? as u32;
        let mut module = ir::parse::parse_module(std::str::from_utf8(reader.bytes()?).ok()?).ok()?;
        module.block_dim = block_dim;
        for param in module.funcs.iter_mut().flat_map(|func| &mut func.params) {
            param.name = reader.text()?;
        }
        let mut spans = reader.0.chunks_exact(12).map(|span| {
            let number = |at: usize| span[4 * at..][..4].try_into().map_or(0, u32::from_le_bytes);
            Span::new(FileId(number(0)), number(1), number(2))
        });
        for func in &mut module.funcs {
            for inst in in_order(func) {
                func.insts[inst.index()].span = spans.next()?;
            }
        }
        for site in &mut module.sites {
            site.span = spans.next()?;
        }
        spans.next().is_none().then_some(module)
    }
}

/// A function's instructions as the text has them.
fn in_order(func: &Function) -> Vec<InstId> {
    let mut found = Vec::new();
    let mut open = vec![func.region(func.body).insts.iter()];
    while let Some(insts) = open.last_mut() {
        match insts.next() {
            Some(&inst) => {
                found.push(inst);
                open.extend(func.inst(inst).regions.iter().rev().map(|&region| func.region(region).insts.iter()));
            }
            None => drop(open.pop()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::{Scalar, Type};
    use transform::Sharing;

    #[test]
    fn a_unit_that_was_kept_is_what_it_was() {
        let text = "func @twice(v0: f32) -> f32 {\n  v1: f32 = add v0, v0\n  return v1\n}\n\n\
                    kernel @k(v0: array<f32, 1>, v1: bool) {\n  v2: i64 = tid 0\n  check_bounds v0[v2] {site 0}\n  \
                    if v1 {\n    v3: f32 = load v0[v2]\n    v4: f32 = call @twice(v3)\n    store v0[v2], v4\n    yield\n  \
                    } else {\n    yield\n  }\n  return\n}\n\nsite 0: array-index \"a\"\n";
        let mut module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let mut sources = SourceMap::default();
        let ids = ["k.py", "f.py"].map(|name| sources.add(Arc::new(SourceFile::new(name, format!("# {name}\n")))));
        let mut n = 0;
        let mut next = |file: FileId| {
            n += 1;
            Span::new(file, n, n + 1)
        };
        for (func, file) in module.funcs.iter_mut().zip(ids) {
            func.insts.iter_mut().for_each(|inst| inst.span = next(file));
        }
        module.sites[0].span = next(ids[0]);
        module.block_dim = 7;
        module.funcs[1].params[0].name = "a".into();
        let source = |ir| Source { ir, launch_rank: 2, sharing: Sharing::Arrays, nulls: Some(1) };
        let facts = vec![Fact { loads: true, writes_back: true, ..Fact::default() }, Fact::default()];
        let tapes = vec![Type::f32(), Type::array(Type::vector(Scalar::F64, 3), 2)];
        let mut unit = Unit::new(source(SourceIr::made(module)), sources);
        (unit.facts, unit.has_primer, unit.tapes) = (facts, true, tapes);
        // One of its files is there without it.
        let files = [unit.sources.files()[1].clone()];
        let packed = pack(&unit, &files).unwrap_or_default();
        let found = unpack(&packed, &files, source).unwrap_or_else(|| panic!("not read"));
        let facts = |unit: &Unit| (unit.kernel, unit.kind, unit.symbol.clone(), unit.indexed, *unit.key());
        assert_eq!(facts(&found), facts(&unit));
        assert_eq!((&found.facts, found.has_primer, &found.tapes), (&unit.facts, true, &unit.tapes));
        let texts = |unit: &Unit| unit.sources.files().iter().map(|file| file.text.to_string()).collect::<Vec<_>>();
        assert_eq!(texts(&found), texts(&unit));
        let (found, unit) = (found.source().ir.module(), unit.source().ir.module());
        let spans = |func: &Function| in_order(func).iter().map(|&inst| func.inst(inst).span).collect::<Vec<_>>();
        assert_eq!(found.to_string(), unit.to_string());
        assert_eq!(found.funcs.iter().map(spans).collect::<Vec<_>>(), unit.funcs.iter().map(spans).collect::<Vec<_>>());
        assert_eq!((&found.sites, found.block_dim), (&unit.sites, 7));
        let params = |module: &Module| module.funcs.iter().map(|func| func.params.clone()).collect::<Vec<_>>();
        assert_eq!(params(found), params(unit));
        assert!(unpack(&packed[..packed.len() - 1], &files, source).is_none());
    }
}
