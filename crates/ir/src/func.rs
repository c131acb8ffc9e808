//! Modules, functions, regions, instructions and values: plain tables addressed by typed indices.

use crate::constant::Const;
use crate::op::{AtomicOp, FenceScope, Op, ShuffleMode, VoteMode};
use crate::types::Type;
use diagnostics::Span;
use smallvec::SmallVec;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_type!(/** A value of one function, printed `v3`. */ Value);
index_type!(/** An instruction of one function. */ InstId);
index_type!(/** A region of one function. */ RegionId);
index_type!(/** A function of a module. */ FuncRef);
index_type!(/** A place that can report a failed check. */ SiteId);

/// Everything compiled together: a kernel and the functions it calls.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub funcs: Vec<Function>,
    pub sites: Vec<Site>,
    /// Reassociation, contraction and approximate functions are allowed.
    pub fast_math: bool,
    /// With `fast_math`: the target has instructions for functions of f32, which stay ops.
    pub approximate: bool,
    /// Threads of a block, where the kernel has tiles; 0 and 1 are the same.
    pub block_dim: u32,
}

/// What a failed check reports besides the values it saw.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub kind: SiteKind,
    /// The user's text that failed.
    pub span: Span,
    /// The array's name, or the assert's message.
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// `check_bounds`: an array index.
    ArrayIndex,
    /// `check_index`: a component of a vector or matrix.
    ComponentIndex,
    DivisionByZero,
    NotFinite,
    Assert,
    /// `check_converged`: a barrier that some threads of the block do not reach, or where they went instead.
    Divergence,
}

impl SiteKind {
    pub const ALL: [(SiteKind, &'static str); 6] = [
        (SiteKind::ArrayIndex, "array-index"),
        (SiteKind::ComponentIndex, "component-index"),
        (SiteKind::DivisionByZero, "division-by-zero"),
        (SiteKind::NotFinite, "not-finite"),
        (SiteKind::Assert, "assert"),
        (SiteKind::Divergence, "divergence"),
    ];

    /// The name in IR text.
    pub fn name(self) -> &'static str {
        SiteKind::ALL.into_iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// What stands for a function where it is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomGradient {
    pub func: FuncRef,
    /// Takes the function's arguments, the adjoints of its results, and the adjoint array of each argument that leads to
    /// floats; gives the adjoint of each that holds floats.
    pub gradient: Option<FuncRef>,
    /// Has the function's parameters and results; runs where the function is run again.
    pub replay: Option<FuncRef>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Runs once per thread of a launch; returns nothing.
    Kernel,
    /// Runs once per thread of a grid of thread blocks, whose threads may wait for each other; returns nothing.
    BlockKernel,
    /// A block kernel after barriers were turned into loops over threads: runs once per thread block.
    BlockProgram,
    Function,
}

impl FunctionKind {
    /// Whether launches start it, and nothing calls it.
    pub fn is_kernel(self) -> bool {
        self != FunctionKind::Function
    }

    /// The words before the name in IR text.
    pub fn name(self) -> &'static str {
        match self {
            FunctionKind::Kernel => "kernel",
            FunctionKind::BlockKernel => "block kernel",
            FunctionKind::BlockProgram => "block program",
            FunctionKind::Function => "func",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The user's name.
    pub name: String,
    pub ty: Type,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub kind: FunctionKind,
    pub params: Vec<Param>,
    pub results: Vec<Type>,
    pub values: Vec<ValueData>,
    pub insts: Vec<Inst>,
    pub regions: Vec<Region>,
    /// The body. Its parameters are the values of `params`.
    pub body: RegionId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    pub ty: Type,
    pub def: ValueDef,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    Result(InstId, u32),
    Param(RegionId, u32),
}

/// Instructions that run one after the other; the last one, and only that, is a terminator.
#[derive(Clone, Debug, Default)]
pub struct Region {
    pub params: Vec<Value>,
    pub insts: Vec<InstId>,
}

/// Operand order:
/// `load` array, indices, dynamic path indices; `store` and `atomic` add the value; `atomic_cas` expected and value;
/// `for` lo, hi, step, then initial values (body parameters: induction variable, then carried values; results: the
/// carried values); `loop` initial values (region parameters: carried values; results: what `break` gives).
#[derive(Clone, Debug)]
pub struct Inst {
    pub op: Op,
    pub operands: SmallVec<[Value; 4]>,
    pub results: SmallVec<[Value; 1]>,
    pub attr: Attr,
    pub regions: SmallVec<[RegionId; 2]>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Attr {
    #[default]
    None,
    Const(Const),
    Index(u32),
    Extents(Box<[u64]>),
    Path(Box<[PathElem]>),
    Atomic(AtomicOp, Box<[PathElem]>),
    Site(SiteId),
    Text(Box<str>),
    Func(FuncRef),
    Scope(FenceScope),
    Shuffle(ShuffleMode),
    Vote(VoteMode),
}

/// One step from an element to a piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathElem {
    /// Component number, as in `extract`.
    Static(u32),
    /// Takes the next path operand (i64). On a matrix it takes two: row and column.
    Dynamic,
}

impl Module {
    pub fn func(&self, func: FuncRef) -> &Function {
        &self.funcs[func.index()]
    }

