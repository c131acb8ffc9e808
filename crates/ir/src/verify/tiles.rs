//! Rules of the ops over tiles, and of `each`, which they become.

use super::rules::{Checked, OpTypes};
use crate::func::{Attr, FunctionKind};
use crate::op::Op;
use crate::types::{Class, Scalar, Type};

pub(super) fn check(op: &OpTypes) -> Checked {
    let (i32, i64) = (Type::i32(), Type::i64());
    match op.inst.op {
        Op::Each => each(op),
        Op::TileFill | Op::TileOfThreads => {
            let (elem, _) = tile(op, op.result()?)?;
            op.operands_are(&[elem])
        }
        Op::TileIndex => {
            let (elem, extents) = tile(op, op.result()?)?;
            op.operands_are(&[])?;
            match elem == i32 && op.index_attr() < extents.len() {
                true => Ok(()),
                false => Err("`tile_index` gives a tile of i32 with that dimension".into()),
            }
        }
        Op::TileMap => map(op),
        Op::TileReduce | Op::TileScan => fold(op),
        Op::TileView => {
            let (elem, _) = tile(op, op.operand(0)?)?;
            let (found, extents) = tile(op, op.result()?)?;
            strides(op, extents)?;
            op.operands_are(&[op.operand(0)?, i64])?;
            if elem == found { Ok(()) } else { Err(format!("`tile_view` of {elem} gives {found}")) }
        }
        Op::TilePut | Op::TileScatter => {
            let (ty, part) = (op.operand(0)?, op.operand(1)?);
            let ((elem, _), (found, extents)) = (tile(op, ty)?, tile(op, part)?);
            strides(op, extents)?;
            op.operands_are(&[ty, Type::tile(elem, extents.to_vec()), i64])?;
            debug_assert_eq!(elem, found);
            op.results_are(&[ty])
        }
        Op::TileGet | Op::TileOfThread => {
            let ty = op.operand(0)?;
            let (elem, _) = tile(op, ty)?;
            op.operands_are(&[ty, i64][..if op.inst.op == Op::TileGet { 2 } else { 1 }])?;
            op.results_are(&[elem])
        }
        Op::TileSet | Op::TileUpdate => {
            let ty = op.operand(0)?;
            op.operands_are(&[ty, tile(op, ty)?.0, i64])?;
            op.results_are(&[ty])
        }
        Op::TileMatMul => product(op),
        _ => access(op),
    }
}

fn each(op: &OpTypes) -> Checked {
    if op.func.kind != FunctionKind::Kernel {
        return Err("`each` outside a kernel".into());
    }
    if op.in_threads {
        return Err("`each` within `each`".into());
    }
    let params = op.inst.regions.iter().flat_map(|&region| super::rules::region_types(op, region.index()));
    if params.collect::<Vec<_>>() != [Type::i64()] {
        return Err("the region of `each` takes one i64".into());
    }
    op.operands_are(&[Type::i64()])?;
    op.results_are(&[])
}

fn tile(op: &OpTypes, ty: Type) -> Result<(Type, &'static [u32]), String> {
    ty.as_tile().ok_or_else(|| format!("`{}` is about tiles, found {ty}", op.name()))
}

fn strides(op: &OpTypes, extents: &[u32]) -> Checked {
    let Attr::Extents(strides) = &op.inst.attr else { return Ok(()) };
    if strides.len() == extents.len() {
        return Ok(());
    }
    Err(format!("{} strides for a tile of {} dimensions", strides.len(), extents.len()))
}

/// The types of the parameters and results of the function that an op names.
fn callee<'a>(op: &OpTypes<'a>) -> Result<(Vec<Type>, &'a [Type]), String> {
    let func = match op.inst.attr {
        Attr::Func(func) => op.module.funcs.get(func.index()),
        _ => None,
    };
    match func {
        Some(func) if func.kind == FunctionKind::Function => {
            Ok((func.params.iter().map(|param| param.ty).collect(), &func.results))
        }
        _ => Err(format!("`{}` names no function", op.name())),
    }
}

fn map(op: &OpTypes) -> Checked {
    let (params, results) = callee(op)?;
    let (elem, extents) = tile(op, op.result()?)?;
    if results != [elem] {
        return Err(format!("the function of `tile_map` must give {elem}"));
    }
    let expected = params.iter().zip(op.operands).map(|(&param, &operand)| match operand.as_tile() {
        Some((of, _)) if param == of => Type::tile(of, extents.to_vec()),
        _ => param,
    });
    let expected: Vec<Type> = expected.collect();
    if params.len() != op.operands.len() {
        return Err(format!("the function of `tile_map` takes {} operands", params.len()));
    }
    op.operands_are(&expected)
}

fn fold(op: &OpTypes) -> Checked {
    let (params, results) = callee(op)?;
    let ty = op.operand(0)?;
    let (elem, extents) = tile(op, ty)?;
    if params != [elem, elem] || results != [elem] {
        return Err(format!("the function of `{}` must make one {elem} of two", op.name()));
    }
    op.operands_are(&[ty])?;
    let result = op.result()?;
    let rows = extents.split_last().map_or(&[][..], |(_, rows)| rows);
    let is_right = match op.inst.op {
        Op::TileScan => result == ty,
        _ => result == elem || !rows.is_empty() && result == Type::tile(elem, rows.to_vec()),
    };
    if is_right { Ok(()) } else { Err(format!("`{}` of {ty} cannot give {result}", op.name())) }
}

fn product(op: &OpTypes) -> Checked {
    let operands = [op.operand(0)?, op.operand(1)?, op.operand(2)?];
    op.results_are(&operands[2..])?;
    let [a, b, c] = [tile(op, operands[0])?, tile(op, operands[1])?, tile(op, operands[2])?];
    let is_number = |elem: Type| elem.as_scalar().is_some_and(|scalar| scalar.class() != Class::Bool);
    match (a.1, b.1, c.1) {
        ([m, k], [inner, n], [rows, cols])
            if k == inner && m == rows && n == cols && [a.0, b.0, c.0].into_iter().all(is_number) =>
        {
            op.operands_are(&operands)
        }
        _ => Err(format!("`tile_matmul` cannot multiply {} and {}", operands[0], operands[1])),
    }
}

/// Tiles of array elements.
fn access(op: &OpTypes) -> Checked {
    let array = op.operand(0)?;
    let Some((elem, rank)) = array.as_array() else {
        return Err(format!("`{}` is about arrays, found {array}", op.name()));
    };
    let is_load = matches!(op.inst.op, Op::TileLoad | Op::TileLoadAt);
    let ty = if is_load { op.result()? } else { *op.operands.last().unwrap_or(&array) };
    let (found, extents) = tile(op, ty)?;
    if found != elem || extents.len() != rank as usize {
        return Err(format!("`{}` of {ty} and {array}", op.name()));
    }
    let mut expected = vec![array];
    if matches!(op.inst.op, Op::TileLoadAt | Op::TileStoreAt | Op::TileAtomicAt) {
        let Some(&n) = extents.get(op.index_attr()) else { return Err("there is no such dimension".into()) };
        expected.push(Type::tile(Type::scalar(Scalar::I32), vec![n]));
    }
    expected.extend(std::iter::repeat_n(Type::i64(), extents.len()));
    expected.extend((!is_load).then_some(ty));
    op.operands_are(&expected)?;
    match op.inst.op {
        Op::TileStore | Op::TileStoreAt => op.results_are(&[]),
        Op::TileAtomic | Op::TileAtomicAt => op.results_are(&[ty]),
        _ => Ok(()),
    }
}
