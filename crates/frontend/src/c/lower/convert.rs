//! Conversions: those that C makes by itself, and casts.

use super::Result;
use super::body::{Body, Held, Memory, Rvalue};
use crate::c::types::CType;
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, Value};

impl Body<'_, '_, '_> {
    /// A value as another type, where C converts by itself.
    pub(super) fn converted(&mut self, value: Rvalue, to: &CType, span: Span) -> Result<Rvalue> {
        if value.ty == *to {
            return Ok(value);
        }
        let value = self.decayed(value);
        match (&value.ty, to, &value.held) {
            (CType::Scalar(_), CType::Scalar(scalar), _) => Ok(self.number(&value, *scalar)),
            (CType::Pointer(..), CType::Scalar(Scalar::Bool), _) => {
                let truth = self.truth(&value, span)?;
                Ok(Rvalue::value(CType::BOOL, truth))
            }
            (CType::Pointer(from, is_const), CType::Pointer(target, is_target_const), Held::Pointer(memory)) => {
                if *is_const && !*is_target_const && **from != CType::Void {
                    let message = format!("`{}` is given where `{}` is wanted", value.ty.name(), to.name());
                    let help = "what is `const` stays so: write `const` before the other type too";
                    return Err(self.error("type-mismatch", span, message, help));
                }
                if from == target {
                    return Ok(Rvalue { ty: to.clone(), held: value.held.clone() });
                }
                if **target == CType::Void || self.is_null(memory) {
                    let held = Held::Pointer(self.reinterpreted(memory, from, target));
                    return Ok(Rvalue { ty: to.clone(), held });
                }
                Err(self.wrong_type(&value, to, span, "cast it where you mean it: `(T*)p`"))
            }
            // The literal 0 is a null pointer.
            (CType::Scalar(_), CType::Pointer(..), Held::One(zero))
                if self.func.as_const(*zero).is_some_and(|zero| zero.0 == 0) =>
            {
                let base = self.zero_of(to.cell());
                Ok(Rvalue { ty: to.clone(), held: Held::Pointer(Memory { base, at: None }) })
            }
            (CType::Scalar(_), CType::Vector(..), _) => {
                Err(self.wrong_type(&value, to, span, "write `make_float4(x, y, z, w)` and the like"))
            }
            _ => Err(self.wrong_type(&value, to, span, "give a value of that type")),
        }
    }

    fn wrong_type(&mut self, value: &Rvalue, to: &CType, span: Span, help: &str) -> crate::walk::Reported {
        let message = format!("expected `{}`, found `{}`", to.name(), value.ty.name());
        self.error("type-mismatch", span, message, help)
    }

    fn number(&mut self, value: &Rvalue, scalar: Scalar) -> Rvalue {
        let from = value.ty.as_scalar().unwrap_or(scalar);
        let found = match self.func.as_const(value.one()) {
            // Constants stay constants, for who asks for them.
            Some(constant) if !from.is_float() => self.b().int(scalar, constant.as_int(from)),
            Some(constant) if from.is_float() && scalar.is_float() => self.b().float(scalar, constant.as_float(from)),
            _ => self.b().cast(value.one(), scalar),
        };
        Rvalue::scalar(scalar, found)
    }

    fn is_null(&self, memory: &Memory) -> bool {
        let ir::ValueDef::Result(inst, _) = self.func.def(memory.base) else { return false };
        let inst = self.func.inst(inst);
        inst.op == Op::ArrayFromAddress && self.func.as_const(inst.operands[0]).is_some_and(|address| address.0 == 0)
    }

    /// `(T)x`.
    pub(super) fn cast(&mut self, value: Rvalue, to: &CType, span: Span) -> Result<Rvalue> {
        let value = self.decayed(value);
        match (&value.ty, to, &value.held) {
            (_, CType::Void, _) => Ok(Rvalue::VOID),
            (CType::Pointer(from, _), CType::Pointer(target, _), Held::Pointer(memory)) => {
                let held = Held::Pointer(self.reinterpreted(memory, from, target));
                Ok(Rvalue { ty: to.clone(), held })
            }
            (CType::Pointer(from, _), CType::Scalar(Scalar::I64 | Scalar::U64), Held::Pointer(memory)) => {
                let address = self.address(memory, from);
                Ok(self.number(&Rvalue::scalar(Scalar::U64, address), to.as_scalar().unwrap_or(Scalar::U64)))
            }
            _ => self.converted(value, to, span),
        }
    }

    /// The same memory as cells of another type.
    fn reinterpreted(&mut self, memory: &Memory, from: &CType, to: &CType) -> Memory {
        let (old, new) = (from.cell(), to.cell());
        if old == new {
            return memory.clone();
        }
        if self.is_null(memory) {
            return Memory { base: self.zero_of(Type::array(new, 1)), at: None };
        }
        let (old_size, new_size) = (old.size() as i128, new.size() as i128);
        let bytes_at = |body: &mut Self, at: Value| {
            let size = body.b().int(Scalar::I64, old_size);
            body.b().binary(Op::Mul, at, size)
        };
        // Dynamic shared memory is cut as C programs do: `(int*)(all + n)`.
        if let ir::ValueDef::Result(inst, _) = self.func.def(memory.base)
            && self.func.inst(inst).op == Op::DynamicShared
        {
            let start = self.func.inst(inst).operands[0];
            let start = match memory.at {
                Some(at) => {
                    let bytes = bytes_at(self, at);
                    self.b().binary(Op::Add, start, bytes)
                }
                None => start,
            };
            let base = self.b().push1(Op::DynamicShared, &[start], Attr::None, Type::array(new, 1));
            return Memory { base, at: None };
        }
        let address = self.address(memory, from);
        let extent = self.b().extent(memory.base, 0);
        let rest = match memory.at {
            Some(at) => self.b().binary(Op::Sub, extent, at),
            None => extent,
        };
        let bytes = bytes_at(self, rest);
        let size = self.b().int(Scalar::I64, new_size);
        let n = self.b().binary(Op::Div, bytes, size);
        let base = self.b().push1(Op::ArrayFromAddress, &[address, n], Attr::None, Type::array(new, 1));
        Memory { base, at: None }
    }

    /// Whether a value is not 0.
    pub(super) fn truth(&mut self, value: &Rvalue, span: Span) -> Result<Value> {
        match (&value.ty, &value.held) {
            (CType::Scalar(Scalar::Bool), Held::One(value)) => Ok(*value),
            (CType::Scalar(scalar), Held::One(value)) => {
                let zero = self.b().constant(*scalar, ir::Const(0));
                Ok(self.b().compare(Op::Ne, *value, zero))
            }
            (CType::Pointer(to, _), Held::Pointer(memory)) => {
                let address = self.address(memory, to);
                let null = self.b().int(Scalar::U64, 0);
                Ok(self.b().compare(Op::Ne, address, null))
            }
            _ => {
                let message = format!("`{}` cannot be used as a condition", value.ty.name());
                Err(self.error("not-a-condition", span, message, "compare a number"))
            }
        }
    }

    /// An integer as an i64 index.
    pub(super) fn index(&mut self, value: &Rvalue, span: Span) -> Result<Value> {
        match value.ty.as_scalar() {
            Some(scalar) if !scalar.is_float() => Ok(self.number(value, Scalar::I64).one()),
            _ => {
                let message = format!("an index must be an integer, found `{}`", value.ty.name());
                Err(self.error("not-an-index", span, message, "convert it: `(int)x`"))
            }
        }
    }
}
