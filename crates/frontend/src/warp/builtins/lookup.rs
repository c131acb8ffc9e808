//! Choices, conversions and questions about types; Python's own functions.

use super::{Arg, Call, Row, own};
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand, pattern};
use crate::{HostValue, TypePattern};
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[
    own("where", "cond, value_if_true, value_if_false", |lower, call| choose(lower, call, [1, 2])),
    // The order of the old name: what holds comes last.
    own("select", "cond, value_if_false, value_if_true", |lower, call| choose(lower, call, [2, 1])),
    own("cast", "a, dtype", cast),
    own("copy", "a", |_, call| Ok(call.arg(0).operand.clone())),
    own("block_dim", "", block_dim),
    own("grad", "func", derivative),
    own("breakpoint", "", |_, _| Ok(Operand::NONE)),
    own("int", "x?", |lower, call| convert(lower, call, Type::i32())),
    own("float", "x?", |lower, call| convert(lower, call, Type::f32())),
    own("bool", "x?", |lower, call| convert(lower, call, Type::bool())),
    own("type", "x", type_of),
    own("isinstance", "x, type", isinstance),
    own("tuple", "*args", tuple),
    own("range", "*args", only_in_loops),
    own("reversed", "sequence", only_in_loops),
    own("address_of", "x", |lower, call| refuse(lower, call, "pass arrays; `array(ptr=…)` makes one from an address")),
    own("view", "*args", |lower, call| refuse(lower, call, "slice the array: `a[i]`, `a[i:j]`")),
    own("_kind", "x", kind),
    own("_element", "x", element),
    own("_at", "type, address", at),
    own("_eight", "x", eight),
    own("_lesser", "a, b", |lower, call| pick(lower, call, Op::Lesser)),
    own("_greater", "a, b", |lower, call| pick(lower, call, Op::Greater)),
    own("_mask_le", "a, b", mask_le),
    own("_mask_select", "mask, a, b", mask_select),
    own("_trailing_zeros", "x", |lower, call| count(lower, call, Op::TrailingZeros, Scalar::U64)),
    own("_count_bits", "x", |lower, call| count(lower, call, Op::PopCount, Scalar::I32)),
    own("_on_host", "", |lower, _| Ok(Operand::Value(lower.b().push1(Op::OnHost, &[], Attr::None, Type::bool())))),
    own("_contiguous", "array", contiguous),
    own("_or_spare", "array", or_spare),
    own("_with_adjoint", "array, adjoint", with_adjoint),
];

/// What to say about a function of Python's that kernels do not have.
pub(super) fn python_only(name: &str) -> Option<&'static str> {
    Some(match name {
        "enumerate" => "loop over `range(len(x))` and index",
        "zip" => "loop over `range(…)` and index each",
        "map" | "filter" | "sum" | "any" | "all" | "sorted" => "write a loop",
        "list" | "dict" | "set" | "bytearray" => "use a tuple, a vector, or `wp.zeros(shape=…, dtype=…)`",
        "str" | "repr" | "format" | "chr" | "ord" | "hex" => "kernels have no strings; use `printf` with a format",
        "divmod" => "write `x // y` and `x % y`",
        "complex" => "kernels have no complex numbers; use `vec2`",
        "open" | "input" | "exec" | "eval" | "globals" | "locals" | "getattr" | "setattr" | "super" => {
            "kernels cannot call Python; `wp.static(…)` evaluates an expression when the kernel is compiled"
        }
        "isqrt" => "write `int(sqrt(float(n)))`",
        _ => return None,
    })
}

/// What to do instead of calling a method of Python's lists and strings, or of NumPy's arrays.
pub(super) fn missing_method(name: &str) -> Option<&'static str> {
    Some(match name {
        "append" | "extend" | "insert" | "pop" | "remove" | "clear" => {
            "nothing grows or shrinks in a kernel: write to places of an array that is passed, or of `wp.zeros(shape=…, dtype=…)`"
        }
        "sum" | "mean" | "prod" | "min" | "max" | "std" | "var" | "any" | "all" | "argmin" | "argmax" | "sort" => {
            "write a loop, or compute it before the launch"
        }
        "copy" => "assign element by element",
        "item" => "index it: `x[0]`",
        "astype" => "convert a value by its type: `wp.float64(x)`",
        "format" | "join" | "split" | "upper" | "lower" => "kernels have no strings; use `printf` with a format",
        _ => return None,
    })
}

