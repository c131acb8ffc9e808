//! The state of one function body while it is lowered.

use super::branch::Joined;
use super::operand::Operand;
use super::unit::Unit;
use super::unroll::Unrolled;
use crate::rules::Rules;
use crate::source::ParsedFile;
use crate::warp::tiles::Cells;
use crate::{HostValue, ObjectId};
use diagnostics::{Diagnostic, FileId, Span};
use ir::{Builder, Function, Op, RegionId, Type, Value};
use ruff_text_size::Ranged;
use std::rc::Rc;
use std::sync::Arc;

/// A mistake that has been reported; whoever sees it gives up on the expression or statement at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

pub(crate) type Result<T> = std::result::Result<T, Reported>;

/// Where a function's names are looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// The closure and globals of a function of the user's.
    Host(ObjectId),
    /// The kernel library: builtins and the library's own functions.
    Library,
}

/// What a name stands for at some point of the body.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Is(super::Operand),
    /// Not set, or not usable, on every path that leads here; says which.
    Open(String, Span),
    /// Set by a statement that failed; using it is not reported again.
    Failed,
}

/// The names of a body in the order of their first assignment: the order in which loops carry them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    entries: Vec<(String, Binding)>,
    /// Names that one path to here did not set: the text that names the path, and what decides it.
    doubts: Vec<(String, Doubt)>,
}

pub(crate) type Doubt = (String, Span);

impl Names {
    pub(crate) fn get(&self, name: &str) -> Option<&Binding> {
        self.entries.iter().find(|(known, _)| known == name).map(|(_, binding)| binding)
    }

    pub(crate) fn set(&mut self, name: &str, binding: Binding) {
        self.doubts.retain(|(known, _)| known != name);
        match self.entries.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = binding,
            None => self.entries.push((name.to_owned(), binding)),
        }
    }

    pub(crate) fn doubt(&self, name: &str) -> Option<&Doubt> {
        self.doubts.iter().find(|(known, _)| known == name).map(|(_, doubt)| doubt)
    }

    /// Says that a name, which is set, is 0 on some path.
    pub(crate) fn set_doubt(&mut self, name: &str, doubt: Doubt) {
        self.doubts.retain(|(known, _)| known != name);
        self.doubts.push((name.to_owned(), doubt));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Binding)> {
        self.entries.iter().map(|(name, binding)| (name, binding))
    }
}

/// A loop that is being lowered.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopFrame {
    /// Names carried, in the order of the loop's parameters.
    pub(crate) carried: Vec<Carried>,
    /// What another walk has to change: literals that need another type.
    pub(crate) wanted: Vec<(String, Joined)>,
    /// Names that a path to the loop did not set and that the loop uses for something else, and why they cannot be both, and where.
    pub(crate) forgotten: Vec<(String, String, Span)>,
    /// Names read before anything set them, which a later round of the loop may find set by an earlier one.
    pub(crate) early: Vec<(String, Span)>,
    /// Names that the loop may change.
    pub(crate) changed: Vec<String>,
    /// The names at every `break`, and at every end of a round.
    pub(crate) breaks: Vec<Names>,
    pub(crate) rounds: Vec<Names>,
}

impl LoopFrame {
    /// Asks for another walk in which a name is carried in a given form.
    pub(crate) fn want(&mut self, name: &str, joined: Joined) {
        match self.wanted.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = joined,
            None => self.wanted.push((name.to_owned(), joined)),
        }
    }
}

/// A name that a loop carries from round to round.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    pub(crate) name: String,
    pub(crate) joined: Joined,
    /// The loop (by depth) that it entered as a literal, whose type another walk over that loop may change.
    pub(crate) literal_of: Option<usize>,
    /// The loop's parameter, where it is a single value.
    pub(crate) param: Option<Value>,
    /// Whether the loop itself sets the name first: what it holds before that is never read.
    pub(crate) is_late: bool,
    /// Whether a path to the loop, or its first round, does not set the name.
    pub(crate) is_open: bool,
}

pub(crate) struct Lower<'u, 'h> {
    pub(crate) unit: &'u mut Unit<'h>,
    pub(crate) rules: &'static Rules,
    pub(crate) func: Function,
    pub(crate) region: RegionId,
    /// The statement or expression at hand; every op gets it.
    pub(crate) span: Span,
    pub(crate) scope: Scope,
    pub(crate) file: FileId,
    pub(crate) parsed: Arc<ParsedFile>,
    pub(crate) names: Names,
    /// Where tiles lie that have names.
    pub(crate) cells: Cells,
    pub(crate) loops: Vec<LoopFrame>,
    pub(crate) unrolled: Vec<Unrolled>,
    pub(crate) is_kernel: bool,
    /// Where each name is read, as byte offsets.
    pub(crate) reads: Rc<Vec<(String, u32)>>,
    /// Where the language has 0 for a name that no path has set: the names that the body sets.
    pub(crate) own: Vec<String>,
    /// Arrays from outside that are constants: nothing may write to them.
    pub(crate) constants: Vec<Value>,
    /// Parameters passed by reference: what they hold at the end goes back to the caller, after the results.
    pub(crate) refs: Vec<(String, Type)>,
    /// What the last call of a function left in such parameters, by their number; taken by `call`.
    pub(crate) written: Vec<(usize, String, Operand)>,
    /// What the function returns: fixed by an annotation or by the first `return`.
    pub(crate) returns: Option<Vec<Type>>,
    /// Whether `returns` is what an annotation says.
    pub(crate) is_annotated: bool,
    /// Whether the function returns a tuple, even one of a single item.
    pub(crate) returns_tuple: bool,
    /// Types that later `return`s ask for: the body is walked again with them.
    pub(crate) wider_returns: Option<Vec<Type>>,
}

