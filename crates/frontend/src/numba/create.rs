//! Arrays that a kernel makes or takes from outside: `np.zeros`, `const.array_like`, captured arrays; their reductions.
//!
//! ```text
//! a = np.zeros(4)    ->    v3: array<f64, 1> = local_array [4];  for v4 = 0 to 4:  store v3[v4], 0.0
//! np.sum(a)          ->    v9 = call @_array_sum(v3)
//! ```
//!
//! An array that the kernel takes from outside is a constant, copied when the kernel is compiled; device memory is used
//! in place.

use super::builtins::{Row, row};
use super::{array, blocks};
use crate::walk::call::Args;
use crate::walk::lower::{Binding, Lower, Result, Scope};
use crate::walk::operand::Operand;
use crate::walk::scan;
use crate::warp::builtins::Call;
use crate::{HostValue, ObjectId};
use diagnostics::Span;
use ir::{Attr, Const, Op, Scalar, Type, Value, ValueDef};
use ruff_python_ast::Stmt;

pub(super) const ROWS: &[Row] = &[
    row("cuda.const.array_like", "ndarray", constant),
    row("numpy.empty", "shape, dtype?, order?", |lower, call| filled(lower, call, 1, None)),
    row("numpy.zeros", "shape, dtype?, order?", |lower, call| filled(lower, call, 1, Some(Operand::int(0)))),
    row("numpy.ones", "shape, dtype?, order?", |lower, call| filled(lower, call, 1, Some(Operand::int(1)))),
    row("numpy.full", "shape, fill_value, dtype?, order?", |lower, call| {
        let value = call.arg(1).operand.clone();
        filled(lower, call, 2, Some(value))
    }),
    row("numpy.empty_like", "a", |lower, call| like(lower, call, None)),
    row("numpy.zeros_like", "a", |lower, call| like(lower, call, Some(0))),
    row("numpy.ones_like", "a", |lower, call| like(lower, call, Some(1))),
    row("numpy.arange", "start, stop?, step?, dtype?", range),
    row("carray", "ptr, shape, dtype?", from_pointer),
    row("farray", "ptr, shape, dtype?", from_pointer),
];

/// Functions of all elements of an array, as methods and by NumPy's names; the kernel library has them.
const REDUCTIONS: [&str; 24] = [
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "min",
    "max",
    "amin",
    "amax",
    "argmin",
    "argmax",
    "any",
    "all",
    "ptp",
    "nansum",
    "nanprod",
    "nanmean",
    "nanvar",
    "nanstd",
    "nanmin",
    "nanmax",
    "count_nonzero",
    "alltrue",
    "sometrue",
];

/// Elements of an array that is a constant of a kernel.
const MAX_CONSTANT: u64 = 4096;

/// `np.sum(a)`.
pub(super) fn reduction(lower: &mut Lower<'_, '_>, name: &str, args: &Args, span: Span) -> Option<Result<Operand>> {
    let is_array = args.positional.first().and_then(|first| lower.type_of(first)).is_some_and(Type::is_array);
    if !is_array || !REDUCTIONS.contains(&name) {
        return None;
    }
    lower.call_library(&format!("_array_{name}"), args.clone(), span)
}

/// `a.sum()`, `a.copy()`.
pub(super) fn method(
    lower: &mut Lower<'_, '_>,
    base: &Operand,
    array: Value,
    name: &str,
    args: &Args,
    span: Span,
) -> Option<Result<Operand>> {
    if name == "copy" && args.positional.is_empty() {
        return Some(copy(lower, array, span));
    }
    let mut all = args.clone();
    all.positional.insert(0, base.clone());
    all.spans.insert(0, span);
    reduction(lower, name, &all, span)
}

/// The shape of an array that was made in this body.
fn known_shape(lower: &Lower<'_, '_>, array: Value) -> Option<Vec<u64>> {
    let ValueDef::Result(inst, _) = lower.func.def(array) else { return None };
    if let Attr::Extents(shape) = &lower.func.inst(inst).attr { Some(shape.to_vec()) } else { None }
}

/// A copy in memory of the thread's own, of an array whose shape is known.
fn copy(lower: &mut Lower<'_, '_>, source: Value, span: Span) -> Result<Operand> {
    let (Some(shape), Some((elem, rank))) = (known_shape(lower, source), lower.ty(source).as_array()) else {
        let report = lower.report("argument-type", span, "only an array of a shape known when compiling can be copied");
        return Err(lower.emit(report.help("copy element by element into an array that is passed to the kernel")));
    };
    let made = blocks::own(lower, span, Op::LocalArray, &shape, elem, blocks::MAX_LOCAL_BYTES)?;
    let target = lower.value(&made, span)?;
    array::each(lower, target, rank, &mut Vec::new(), &mut |lower, indices| {
        let item = lower.b().load(source, indices, &[], &[]);
        lower.b().store(target, indices, &[], &[], item);
        Ok(())
    })?;
    Ok(made)
}