/// Functions of Warp's that are still to come.
pub(super) fn is_planned(name: &str) -> bool {
    let families = ["tile_bvh_", "tile_mesh_", "tile_query_", "tile_stack", "volume_", "dense_"];
    families.iter().any(|family| name.starts_with(family)) || name.ends_with("_tiled")
}

fn choose(lower: &mut Lower<'_, '_>, call: &Call<'_>, [yes, no]: [usize; 2]) -> Result<Operand> {
    let condition = lower.truth(&call.arg(0).operand, call.arg(0).span)?;
    if let Operand::Static(HostValue::Bool(holds)) = condition {
        return Ok(call.arg(if holds { yes } else { no }).operand.clone());
    }
    let values = lower.one_type_of_any(call, &[call.arg(yes).clone(), call.arg(no).clone()])?;
    let condition = lower.value(&condition, call.span)?;
    Ok(Operand::Value(lower.b().select(condition, values[0], values[1])))
}

impl Lower<'_, '_> {
    /// Two arguments of one type, whatever it is.
    pub(super) fn one_type_of_any(&mut self, call: &Call<'_>, args: &[Arg]) -> Result<Vec<Value>> {
        let operands: Vec<&Operand> = args.iter().map(|arg| &arg.operand).collect();
        let typed = args.iter().find(|arg| !Self::is_literal(&arg.operand) && !arg.operand.is_none());
        let ty = match typed {
            Some(arg) => self.type_of(&arg.operand),
            None => self.literal_type(&operands),
        };
        let Some(ty) = ty else {
            let arg = typed.unwrap_or(&args[0]);
            return Err(self.wrong_type(call, arg, "values"));
        };
        let is_null = |arg: &Arg| arg.operand.is_none() && ty.is_array();
        let mut values = Vec::new();
        for arg in args {
            values.push(if is_null(arg) { self.zero(ty) } else { self.unified(call, args, arg, ty)? });
        }
        Ok(values)
    }

    /// The type that literals have together: a float among them makes all floats.
    fn literal_type(&self, operands: &[&Operand]) -> Option<Type> {
        let scalars = operands.iter().filter_map(|operand| self.type_of(operand)?.as_scalar());
        scalars.max().map(Type::scalar)
    }
}

/// The same bits as another scalar type.
/// The bits of a struct of at most 8 bytes, padding 0, read as a scalar; `None` where it holds other things than numbers.
fn struct_bits(lower: &mut Lower<'_, '_>, value: Value, ty: Type, to: Scalar) -> Option<Value> {
    let unsigned =
        |size: u64| [Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64].into_iter().find(|s| s.size() == size);
    let word = unsigned(to.size())?;
    let mut bits = lower.b().int(word, 0);
    for index in 0..ty.n_components() {
        let field = ty.component(index)?.as_scalar().filter(|field| *field != Scalar::Bool)?;
        let part = lower.b().extract(value, index as u32);
        let raw = unsigned(field.size())?;
        let part =
            if field == raw { part } else { lower.b().push1(Op::Bitcast, &[part], Attr::None, Type::scalar(raw)) };
        let part = lower.b().cast(part, word);
        let shift = lower.b().int(word, i128::from(8 * ty.offset(index)));
        let part = lower.b().binary(Op::Shl, part, shift);
        bits = lower.b().binary(Op::Or, bits, part);
    }
    Some(if word == to { bits } else { lower.b().push1(Op::Bitcast, &[bits], Attr::None, Type::scalar(to)) })
}