    pub fn find(&self, name: &str) -> Option<FuncRef> {
        self.funcs.iter().position(|f| f.name == name).map(|i| FuncRef(i as u32))
    }

    /// The kernel of a compile unit; filetests and libraries may have none.
    pub fn kernel(&self) -> Option<FuncRef> {
        self.funcs.iter().position(|f| f.kind.is_kernel()).map(|i| FuncRef(i as u32))
    }

    pub fn add_site(&mut self, site: Site) -> SiteId {
        self.sites.push(site);
        SiteId(self.sites.len() as u32 - 1)
    }
}

impl Function {
    /// A function with an empty body whose parameters are declared.
    pub fn new(name: impl Into<String>, kind: FunctionKind, params: Vec<Param>, results: Vec<Type>) -> Function {
        let mut func = Function {
            name: name.into(),
            kind,
            params: Vec::new(),
            results,
            values: Vec::new(),
            insts: Vec::new(),
            regions: Vec::new(),
            body: RegionId(0),
        };
        func.body = func.add_region(&params.iter().map(|p| p.ty).collect::<Vec<_>>());
        func.params = params;
        func
    }

    pub fn add_region(&mut self, params: &[Type]) -> RegionId {
        let region = RegionId(self.regions.len() as u32);
        self.regions.push(Region::default());
        for &ty in params {
            self.add_region_param(region, ty);
        }
        region
    }

    pub fn add_region_param(&mut self, region: RegionId, ty: Type) -> Value {
        let index = self.regions[region.index()].params.len() as u32;
        let value = self.add_value(ty, ValueDef::Param(region, index));
        self.regions[region.index()].params.push(value);
        value
    }

    pub fn add_value(&mut self, ty: Type, def: ValueDef) -> Value {
        self.values.push(ValueData { ty, def });
        Value(self.values.len() as u32 - 1)
    }

    /// Makes an instruction with fresh results. It runs only once a region lists it.
    pub fn add_inst(
        &mut self,
        op: Op,
        operands: &[Value],
        attr: Attr,
        regions: &[RegionId],
        results: &[Type],
        span: Span,
    ) -> InstId {
        let inst = InstId(self.insts.len() as u32);
        let results = (0u32..).zip(results).map(|(i, &ty)| self.add_value(ty, ValueDef::Result(inst, i))).collect();
        self.insts.push(Inst {
            op,
            operands: SmallVec::from_slice(operands),
            results,
            attr,
            regions: SmallVec::from_slice(regions),
            span,
        });
        inst
    }

    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value.index()].def
    }

    pub fn inst(&self, inst: InstId) -> &Inst {
        &self.insts[inst.index()]
    }

    pub fn region(&self, region: RegionId) -> &Region {
        &self.regions[region.index()]
    }

    /// The constant that defines a value.
    pub fn as_const(&self, value: Value) -> Option<Const> {
        let ValueDef::Result(inst, _) = self.def(value) else { return None };
        if let Attr::Const(constant) = self.inst(inst).attr { Some(constant) } else { None }
    }

    /// The instructions that the body reaches, each before those of its regions. What a pass took out stays in the tables,
    /// and may name what is no more.
    pub fn reached(&self) -> Vec<InstId> {
        let mut found = Vec::new();
        let mut open = vec![self.body];
        while let Some(region) = open.pop() {
            for &id in &self.region(region).insts {
                found.push(id);
                open.extend(&self.inst(id).regions);
            }
        }
        found
    }

    pub fn terminator(&self, region: RegionId) -> Option<InstId> {
        let last = *self.region(region).insts.last()?;
        self.inst(last).op.is_terminator().then_some(last)
    }
}

impl Inst {
    /// The only result of an op that has one.
    pub fn result(&self) -> Value {
        self.results[0]
    }

    /// Splits a memory op's operands: array, indices, path indices, the rest (value, or expected and value).
    pub fn access(&self, rank: usize) -> (Value, &[Value], &[Value], &[Value]) {
        let n_rest = match self.op {
            Op::Store | Op::Atomic => 1,
            Op::AtomicCas => 2,
            _ => 0,
        };
        let (access, rest) = self.operands.split_at(self.operands.len() - n_rest);
        (access[0], &access[1..1 + rank], &access[1 + rank..], rest)
    }

    /// The path of a memory op.
    pub fn path(&self) -> &[PathElem] {
        match &self.attr {
            Attr::Path(path) | Attr::Atomic(_, path) => path,
            _ => &[],
        }
    }
}
