//! Places: what can be read, assigned to, and have its address taken.

use super::Result;
use super::body::{Body, Held, Holds, Memory, Rvalue, VarId};
use super::pieces::{self, Step};
use crate::c::ast::{Expr, ExprKind, Name, Storage, Unary};
use crate::c::types::CType;
use crate::walk::Reported;
use crate::walk::expression::suggest;
use diagnostics::Span;
use ir::{Op, PathElem, Scalar, Site, SiteKind, Value};

#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) ty: CType,
    pub(super) kind: PlaceKind,
    pub(super) is_const: bool,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum PlaceKind {
    /// A variable that values hold, or a part of it.
    Variable(VarId, Vec<Step>),
    Memory(Access),
    /// What no name holds.
    Temporary(Rvalue),
}

/// A cell of memory, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) memory: Memory,
    pub(super) path: Vec<PathElem>,
    pub(super) path_indices: Vec<Value>,
}

impl Body<'_, '_, '_> {
    pub(super) fn memory_place(&self, memory: Memory, ty: CType, span: Span) -> Place {
        let kind = PlaceKind::Memory(Access { memory, path: Vec::new(), path_indices: Vec::new() });
        Place { ty, kind, is_const: false, span }
    }

    /// What an expression leads to, without reading it.
    pub(super) fn place(&mut self, expr: &Expr) -> Result<Place> {
        let outer = std::mem::replace(&mut self.span, expr.span);
        let place = self.place_here(expr);
        self.span = outer;
        place
    }

    fn place_here(&mut self, expr: &Expr) -> Result<Place> {
        match &expr.kind {
            ExprKind::Name(name) => self.named_place(name, expr.span),
            ExprKind::Unary(Unary::Deref, operand) => {
                let pointer = self.expr(operand)?;
                self.pointed(pointer, None, operand.span, expr.span)
            }
            ExprKind::Index(base, index) => self.indexed(base, index, expr.span),
            ExprKind::Member(base, name, is_arrow) => {
                let place = if *is_arrow {
                    let pointer = self.expr(base)?;
                    self.pointed(pointer, None, base.span, base.span)?
                } else {
                    self.place(base)?
                };
                self.member_place(place, name, expr.span)
            }
            ExprKind::Method(base, name, args) if is_element(name) => self.element_method(base, name, args, expr.span),
            _ => {
                let value = self.value_of(expr)?;
                Ok(Place { ty: value.ty.clone(), kind: PlaceKind::Temporary(value), is_const: true, span: expr.span })
            }
        }
    }

    fn named_place(&mut self, name: &Name, span: Span) -> Result<Place> {
        if let Some(id) = self.find(name) {
            let var = &self.vars[id];
            let (ty, is_const) = (var.ty.clone(), var.is_const);
            return Ok(match var.storage.clone() {
                Holds::Values(_) => Place { ty, kind: PlaceKind::Variable(id, Vec::new()), is_const, span },
                Holds::Memory(memory) => Place { is_const, ..self.memory_place(memory, ty, span) },
                Holds::Failed => return Err(Reported),
            });
        }
        let program = self.compile.program.clone();
        if let Some(global) = program.globals.iter().find(|one| one.storage == Storage::Constant && one.name == *name) {
            return self.constant_place(global, span);
        }
        if let Some(value) = self.built_in_value(name) {
            let kind = PlaceKind::Temporary(value.clone());
            return Ok(Place { ty: value.ty, kind, is_const: true, span });
        }
        let mut names: Vec<&str> = self.names.iter().map(|(name, _)| &**name).collect();
        names.extend(program.globals.iter().map(|one| &*one.name));
        let help = match suggest::closest(name, names.into_iter()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "declare it before it is used".to_owned(),
        };
        Err(self.error("unknown-name", span, format!("`{name}` is not declared here"), help))
    }

    /// A constant of the text: its value, or memory that holds it from the start of the function on.
    fn constant_place(&mut self, global: &crate::c::ast::Declarator, span: Span) -> Result<Place> {
        let Some(init) = &global.init else {
            let message = format!("`{}` has no value", global.name);
            return Err(self.error("c-syntax", global.span, message, "write `const int N = 4;`"));
        };
        let ty = self.compile.text().declared(global, &Vec::new())?;
        if let CType::Array(..) = ty {
            if let Some((_, memory)) = self.tables.iter().find(|(name, _)| *name == global.name) {
                return Ok(Place { is_const: true, ..self.memory_place(memory.clone(), ty, span) });
            }
            let names = std::mem::take(&mut self.names);
            let memory = self.at_entry(|body| {
                let memory = body.own_memory(&ty, global.span)?;
                body.fill(&memory, 0, &ty, init)?;
                Ok(memory)
            });
            self.names = names;
            let memory: Memory = memory?;
            self.tables.push((global.name.clone(), memory.clone()));
            return Ok(Place { is_const: true, ..self.memory_place(memory, ty, span) });
        }
        let names = std::mem::take(&mut self.names);
        let value = self.initial(init, &ty).and_then(|value| self.converted(value, &ty, init.span));
        self.names = names;
        Ok(Place { ty, kind: PlaceKind::Temporary(value?), is_const: true, span })
    }

    /// `p[i]`, `*p`: the cell that a pointer leads to.
    fn pointed(&mut self, pointer: Rvalue, index: Option<Value>, at: Span, span: Span) -> Result<Place> {
        let pointer = self.decayed(pointer);
        let (CType::Pointer(to, is_const), Held::Pointer(memory)) = (&pointer.ty, &pointer.held) else {
            let message = format!("`{}` is no pointer and no array", pointer.ty.name());
            let help = if let CType::Vector(..) = pointer.ty { "name its component: `v.x`" } else { "index a pointer" };
            return Err(self.error("not-subscriptable", at, message, help));
        };
        if **to == CType::Void {
            let help = "cast it to the type of what is there: `(float*)p`";
            return Err(self.error("not-subscriptable", at, "what a `void*` leads to has no type", help));
        }
        let memory = match index {
            Some(index) => self.moved(memory, index, to.n_cells()),
            None => memory.clone(),
        };
        let place = self.memory_place(memory, (**to).clone(), span);
        Ok(Place { is_const: *is_const, ..place })
    }

    /// Memory from another cell on.
    pub(super) fn moved(&mut self, memory: &Memory, index: Value, n_cells: u64) -> Memory {
        let mut step = index;
        if n_cells != 1 {
            let n = self.b().int(Scalar::I64, n_cells.into());
            step = self.b().binary(Op::Mul, index, n);
        }
        let at = match memory.at {
            Some(at) => self.b().binary(Op::Add, at, step),
            None => step,
        };
        Memory { base: memory.base, at: Some(at) }
    }

    fn indexed(&mut self, base: &Expr, index: &Expr, span: Span) -> Result<Place> {
        let place = self.place(base)?;
        let index_value = self.expr(index)?;
        let at = self.index(&index_value, index.span)?;
        match (&place.ty, &place.kind) {
            (CType::Array(elem, len), PlaceKind::Memory(access)) if access.path.is_empty() => {
                self.check_index(at, *len, base, span);
                let memory = self.moved(&access.memory, at, elem.n_cells());
                Ok(Place { is_const: place.is_const, ..self.memory_place(memory, (**elem).clone(), span) })
            }
            // An array inside of a struct.
            (CType::Array(elem, len), _) => {
                self.check_index(at, *len, base, span);
                let elem = (**elem).clone();
                let step = match self.func.as_const(at) {
                    Some(constant) if u128::from(constant.0) < u128::from(*len) => Step::Static(constant.0 as u32),
                    _ => Step::Dynamic(at),
                };
                self.part(place, step, elem, span)
            }
            (CType::Elements(_, rank, _), _) => {
                let rank = *rank;
                let array = self.read(&place)?;
                let indices = self.unravel(array.one(), at, rank);
                Ok(self.element(&array, &indices, span))
            }
            _ => {
                let pointer = self.read(&place)?;
                self.pointed(pointer, Some(at), base.span, span)
            }
        }
    }

    /// An element of an array of any layout: what its rows lead to.
    pub(super) fn element(&mut self, array: &Rvalue, indices: &[Value], span: Span) -> Place {
        let CType::Elements(elem, _, is_const) = &array.ty else { panic!("an array of any layout") };
        let mut base = array.one();
        self.check_bounds(base, indices, span);
        let (last, rows) = indices.split_last().unwrap_or_else(|| panic!("an array has a dimension"));
        for &row in rows {
            base = self.b().row(base, row, 0);
        }
        let place = self.memory_place(Memory { base, at: Some(*last) }, (**elem).clone(), span);
        Place { is_const: *is_const, ..place }
    }

    fn check_index(&mut self, at: Value, len: u64, base: &Expr, span: Span) {
        if self.compile.unit.options.checks_bounds() && len != u64::from(u32::MAX) {
            let site = Site { kind: SiteKind::ArrayIndex, span, name: self.text_of(base.span) };
            let site = self.compile.unit.module.add_site(site);
            let len = self.b().int(Scalar::I64, len.into());
            self.b().check(Op::CheckIndex, &[at, len], site);
        }
    }

    fn member_place(&mut self, place: Place, name: &Name, span: Span) -> Result<Place> {
        let Some((index, ty)) = pieces::member(&place.ty, name) else {
            let names = match &place.ty {
                CType::Struct(ty) => {
                    ty.fields.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                }
                CType::Vector(_, len) => ["`x`", "`y`", "`z`", "`w`"][..*len as usize].join(", "),
                _ => "none".to_owned(),
            };
            let message = format!("`{}` has no member `{name}`", place.ty.name());
            return Err(self.error("unknown-attribute", span, message, format!("its members are {names}")));
        };
        self.part(place, Step::Static(index), ty, span)
    }

    /// A part of a place.
    fn part(&mut self, place: Place, step: Step, ty: CType, span: Span) -> Result<Place> {
        let is_const = place.is_const;
        let kind = match place.kind {
            PlaceKind::Variable(id, mut steps) => {
                steps.push(step);
                PlaceKind::Variable(id, steps)
            }
            PlaceKind::Memory(mut access) => {
                access.path.push(step.path());
                if let Step::Dynamic(at) = step {
                    access.path_indices.push(at);
                }
                PlaceKind::Memory(access)
            }
            PlaceKind::Temporary(whole) => {
                PlaceKind::Temporary(Rvalue::value(ty.clone(), self.taken(whole.one(), step, &ty)))
            }
        };
        Ok(Place { ty, kind, is_const, span })
    }

    /// The value at a place. An array stays where it is: its value is a pointer to its first element.
    pub(super) fn read(&mut self, place: &Place) -> Result<Rvalue> {
        match &place.kind {
            PlaceKind::Temporary(value) => Ok(value.clone()),
            PlaceKind::Variable(id, steps) => {
                let Holds::Values(values) = self.vars[*id].storage.clone() else { panic!("a variable in memory") };
                let Some(_) = steps.first() else { return Ok(self.of_values(&place.ty, &values)) };
                let mut value = values[0];
                let mut ty = self.vars[*id].ty.clone();
                for step in steps {
                    ty = match step {
                        Step::Static(index) => pieces::parts(&ty)[*index as usize].clone(),
                        Step::Dynamic(_) => place.ty.clone(),
                    };
                    value = self.taken(value, *step, &ty);
                }
                Ok(Rvalue::value(place.ty.clone(), value))
            }
            PlaceKind::Memory(access) if matches!(place.ty, CType::Array(..)) && access.path.is_empty() => {
                let CType::Array(elem, _) = &place.ty else { panic!("an array") };
                Ok(Rvalue::pointer((**elem).clone(), place.is_const, access.memory.clone()))
            }
            PlaceKind::Memory(access) => {
                let (base, indices) = self.checked(access, place.span);
                let value = self.b().load(base, &indices, &access.path, &access.path_indices);
                Ok(Rvalue::value(place.ty.clone(), value))
            }
        }
    }

    /// Array and index of an access, which is checked where the launch asks for it.
    pub(super) fn checked(&mut self, access: &Access, span: Span) -> (Value, Vec<Value>) {
        let (base, at) = (access.memory.base, access.memory.at);
        let at = at.unwrap_or_else(|| self.b().int(Scalar::I64, 0));
        self.check_bounds(base, &[at], span);
        (base, vec![at])
    }

    fn check_bounds(&mut self, array: Value, indices: &[Value], span: Span) {
        if self.compile.unit.options.checks_bounds() {
            let text = self.text_of(span);
            let name = text.split(['[', '.', '-']).next().unwrap_or_default().trim_start_matches('*').trim();
            let site = Site { kind: SiteKind::ArrayIndex, span, name: name.to_owned() };
            let site = self.compile.unit.module.add_site(site);
            let operands = [&[array], indices].concat();
            self.b().check(Op::CheckBounds, &operands, site);
        }
    }

    /// Assigns to a place; gives what it then holds.
    pub(super) fn write(&mut self, place: &Place, value: Rvalue) -> Result<Rvalue> {
        if matches!(place.ty, CType::Array(..)) {
            let help = "assign its elements in a loop";
            return Err(self.error("not-assignable", place.span, "an array cannot be assigned as a whole", help));
        }
        let value = self.converted(value, &place.ty, place.span)?;
        match &place.kind {
            PlaceKind::Temporary(_) => {
                let help = "assign to a variable, to what a pointer leads to, or to a member";
                return Err(self.error("not-assignable", place.span, "this cannot be assigned to", help));
            }
            PlaceKind::Variable(id, steps) if steps.is_empty() => {
                let values = self.values_of(&value);
                self.vars[*id].storage = Holds::Values(values);
            }
            PlaceKind::Variable(id, steps) => {
                let Holds::Values(values) = self.vars[*id].storage.clone() else { panic!("a variable in memory") };
                let whole = self.replaced(values[0], steps, value.one());
                self.vars[*id].storage = Holds::Values(vec![whole]);
            }
            PlaceKind::Memory(access) => {
                let (base, indices) = self.checked(access, place.span);
                if let Held::Pointer(_) = value.held {
                    let help = "keep an index there, and the pointer in a variable";
                    return Err(self.error("unsupported-syntax", place.span, "memory does not hold pointers", help));
                }
                self.check_finite(value.one(), place.span);
                self.b().store(base, &indices, &access.path, &access.path_indices, value.one());
            }
        }
        Ok(value)
    }

    fn check_finite(&mut self, value: Value, span: Span) {
        let is_float = self.func.ty(value).element().is_some_and(Scalar::is_float);
        if self.compile.unit.options.check_finite && is_float {
            let site = Site { kind: SiteKind::NotFinite, span, name: self.text_of(span) };
            let site = self.compile.unit.module.add_site(site);
            self.b().check(Op::CheckFinite, &[value], site);
        }
    }

    /// Refuses to change what is `const`.
    pub(super) fn require_assignable(&mut self, place: &Place) -> Result<()> {
        if place.is_const && !matches!(place.kind, PlaceKind::Temporary(_)) {
            let text = self.text_of(place.span);
            let help = "take `const` from its declaration, or assign to a copy";
            return Err(self.error("not-assignable", place.span, format!("`{text}` is `const`"), help));
        }
        Ok(())
    }

    /// `&x`.
    pub(super) fn address_of(&mut self, operand: &Expr, span: Span) -> Result<Rvalue> {
        let place = self.place(operand)?;
        match place.kind {
            PlaceKind::Memory(access) if access.path.is_empty() => {
                Ok(Rvalue::pointer(place.ty, place.is_const, access.memory))
            }
            _ => {
                let help = "addresses of variables and of elements of arrays are read, and members in atomic functions";
                Err(self.error("unsupported-syntax", span, "the address of this is not read", help))
            }
        }
    }
}

/// Whether a method of an array of any layout gives an element.
pub(super) fn is_element(method: &str) -> bool {
    matches!(method, "here" | "at")
}