fn cast(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let to = lower.scalar_argument(call, call.arg(1))?;
    let found = lower.type_of(&call.arg(0).operand);
    if let Some(ty) = found.filter(|ty| matches!(ty.kind(), TypeKind::Struct(_)) && ty.size() == to.size()) {
        let value = lower.arg_value(call.arg(0))?;
        if let Some(bits) = struct_bits(lower, value, ty, to) {
            return Ok(Operand::Value(bits));
        }
    }
    let Some(from) = found.and_then(Type::as_scalar) else {
        return Err(lower.wrong_type(call, call.arg(0), "a scalar, or a struct of scalars of the same size"));
    };
    if from.size() != to.size() || from == Scalar::Bool || to == Scalar::Bool {
        let (from, to) = (lower.name_of(Type::scalar(from)), lower.name_of(Type::scalar(to)));
        let message = format!("`cast` keeps the bits, but `{from}` and `{to}` differ in size");
        let report = lower.report("argument-type", call.span, message);
        return Err(lower.emit(report.help(format!("write `{to}(…)` to convert the value"))));
    }
    let value = lower.arg_value(call.arg(0))?;
    let is_same = from == to;
    Ok(Operand::Value(if is_same {
        value
    } else {
        lower.b().push1(Op::Bitcast, &[value], Attr::None, Type::scalar(to))
    }))
}

fn convert(lower: &mut Lower<'_, '_>, call: &Call<'_>, to: Type) -> Result<Operand> {
    let operands: Vec<Operand> = call.all().into_iter().map(|arg| arg.operand).collect();
    let mut args = super::Args::positional(&operands, call.span);
    args.spans = call.all().iter().map(|arg| arg.span).collect();
    lower.construct(&TypePattern::Is(to), args, call.span)
}

fn type_of(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match lower.type_of(&call.arg(0).operand) {
        Some(ty) => Ok(Operand::Static(HostValue::Type(TypePattern::Is(ty)))),
        None => Err(lower.wrong_type(call, call.arg(0), "a value")),
    }
}

/// Answered when compiling.
fn isinstance(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (value, types) = (call.arg(0), call.arg(1));
    let Some(found) = lower.type_of(&value.operand) else {
        return Err(lower.wrong_type(call, value, "a value"));
    };
    let candidates = match &types.operand {
        Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => lower.items(&types.operand, types.span)?,
        one => vec![one.clone()],
    };
    let mut holds = false;
    for operand in candidates {
        holds |= match operand {
            Operand::Static(HostValue::Type(wanted)) => pattern::matches(&wanted, found),
            _ => return Err(lower.wrong_type(call, types, "a type such as `float` here")),
        };
    }
    Ok(Operand::Static(HostValue::Bool(holds)))
}

/// The threads of a block, as the launch says; known when compiling.
fn block_dim(lower: &mut Lower<'_, '_>, _: &Call<'_>) -> Result<Operand> {
    let n_threads = ir::Const(lower.unit.options.block_dim.into());
    Ok(Operand::Static(HostValue::Scalar(Scalar::I32, n_threads)))
}

/// `grad(f)`, to be called.
fn derivative(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match &call.arg(0).operand {
        of @ Operand::Static(HostValue::Func(_) | HostValue::Builtin(_)) => Ok(Operand::Derivative(of.clone().into())),
        _ => Err(lower.wrong_type(call, call.arg(0), "a function")),
    }
}

/// The items of one sequence, or of several arguments, as a tuple.
fn tuple(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match call.rest.as_slice() {
        [only] => Ok(Operand::Tuple(lower.items(&only.operand, only.span)?)),
        all => Ok(Operand::Tuple(all.iter().map(|arg| arg.operand.clone()).collect())),
    }
}

fn only_in_loops(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let message = format!("`{}` can only stand after `in` of a `for` loop", call.name);
    Err(lower.error("unsupported-syntax", call.span, message))
}

fn refuse(lower: &mut Lower<'_, '_>, call: &Call<'_>, help: &str) -> Result<Operand> {
    let report = lower.report("unsupported-function", call.span, format!("`{}` is not supported", call.name));
    Err(lower.emit(report.help(help)))
}

/// For the library: what sort of type an argument has.
fn kind(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let name = match lower.type_of(&call.arg(0).operand).map(Type::kind) {
        Some(TypeKind::Scalar(_)) => "scalar",
        Some(TypeKind::Vector { .. }) => "vector",
        Some(TypeKind::Matrix { .. }) => "matrix",
        Some(TypeKind::Quat(_)) => "quat",
        Some(TypeKind::Transform(_)) => "transform",
        Some(TypeKind::Struct(_)) => "struct",
        Some(TypeKind::Tuple(_)) => "tuple",
        Some(TypeKind::Array { .. }) => "array",
        Some(TypeKind::Tile { .. }) => "tile",
        None => "none",
    };
    Ok(Operand::Static(HostValue::Str(name.into())))
}

