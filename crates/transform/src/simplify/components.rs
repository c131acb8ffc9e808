//! Composites: reading what was just put in.

use super::{Simpler, Simplifier, defined_by};
use ir::{Attr, Const, Function, Inst, InstId, Op, Type, TypeKind, Value};

/// Composites of more components are not taken apart: text must not explode.
const MAX_COMPONENTS: usize = 16;

pub(super) fn simpler(cx: &mut Simplifier, id: InstId) -> Option<Simpler> {
    let inst = cx.func.inst(id);
    match inst.op {
        Op::Extract => extract(cx.func, inst),
        Op::Insert => insert(cx, id),
        Op::Construct => construct(cx.func, inst),
        Op::ExtractDyn => {
            let (&x, indices) = inst.operands.split_first()?;
            match constant_component(cx.func, x, indices)? {
                Some(index) => Some(Simpler::Op(Op::Extract, vec![x], Attr::Index(index))),
                None => Some(Simpler::Const(Const(0))),
            }
        }
        Op::InsertDyn => {
            let [x, component, ref indices @ ..] = inst.operands[..] else { return None };
            Some(match constant_component(cx.func, x, indices)? {
                Some(index) => Simpler::Op(Op::Insert, vec![x, component], Attr::Index(index)),
                None => Simpler::Value(x),
            })
        }
        Op::Transpose => {
            let inner = defined_by(cx.func, inst.operands[0], Op::Transpose)?;
            Some(Simpler::Value(inner.operands[0]))
        }
        _ => None,
    }
}

fn index_of(inst: &Inst) -> Option<u32> {
    if let Attr::Index(index) = inst.attr { Some(index) } else { None }
}

fn extract(func: &Function, inst: &Inst) -> Option<Simpler> {
    let (mut x, index) = (inst.operands[0], index_of(inst)?);
    // Past whatever put other components in.
    while let Some(insert) = defined_by(func, x, Op::Insert).filter(|insert| index_of(insert) != Some(index)) {
        x = insert.operands[0];
    }
    if let Some(made) = defined_by(func, x, Op::Construct) {
        return Some(Simpler::Value(made.operands[index as usize]));
    }
    if let Some(made) = defined_by(func, x, Op::Splat) {
        return Some(Simpler::Value(made.operands[0]));
    }
    if let Some(insert) = defined_by(func, x, Op::Insert) {
        return Some(Simpler::Value(insert.operands[1]));
    }
    (x != inst.operands[0]).then(|| Simpler::Op(Op::Extract, vec![x], Attr::Index(index)))
}

fn insert(cx: &mut Simplifier, id: InstId) -> Option<Simpler> {
    let inst = cx.func.inst(id);
    let [x, component] = inst.operands[..] else { return None };
    let index = index_of(inst)?;
    if let Some(read) = defined_by(cx.func, component, Op::Extract)
        && read.operands[0] == x
        && index_of(read) == Some(index)
    {
        return Some(Simpler::Value(x));
    }
    if let Some(inner) = defined_by(cx.func, x, Op::Insert)
        && index_of(inner) == Some(index)
    {
        return Some(Simpler::Op(Op::Insert, vec![inner.operands[0], component], Attr::Index(index)));
    }
    let n = cx.func.ty(x).n_components();
    let mut components: Vec<Value> = if let Some(made) = defined_by(cx.func, x, Op::Construct) {
        made.operands.to_vec()
    } else if let Some(made) = defined_by(cx.func, x, Op::Splat) {
        vec![made.operands[0]; n.min(MAX_COMPONENTS + 1)]
    } else {
        return None;
    };
    if n > MAX_COMPONENTS {
        return None;
    }
    components[index as usize] = component;
    Some(Simpler::Op(Op::Construct, components, Attr::None))
}

/// A value put together from its own components, or from one scalar.
fn construct(func: &Function, inst: &Inst) -> Option<Simpler> {
    let ty = func.ty(inst.result());
    let first = *inst.operands.first()?;
    if ty.is_composite() && inst.operands.iter().all(|&v| v == first) {
        return Some(Simpler::Op(Op::Splat, vec![first], Attr::None));
    }
    let source = defined_by(func, first, Op::Extract)?.operands[0];
    let is_source = |(i, &v): (usize, &Value)| {
        defined_by(func, v, Op::Extract).is_some_and(|e| e.operands[0] == source && index_of(e) == Some(i as u32))
    };
    let is_copy = func.ty(source) == ty && inst.operands.iter().enumerate().all(is_source);
    is_copy.then_some(Simpler::Value(source))
}

/// The component that constant indices name: `Some(None)` where they name none, `None` where they are not constant.
fn constant_component(func: &Function, x: Value, indices: &[Value]) -> Option<Option<u32>> {
    let scalar = ir::Scalar::I64;
    let indices: Option<Vec<i128>> = indices.iter().map(|&v| func.as_const(v).map(|c| c.as_int(scalar))).collect();
    let ty: Type = func.ty(x);
    Some(match (ty.kind(), &indices?[..]) {
        (TypeKind::Matrix { rows, cols, .. }, &[row, col]) => {
            let is_inside = (0..i128::from(*rows)).contains(&row) && (0..i128::from(*cols)).contains(&col);
            is_inside.then_some((row * i128::from(*cols) + col) as u32)
        }
        (_, &[index]) => (0..ty.n_components() as i128).contains(&index).then_some(index as u32),
        _ => None,
    })
}
