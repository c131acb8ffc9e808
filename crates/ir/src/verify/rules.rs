//! What each op demands of its operands, results, regions and attribute. One function a [`Rule`]; the ops with rules
//! of their own follow, those of memory in `memory`.

use super::structure::types;
use super::{blocks, memory, tiles};
use crate::func::{Attr, FuncRef, Function, FunctionKind, Inst, Module};
use crate::op::{AttrKind, Op, Rule};
use crate::types::{Class, Scalar, Type, TypeKind};

/// An instruction whose operands are visible, with the types of its operands and results.
pub(super) struct OpTypes<'a> {
    pub module: &'a Module,
    pub func: &'a Function,
    pub inst: &'a Inst,
    pub operands: &'a [Type],
    pub results: &'a [Type],
    /// Whether a `threads` or `each` is around.
    pub in_threads: bool,
}

pub(super) type Checked = Result<(), String>;

pub(super) fn check(op: &OpTypes) -> Checked {
    op.attr()?;
    let n_regions = match op.inst.op {
        Op::If => 2,
        Op::For | Op::Loop | Op::Threads | Op::Each => 1,
        _ => 0,
    };
    if op.inst.regions.len() != n_regions {
        return Err(format!("`{}` owns {n_regions} regions, found {}", op.name(), op.inst.regions.len()));
    }
    if op.inst.op.is_terminator() {
        return op.results_are(&[]);
    }
    match op.inst.op.rule() {
        Rule::Same { n, classes } => same(op, n, classes, false),
        Rule::SameScalar { n, classes } => same(op, n, classes, true),
        Rule::Compare { classes } => {
            op.scalar_of(classes)?;
            op.operands_are(&[op.operand(0)?; 2])?;
            op.results_are(&[Type::bool()])
        }
        Rule::FloatTest => {
            op.scalar_of(&[Class::Float])?;
            op.operands_are(&[op.operand(0)?])?;
            op.results_are(&[Type::bool()])
        }
        Rule::Own => own(op),
    }
}

impl OpTypes<'_> {
    pub(super) fn name(&self) -> &'static str {
        self.inst.op.name()
    }

    /// The attribute's kind must be the op's, and the site must exist. (`call` looks for its function itself.)
    fn attr(&self) -> Checked {
        let kind = match &self.inst.attr {
            Attr::None => AttrKind::None,
            Attr::Const(_) => AttrKind::Const,
            Attr::Index(_) => AttrKind::Index,
            Attr::Extents(_) => AttrKind::Extents,
            Attr::Path(_) => AttrKind::Path,
            Attr::Atomic(..) => AttrKind::Atomic,
            Attr::Site(_) => AttrKind::Site,
            Attr::Text(_) => AttrKind::Text,
            Attr::Func(_) => AttrKind::Func,
            Attr::Scope(_) => AttrKind::Scope,
            Attr::Shuffle(_) => AttrKind::Shuffle,
            Attr::Vote(_) => AttrKind::Vote,
        };
        let expected = self.inst.op.attr_kind();
        if kind != expected {
            return Err(format!("`{}` has an attribute of kind {expected:?}, found {kind:?}", self.name()));
        }
        match self.inst.attr {
            Attr::Site(site) if site.index() >= self.module.sites.len() => Err(format!("there is no site {}", site.0)),
            _ => Ok(()),
        }
    }

    pub(super) fn operand(&self, index: usize) -> Result<Type, String> {
        let n = self.operands.len();
        self.operands
            .get(index)
            .copied()
            .ok_or_else(|| format!("`{}` takes at least {} operands, found {n}", self.name(), index + 1))
    }

    pub(super) fn operands_are(&self, expected: &[Type]) -> Checked {
        if self.operands == expected {
            return Ok(());
        }
        if self.operands.len() != expected.len() {
            let plural = if expected.len() == 1 { "" } else { "s" };
            let n = expected.len();
            return Err(format!("`{}` takes {n} operand{plural}, found {}", self.name(), self.operands.len()));
        }
        Err(format!("operands of `{}` must be {}, found {}", self.name(), types(expected), types(self.operands)))
    }

    pub(super) fn results_are(&self, expected: &[Type]) -> Checked {
        if self.results == expected {
            return Ok(());
        }
        Err(format!("`{}` gives {}, found {}", self.name(), types(expected), types(self.results)))
    }

    pub(super) fn result(&self) -> Result<Type, String> {
        match self.results {
            &[ty] => Ok(ty),
            _ => Err(format!("`{}` gives one result, found {}", self.name(), self.results.len())),
        }
    }

    /// The first operand must be a scalar of one of these classes.
    fn scalar_of(&self, classes: &[Class]) -> Result<Scalar, String> {
        let ty = self.operand(0)?;
        match ty.as_scalar() {
            Some(scalar) if classes.contains(&scalar.class()) => Ok(scalar),
            _ => Err(format!("`{}` takes {}, found {ty}", self.name(), class_names(classes, "scalar"))),
        }
    }

    /// Whether a type holds scalars of one of these classes.
    fn holds(&self, ty: Type, classes: &[Class]) -> Checked {
        match ty.element() {
            Some(elem) if classes.contains(&elem.class()) => Ok(()),
            _ => Err(format!("`{}` takes {}, found {ty}", self.name(), class_names(classes, "value"))),
        }
    }

    pub(super) fn index_attr(&self) -> usize {
        if let Attr::Index(index) = self.inst.attr { index as usize } else { 0 }
    }
}

