//! Vectors, matrices, quaternions, transforms, structs and tuples: making them and taking them apart.

use super::arithmetic::element;
use super::lanes::number;
use super::types::{self, Leaf};
use super::value::{Leaves, Lowered, as_int, is_big};
use super::{Lowering, attr_index};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use ir::{Function, Inst, LeafKind, Op, Scalar, Type, TypeKind, Value};

/// Up to this many components a dynamic index is a chain of selects; above, a trip through memory.
const MAX_SELECTS: usize = 16;

impl<'c> Lowering<'c, '_> {
    pub(crate) fn composite(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.result());
        match inst.op {
            Op::Construct => self.construct(ty, &inst.operands),
            Op::Splat => self.splat(ty, self.leaf(inst.operands[0])?),
            Op::Extract => self.extract(inst.operands[0], attr_index(inst)? as usize),
            Op::Insert => self.insert(inst, attr_index(inst)? as usize),
            Op::ExtractDyn => self.extract_dyn(inst),
            Op::InsertDyn => self.insert_dyn(inst),
            Op::Dot => self.dot(inst),
            _ => self.select_op(inst),
        }
    }

    fn construct(&mut self, ty: Type, components: &[Value]) -> Result<Lowered<'c>> {
        if is_big(ty) {
            let slot = self.slot(ty)?;
            for (i, &component) in components.iter().enumerate() {
                let at = self.at_byte(slot, ty.offset(i))?;
                self.store_value(at, self.func.ty(component), &self.value(component)?)?;
            }
            return Ok(Lowered::Memory(slot));
        }
        let mut leaves = Leaves::new();
        for &component in components {
            leaves.extend(self.leaves(component)?);
        }
        Ok(Lowered::Leaves(leaves))
    }

    fn splat(&mut self, ty: Type, x: Leaf<'c>) -> Result<Lowered<'c>> {
        let n = ty.n_components();
        if !is_big(ty) {
            return Ok(Lowered::Leaves(Leaves::from_elem(x, n)));
        }
        let slot = self.slot(ty)?;
        let elem = element(ty)?;
        self.repeat(n as u64, |i| self.store_component(slot, elem, i, x))?;
        Ok(Lowered::Memory(slot))
    }

    fn extract(&mut self, composite: Value, index: usize) -> Result<Lowered<'c>> {
        let ty = self.func.ty(composite);
        let component = component_type(ty, index)?;
        match self.value(composite)? {
            Lowered::Leaves(leaves) => {
                let start = ty.leaf_start(index);
                Ok(Lowered::Leaves(leaves[start..start + component.n_leaves()].into()))
            }
            Lowered::Memory(ptr) => {
                let at = self.at_byte(ptr, ty.offset(index))?;
                self.of_memory(at, component)
            }
        }
    }

    fn insert(&mut self, inst: &Inst, index: usize) -> Result<Lowered<'c>> {
        let (composite, x) = (inst.operands[0], inst.operands[1]);
        let ty = self.func.ty(composite);
        let component = component_type(ty, index)?;
        let x = self.value(x)?;
        match (self.value(composite)?, &x) {
            (Lowered::Leaves(mut leaves), Lowered::Leaves(new)) => {
                let start = ty.leaf_start(index);
                leaves[start..start + component.n_leaves()].copy_from_slice(new);
                Ok(Lowered::Leaves(leaves))
            }
            (Lowered::Memory(ptr), _) => {
                let slot = self.slot_with(composite, ptr, ty)?;
                let at = self.at_byte(slot, ty.offset(index))?;
                self.store_value(at, component, &x)?;
                Ok(Lowered::Memory(slot))
            }
            _ => Err(Error::Invalid(format!("insert into {ty}"))),
        }
    }

    /// Memory that holds a value and that may be changed: the value's own where nobody looks at it again. A matrix that is
    /// filled component by component would else be copied for each.
    fn slot_with(&mut self, value: Value, ptr: PointerValue<'c>, ty: Type) -> Result<PointerValue<'c>> {
        if self.is_taken_over.is_empty() {
            self.is_taken_over = taken_over(self.func);
        }
        if self.is_taken_over[value.index()] {
            return Ok(ptr);
        }
        let slot = self.slot(ty)?;
        self.copy(slot, ptr, ty)?;
        Ok(slot)
    }

    /// The component number that dynamic operands name, and whether it exists.
    fn dynamic_index(&self, ty: Type, operands: &[Value]) -> Result<(IntValue<'c>, IntValue<'c>)> {
        let b = &self.builder;
        // Unsigned, so that a negative index is outside too.
        let below =
            |i: IntValue<'c>, n: u32| b.build_int_compare(IntPredicate::ULT, i, number(i.get_type(), n.into()), "");
        if let (TypeKind::Matrix { rows, cols, .. }, [row, col]) = (ty.kind(), operands) {
            let (row, col) = (self.int(*row)?, self.int(*col)?);
            let inside = b.build_and(below(row, *rows)?, below(col, *cols)?, "")?;
            let start = b.build_int_mul(row, number(row.get_type(), (*cols).into()), "")?;
            return Ok((b.build_int_add(start, col, "")?, inside));
        }
        let index = self.int(operands[0])?;
        Ok((index, below(index, ty.n_components() as u32)?))
    }

    /// extract_dyn v, i: 0 outside.
    fn extract_dyn(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let composite = inst.operands[0];
        let ty = self.func.ty(composite);
        let elem = element(ty)?;
        let (index, inside) = self.dynamic_index(ty, &inst.operands[1..])?;
        let zero = types::zero(self.ctx, elem);
        let value = self.value(composite)?;
        if let Lowered::Leaves(leaves) = &value
            && (leaves.len() <= MAX_SELECTS || self.is_wide())
        {
            let mut found = zero;
            for (i, &leaf) in leaves.iter().enumerate() {
                let here =
                    self.builder.build_int_compare(IntPredicate::EQ, index, number(index.get_type(), i as u64), "")?;
                found = self.select(here, leaf, found)?;
            }
            return Ok(self.select(inside, found, zero)?.into());
        }
        let ptr = self.in_memory(&value, ty)?;
        let clamped = self.select_int(inside, index, self.i64(0))?;
        let loaded = self.load_component(ptr, elem, clamped)?;
        Ok(self.select(inside, loaded, zero)?.into())
    }

    /// insert_dyn v, x, i: v itself outside.
    fn insert_dyn(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let composite = inst.operands[0];
        let ty = self.func.ty(composite);
        let elem = element(ty)?;
        let x = self.leaf(inst.operands[1])?;
        let (index, inside) = self.dynamic_index(ty, &inst.operands[2..])?;
        let value = self.value(composite)?;
        if let Lowered::Leaves(leaves) = &value
            && (leaves.len() <= MAX_SELECTS || self.is_wide())
        {
            let replaced = leaves.iter().enumerate().map(|(i, &leaf)| {
                let here =
                    self.builder.build_int_compare(IntPredicate::EQ, index, number(index.get_type(), i as u64), "")?;
                self.select(self.builder.build_and(here, inside, "")?, x, leaf)
            });
            return Ok(Lowered::Leaves(replaced.collect::<Result<_>>()?));
        }
        let slot = match value {
            Lowered::Memory(ptr) => self.slot_with(composite, ptr, ty)?,
            Lowered::Leaves(_) => {
                let slot = self.slot(ty)?;
                self.store_value(slot, ty, &value)?;
                slot
            }
        };
        // Outside, component 0 is written back as it was.
        let clamped = self.select_int(inside, index, self.i64(0))?;
        let old = self.load_component(slot, elem, clamped)?;
        self.store_component(slot, elem, clamped, self.select(inside, x, old)?)?;
        self.of_memory(slot, ty)
    }

    fn select_op(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let condition = self.int(inst.operands[0])?;
        match (self.value(inst.operands[1])?, self.value(inst.operands[2])?) {
            (Lowered::Leaves(x), Lowered::Leaves(y)) => {
                let leaves = x.iter().zip(&y).map(|(&x, &y)| self.select(condition, x, y));
                Ok(Lowered::Leaves(leaves.collect::<Result<_>>()?))
            }
            (Lowered::Memory(x), Lowered::Memory(y)) => {
                Ok(Lowered::Memory(self.select(condition, x.into(), y.into())?.into_pointer_value()))
            }
            _ => Err(Error::Invalid("`select` between different shapes".into())),
        }
    }

    /// Sum of products from the first component on, each step rounded.
    fn dot(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        let ty = self.func.ty(inst.operands[0]);
        let elem = element(ty)?;
        if is_big(ty) {
            return self.dot_in_memory(inst, elem, ty.n_components() as u64);
        }
        let (x, y) = (self.leaves(inst.operands[0])?, self.leaves(inst.operands[1])?);
        let mut sum = None;
        for (&x, &y) in x.iter().zip(&y) {
            sum = Some(self.multiply_add(elem, sum, x, y)?);
        }
        sum.map(Into::into).ok_or_else(|| Error::Invalid("`dot` of no components".into()))
    }

    fn dot_in_memory(&mut self, inst: &Inst, elem: Scalar, n: u64) -> Result<Lowered<'c>> {
        let x = self.value(inst.operands[0])?;
        let y = self.value(inst.operands[1])?;
        let ty = self.func.ty(inst.operands[0]);
        let (x, y) = (self.in_memory(&x, ty)?, self.in_memory(&y, ty)?);
        let sum = self.reserve(8)?;
        let kind = LeafKind::Scalar(elem);
        let first = self.multiply_add(
            elem,
            None,
            self.load_component(x, elem, self.i64(0))?,
            self.load_component(y, elem, self.i64(0))?,
        )?;
        self.store_leaf(sum, kind, first)?;
        self.repeat(n - 1, |i| {
            let i = self.builder.build_int_add(i, self.i64(1), "")?;
            let (x, y) = (self.load_component(x, elem, i)?, self.load_component(y, elem, i)?);
            let next = self.multiply_add(elem, Some(self.load_leaf(sum, kind)?), x, y)?;
            self.store_leaf(sum, kind, next)
        })?;
        Ok(self.load_leaf(sum, kind)?.into())
    }

    /// sum + x y with both steps rounded, or x y where there is no sum yet.
    pub(crate) fn multiply_add(
        &self,
        elem: Scalar,
        sum: Option<Leaf<'c>>,
        x: Leaf<'c>,
        y: Leaf<'c>,
    ) -> Result<Leaf<'c>> {
        let product = self.scalar_op(Op::Mul, elem, &[x, y])?;
        let Some(sum) = sum else { return Ok(product) };
        self.scalar_op(Op::Add, elem, &[sum, product])
    }

    pub(crate) fn scalar_op(&self, op: Op, scalar: Scalar, args: &[Leaf<'c>]) -> Result<Leaf<'c>> {
        if scalar.is_float() { self.float_op(op, scalar, args) } else { self.int_op(op, scalar, args) }
    }

    fn component_at(&self, base: PointerValue<'c>, elem: Scalar, index: IntValue<'c>) -> Result<PointerValue<'c>> {
        let offset = self.builder.build_int_nsw_mul(index, self.i64(elem.size()), "")?;
        self.at(base, offset)
    }

    /// Component number `index` of a composite in memory.
    pub(crate) fn load_component(&self, base: PointerValue<'c>, elem: Scalar, index: IntValue<'c>) -> Result<Leaf<'c>> {
        self.load_leaf(self.component_at(base, elem, index)?, LeafKind::Scalar(elem))
    }

    pub(crate) fn store_component(
        &self,
        base: PointerValue<'c>,
        elem: Scalar,
        index: IntValue<'c>,
        x: Leaf<'c>,
    ) -> Result<()> {
        self.store_leaf(self.component_at(base, elem, index)?, LeafKind::Scalar(elem), x)
    }

    /// Whether any component of an integer is 0, or of a float not finite; a bool.
    pub(crate) fn any_component(
        &mut self,
        value: Value,
        is_bad: impl Fn(&Self, Leaf<'c>) -> Result<IntValue<'c>>,
    ) -> Result<IntValue<'c>> {
        let ty = self.func.ty(value);
        match self.value(value)? {
            Lowered::Leaves(leaves) => {
                let mut any = self.ctx.bool_type().const_zero();
                for &leaf in &leaves {
                    any = self.builder.build_or(any, is_bad(self, leaf)?, "")?;
                }
                Ok(any)
            }
            Lowered::Memory(ptr) => {
                let elem = element(ty)?;
                let (found, kind) = (self.reserve(8)?, LeafKind::Scalar(Scalar::Bool));
                self.store_leaf(found, kind, types::zero(self.ctx, Scalar::Bool))?;
                self.repeat(ty.n_components() as u64, |i| {
                    let bad = is_bad(self, self.load_component(ptr, elem, i)?)?;
                    let any = self.builder.build_or(as_int(self.load_leaf(found, kind)?)?, bad, "")?;
                    self.store_leaf(found, kind, any.into())
                })?;
                as_int(self.load_leaf(found, kind)?)
            }
        }
    }
}