/// For the library: what lies at an address in memory.
fn at(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let Operand::Static(HostValue::Type(TypePattern::Is(ty))) = call.arg(0).operand else {
        return Err(lower.wrong_type(call, call.arg(0), "a type"));
    };
    let address = lower.value_as(&call.arg(1).operand, Type::scalar(Scalar::U64), call.span)?;
    let mut b = lower.b();
    let one = b.int(Scalar::I64, 1);
    let array = b.push1(Op::ArrayFromAddress, &[address, one], Attr::None, Type::array(ty, 1));
    let zero = b.int(Scalar::I64, 0);
    Ok(Operand::Value(b.load(array, &[zero], &[], &[])))
}

/// For the library: the one of two vectors' components that is less, or greater.
fn pick(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let [a, b] = [lower.arg_value(call.arg(0))?, lower.arg_value(call.arg(1))?];
    Ok(Operand::Value(lower.b().binary(op, a, b)))
}

/// For the library: a number eight times.
fn eight(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = lower.value_as(&call.arg(0).operand, Type::f32(), call.span)?;
    Ok(Operand::Value(lower.b().splat(Type::vector(Scalar::F32, 8), x)))
}

/// For the library: a bit for each component of a vector that is at most the other's.
fn mask_le(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let operands = [lower.arg_value(call.arg(0))?, lower.arg_value(call.arg(1))?];
    Ok(Operand::Value(lower.b().push1(Op::MaskLe, &operands, Attr::None, Type::scalar(Scalar::U32))))
}

/// For the library: the components of the first vector where a bit is set, else of the second.
fn mask_select(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let operands = [lower.arg_value(call.arg(0))?, lower.arg_value(call.arg(1))?, lower.arg_value(call.arg(2))?];
    let ty = lower.b().ty(operands[1]);
    Ok(Operand::Value(lower.b().push1(Op::MaskSelect, &operands, Attr::None, ty)))
}

/// For the library: a number of bits.
fn count(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op, to: Scalar) -> Result<Operand> {
    let x = lower.arg_value(call.arg(0))?;
    let n = lower.b().unary(op, x);
    Ok(Operand::Value(lower.b().cast(n, to)))
}

/// For the library: an array of one dimension whose elements lie one after the other, which is known of arguments alone.
fn contiguous(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let array = lower.arg_value(call.arg(0))?;
    let ty = lower.b().ty(array);
    let mut b = lower.b();
    let address = b.push1(Op::Address, &[array], Attr::None, Type::scalar(Scalar::U64));
    let n = b.extent(array, 0);
    Ok(Operand::Value(b.push1(Op::ArrayFromAddress, &[address, n], Attr::None, ty)))
}

/// For the library: an array, or where it has no memory one of its rank over memory that any index reaches.
fn or_spare(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let array = lower.arg_value(call.arg(0))?;
    let ty = lower.b().ty(array);
    let mut b = lower.b();
    let is_null = b.push1(Op::IsNull, &[array], Attr::None, Type::bool());
    let memory = b.push1(Op::SpareMemory, &[], Attr::None, Type::scalar(Scalar::U64));
    let zero = b.int(Scalar::I64, 0);
    let spare = b.push1(Op::ArrayFromAddress, &[memory, zero], Attr::None, ty);
    let spare = b.push1(Op::Subarray, &[spare, zero, zero, zero], Attr::Index(0), ty);
    Ok(Operand::Value(b.select(is_null, spare, array)))
}

/// For the library: an array whose adjoint is another.
fn with_adjoint(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let array = lower.arg_value(call.arg(0))?;
    let ty = lower.b().ty(array);
    let adjoint = lower.value_as(&call.arg(1).operand, ty, call.span)?;
    Ok(Operand::Value(lower.b().push1(Op::WithAdjoint, &[array, adjoint], Attr::None, ty)))
}

/// For the library: the scalar type inside an argument.
fn element(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match lower.type_of(&call.arg(0).operand).and_then(Type::element) {
        Some(scalar) => Ok(Operand::Static(HostValue::Type(TypePattern::Is(Type::scalar(scalar))))),
        None => Err(lower.wrong_type(call, call.arg(0), "a number or a vector")),
    }
}
