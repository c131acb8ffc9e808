//! Appends instructions to the region that is being filled.
//!
//! ```
//! use gridstride_ir::{Builder, Function, FunctionKind, Op, Param, Type};
//! let param = |name: &str| Param { name: name.into(), ty: Type::f32() };
//! let mut func = Function::new("f", FunctionKind::Function, vec![param("a"), param("b")], vec![Type::f32()]);
//! let mut b = Builder::new(&mut func);
//! let (x, y) = (b.param(0), b.param(1));
//! let product = b.binary(Op::Mul, x, y);
//! b.ret(&[product]);
//! ```

use crate::constant::Const;
use crate::func::{Attr, Function, InstId, PathElem, RegionId, SiteId, Value};
use crate::op::{AtomicOp, Op};
use crate::types::{Scalar, Type, TypeKind};
use diagnostics::Span;

pub struct Builder<'f> {
    pub func: &'f mut Function,
    region: RegionId,
    /// Given to every instruction appended.
    pub span: Span,
}

impl<'f> Builder<'f> {
    pub fn new(func: &'f mut Function) -> Builder<'f> {
        let region = func.body;
        Builder { func, region, span: Span::NONE }
    }

    pub fn region(&self) -> RegionId {
        self.region
    }

    /// Appends to `region` from now on; gives the one before.
    pub fn enter(&mut self, region: RegionId) -> RegionId {
        std::mem::replace(&mut self.region, region)
    }

    /// Whether the current region already ended.
    pub fn is_terminated(&self) -> bool {
        self.func.terminator(self.region).is_some()
    }

    pub fn ty(&self, value: Value) -> Type {
        self.func.ty(value)
    }

    pub fn param(&self, index: usize) -> Value {
        self.func.region(self.func.body).params[index]
    }

    pub fn region_param(&self, region: RegionId, index: usize) -> Value {
        self.func.region(region).params[index]
    }

    /// The general form; the others say which results an op has.
    pub fn push(&mut self, op: Op, operands: &[Value], attr: Attr, regions: &[RegionId], results: &[Type]) -> InstId {
        let inst = self.func.add_inst(op, operands, attr, regions, results, self.span);
        self.func.regions[self.region.index()].insts.push(inst);
        inst
    }

    pub fn push1(&mut self, op: Op, operands: &[Value], attr: Attr, result: Type) -> Value {
        let inst = self.push(op, operands, attr, &[], &[result]);
        self.func.inst(inst).result()
    }

    pub fn constant(&mut self, scalar: Scalar, value: Const) -> Value {
        self.push1(Op::Const, &[], Attr::Const(value), Type::scalar(scalar))
    }

    pub fn int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.constant(scalar, Const::int(scalar, value))
    }