/// By value: whether it is made with memory of its own, and all that becomes of it is another value with one component
/// replaced, in the same region, so that both happen equally often.
fn taken_over(func: &Function) -> Vec<bool> {
    let mut n_uses = vec![0u32; func.values.len()];
    for inst in func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id)) {
        inst.operands.iter().for_each(|operand| n_uses[operand.index()] += 1);
    }
    let mut found = vec![false; func.values.len()];
    let mut is_made_here = vec![false; func.values.len()];
    for region in &func.regions {
        for inst in region.insts.iter().map(|&id| func.inst(id)) {
            if let (Op::Insert | Op::InsertDyn, Some(&from)) = (inst.op, inst.operands.first()) {
                found[from.index()] = is_made_here[from.index()] && n_uses[from.index()] == 1;
            }
            if matches!(inst.op, Op::Insert | Op::InsertDyn | Op::Splat | Op::Construct) {
                is_made_here[inst.result().index()] = true;
            }
        }
        for inst in region.insts.iter().map(|&id| func.inst(id)) {
            inst.results.iter().for_each(|result| is_made_here[result.index()] = false);
        }
    }
    found
}

fn component_type(ty: Type, index: usize) -> Result<Type> {
    ty.component(index).ok_or_else(|| Error::Invalid(format!("{ty} has no component {index}")))
}