fn class_names(classes: &[Class], noun: &str) -> String {
    let names: Vec<_> = classes
        .iter()
        .map(|class| match class {
            Class::Bool => "bool",
            Class::Int => "integer",
            Class::Float => "float",
        })
        .collect();
    format!("a {} {noun}", names.join(" or "))
}

fn same(op: &OpTypes, n: usize, classes: &[Class], scalars_only: bool) -> Checked {
    let ty = op.operand(0)?;
    if op.operands.len() == n && op.operands.iter().any(|&other| other != ty) {
        return Err(format!("operands of `{}` must be of one type, found {}", op.name(), types(op.operands)));
    }
    op.operands_are(&vec![ty; n])?;
    if scalars_only {
        op.scalar_of(classes)?;
    }
    op.holds(ty, classes)?;
    op.results_are(&[ty])
}

fn own(op: &OpTypes) -> Checked {
    match op.inst.op {
        Op::Const => constant(op),
        Op::Select => {
            let ty = op.operand(1)?;
            op.operands_are(&[Type::bool(), ty, ty])?;
            op.results_are(&[ty])
        }
        Op::MaskLe => {
            let ty = op.operand(0)?;
            let TypeKind::Vector { .. } = ty.kind() else { return Err(format!("`mask_le` of {ty}")) };
            op.holds(ty, &[Class::Float])?;
            if ty.n_components() > 32 {
                return Err(format!("a mask has 32 bits, and {ty} more components"));
            }
            op.operands_are(&[ty, ty])?;
            op.results_are(&[Type::scalar(Scalar::U32)])
        }
        Op::MaskSelect => {
            let ty = op.operand(1)?;
            if !matches!(ty.kind(), TypeKind::Vector { .. }) || ty.n_components() > 32 {
                return Err(format!("a mask chooses among 32 components of a vector, found {ty}"));
            }
            op.operands_are(&[Type::scalar(Scalar::U32), ty, ty])?;
            op.results_are(&[ty])
        }
        Op::SpareMemory => {
            op.operands_are(&[])?;
            op.results_are(&[Type::scalar(Scalar::U64)])
        }
        Op::OnHost => {
            op.operands_are(&[])?;
            op.results_are(&[Type::bool()])
        }
        Op::Cast | Op::Bitcast => conversion(op),
        Op::Construct | Op::Splat | Op::Extract | Op::Insert | Op::ExtractDyn | Op::InsertDyn => composite(op),
        Op::Dot | Op::MatMul | Op::Transpose => algebra(op),
        Op::Tid | Op::LaunchExtent => {
            // Of a launch over threads that runs in blocks, as kernels with tiles do.
            let is_of_launch = op.inst.op == Op::LaunchExtent && op.func.kind.is_kernel();
            if op.func.kind != FunctionKind::Kernel && !is_of_launch {
                return Err(format!("`{}` outside a kernel", op.name()));
            }
            if op.index_attr() >= super::MAX_RANK as usize {
                return Err(format!("a launch has {} dimensions", super::MAX_RANK));
            }
            op.operands_are(&[])?;
            op.results_are(&[Type::i64()])
        }
        Op::CheckIndex => {
            op.operands_are(&[Type::i64(); 2])?;
            op.results_are(&[])
        }
        Op::CheckNonZero | Op::CheckFinite => {
            let ty = op.operand(0)?;
            op.operands_are(&[ty])?;
            op.holds(ty, if op.inst.op == Op::CheckFinite { &[Class::Float] } else { &[Class::Int] })?;
            op.results_are(&[])
        }
        Op::Assert => {
            op.operands_are(&[Type::bool()])?;
            op.results_are(&[])
        }
        Op::Print => {
            if let Some(ty) = op.operands.iter().find(|ty| ty.as_scalar().is_none()) {
                return Err(format!("`print` takes scalars, found {ty}"));
            }
            op.results_are(&[])
        }
        Op::Call => call(op),
        Op::If => {
            if op.inst.regions.iter().any(|&region| !region_types(op, region.index()).is_empty()) {
                return Err("regions of `if` take no parameters".into());
            }
            op.operands_are(&[Type::bool()])
        }
        Op::For | Op::Loop => loops(op),
        other if other.is_over_blocks() => blocks::check(op),
        other if other.is_over_tiles() || other == Op::Each => tiles::check(op),
        _ => memory::check(op),
    }
}

