//! Declarations: variables, arrays, shared memory, constants, and what they begin with.

use super::body::{Body, Held, Holds, Memory, Rvalue, Var};
use super::place::PlaceKind;
use super::{Bindings, Result, Text};
use crate::c::ast::{Declarator, Expr, ExprKind, Storage, TypeExpr, TypeKind};
use crate::c::types::CType;
use ir::{Attr, Op, Scalar, Type, Value};

/// What a block may share on any device.
const MAX_SHARED_BYTES: u64 = 227 << 10;

impl Text<'_> {
    /// The type of a declared name; an array without a length has as many elements as its initializer.
    pub(super) fn declared(&mut self, one: &Declarator, bindings: &Bindings) -> Result<CType> {
        if let (TypeKind::Array(elem, None), Some(init)) = (&one.ty.kind, &one.init)
            && let ExprKind::Braces(items) = &init.kind
        {
            let elem = self.resolve(elem, bindings)?;
            return Ok(CType::Array(elem.into(), items.len() as u64));
        }
        self.resolve(&one.ty, bindings)
    }
}

impl Body<'_, '_, '_> {
    fn declared(&mut self, one: &Declarator) -> Result<CType> {
        let bindings = self.bindings.clone();
        let constants = self.constants();
        if let TypeKind::Array(..) = one.ty.kind {
            let mut text = self.compile.text();
            let found = text.array(&one.ty, one.init.as_ref(), &bindings, &constants);
            self.compile.structs = std::mem::take(&mut text.structs);
            return found;
        }
        self.compile.resolve(&one.ty, &bindings)
    }

    pub(super) fn declaration(&mut self, one: &Declarator) -> Result<()> {
        self.span = one.span;
        if matches!(one.storage, Storage::Shared | Storage::Dynamic) {
            return self.shared(one);
        }
        if let TypeKind::Auto = one.ty.kind {
            let Some(init) = &one.init else {
                return Err(self.error("c-syntax", one.span, "`auto` needs a value", "write `auto x = value;`"));
            };
            let value = self.expr(init)?;
            let value = self.decayed(value);
            return self.declare_value(one.name.clone(), value, one.ty.is_const, one.span);
        }
        if let TypeKind::Reference(inner) = &one.ty.kind {
            return self.reference(one, inner);
        }
        let ty = self.declared(one)?;
        if let CType::Array(..) = ty {
            let memory = self.own_memory(&ty, one.span)?;
            self.declare_memory(one.name.clone(), ty.clone(), one.ty.is_const, memory.clone());
            return match &one.init {
                Some(init) => self.fill(&memory, 0, &ty, init),
                None => Ok(()),
            };
        }
        let is_const = one.ty.is_const || one.storage == Storage::Constant;
        let constant = one.init.as_ref().filter(|_| is_const && !is_float(&ty)).and_then(|init| self.known(init));
        let value = match &one.init {
            Some(init) => {
                let value = self.initial(init, &ty)?;
                self.converted(value, &ty, init.span)?
            }
            None => self.unset(&ty, one)?,
        };
        self.declare_value(one.name.clone(), value, is_const, one.span)?;
        if let Some(var) = self.vars.last_mut().filter(|var| var.name == one.name) {
            var.constant = constant;
        }
        Ok(())
    }

    /// What a variable holds before it is set: zeros, so that a mistake gives the same on every device.
    fn unset(&mut self, ty: &CType, one: &Declarator) -> Result<Rvalue> {
        if matches!(ty, CType::Void | CType::Elements(..)) {
            let message = format!("a variable cannot be `{}`", ty.name());
            return Err(self.error("type-mismatch", one.span, message, crate::c::types::HELP));
        }
        let zero = self.zero_of(ty.cell());
        Ok(match ty {
            CType::Pointer(..) => Rvalue { ty: ty.clone(), held: Held::Pointer(Memory { base: zero, at: None }) },
            _ => Rvalue::value(ty.clone(), zero),
        })
    }

    /// After a mistake in its declaration a name is still known, so that its uses are not reported too.
    pub(super) fn declare_anyway(&mut self, one: &Declarator) {
        let (name, ty, storage) = (one.name.clone(), CType::INT, Holds::Failed);
        self.declare(Var { name, ty, is_const: false, storage, constant: None });
    }

    /// An initializer, as a value of a type.
    pub(super) fn initial(&mut self, init: &Expr, ty: &CType) -> Result<Rvalue> {
        let ExprKind::Braces(items) = &init.kind else { return self.expr(init) };
        match ty {
            CType::Vector(..) | CType::Struct(_) => {
                let parts = super::pieces::parts(ty);
                let mut values = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let part = parts.get(index).cloned().unwrap_or(CType::INT);
                    values.push(self.initial(item, &part)?);
                }
                self.assemble(ty, &values, init.span)
            }
            // An array in a struct.
            CType::Array(elem, _) => {
                let mut values = Vec::new();
                for item in items {
                    values.push(self.initial(item, elem)?);
                }
                self.assemble(ty, &values, init.span)
            }
            _ => match items.as_slice() {
                [] => {
                    let zero = self.zero_of(ty.cell());
                    Ok(Rvalue::value(ty.clone(), zero))
                }
                [one] => self.expr(one),
                _ => {
                    let message = format!("`{}` is one value, found {}", ty.name(), items.len());
                    Err(self.error("argument-count", init.span, message, "give one value"))
                }
            },
        }
    }

    /// Stores what an array begins with, from a cell on. Cells that are not named are zero, as they are from the start
    /// on; in a loop they are set again.
    pub(super) fn fill(&mut self, memory: &Memory, first: u64, ty: &CType, init: &Expr) -> Result<()> {
        if let CType::Array(elem, len) = ty {
            let ExprKind::Braces(items) = &init.kind else {
                let help = "write its elements in braces: `{1, 2, 3}`";
                return Err(self.error("type-mismatch", init.span, "an array begins with a list", help));
            };
            let (elem, len) = super::constant::unnested(elem, *len, items);
            if items.len() as u64 > len {
                let message = format!("`{}` has {len} elements, found {}", ty.name(), items.len());
                return Err(self.error("argument-count", init.span, message, "give at most as many values"));
            }
            for (index, item) in (0u64..).zip(items) {
                self.fill(memory, first + index * elem.n_cells(), elem, item)?;
            }
            let n_given = items.len() as u64 * elem.n_cells();
            for index in n_given..ty.n_cells() {
                let zero = self.zero_of(ty.cell());
                let at = self.offset(memory, first + index);
                self.b().store(memory.base, &[at], &[], &[], zero);
            }
            return Ok(());
        }
        let value = self.initial(init, ty)?;
        let value = self.converted(value, ty, init.span)?.one();
        let at = self.offset(memory, first);
        self.b().store(memory.base, &[at], &[], &[], value);
        Ok(())
    }

    fn offset(&mut self, memory: &Memory, index: u64) -> Value {
        let at = self.b().int(Scalar::I64, index.into());
        match memory.at {
            Some(start) => self.b().binary(Op::Add, start, at),
            None => at,
        }
    }

    /// `__shared__ float tile[32][33];`, `extern __shared__ float all[];`.
    fn shared(&mut self, one: &Declarator) -> Result<()> {
        if let Some(init) = &one.init {
            let help = "let one thread set it, and meet at `__syncthreads()`";
            return Err(self.error("unsupported-syntax", init.span, "shared memory begins with no values", help));
        }
        if one.storage == Storage::Dynamic {
            let elem = match &one.ty.kind {
                TypeKind::Array(elem, None) => elem.clone(),
                _ => {
                    let help = "write `extern __shared__ float name[];`: the launch says how long it is";
                    return Err(self.error("c-syntax", one.span, "`extern __shared__` needs an open array", help));
                }
            };
            let bindings = self.bindings.clone();
            let elem = self.compile.resolve(&elem, &bindings)?;
            let start = self.b().int(Scalar::I64, 0);
            let ty = Type::array(elem.cell(), 1);
            let base = self.b().push1(Op::DynamicShared, &[start], Attr::None, ty);
            let ty = CType::Array(elem.into(), u64::from(u32::MAX));
            self.declare_memory(one.name.clone(), ty, false, Memory { base, at: None });
            return Ok(());
        }
        let ty = self.declared(one)?;
        let (cell, n) = (ty.cell(), ty.n_cells());
        let bytes = cell.size().saturating_mul(n);
        if bytes > MAX_SHARED_BYTES {
            let message = format!("{bytes} bytes of shared memory are too many: at most {MAX_SHARED_BYTES}");
            return Err(self.error("local-array-size", one.span, message, "share a part, and work in rounds"));
        }
        let base = self.b().push1(Op::SharedArray, &[], Attr::Extents(vec![n].into()), Type::array(cell, 1));
        self.declare_memory(one.name.clone(), ty, false, Memory { base, at: None });
        Ok(())
    }

    /// `float& r = a[i];`: another name for what is there.
    fn reference(&mut self, one: &Declarator, inner: &TypeExpr) -> Result<()> {
        let Some(init) = &one.init else {
            return Err(self.error("c-syntax", one.span, "a reference needs what it stands for", "write `T& r = x;`"));
        };
        let place = self.place(init)?;
        let is_const = inner.is_const || place.is_const;
        match place.kind {
            PlaceKind::Memory(access) if access.path.is_empty() => {
                self.declare_memory(one.name.clone(), place.ty, is_const, access.memory);
                Ok(())
            }
            PlaceKind::Temporary(value) if inner.is_const => {
                self.declare_value(one.name.clone(), value, true, one.span)
            }
            PlaceKind::Variable(id, steps) if steps.is_empty() => {
                let (ty, storage) = (self.vars[id].ty.clone(), self.vars[id].storage.clone());
                if matches!(storage, Holds::Values(_)) && !inner.is_const {
                    return Err(self.unsupported_reference(init));
                }
                self.declare(Var { name: one.name.clone(), ty, is_const, storage, constant: None });
                Ok(())
            }
            _ => Err(self.unsupported_reference(init)),
        }
    }

    fn unsupported_reference(&mut self, init: &Expr) -> crate::walk::Reported {
        let help = "references to variables and to elements of arrays are read";
        self.error("unsupported-syntax", init.span, "a reference to this is not read", help)
    }
}

fn is_float(ty: &CType) -> bool {
    ty.as_scalar().is_none_or(Scalar::is_float)
}