    pub fn float(&mut self, scalar: Scalar, value: f64) -> Value {
        self.constant(scalar, Const::float(scalar, value))
    }

    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Scalar::Bool, Const::bool(value))
    }

    /// An op whose result has its operand's type.
    pub fn unary(&mut self, op: Op, x: Value) -> Value {
        let ty = self.ty(x);
        self.push1(op, &[x], Attr::None, ty)
    }

    /// An op whose result has its operands' type.
    pub fn binary(&mut self, op: Op, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        self.push1(op, &[x, y], Attr::None, ty)
    }

    pub fn compare(&mut self, op: Op, x: Value, y: Value) -> Value {
        self.push1(op, &[x, y], Attr::None, Type::bool())
    }

    pub fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        self.push1(Op::Select, &[condition, x, y], Attr::None, ty)
    }

    /// What follows `old` as CUDA's `atomicInc` counts, or `atomicDec`: one more, 0 from `bound` on; one less, `bound`
    /// after 0 and where it was above.
    pub fn wrapped_step(&mut self, scalar: Scalar, old: Value, bound: Value, is_inc: bool) -> Value {
        let (zero, one) = (self.int(scalar, 0), self.int(scalar, 1));
        if is_inc {
            let next = self.binary(Op::Add, old, one);
            let is_last = self.compare(Op::Ge, old, bound);
            return self.select(is_last, zero, next);
        }
        let next = self.binary(Op::Sub, old, one);
        let (is_zero, is_above) = (self.compare(Op::Eq, old, zero), self.compare(Op::Gt, old, bound));
        let is_out = self.binary(Op::Or, is_zero, is_above);
        self.select(is_out, bound, next)
    }

    /// Converts the scalar type, keeping the shape; nothing is added where it has that type already.
    pub fn cast(&mut self, x: Value, scalar: Scalar) -> Value {
        let from = self.ty(x);
        let Some(to) = from.with_element(scalar) else { panic!("cannot cast {from}") };
        if from == to { x } else { self.push1(Op::Cast, &[x], Attr::None, to) }
    }

    pub fn construct(&mut self, ty: Type, components: &[Value]) -> Value {
        self.push1(Op::Construct, components, Attr::None, ty)
    }

    pub fn splat(&mut self, ty: Type, x: Value) -> Value {
        self.push1(Op::Splat, &[x], Attr::None, ty)
    }

    pub fn extract(&mut self, x: Value, index: u32) -> Value {
        let ty = self.ty(x);
        let Some(component) = ty.component(index as usize) else { panic!("{ty} has no component {index}") };
        self.push1(Op::Extract, &[x], Attr::Index(index), component)
    }

    pub fn insert(&mut self, x: Value, component: Value, index: u32) -> Value {
        let ty = self.ty(x);
        self.push1(Op::Insert, &[x, component], Attr::Index(index), ty)
    }

    pub fn extent(&mut self, array: Value, dim: u32) -> Value {
        self.push1(Op::Extent, &[array], Attr::Index(dim), Type::i64())
    }

    pub fn wrap_index(&mut self, array: Value, index: Value, dim: u32) -> Value {
        self.push1(Op::WrapIndex, &[array, index], Attr::Index(dim), Type::i64())
    }

    pub fn row(&mut self, array: Value, index: Value, dim: u32) -> Value {
        let ty = self.ty(array);
        let Some((elem, rank)) = ty.as_array() else { panic!("row of {ty}") };
        self.push1(Op::Row, &[array, index], Attr::Index(dim), Type::array(elem, rank - 1))
    }

    /// `path_indices` feed the dynamic steps of `path`.
    pub fn load(&mut self, array: Value, indices: &[Value], path: &[PathElem], path_indices: &[Value]) -> Value {
        let operands = [&[array], indices, path_indices].concat();
        let ty = self.accessed(array, path);
        self.push1(Op::Load, &operands, Attr::Path(path.into()), ty)
    }

    pub fn store(&mut self, array: Value, indices: &[Value], path: &[PathElem], path_indices: &[Value], x: Value) {
        let operands = [&[array], indices, path_indices, &[x]].concat();
        self.push(Op::Store, &operands, Attr::Path(path.into()), &[], &[]);
    }

    pub fn atomic(
        &mut self,
        op: AtomicOp,
        array: Value,
        indices: &[Value],
        path: &[PathElem],
        path_indices: &[Value],
        x: Value,
    ) -> Value {
        let operands = [&[array], indices, path_indices, &[x]].concat();
        let ty = self.ty(x);
        self.push1(Op::Atomic, &operands, Attr::Atomic(op, path.into()), ty)
    }

    pub fn check(&mut self, op: Op, operands: &[Value], site: SiteId) {
        self.push(op, operands, Attr::Site(site), &[], &[]);
    }

    pub fn yield_(&mut self, values: &[Value]) {
        self.push(Op::Yield, values, Attr::None, &[], &[]);
    }

    pub fn continue_(&mut self, values: &[Value]) {
        self.push(Op::Continue, values, Attr::None, &[], &[]);
    }

    pub fn break_(&mut self, values: &[Value]) {
        self.push(Op::Break, values, Attr::None, &[], &[]);
    }

    pub fn ret(&mut self, values: &[Value]) {
        self.push(Op::Return, values, Attr::None, &[], &[]);
    }

    fn accessed(&self, array: Value, path: &[PathElem]) -> Type {
        let ty = self.ty(array);
        let Some((elem, _)) = ty.as_array() else { panic!("access to {ty}") };
        path.iter().fold(elem, |ty, step| piece(ty, *step))
    }
}

/// The type one path step leads to.
pub fn piece(ty: Type, step: PathElem) -> Type {
    let found = match (step, ty.kind()) {
        (PathElem::Static(index), _) => ty.component(index as usize),
        (PathElem::Dynamic, TypeKind::Struct(_) | TypeKind::Tuple(_)) => None,
        (PathElem::Dynamic, _) => ty.component(0),
    };
    found.unwrap_or_else(|| panic!("{ty} has no component {step:?}"))
}