/// An array of the thread's own, whose elements are all `value`, or not set.
fn filled(lower: &mut Lower<'_, '_>, call: &Call<'_>, dtype: usize, value: Option<Operand>) -> Result<Operand> {
    let shape = blocks::extents(lower, call)?;
    let elem = match (call.get(dtype).filter(|arg| !arg.operand.is_none()), &value) {
        (Some(arg), _) => blocks::dtype(lower, call, arg)?,
        (None, Some(value)) if call.name == "numpy.full" => {
            lower.type_of(value).filter(|ty| ty.as_scalar().is_some()).unwrap_or(Type::scalar(Scalar::F64))
        }
        _ => Type::scalar(Scalar::F64),
    };
    let made = blocks::own(lower, call.span, Op::LocalArray, &shape, elem, blocks::MAX_LOCAL_BYTES)?;
    if let Some(value) = value {
        let target = lower.value(&made, call.span)?;
        let item = lower.value_as(&value, elem, call.span)?;
        array::each(lower, target, shape.len() as u32, &mut Vec::new(), &mut |lower, indices| {
            lower.b().store(target, indices, &[], &[], item);
            Ok(())
        })?;
    }
    Ok(made)
}

/// An array of the shape and type of another that was made in the kernel.
fn like(lower: &mut Lower<'_, '_>, call: &Call<'_>, value: Option<i128>) -> Result<Operand> {
    let model = lower.arg_value(call.arg(0))?;
    let (Some(shape), Some((elem, rank))) = (known_shape(lower, model), lower.ty(model).as_array()) else {
        return Err(lower.wrong_type(call, call.arg(0), "an array of a shape known when compiling"));
    };
    let made = blocks::own(lower, call.span, Op::LocalArray, &shape, elem, blocks::MAX_LOCAL_BYTES)?;
    if let Some(value) = value {
        let target = lower.value(&made, call.span)?;
        let item = lower.value_as(&Operand::int(value), elem, call.span)?;
        array::each(lower, target, rank, &mut Vec::new(), &mut |lower, indices| {
            lower.b().store(target, indices, &[], &[], item);
            Ok(())
        })?;
    }
    Ok(made)
}

/// `np.arange` of constants.
fn range(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let bounds: Option<Vec<i128>> = (0..3).filter_map(|k| call.get(k)).map(|arg| arg.operand.as_int()).collect();
    let (lo, hi, step) = match bounds.as_deref() {
        Some([hi]) => (0, *hi, 1),
        Some([lo, hi]) => (*lo, *hi, 1),
        Some([lo, hi, step]) if *step != 0 => (*lo, *hi, *step),
        _ => return Err(lower.wrong_type(call, call.arg(0), "integers known when compiling")),
    };
    let elem = match call.get(3) {
        Some(arg) => blocks::dtype(lower, call, arg)?,
        None => Type::i64(),
    };
    let n = ((hi - lo + step - step.signum()) / step).max(0) as u64;
    let made = blocks::own(lower, call.span, Op::LocalArray, &[n], elem, blocks::MAX_LOCAL_BYTES)?;
    let target = lower.value(&made, call.span)?;
    array::each(lower, target, 1, &mut Vec::new(), &mut |lower, indices| {
        let (first, step) = (lower.b().int(Scalar::I64, lo), lower.b().int(Scalar::I64, step));
        let offset = lower.b().binary(Op::Mul, indices[0], step);
        let number = Operand::Value(lower.b().binary(Op::Add, first, offset));
        let item = lower.value_as(&number, elem, call.span)?;
        lower.b().store(target, indices, &[], &[], item);
        Ok(())
    })?;
    Ok(made)
}

