//! The state of one function while it is lowered: its variables, its scopes, the loops around.

use super::loops::Frame;
use super::{Bindings, Compile, Result};
use crate::c::ast::{Function, Name};
use crate::c::types::CType;
use crate::walk::Reported;
use diagnostics::{Diagnostic, Span};
use ir::{Builder, FunctionKind, Op, Param, RegionId, Scalar, Type, Value};

/// A variable of the function, by number.
pub(super) type VarId = usize;

pub(super) struct Var {
    pub(super) name: Name,
    pub(super) ty: CType,
    pub(super) is_const: bool,
    pub(super) storage: Holds,
    /// The integer that it is, where that is known when compiling.
    pub(super) constant: Option<i128>,
}

/// What holds a variable.
#[derive(Clone, Debug)]
pub(super) enum Holds {
    /// Values: one, or the array and the offset of a pointer.
    Values(Vec<Value>),
    /// Memory of its own, for arrays and for what has its address taken; a reference.
    Memory(Memory),
    /// Nothing: its declaration failed, and using it is not reported again.
    Failed,
}

/// Cells of an array from an offset on; without one, from its start.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) base: Value,
    pub(super) at: Option<Value>,
}

/// What an expression gives.
#[derive(Clone, Debug)]
pub(super) struct Rvalue {
    pub(super) ty: CType,
    pub(super) held: Held,
}

#[derive(Clone, Debug)]
pub(super) enum Held {
    /// `void`.
    Nothing,
    One(Value),
    Pointer(Memory),
}

impl Rvalue {
    pub(super) const VOID: Rvalue = Rvalue { ty: CType::Void, held: Held::Nothing };

    pub(super) fn value(ty: CType, value: Value) -> Rvalue {
        Rvalue { ty, held: Held::One(value) }
    }

    pub(super) fn scalar(scalar: Scalar, value: Value) -> Rvalue {
        Rvalue::value(CType::Scalar(scalar), value)
    }

    pub(super) fn pointer(to: CType, is_const: bool, memory: Memory) -> Rvalue {
        Rvalue { ty: CType::Pointer(to.into(), is_const), held: Held::Pointer(memory) }
    }

    /// The value of what is no pointer.
    pub(super) fn one(&self) -> Value {
        match &self.held {
            Held::One(value) => *value,
            Held::Pointer(memory) => memory.base,
            Held::Nothing => panic!("the value of nothing"),
        }
    }
}

pub(super) struct Body<'b, 'c, 'h> {
    pub(super) compile: &'b mut Compile<'c, 'h>,
    pub(super) func: ir::Function,
    pub(super) region: RegionId,
    /// The expression or statement at hand; every op gets it.
    pub(super) span: Span,
    pub(super) bindings: Bindings,
    pub(super) vars: Vec<Var>,
    /// Names in scope, the innermost last.
    pub(super) names: Vec<(Name, VarId)>,
    pub(super) loops: Vec<Frame>,
    pub(super) returns: CType,
    /// Variables that need memory: their addresses are taken.
    pub(super) addressed: Vec<Name>,
    /// Arrays of constants of the text that the function uses, filled at its start.
    pub(super) tables: Vec<(Name, Memory)>,
    /// The memory of the variables of the device.
    pub(super) globals: Vec<Memory>,
}

impl<'b, 'c, 'h> Body<'b, 'c, 'h> {
    /// Lowers a function for what its template's parameters stand for.
    pub(super) fn function(
        compile: &'b mut Compile<'c, 'h>,
        function: &Function,
        bindings: Bindings,
        kind: FunctionKind,
    ) -> Result<ir::Function> {
        let is_kernel = kind.is_kernel();
        let returns = compile.resolve(&function.returns, &bindings)?;
        if is_kernel && returns != CType::Void {
            let report = Diagnostic::new("kernel-return", function.returns.span, "a kernel cannot return a value")
                .help("make it `void` and write results to memory that is passed by a pointer");
            compile.unit.diagnostics.push(report);
            return Err(Reported);
        }
        let mut types = Vec::new();
        let mut params: Vec<Param> = Vec::new();
        for param in &function.params {
            let ty = compile.resolve(&param.ty, &bindings)?;
            let mut add = |ty| params.push(Param { name: param.name.to_string(), ty });
            add(ty.cell());
            // The offset of a pointer; a kernel's begins at its memory.
            if matches!(ty, CType::Pointer(..)) && !is_kernel {
                add(Type::i64());
            }
            types.push(ty);
        }
        for global in compile.globals.clone() {
            let ty = compile.text().declared(&global, &Bindings::new())?;
            params.push(Param { name: global.name.to_string(), ty: Type::array(ty.cell(), 1) });
        }
        let name = compile.unit.free_name(&function.name);
        let mut func = ir::Function::new(name, kind, params, Vec::new());
        func.results = results(&returns);
        let region = func.body;
        let addressed = super::scan::addressed(&function.body, &compile.program);
        let n_before = compile.unit.diagnostics.len();
        let mut body = Body {
            compile,
            func,
            region,
            span: function.span,
            bindings,
            vars: Vec::new(),
            names: Vec::new(),
            loops: Vec::new(),
            returns,
            addressed,
            tables: Vec::new(),
            globals: Vec::new(),
        };
        body.enter(function, &types, is_kernel)?;
        body.statements(&function.body);
        body.leave(function);
        if body.compile.unit.diagnostics.len() > n_before {
            return Err(Reported);
        }
        Ok(body.func)
    }

