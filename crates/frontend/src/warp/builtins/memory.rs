//! Atomics, arrays made in kernels, lengths, textures.

use super::{Arg, Args, Call, Row, own};
use crate::walk::lower::Result;
use crate::walk::subscript::{self, Access};
use crate::walk::{Lower, Operand};
use crate::{HostValue, TypePattern};
use ir::{AtomicOp, Attr, Op, Scalar, Type, TypeKind};

const CELL: &str = "arr, *args, i?, j?, k?, l?, value?";

pub(super) const ROWS: &[Row] = &[
    own("atomic_add", CELL, |lower, call| lower.atomic(call, AtomicOp::Add)),
    own("atomic_sub", CELL, |lower, call| lower.atomic(call, AtomicOp::Sub)),
    own("atomic_min", CELL, |lower, call| lower.atomic(call, AtomicOp::Min)),
    own("atomic_max", CELL, |lower, call| lower.atomic(call, AtomicOp::Max)),
    own("atomic_and", CELL, |lower, call| lower.atomic(call, AtomicOp::And)),
    own("atomic_or", CELL, |lower, call| lower.atomic(call, AtomicOp::Or)),
    own("atomic_xor", CELL, |lower, call| lower.atomic(call, AtomicOp::Xor)),
    own("atomic_exch", CELL, |lower, call| lower.atomic(call, AtomicOp::Exchange)),
    own("atomic_cas", "arr, *args, i?, j?, k?, l?, compare?, value?", compare_and_swap),
    own("zeros", "shape, dtype?", zeros),
    own("array", "ptr, shape, dtype", array),
    own("len", "a", len),
    own("texture_sample", "tex, *args, dtype?, lod?", texture_sample),
];

/// A local array lives on the stack of a worker thread.
const MAX_LOCAL_BYTES: u64 = 512 << 10;

/// An element of an array, and what else the call gives.
struct Cell {
    access: Access,
    values: Vec<Arg>,
}

impl Lower<'_, '_> {
    /// Takes a call apart: `(a, i, j, v)` on an array of two dimensions, with `n_values` values at the end.
    fn cell(&mut self, call: &Call<'_>, n_values: usize) -> Result<Cell> {
        let array = call.arg(0);
        let ty = self.type_of(&array.operand);
        let Some((_, rank)) = ty.and_then(subscript::array_type).and_then(Type::as_array) else {
            return Err(self.wrong_type(call, array, "an array"));
        };
        let all: Vec<Arg> = call.rest.iter().chain((1..7).filter_map(|i| call.get(i))).cloned().collect();
        if all.len() != rank as usize + n_values {
            let (s, v) = (if rank == 1 { "index" } else { "indices" }, if n_values == 1 { "value" } else { "values" });
            let message =
                format!("`{}` needs {rank} {s} and {n_values} {v} for this array, found {}", call.name, all.len());
            let found = self.describe(&array.operand);
            let report = self.report("argument-count", call.span, message).also(array.span, format!("this is {found}"));
            return Err(self.emit(report));
        }
        let base = self.arg_value(array)?;
        let (places, values) = all.split_at(rank as usize);
        let indices: Vec<_> = places.iter().map(|place| (place.operand.clone(), place.span)).collect();
        let access = self.element(base, &indices, &self.source(array.span), call.span)?;
        Ok(Cell { access, values: values.to_vec() })
    }

    fn atomic(&mut self, call: &Call<'_>, op: AtomicOp) -> Result<Operand> {
        let cell = self.cell(call, 1)?;
        let is_bits = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        let is_exchange = op == AtomicOp::Exchange;
        let is_allowed = match cell.access.ty.element() {
            Some(scalar) if is_bits => scalar.is_int(),
            Some(scalar) => is_exchange || scalar != Scalar::Bool,
            None => false,
        };
        if !is_allowed {
            let wanted = if is_bits { "an array of integers" } else { "an array of numbers or vectors" };
            return Err(self.wrong_type(call, call.arg(0), wanted));
        }
        let value = &cell.values[0];
        let value = self.value_as(&value.operand, cell.access.ty, value.span)?;
        Ok(Operand::Value(self.add_atomic(op, &cell.access, value)))
    }
}

/// Stores the last argument where the one before is found; gives what was there.
fn compare_and_swap(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let Cell { access, values } = lower.cell(call, 2)?;
    if access.ty.as_scalar().is_none() {
        return Err(lower.wrong_type(call, call.arg(0), "an array of scalars"));
    }
    let mut operands = [&[access.array], access.indices.as_slice()].concat();
    for value in &values {
        operands.push(lower.value_as(&value.operand, access.ty, value.span)?);
    }
    Ok(Operand::Value(lower.b().push1(Op::AtomicCas, &operands, Attr::Path(Box::default()), access.ty)))
}