/// Where a body stood, to go back to.
pub(crate) struct Mark {
    values: usize,
    insts: usize,
    regions: usize,
    region: RegionId,
    n_region_insts: usize,
    names: Names,
    loops: Vec<LoopFrame>,
    diagnostics: usize,
    returns: Option<Vec<Type>>,
    sites: usize,
    funcs: usize,
}

impl Lower<'_, '_> {
    /// Appends to the current region.
    pub(crate) fn b(&mut self) -> Builder<'_> {
        let mut builder = Builder::new(&mut self.func);
        builder.enter(self.region);
        builder.span = self.span;
        builder
    }

    pub(crate) fn ty(&self, value: Value) -> Type {
        self.func.ty(value)
    }

    /// The span of a syntax node in the user's file.
    pub(crate) fn span_of(&self, node: &impl Ranged) -> Span {
        Span::new(self.file, node.start().into(), node.end().into())
    }

    /// The text of a syntax node.
    pub(crate) fn text_of(&self, node: &impl Ranged) -> &str {
        let range = node.range();
        &self.parsed.file.text[usize::from(range.start())..usize::from(range.end())]
    }

    /// The line (from 1) of a span in this file, for messages.
    pub(crate) fn line_of(&self, span: Span) -> u32 {
        self.parsed.file.position(span.start).0
    }

    pub(crate) fn report(&self, code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, span, message)
    }

    pub(crate) fn emit(&mut self, diagnostic: Diagnostic) -> Reported {
        self.unit.diagnostics.push(diagnostic);
        Reported
    }

    /// Reports a mistake without a help line.
    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Reported {
        let report = self.report(code, span, message);
        self.emit(report)
    }

    /// Whether control cannot reach the current point.
    pub(crate) fn is_terminated(&self) -> bool {
        self.func.terminator(self.region).is_some()
    }

    /// Fills a new region by `fill` and comes back; gives the region.
    pub(crate) fn in_region<T>(&mut self, params: &[Type], fill: impl FnOnce(&mut Self) -> T) -> (RegionId, T) {
        let region = self.func.add_region(params);
        let outer = std::mem::replace(&mut self.region, region);
        let result = fill(self);
        self.region = outer;
        (region, result)
    }

    /// Moves a filled region's ops to the current region.
    pub(crate) fn splice(&mut self, region: RegionId) {
        let insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        self.func.regions[self.region.index()].insts.extend(insts);
    }

    /// Whether a region's ops may run although the program would skip them.
    pub(crate) fn is_pure(&self, region: RegionId) -> bool {
        self.func.region(region).insts.iter().all(|&inst| self.func.inst(inst).op.is_pure())
    }

    /// Ends the current point as one that control never passes.
    pub(crate) fn unreachable(&mut self) {
        self.b().push(Op::Unreachable, &[], ir::Attr::None, &[], &[]);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            values: self.func.values.len(),
            insts: self.func.insts.len(),
            regions: self.func.regions.len(),
            region: self.region,
            n_region_insts: self.func.region(self.region).insts.len(),
            names: self.names.clone(),
            loops: self.loops.clone(),
            diagnostics: self.unit.diagnostics.len(),
            returns: self.returns.clone(),
            sites: self.unit.module.sites.len(),
            funcs: self.unit.module.funcs.len(),
        }
    }

    /// Undoes everything since `mark`. Tables only ever grow, so cutting them is enough.
    pub(crate) fn rewind(&mut self, mark: Mark) {
        self.func.values.truncate(mark.values);
        self.cells.rewind(mark.values);
        self.func.insts.truncate(mark.insts);
        self.func.regions.truncate(mark.regions);
        self.region = mark.region;
        self.func.regions[mark.region.index()].insts.truncate(mark.n_region_insts);
        self.names = mark.names;
        // What outer loops were asked to change stays asked.
        let asked: Vec<_> = self.loops.drain(..).map(|frame| (frame.wanted, frame.early)).collect();
        self.loops = mark.loops;
        for (frame, (wanted, early)) in self.loops.iter_mut().zip(asked) {
            frame.wanted = wanted;
            frame.early = early;
        }
        let since = self.unit.diagnostics.split_off(mark.diagnostics);
        let is_said = |report: &Diagnostic| report.is_warning && self.unit.module.funcs.len() > mark.funcs;
        let kept = since.into_iter().filter(is_said).collect::<Vec<_>>();
        self.unit.diagnostics.extend(kept);
        self.returns = mark.returns;
        // Functions that were lowered meanwhile stay, and with them their sites.
        if self.unit.module.funcs.len() == mark.funcs {
            self.unit.module.sites.truncate(mark.sites);
        }
    }

    /// A name that the body does not set: the closure, the globals, Python's builtins, the kernel library.
    pub(crate) fn lookup(&self, name: &str) -> Option<HostValue> {
        match &self.scope {
            Scope::Host(object) => self.unit.host.lookup(*object, name),
            Scope::Library => (self.rules.library_name)(name),
        }
    }
}