    /// Declares the parameters and the variables of the device.
    fn enter(&mut self, function: &Function, types: &[CType], is_kernel: bool) -> Result<()> {
        let values = self.func.region(self.region).params.clone();
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or_else(|| panic!("a parameter has a value"));
        let mut named = Vec::new();
        for (param, ty) in function.params.iter().zip(types) {
            let value = next();
            let held = match ty {
                CType::Pointer(..) => Held::Pointer(Memory { base: value, at: (!is_kernel).then(&mut next) }),
                _ => Held::One(value),
            };
            named.push((param, Rvalue { ty: ty.clone(), held }));
        }
        let globals: Vec<Value> = values.collect();
        for (global, base) in self.compile.globals.clone().into_iter().zip(globals) {
            let ty = self.compile.text().declared(&global, &Bindings::new())?;
            let memory = Memory { base, at: None };
            self.globals.push(memory.clone());
            self.declare_memory(global.name.clone(), ty, global.ty.is_const, memory);
        }
        for (param, value) in named {
            let is_reference = matches!(param.ty.kind, crate::c::ast::TypeKind::Reference(_));
            if is_reference && let (CType::Pointer(to, is_const), Held::Pointer(memory)) = (&value.ty, &value.held) {
                self.declare_memory(param.name.clone(), (**to).clone(), *is_const, memory.clone());
                continue;
            }
            self.declare_value(param.name.clone(), value, param.ty.is_const, param.span)?;
        }
        Ok(())
    }

    /// Ends the function behind its last statement.
    fn leave(&mut self, function: &Function) {
        if self.is_terminated() {
            return;
        }
        self.span = function.end;
        if self.returns == CType::Void {
            return self.b().ret(&[]);
        }
        let message = format!("`{}` returns nothing on a path that ends here", function.name);
        let _ = self.error("missing-return", function.end, message, "return a value at the end of the function");
        self.b().push(Op::Unreachable, &[], ir::Attr::None, &[], &[]);
    }