/// `zeros(shape=(2, 3), dtype=float)`: an array private to the thread.
fn zeros(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let shape = lower.static_shape(call, call.arg(0))?;
    let elem = match call.get(1) {
        Some(arg) => lower.type_argument(call, arg)?,
        None => Type::f32(),
    };
    if shape.is_empty() || shape.len() > 4 {
        return Err(lower.wrong_type(call, call.arg(0), "a shape of 1 to 4 numbers"));
    }
    let bytes = shape.iter().fold(elem.size(), |bytes, &n| bytes.saturating_mul(u64::from(n)));
    if bytes > MAX_LOCAL_BYTES {
        let message = format!("a local array of {bytes} bytes is too large: at most {MAX_LOCAL_BYTES} bytes a thread");
        let report = lower.report("local-array-size", call.span, message);
        return Err(lower.emit(report.help("pass an array to the kernel instead")));
    }
    let ty = Type::array(elem, shape.len() as u32);
    let extents = shape.iter().map(|&n| u64::from(n)).collect();
    Ok(Operand::Value(lower.b().push1(Op::LocalArray, &[], Attr::Extents(extents), ty)))
}

/// `array(ptr=p, shape=(n, m), dtype=float)`: a contiguous array over memory at an address.
fn array(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (address, shape) = (call.arg(0), call.arg(1));
    let elem = lower.type_argument(call, call.arg(2))?;
    let address = match lower.type_of(&address.operand).and_then(Type::as_scalar) {
        Some(scalar) if scalar.is_int() => {
            let value = lower.arg_value(address)?;
            lower.b().cast(value, Scalar::U64)
        }
        _ => return Err(lower.wrong_type(call, address, "an address, `uint64`,")),
    };
    let is_one = lower.type_of(&shape.operand).is_some_and(|ty| ty.as_scalar().is_some());
    let extents = if is_one { vec![shape.operand.clone()] } else { lower.items(&shape.operand, shape.span)? };
    if extents.is_empty() || extents.len() > 4 {
        return Err(lower.wrong_type(call, shape, "a shape of 1 to 4 numbers"));
    }
    let mut operands = vec![address];
    for extent in &extents {
        operands.push(lower.index(extent, shape.span)?);
    }
    let ty = Type::array(elem, extents.len() as u32);
    Ok(Operand::Value(lower.b().push1(Op::ArrayFromAddress, &operands, Attr::None, ty)))
}

/// Known when compiling, except for an array: its first extent.
fn len(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let arg = call.arg(0);
    let n = match &arg.operand {
        Operand::Tuple(items) => Some(items.len()),
        Operand::Static(HostValue::Tuple(items)) => Some(items.len()),
        Operand::Static(HostValue::Str(text)) => Some(text.chars().count()),
        operand => match lower.type_of(operand).map(Type::kind) {
            Some(TypeKind::Array { .. }) => {
                let array = lower.arg_value(arg)?;
                return Ok(Operand::Value(lower.extent_of(array, 0)));
            }
            Some(TypeKind::Matrix { rows, .. }) => Some(*rows as usize),
            Some(TypeKind::Tile { extents, .. }) => extents.first().map(|&extent| extent as usize),
            Some(TypeKind::Scalar(_) | TypeKind::Struct(_)) | None => None,
            Some(_) => lower.type_of(operand).map(Type::n_components),
        },
    };
    match n {
        Some(n) => Ok(Operand::int(n as i128)),
        None => Err(lower.wrong_type(call, arg, "an array, a vector, a matrix or a tuple")),
    }
}

/// `texture_sample(tex, uv, dtype=vec4)`: the library's, with a type that it reads.
fn texture_sample(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let is_type = |arg: &Arg| matches!(arg.operand, Operand::Static(HostValue::Type(_)));
    let at = call.rest.iter().position(is_type).unwrap_or(call.rest.len());
    let (places, behind) = call.rest.split_at(at);
    let channels = [Type::f32(), Type::vector(Scalar::F32, 2), Type::vector(Scalar::F32, 4)];
    let wanted = "`dtype` to be `float`, `vec2` or `vec4`, by the channels of the texture";
    let Some(dtype) = call.get(1).or(behind.first()) else {
        let message = format!("`{}` needs {wanted}", call.name);
        return Err(lower.error("argument-count", call.span, message));
    };
    match &dtype.operand {
        Operand::Static(HostValue::Type(TypePattern::Is(ty))) if channels.contains(ty) => {}
        _ => return Err(lower.wrong_type(call, dtype, wanted)),
    }
    let lod = call.get(2).or(behind.get(1));
    let given = || [call.arg(0)].into_iter().chain(places).chain([dtype]).chain(lod);
    let positional = given().map(|arg| arg.operand.clone()).collect();
    let args = Args { positional, named: Vec::new(), spans: given().map(|arg| arg.span).collect() };
    let args = lower.library_arguments(call.name, args, call.span)?;
    lower.call_library(call.name, args, call.span).unwrap_or_else(|| panic!("the library has `{}`", call.name))
}
