//! The functions and variables that CUDA and C give a kernel, one file a family.

use super::Result;
use super::body::{Body, Rvalue};
use crate::c::ast::{Expr, TemplateArg};
use crate::c::types::CType;
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, Value};

mod atomic;
mod bits;
mod math;
mod print;
mod threads;
mod vector;

/// A call of one.
pub(super) struct Call<'e> {
    name: &'e str,
    args: &'e [Expr],
    span: Span,
}

type Rule = fn(&mut Body<'_, '_, '_>, &Call<'_>) -> Result<Rvalue>;

/// Name, least and most arguments, and what a call becomes.
struct Row {
    name: &'static str,
    args: (usize, usize),
    rule: Rule,
}

const fn row(name: &'static str, n_args: usize, rule: Rule) -> Row {
    Row { name, args: (n_args, n_args), rule }
}

const fn open(name: &'static str, least: usize, most: usize, rule: Rule) -> Row {
    Row { name, args: (least, most), rule }
}

const FAMILIES: [&[Row]; 5] = [math::ROWS, bits::ROWS, atomic::ROWS, threads::ROWS, print::ROWS];

/// Every name, for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|rows| rows.iter().map(|row| row.name)).chain(math::op_names())
}

impl Body<'_, '_, '_> {
    /// Calls a function of CUDA's or C's; nothing where there is none of that name.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        template: &[TemplateArg],
        args: &[Expr],
        span: Span,
    ) -> Option<Result<Rvalue>> {
        let call = Call { name, args, span };
        if let Some(row) = FAMILIES.iter().flat_map(|rows| rows.iter()).find(|row| row.name == name) {
            if !(row.args.0..=row.args.1).contains(&args.len()) {
                return Some(Err(self.wrong_count(&call, row.args)));
            }
            return Some((row.rule)(self, &call));
        }
        if let Some(result) = math::op(self, &call) {
            return Some(result);
        }
        if let Some(result) = bits::conversion(self, &call) {
            return Some(result);
        }
        if let Some(limit) = name.strip_prefix("numeric_limits::") {
            return Some(self.limit(limit, template, span));
        }
        vector::made(self, &call)
    }

    fn wrong_count(&mut self, call: &Call<'_>, (least, most): (usize, usize)) -> crate::walk::Reported {
        let wanted = match most {
            _ if least == most => least.to_string(),
            usize::MAX => format!("at least {least}"),
            _ => format!("{least} to {most}"),
        };
        let message = format!("`{}` takes {wanted} arguments, found {}", call.name, call.args.len());
        self.error("argument-count", call.span, message, "give an argument for each parameter")
    }

    fn limit(&mut self, name: &str, template: &[TemplateArg], span: Span) -> Result<Rvalue> {
        let bindings = self.bindings.clone();
        let scalar = match template {
            [TemplateArg::Type(ty)] => self.compile.resolve(ty, &bindings)?.as_scalar(),
            _ => None,
        };
        let Some(scalar) = scalar else {
            let message = "`numeric_limits` needs the type of a number";
            return Err(self.error("argument-type", span, message, "write `numeric_limits<float>::max()`"));
        };
        let bits = scalar.bits();
        let int = |value: i128| Some(ir::Const::int(scalar, value));
        let float = |value: f64| Some(ir::Const::float(scalar, value));
        let most = if scalar.is_signed() { (1i128 << (bits - 1)) - 1 } else { (1i128 << bits) - 1 };
        let greatest = match scalar {
            Scalar::F16 => 65504.0,
            Scalar::BF16 => 3.389_531_389_251_535_5e38,
            Scalar::F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        let found = match (name, scalar.is_float()) {
            ("max", false) => int(most),
            ("min" | "lowest", false) => int(if scalar.is_signed() { -most - 1 } else { 0 }),
            ("max", true) => float(greatest),
            ("lowest", true) => float(-greatest),
            ("min", true) if scalar == Scalar::F32 => float(f64::from(f32::MIN_POSITIVE)),
            ("min", true) => float(f64::MIN_POSITIVE),
            ("epsilon", true) if scalar == Scalar::F32 => float(f64::from(f32::EPSILON)),
            ("epsilon", true) => float(f64::EPSILON),
            ("infinity", true) => float(f64::INFINITY),
            ("quiet_NaN", true) => float(f64::NAN),
            _ => None,
        };
        match found {
            Some(constant) => {
                let value = self.b().constant(scalar, constant);
                Ok(Rvalue::scalar(scalar, value))
            }
            None => {
                let help = "there are max, min, lowest, epsilon, infinity and quiet_NaN";
                Err(self.error("unknown-function", span, format!("`numeric_limits` has no `{name}` here"), help))
            }
        }
    }

    /// An argument as a number of a type.
    fn number_arg(&mut self, call: &Call<'_>, index: usize, scalar: Scalar) -> Result<Value> {
        let arg = &call.args[index];
        let value = self.expr(arg)?;
        if value.ty.as_scalar().is_none() {
            let message = format!("`{}` takes a number here, found `{}`", call.name, value.ty.name());
            return Err(self.error("argument-type", arg.span, message, "give a number"));
        }
        Ok(self.converted(value, &CType::Scalar(scalar), arg.span)?.one())
    }

    /// The variables that every kernel has.
    pub(super) fn built_in_value(&mut self, name: &str) -> Option<Rvalue> {
        if let Some((_, super::Bound::Value(value, ty))) = self.bindings.iter().find(|(known, _)| &**known == name) {
            let (value, ty) = (*value, ty.clone());
            let scalar = ty.as_scalar()?;
            let value = self.b().int(scalar, value);
            return Some(Rvalue::value(ty, value));
        }
        let position = match name {
            "threadIdx" => Some(Op::ThreadIndex),
            "blockIdx" => Some(Op::BlockIndex),
            "blockDim" => Some(Op::BlockExtent),
            "gridDim" => Some(Op::GridExtent),
            _ => None,
        };
        if let Some(op) = position {
            let parts: Vec<Value> = (0..3)
                .map(|dim| {
                    let index = self.b().push1(op, &[], Attr::Index(dim), Type::i64());
                    self.b().cast(index, Scalar::U32)
                })
                .collect();
            let value = self.b().construct(Type::vector(Scalar::U32, 3), &parts);
            return Some(Rvalue::value(CType::Vector(Scalar::U32, 3), value));
        }
        let (scalar, value) = match name {
            "warpSize" => (Scalar::I32, 32.0),
            "INFINITY" | "HUGE_VALF" | "CUDART_INF_F" => (Scalar::F32, f64::INFINITY),
            "NAN" | "CUDART_NAN_F" => (Scalar::F32, f64::NAN),
            "CUDART_INF" | "HUGE_VAL" => (Scalar::F64, f64::INFINITY),
            "CUDART_NAN" => (Scalar::F64, f64::NAN),
            // Of launches over elements: the number of the thread, and its indices.
            "__linear" => {
                let index = self.launch_index();
                return Some(Rvalue::scalar(Scalar::I64, index));
            }
            "__tid0" | "__tid1" | "__tid2" => {
                let dim = u32::from(name.as_bytes()[5] - b'0');
                let index = self.thread(dim);
                return Some(Rvalue::scalar(Scalar::I64, index));
            }
            _ => return None,
        };
        let value = self.b().float(scalar, value);
        Some(Rvalue::scalar(scalar, value))
    }
}