/// `carray(pointer, shape, dtype)`: memory as an array.
fn from_pointer(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let pointer = lower.arg_value(call.arg(0))?;
    let ty = lower.ty(pointer);
    let (u64, known) = (Type::scalar(Scalar::U64), ty.as_array().map(|(elem, _)| elem));
    let elem = match (call.get(2), known) {
        (Some(arg), _) => blocks::dtype(lower, call, arg)?,
        (None, Some(elem)) => elem,
        (None, None) => return Err(lower.wrong_type(call, call.arg(0), "a pointer, or `dtype=`,")),
    };
    let address = match (known, ty.as_scalar()) {
        (Some(_), _) => lower.b().push1(Op::Address, &[pointer], Attr::None, u64),
        (None, Some(scalar)) if scalar.is_int() => lower.b().cast(pointer, Scalar::U64),
        _ => return Err(lower.wrong_type(call, call.arg(0), "a pointer")),
    };
    let mut operands = vec![address];
    for (extent, at) in array::flat(lower, &call.arg(1).operand, call.arg(1).span)? {
        operands.push(lower.index(&extent, at)?);
    }
    let rank = operands.len() as u32 - 1;
    if !(1..=4).contains(&rank) {
        return Err(lower.wrong_type(call, call.arg(1), "a shape of 1 to 4 extents"));
    }
    Ok(Operand::Value(lower.b().push1(Op::ArrayFromAddress, &operands, Attr::None, Type::array(elem, rank))))
}

/// `const.array_like(a)`: what the host array holds when the kernel is compiled.
fn constant(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let arg = call.arg(0);
    match &arg.operand {
        Operand::Value(value) if known_shape(lower, *value).is_some() => Ok(arg.operand.clone()),
        Operand::Static(HostValue::Object(object)) if let Some(found) = constant_of(lower, *object, u64::MAX) => {
            Ok(found)
        }
        _ => Err(lower.wrong_type(call, arg, "a NumPy array that the kernel takes from outside")),
    }
}

/// An array, or a tuple of arrays, that the kernel takes from outside.
pub(crate) fn captured(lower: &mut Lower<'_, '_>, value: &HostValue) -> Option<Operand> {
    match value {
        HostValue::Object(object) => {
            if let Some((elem, address, shape)) = lower.unit.host.device_array(*object) {
                let mut operands = vec![lower.b().constant(Scalar::U64, Const(address))];
                operands.extend(shape.iter().map(|&extent| lower.b().int(Scalar::I64, extent.into())));
                let ty = Type::array(elem, shape.len() as u32);
                return Some(Operand::Value(lower.b().push1(Op::ArrayFromAddress, &operands, Attr::None, ty)));
            }
            constant_of(lower, *object, MAX_CONSTANT)
        }
        HostValue::Tuple(items) if items.iter().any(|item| matches!(item, HostValue::Object(_))) => {
            let items = items.iter().map(|item| match item {
                HostValue::Object(_) => captured(lower, item),
                other => Some(Operand::Static(other.clone())),
            });
            items.collect::<Option<_>>().map(Operand::Tuple)
        }
        _ => None,
    }
}

/// A host array of at most so many elements as memory of the thread.
fn constant_of(lower: &mut Lower<'_, '_>, object: ObjectId, most: u64) -> Option<Operand> {
    let (elem, shape, leaves) = lower.unit.host.constant_array(object)?;
    if !(1..=4).contains(&shape.len()) || shape.iter().product::<u64>() > most {
        return None;
    }
    let span = lower.span;
    let array = blocks::own(lower, span, Op::LocalArray, &shape, elem, blocks::MAX_LOCAL_BYTES).ok()?;
    let target = lower.value(&array, span).ok()?;
    lower.constants.push(target);
    for (number, item) in leaves.chunks(elem.n_leaves().max(1)).enumerate() {
        let mut rest = number as u64;
        let mut indices = Vec::new();
        for &extent in shape.iter().rev() {
            indices.insert(0, lower.b().int(Scalar::I64, i128::from(rest % extent)));
            rest /= extent;
        }
        let value = match elem.as_scalar() {
            Some(scalar) => HostValue::Scalar(scalar, item[0]),
            None => HostValue::Composite(elem, item.to_vec()),
        };
        let value = lower.value(&Operand::Static(value), span).ok()?;
        lower.b().store(target, &indices, &[], &[], value);
    }
    Some(array)
}

impl Lower<'_, '_> {
    /// Before the body: gives the names of arrays from outside their memory, once for all uses.
    pub(crate) fn capture_arrays(&mut self, body: &[Stmt]) {
        let (Some(captured), Scope::Host(_)) = (self.rules.captured, &self.scope) else { return };
        let own = scan::assigned(body).bound.into_iter().collect::<Vec<String>>();
        self.own = own.clone();
        let mut names: Vec<String> = self.reads.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names.dedup();
        for name in names {
            if own.contains(&name) || self.names.get(&name).is_some() {
                continue;
            }
            if let Some(value) = self.lookup(&name)
                && let Some(operand) = captured(self, &value)
            {
                self.names.set(&name, Binding::Is(operand));
            }
        }
    }
}