fn constant(op: &OpTypes) -> Checked {
    op.operands_are(&[])?;
    let ty = op.result()?;
    let Some(scalar) = ty.as_scalar() else { return Err(format!("`const` gives a scalar, found {ty}")) };
    match op.inst.attr {
        Attr::Const(value) if value.0 & !(u64::MAX >> (64 - scalar.bits())) != 0 => {
            Err(format!("constant {:#x} has more bits than {ty}", value.0))
        }
        _ => Ok(()),
    }
}

fn conversion(op: &OpTypes) -> Checked {
    let (from, to) = (op.operand(0)?, op.result()?);
    op.operands_are(&[from])?;
    let is_allowed = if op.inst.op == Op::Cast {
        to.element().is_some_and(|elem| from.with_element(elem) == Some(to))
    } else {
        let bits = |ty: Type| ty.as_scalar().map(Scalar::bits);
        bits(from).is_some_and(|n| n > 1) && bits(from) == bits(to)
    };
    if is_allowed { Ok(()) } else { Err(format!("`{}` cannot turn {from} into {to}", op.name())) }
}

fn composite(op: &OpTypes) -> Checked {
    let result = op.result()?;
    let no_component = |ty: Type, index: usize| format!("{ty} has no component {index}");
    match op.inst.op {
        Op::Construct => {
            if result.element().is_some() && !result.is_composite() || result.is_array() {
                return Err(format!("`construct` cannot make {result}"));
            }
            let components: Vec<_> = (0..result.n_components()).filter_map(|i| result.component(i)).collect();
            op.operands_are(&components)
        }
        Op::Splat => match result.element() {
            Some(elem) if result.is_composite() => op.operands_are(&[Type::scalar(elem)]),
            _ => Err(format!("`splat` cannot make {result}")),
        },
        Op::Extract => {
            let ty = op.operand(0)?;
            op.operands_are(&[ty])?;
            let index = op.index_attr();
            op.results_are(&[ty.component(index).ok_or_else(|| no_component(ty, index))?])
        }
        Op::Insert => {
            let ty = op.operand(0)?;
            let index = op.index_attr();
            op.operands_are(&[ty, ty.component(index).ok_or_else(|| no_component(ty, index))?])?;
            op.results_are(&[ty])
        }
        _ => {
            let ty = op.operand(0)?;
            let (Some(elem), true) = (ty.element(), ty.is_composite()) else {
                return Err(format!("`{}` takes a vector, matrix, quaternion or transform, found {ty}", op.name()));
            };
            let n_indices = if matches!(ty.kind(), TypeKind::Matrix { .. }) { 2 } else { 1 };
            let is_insert = op.inst.op == Op::InsertDyn;
            let mut expected = vec![ty];
            expected.extend(is_insert.then(|| Type::scalar(elem)));
            expected.extend(std::iter::repeat_n(Type::i64(), n_indices));
            op.operands_are(&expected)?;
            op.results_are(&[if is_insert { ty } else { Type::scalar(elem) }])
        }
    }
}