    /// Appends to the current region.
    pub(super) fn b(&mut self) -> Builder<'_> {
        let mut builder = Builder::new(&mut self.func);
        builder.enter(self.region);
        builder.span = self.span;
        builder
    }

    pub(super) fn is_terminated(&self) -> bool {
        self.func.terminator(self.region).is_some()
    }

    /// Fills a new region by `fill` and comes back; gives the region.
    pub(super) fn in_region<T>(&mut self, params: &[Type], fill: impl FnOnce(&mut Self) -> T) -> (RegionId, T) {
        let region = self.func.add_region(params);
        let outer = std::mem::replace(&mut self.region, region);
        let result = fill(self);
        self.region = outer;
        (region, result)
    }

    /// Moves a filled region's ops to the current region.
    pub(super) fn splice(&mut self, region: RegionId) {
        let insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        self.func.regions[self.region.index()].insts.extend(insts);
    }

    /// Whether a region's ops may run although the program would skip them.
    pub(super) fn is_pure(&self, region: RegionId) -> bool {
        self.func.region(region).insts.iter().all(|&inst| self.func.inst(inst).op.is_pure())
    }

    /// Runs `fill` at the start of the function, whose values every place behind it can use.
    pub(super) fn at_entry<T>(&mut self, fill: impl FnOnce(&mut Self) -> T) -> T {
        let (region, result) = self.in_region(&[], fill);
        let mut insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        let body = self.func.body;
        let entry = &mut self.func.regions[body.index()].insts;
        insts.append(entry);
        *entry = insts;
        result
    }

    /// Runs `fill` in a scope of its own.
    pub(super) fn scoped<T>(&mut self, fill: impl FnOnce(&mut Self) -> T) -> T {
        let n_names = self.names.len();
        let result = fill(self);
        self.names.truncate(n_names);
        result
    }

    pub(super) fn find(&self, name: &str) -> Option<VarId> {
        self.names.iter().rev().find(|(known, _)| &**known == name).map(|(_, id)| *id)
    }

    pub(super) fn declare(&mut self, var: Var) -> VarId {
        self.names.push((var.name.clone(), self.vars.len()));
        self.vars.push(var);
        self.vars.len() - 1
    }

    pub(super) fn declare_memory(&mut self, name: Name, ty: CType, is_const: bool, memory: Memory) {
        self.declare(Var { name, ty, is_const, storage: Holds::Memory(memory), constant: None });
    }

    /// A variable that begins with a value: held in values, or in memory where its address is taken.
    pub(super) fn declare_value(&mut self, name: Name, value: Rvalue, is_const: bool, span: Span) -> Result<()> {
        if self.addressed.contains(&name)
            && matches!(value.held, Held::One(_))
            && !matches!(value.ty, CType::Elements(..))
        {
            let memory = self.own_memory(&value.ty, span)?;
            self.declare_memory(name, value.ty.clone(), is_const, memory.clone());
            let place = self.memory_place(memory, value.ty.clone(), span);
            self.write(&place, value)?;
            return Ok(());
        }
        let values = self.values_of(&value);
        self.declare(Var { name, ty: value.ty, is_const, storage: Holds::Values(values), constant: None });
        Ok(())
    }

    /// The values that hold something.
    pub(super) fn values_of(&mut self, value: &Rvalue) -> Vec<Value> {
        match &value.held {
            Held::Nothing => Vec::new(),
            Held::One(value) => vec![*value],
            Held::Pointer(memory) => {
                let at = memory.at;
                vec![memory.base, at.unwrap_or_else(|| self.b().int(Scalar::I64, 0))]
            }
        }
    }

    /// As `values_of`, the other way.
    pub(super) fn of_values(&self, ty: &CType, values: &[Value]) -> Rvalue {
        let held = match (ty, values) {
            (CType::Pointer(..), &[base, at]) => {
                let is_start = self.func.as_const(at).is_some_and(|at| at.0 == 0);
                Held::Pointer(Memory { base, at: (!is_start).then_some(at) })
            }
            (_, &[value]) => Held::One(value),
            _ => Held::Nothing,
        };
        Rvalue { ty: ty.clone(), held }
    }

    /// Memory of the thread for a value of a type.
    pub(super) fn own_memory(&mut self, ty: &CType, span: Span) -> Result<Memory> {
        let (cell, n) = (ty.cell(), ty.n_cells());
        if cell.size().saturating_mul(n) > MAX_LOCAL_BYTES {
            let message = format!("an array of {} bytes is too large for a thread", cell.size().saturating_mul(n));
            let help = format!("a thread has at most {MAX_LOCAL_BYTES} bytes: pass memory by a pointer");
            return Err(self.error("local-array-size", span, message, help));
        }
        let attr = ir::Attr::Extents(vec![n].into());
        let base = self.b().push1(Op::LocalArray, &[], attr, Type::array(cell, 1));
        Ok(Memory { base, at: None })
    }

    /// A zero of a type of the IR.
    pub(super) fn zero_of(&mut self, ty: Type) -> Value {
        if let Some(scalar) = ty.as_scalar() {
            return self.b().constant(scalar, ir::Const(0));
        }
        if ty.is_array() {
            let null = self.b().int(Scalar::U64, 0);
            let none = self.b().int(Scalar::I64, 0);
            return self.b().push1(Op::ArrayFromAddress, &[null, none], ir::Attr::None, ty);
        }
        let items: Vec<Value> =
            (0..ty.n_components()).filter_map(|i| ty.component(i)).map(|component| self.zero_of(component)).collect();
        self.b().construct(ty, &items)
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Reported {
        self.compile.unit.diagnostics.push(Diagnostic::new(code, span, message).help(help));
        Reported
    }

    /// The user's text at a span, for messages.
    pub(super) fn text_of(&self, span: Span) -> String {
        if span.file != self.compile.file {
            return String::new();
        }
        self.compile.text.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned()
    }
}

/// A local array lives on the stack of a worker thread.
const MAX_LOCAL_BYTES: u64 = 512 << 10;

/// The values that a function returns for a type.
pub(super) fn results(ty: &CType) -> Vec<Type> {
    match ty {
        CType::Void => Vec::new(),
        CType::Pointer(..) => vec![ty.cell(), Type::i64()],
        _ => vec![ty.cell()],
    }
}
