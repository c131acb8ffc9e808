//! Calls of functions of the text: which one, its arguments, one lowered instance for each binding of its template.

use super::body::{Body, Held, Memory, Rvalue, results};
use super::place::PlaceKind;
use super::{Bindings, Instance, Result};
use crate::c::ast::{Expr, Function, Name, Param, TemplateArg, TypeKind};
use crate::c::types::CType;
use crate::walk::expression::suggest;
use crate::walk::instance::MAX_WRITTEN_OUT;
use diagnostics::Span;
use ir::{Attr, FuncRef, FunctionKind, Op, Value};
use std::rc::Rc;

impl Body<'_, '_, '_> {
    pub(super) fn call(&mut self, name: &Name, template: &[TemplateArg], args: &[Expr], span: Span) -> Result<Rvalue> {
        let program = self.compile.program.clone();
        let named: Vec<&Rc<Function>> = program.functions.iter().filter(|one| one.name == *name).collect();
        if let Some(kernel) = named.iter().find(|one| one.is_kernel) {
            let help = "mark a function `__device__` for kernels to call it";
            return Err(self.error("not-callable", span, format!("`{}` is a kernel", kernel.name), help));
        }
        if named.is_empty() {
            if let Some(result) = self.builtin(name, template, args, span) {
                return result;
            }
            let own = program.functions.iter().map(|one| &*one.name);
            let known = own.chain(super::builtin::names().map(|name: &str| name));
            let help = match suggest::closest(name, known) {
                Some(known) => format!("did you mean `{known}`?"),
                None => "write a `__device__` function of that name, or call one of CUDA's that the page \"C kernels\" lists"
                    .to_owned(),
            };
            return Err(self.error("unknown-function", span, format!("there is no function `{name}`"), help));
        }
        let mut types = Vec::new();
        for arg in args {
            types.push(self.type_of(arg)?);
        }
        let function = self.choose_overload(&named, &types, span)?;
        let outer = self.bindings.clone();
        let bindings = self.compile.text().deduce(&function, template, &types, &outer, span)?;
        self.call_function(&function, bindings, args, span)
    }

    /// The function of a name whose parameters are nearest to the arguments.
    fn choose_overload(&mut self, named: &[&Rc<Function>], types: &[CType], span: Span) -> Result<Rc<Function>> {
        let fitting: Vec<&Rc<Function>> = named.iter().copied().filter(|one| one.params.len() == types.len()).collect();
        match fitting.as_slice() {
            [only] => return Ok((*only).clone()),
            [] => {
                let known: Vec<String> = named.iter().map(|one| one.params.len().to_string()).collect();
                let message =
                    format!("`{}` takes {} arguments, found {}", named[0].name, known.join(" or "), types.len());
                return Err(self.error("argument-count", span, message, "give an argument for each parameter"));
            }
            _ => {}
        }
        let mut best: Option<(usize, Rc<Function>)> = None;
        for function in fitting {
            let Ok(bindings) = self.quietly_deduced(function, types, span) else { continue };
            let mut cost = usize::from(!function.template.is_empty());
            for (param, given) in function.params.iter().zip(types) {
                let wanted = self.compile.resolve(&param.ty, &bindings)?;
                let wanted = match (&param.ty.kind, wanted) {
                    (TypeKind::Reference(_), CType::Pointer(to, _)) => (*to).clone(),
                    (_, wanted) => wanted,
                };
                cost += match (&wanted, given) {
                    _ if wanted == *given => 0,
                    (CType::Scalar(x), CType::Scalar(y)) if x.is_float() == y.is_float() => 4,
                    (CType::Scalar(_), CType::Scalar(_)) => 8,
                    (CType::Pointer(x, _), CType::Pointer(y, _) | CType::Array(y, _)) if x == y => 2,
                    _ => 1000,
                };
            }
            if cost < 1000 && best.as_ref().is_none_or(|(known, _)| cost < *known) {
                best = Some((cost, function.clone()));
            }
        }
        best.map(|(_, function)| function).ok_or_else(|| {
            let given: Vec<String> = types.iter().map(|ty| format!("`{}`", ty.name())).collect();
            let message = format!("no `{}` takes {}", named[0].name, given.join(", "));
            self.error("no-overload", span, message, "convert the arguments to the types of one of them")
        })
    }

    fn quietly_deduced(&mut self, function: &Function, types: &[CType], span: Span) -> Result<Bindings> {
        let n_before = self.compile.unit.diagnostics.len();
        let outer = self.bindings.clone();
        let found = self.compile.text().deduce(function, &[], types, &outer, span);
        self.compile.unit.diagnostics.truncate(n_before);
        found
    }

    fn call_function(&mut self, function: &Function, bindings: Bindings, args: &[Expr], span: Span) -> Result<Rvalue> {
        let mut values: Vec<Value> = Vec::new();
        for (param, arg) in function.params.iter().zip(args) {
            let ty = self.compile.resolve(&param.ty, &bindings)?;
            let value = self.argument(param, &ty, arg)?;
            values.extend(self.values_of(&value));
        }
        values.extend(self.globals.iter().map(|memory| memory.base));
        let returns = self.compile.resolve(&function.returns, &bindings)?;
        let func = self.instance(function, bindings, span)?;
        self.span = span;
        let inst = self.b().push(Op::Call, &values, Attr::Func(func), &[], &results(&returns));
        let found = self.func.inst(inst).results.to_vec();
        Ok(match &returns {
            CType::Void => Rvalue::VOID,
            _ => self.of_values(&returns, &found),
        })
    }

    fn argument(&mut self, param: &Param, ty: &CType, arg: &Expr) -> Result<Rvalue> {
        let (TypeKind::Reference(inner), CType::Pointer(to, is_const)) = (&param.ty.kind, ty) else {
            let value = self.expr(arg)?;
            return self.converted(value, ty, arg.span);
        };
        let place = self.place(arg)?;
        match &place.kind {
            PlaceKind::Memory(access) if access.path.is_empty() && place.ty == **to => {
                if place.is_const && !is_const {
                    self.require_assignable(&place)?;
                }
                Ok(Rvalue { ty: ty.clone(), held: Held::Pointer(access.memory.clone()) })
            }
            // What is only read may be a copy.
            _ if inner.is_const => {
                let value = self.read(&place)?;
                let value = self.converted(value, to, arg.span)?;
                let memory = self.own_memory(to, arg.span)?;
                let copy = self.memory_place(memory.clone(), (**to).clone(), arg.span);
                self.write(&copy, value)?;
                Ok(Rvalue { ty: ty.clone(), held: Held::Pointer(memory) })
            }
            _ => {
                let message = format!("`{}` is a reference, and this is nothing that it can refer to", param.name);
                let help = format!("pass a variable of type `{}` or an element of an array", to.name());
                Err(self.error("argument-type", arg.span, message, help))
            }
        }
    }

    /// The lowered function for a binding of its template.
    fn instance(&mut self, function: &Function, bindings: Bindings, span: Span) -> Result<FuncRef> {
        let is_it = |one: &Instance| one.name == function.name && one.span == function.span && one.bindings == bindings;
        let index = match self.compile.instances.iter().position(is_it) {
            Some(index) => {
                if let Some(func) = self.compile.instances[index].func {
                    return Ok(func);
                }
                let message = format!("`{}` calls itself", function.name);
                let help = "functions of a kernel cannot be recursive; use a loop";
                return Err(self.error("recursion", span, message, help));
            }
            None => {
                let (name, span) = (function.name.clone(), function.span);
                self.compile.instances.push(Instance { name, span, bindings: bindings.clone(), func: None });
                self.compile.instances.len() - 1
            }
        };
        let func = Body::function(self.compile, function, bindings, FunctionKind::Function)?;
        let unit = &mut *self.compile.unit;
        let size = unit.written_out(&func);
        if size > MAX_WRITTEN_OUT {
            let message = format!("`{}` is {size} operations long with what it calls", function.name);
            let help = format!("a kernel has at most {MAX_WRITTEN_OUT} operations: call the function in a loop");
            return Err(self.error("too-large", span, message, help));
        }
        unit.sizes.resize(unit.module.funcs.len(), 1);
        unit.sizes.push(size);
        let reference = unit.add(func);
        self.compile.instances[index].func = Some(reference);
        Ok(reference)
    }

    /// A function of the kernel library, or a builtin of the language, for numbers.
    pub(super) fn library(&mut self, name: &str, values: &[Value]) -> Result<Value> {
        let types: Vec<ir::Type> = values.iter().map(|&value| self.func.ty(value)).collect();
        let key: Name = format!("{name}{types:?}").into();
        let known = self.compile.instances.iter().find(|one| one.name == key).and_then(|one| one.func);
        let func = match known {
            Some(func) => func,
            None => {
                let unit = &mut *self.compile.unit;
                let func = unit.wrapper(name, &types, |lower, args| lower.builtin(name, args, Span::NONE))?;
                let (span, bindings) = (Span::NONE, Bindings::new());
                self.compile.instances.push(Instance { name: key, span, bindings, func: Some(func) });
                func
            }
        };
        let returns = self.compile.unit.module.func(func).results.clone();
        let inst = self.b().push(Op::Call, values, Attr::Func(func), &[], &returns);
        Ok(self.func.inst(inst).results[0])
    }

    /// The memory that a pointer expression leads to, for functions that store through it.
    pub(super) fn target(&mut self, arg: &Expr) -> Result<(Memory, CType)> {
        let pointer = self.expr(arg)?;
        let pointer = self.decayed(pointer);
        match (&pointer.ty, &pointer.held) {
            (CType::Pointer(to, false), Held::Pointer(memory)) => Ok((memory.clone(), (**to).clone())),
            _ => {
                let message = format!("expected a pointer to store to, found `{}`", pointer.ty.name());
                Err(self.error("argument-type", arg.span, message, "pass `&x` of a variable"))
            }
        }
    }
}