fn algebra(op: &OpTypes) -> Checked {
    let number = |elem: Scalar| elem.class() != Class::Bool;
    match (op.inst.op, op.operands) {
        (Op::Dot, [a, b]) => match a.kind() {
            TypeKind::Vector { elem, .. } if a == b && number(*elem) => op.results_are(&[Type::scalar(*elem)]),
            _ => Err(format!("`dot` takes two vectors of one type, found {}", types(op.operands))),
        },
        (Op::Transpose, [a]) => match a.kind() {
            TypeKind::Matrix { elem, rows, cols } => op.results_are(&[Type::matrix(*elem, *cols, *rows)]),
            _ => Err(format!("`transpose` takes a matrix, found {a}")),
        },
        (Op::MatMul, [a, b]) => match product(*a, *b) {
            Some(ty) if ty.element().is_some_and(number) => op.results_are(&[ty]),
            _ => Err(format!("`matmul` cannot multiply {}", types(op.operands))),
        },
        (op, operands) => {
            let n = if op == Op::Transpose { 1 } else { 2 };
            Err(format!("`{}` takes {n} operands, found {}", op.name(), operands.len()))
        }
    }
}

/// The type of a matrix product, where its sizes agree.
fn product(a: Type, b: Type) -> Option<Type> {
    if a.element() != b.element() {
        return None;
    }
    match (a.kind(), b.kind()) {
        (TypeKind::Matrix { elem, rows, cols }, TypeKind::Matrix { rows: inner, cols: n, .. }) if cols == inner => {
            Some(Type::matrix(*elem, *rows, *n))
        }
        (TypeKind::Matrix { elem, rows, cols }, TypeKind::Vector { len, .. }) if cols == len => {
            Some(Type::vector(*elem, *rows))
        }
        (TypeKind::Vector { len, .. }, TypeKind::Matrix { elem, rows, cols }) if len == rows => {
            Some(Type::vector(*elem, *cols))
        }
        _ => None,
    }
}

fn call(op: &OpTypes) -> Checked {
    let Attr::Func(FuncRef(index)) = op.inst.attr else { return Ok(()) };
    let Some(callee) = op.module.funcs.get(index as usize) else {
        return Err(format!("there is no function {index}"));
    };
    if callee.kind.is_kernel() {
        return Err(format!("@{} is a kernel, which cannot be called", callee.name));
    }
    let params: Vec<_> = callee.params.iter().map(|param| param.ty).collect();
    op.operands_are(&params)?;
    op.results_are(&callee.results)
}

pub(super) fn region_types(op: &OpTypes, region: usize) -> Vec<Type> {
    let params = op.func.regions.get(region).map_or(&[][..], |region| &region.params);
    params.iter().filter_map(|v| op.func.values.get(v.index())).map(|value| value.ty).collect()
}

fn loops(op: &OpTypes) -> Checked {
    let params = op.inst.regions.first().map_or(Vec::new(), |region| region_types(op, region.index()));
    let mut expected = params.clone();
    if op.inst.op == Op::For {
        let ty = op.operand(0)?;
        if !ty.as_scalar().is_some_and(Scalar::is_int) {
            return Err(format!("`for` counts in an integer type, found {ty}"));
        }
        expected = [&[ty; 3], op.operands.get(3..).unwrap_or_default()].concat();
        op.operands_are(&expected)?;
        expected.drain(..2);
        op.results_are(&expected[1..])?;
    } else {
        op.operands_are(&expected)?;
    }
    if params != expected {
        return Err(format!("the region of `{}` takes {}, found {}", op.name(), types(&expected), types(&params)));
    }
    Ok(())
}
