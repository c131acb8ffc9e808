//! Assignment: names, unpacking, pieces of values and of array elements; augmented and annotated forms.
//!
//! A store to array memory writes only the piece named. A piece of a local value is changed by making the whole
//! value anew and binding it to its name: `v.x = 1.0` is `v = insert v, 1.0 {0}`.

use super::lower::{Lower, Reported, Result, Scope};
use super::operand::Operand;
use super::subscript::{Access, Piece, PieceKind, Place};
use crate::warp::tiles::TilePart;
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{AtomicOp, Attr, Op, Scalar, Site, SiteKind, Type, Value};
use ruff_python_ast::{Expr, Operator, StmtAnnAssign, StmtAugAssign};

impl Lower<'_, '_> {
    /// Assigns an operand to a target; `span` is where the value stands.
    pub(crate) fn assign(&mut self, target: &Expr, value: Operand, span: Span) -> Result<()> {
        match target {
            Expr::Name(name) => {
                self.bind_name(name.id.as_str(), value);
                Ok(())
            }
            Expr::Tuple(tuple) => self.unpack(&tuple.elts, &value, self.span_of(tuple), span),
            Expr::List(list) => self.unpack(&list.elts, &value, self.span_of(list), span),
            Expr::Attribute(_) | Expr::Subscript(_) => {
                let place = self.target(target)?;
                let here = self.span_of(target);
                let outer = std::mem::replace(&mut self.span, here);
                let result = self.write(place, &value, span);
                self.span = outer;
                result
            }
            _ => {
                let at = self.span_of(target);
                let message = match target {
                    Expr::Starred(_) => "a starred target cannot be used in a kernel",
                    _ => "this cannot be assigned to",
                };
                Err(self.error("unsupported-syntax", at, message))
            }
        }
    }

    fn unpack(&mut self, targets: &[Expr], value: &Operand, at: Span, span: Span) -> Result<()> {
        let items = self.items(value, span)?;
        if items.len() != targets.len() {
            let plural = if items.len() == 1 { "" } else { "s" };
            let message = format!("{} targets for {} value{plural}", targets.len(), items.len());
            return Err(self.error("unpack-count", at, message));
        }
        let mut result = Ok(());
        for (target, item) in targets.iter().zip(items) {
            result = self.assign(target, item, span).and(result);
        }
        result
    }

    /// The place that a subscript or attribute target names.
    fn target(&mut self, target: &Expr) -> Result<Place> {
        let place = self.place(target)?;
        let mut bottom = &place;
        while let Place::Piece(base, _) = bottom {
            bottom = base;
        }
        let is_view = match &place {
            Place::Operand(Operand::Value(value)) => self.ty(*value).is_array(),
            _ => false,
        };
        match bottom {
            Place::Memory(_) | Place::Name(..) | Place::Tile(..) => Ok(place),
            Place::Operand(_) if self.rules.write.is_some() => Ok(place),
            Place::Operand(_) if is_view => {
                let span = self.span_of(target);
                let report = self
                    .report("not-assignable", span, "a row or slice of an array cannot be assigned as a whole")
                    .help("assign its elements in a loop");
                Err(self.emit(report))
            }
            Place::Operand(_) | Place::Piece(..) => Err(self.not_assignable(target)),
        }
    }

    fn not_assignable(&mut self, target: &Expr) -> Reported {
        let span = self.span_of(target);
        let text = self.text_of(target).to_owned();
        let mut report = self.report("not-assignable", span, format!("`{text}` cannot be assigned to"));
        let is_captured = super::scan::root(target).is_some_and(|name| self.names.get(name).is_none());
        report = report.help(if is_captured {
            "what a kernel takes from outside is constant: assign it to a name first, or pass an array"
        } else {
            "elements of arrays, and parts of vectors, matrices and structs that have a name, can be assigned to"
        });
        self.emit(report)
    }

    /// Writes an operand to a place.
    fn write(&mut self, place: Place, value: &Operand, span: Span) -> Result<()> {
        if let Some(write) = self.rules.write
            && write(self, &place, value, span)?
        {
            return Ok(());
        }
        if self.type_of(value).is_none() {
            // A module, a function, a string: the report of `value` says that no kernel can hold it.
            self.value(value, span)?;
        }
        match place {
            Place::Operand(_) => Err(self.error("not-assignable", span, "this cannot be assigned to")),
            Place::Name(name, _) => {
                self.bind_name(&name, value.clone());
                Ok(())
            }
            Place::Tile(tile, part) => self.write_tile_part(tile, &part, value, span),
            Place::Memory(access) => {
                let value = self.value_as(value, access.ty, span)?;
                self.store(&access, value);
                Ok(())
            }
            Place::Piece(base, piece) => {
                let value = self.piece_value(&piece, value, span)?;
                if let PieceKind::Several(list) = &piece.kind
                    && (1..list.len()).any(|k| list[..k].contains(&list[k]))
                {
                    return Err(self.error("not-assignable", self.span, "a component is named twice in this target"));
                }
                if let Place::Memory(access) = &*base
                    && let Some(accesses) = self.spread(access, &piece)
                {
                    for (k, access) in (0..).zip(&accesses) {
                        let item = self.b().extract(value, k);
                        self.store(access, item);
                    }
                    return Ok(());
                }
                let whole = self.read((*base).clone())?;
                let whole = self.value(&whole, span)?;
                let changed = self.insert_piece(whole, &piece, value);
                self.write(*base, &Operand::Value(changed), span)
            }
        }
    }

    /// A value for a piece; for a slice or a row, one that has as many components.
    fn piece_value(&mut self, piece: &Piece, value: &Operand, span: Span) -> Result<Value> {
        if !matches!(piece.kind, PieceKind::Several(_) | PieceKind::Line { .. }) {
            return self.value_as(value, piece.ty, span);
        }
        if let Some(value) = self.try_value_as(value, piece.ty, span)? {
            return Ok(value);
        }
        let (n, wanted, found) = (piece.ty.n_components(), self.name_of(piece.ty), self.describe(value));
        Err(self.error("wrong-components", span, format!("these {n} components are a `{wanted}`, found {found}")))
    }

    pub(crate) fn store(&mut self, access: &Access, value: Value) {
        self.check_finite(access, value);
        self.b().store(access.array, &access.indices, &access.path, &access.path_indices, value);
    }

    fn check_finite(&mut self, access: &Access, value: Value) {
        let is_float = self.ty(value).element().is_some_and(Scalar::is_float);
        if self.unit.options.check_finite && is_float {
            let site = Site { kind: SiteKind::NotFinite, span: access.span, name: access.name.clone() };
            let site = self.unit.module.add_site(site);
            self.b().check(Op::CheckFinite, &[value], site);
        }
    }

    /// A value with a piece of it replaced.
    fn insert_piece(&mut self, whole: Value, piece: &Piece, value: Value) -> Value {
        match &piece.kind {
            PieceKind::Component(k) => self.b().insert(whole, value, *k),
            PieceKind::Several(list) => (0..).zip(list).fold(whole, |whole, (from, &to)| {
                let item = self.b().extract(value, from);
                self.b().insert(whole, item, to)
            }),
            PieceKind::At(indices) => self.insert_at(whole, value, indices),
            PieceKind::Line { index, is_row } => {
                let n = piece.ty.n_components() as u32;
                (0..n).fold(whole, |whole, k| {
                    let item = self.b().extract(value, k);
                    let at = self.line_index(*index, *is_row, k);
                    self.insert_at(whole, item, &at)
                })
            }
        }
    }

    fn insert_at(&mut self, whole: Value, item: Value, indices: &[Value]) -> Value {
        let operands = [&[whole, item], indices].concat();
        let ty = self.ty(whole);
        self.b().push1(Op::InsertDyn, &operands, Attr::None, ty)
    }

    /// `x += y`. On array elements `+= -= &= |= ^=` happen in one step, so that threads may share an element.
    pub(crate) fn augmented(&mut self, stmt: &StmtAugAssign) -> Result<()> {
        let place = match &*stmt.target {
            Expr::Name(_) => {
                let operand = self.expr(&stmt.target);
                operand.map(Place::Operand)
            }
            target => self.target(target),
        };
        let (span, at) = (self.span_of(&*stmt.value), self.span_of(&*stmt.target));
        let sides = super::operator::Sides { left: at, right: span, whole: self.span_of(stmt) };
        let value = self.expr(&stmt.value);
        let (place, value) = (place?, value?);
        if self.rules.is_update_atomic
            && let Some(op) = atomic_op(stmt.op)
            && self.atomic_update(op, &place, &value, sides.whole, span)?
        {
            return Ok(());
        }
        if let (Place::Tile(tile, TilePart::Element(at)), Some(op)) = (&place, atomic_op(stmt.op))
            && let Some(done) = self.update_element(*tile, *at, op, &value, sides.whole)
        {
            return done;
        }
        let old = self.read(place.clone())?;
        if let Operand::Value(tile) = old
            && self.is_spread(tile)
        {
            return self.add_to_spread(stmt.op, tile, &value, sides);
        }
        let new = self.binary_at(stmt.op, &old, &value, sides)?;
        match (&*stmt.target, &old, &new) {
            // In place: other names that hold the tile see it.
            (Expr::Name(_), Operand::Value(old), Operand::Value(new))
                if self.ty(*old).as_tile().is_some() && self.ty(*old) == self.ty(*new) =>
            {
                self.change_tile(*old, *new);
                Ok(())
            }
            (Expr::Name(name), ..) => {
                self.bind_name(name.id.as_str(), new);
                Ok(())
            }
            _ => self.write(place, &new, sides.whole),
        }
    }

    /// Emits the atomic form where the place is in array memory and the types fit it.
    fn atomic_update(&mut self, op: AtomicOp, place: &Place, value: &Operand, whole: Span, span: Span) -> Result<bool> {
        let (accesses, ty) = match place {
            Place::Memory(access) => (None, access.ty),
            Place::Piece(base, piece) => match &**base {
                Place::Memory(access) => match self.spread(access, piece) {
                    Some(accesses) => (Some(accesses), piece.ty),
                    None => return Ok(false),
                },
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        let class = ty.element().map(Scalar::class);
        let is_for = match op {
            AtomicOp::Add | AtomicOp::Sub => matches!(class, Some(ir::Class::Int | ir::Class::Float)),
            _ => matches!(class, Some(ir::Class::Int | ir::Class::Bool)),
        };
        // Types that do not fit are left to the plain form, whose message says what is wrong.
        if !is_for || !(self.type_of(value) == Some(ty) || Self::is_literal(value) && ty.as_scalar().is_some()) {
            return Ok(false);
        }
        let Some(value) = self.try_value_as(value, ty, span)? else { return Ok(false) };
        let outer = std::mem::replace(&mut self.span, whole);
        match (accesses, place) {
            (Some(accesses), _) => {
                for (k, access) in (0..).zip(&accesses) {
                    let item = self.b().extract(value, k);
                    self.add_atomic(op, access, item);
                }
            }
            (None, Place::Memory(access)) => {
                self.add_atomic(op, access, value);
            }
            _ => {}
        }
        self.span = outer;
        Ok(true)
    }

    /// Emits an atomic operation on an element or a piece of one; gives what was there.
    pub(crate) fn add_atomic(&mut self, op: AtomicOp, access: &Access, value: Value) -> Value {
        // Two finite numbers may have an infinite sum, which only the operation itself knows the other part of.
        let sum = match op {
            AtomicOp::Add => Some(Op::Add),
            AtomicOp::Sub => Some(Op::Sub),
            _ => None,
        };
        if sum.is_none() {
            self.check_finite(access, value);
        }
        let old = self.b().atomic(op, access.array, &access.indices, &access.path, &access.path_indices, value);
        if self.unit.options.check_finite
            && let Some(sum) = sum
        {
            let new = self.b().binary(sum, old, value);
            self.check_finite(access, new);
        }
        old
    }

    /// `x: float = 0.0`: the annotation gives a literal its type; other values must have it already.
    pub(crate) fn annotated(&mut self, stmt: &StmtAnnAssign) -> Result<()> {
        let Some(value) = &stmt.value else {
            let span = self.span_of(stmt);
            let report = self
                .report("unsupported-syntax", span, "a declaration without a value cannot be used in a kernel")
                .help("give it a value: `x: float = 0.0`");
            return Err(self.emit(report));
        };
        let operand = self.expr(value)?;
        let span = self.span_of(&**value);
        let operand = match self.annotation(&stmt.annotation) {
            Some(TypePattern::Is(ty)) => self.declared(operand, ty, span)?,
            Some(pattern) => {
                let fits = |ty: Type| super::pattern::matches(&pattern, ty);
                if !self.type_of(&operand).is_none_or(fits) {
                    let what = self.describe(&operand);
                    let wanted = super::pattern::pattern_name(&pattern);
                    return Err(self.error("type-mismatch", span, format!("expected `{wanted}`, found {what}")));
                }
                operand
            }
            None => operand,
        };
        self.assign(&stmt.target, operand, span)
    }

    /// An operand that was declared to be of a type. Literals stay known while lowering, now with a type.
    fn declared(&mut self, operand: Operand, ty: Type, span: Span) -> Result<Operand> {
        if let (Operand::Static(value), Some(scalar)) = (&operand, ty.as_scalar())
            && Self::is_literal(&operand)
        {
            if let Some(constant) = self.literal_in_range(value, scalar, span)? {
                return Ok(Operand::Static(HostValue::Scalar(scalar, constant)));
            }
        } else if let Operand::Static(value) = &operand
            && (self.rules.literal)(value).map(Type::scalar) == Some(ty)
        {
            return Ok(operand);
        }
        self.value_as(&operand, ty, span).map(Operand::Value)
    }

    /// The type that an annotation names; `None` where it is no type (annotations may say anything).
    fn annotation(&mut self, annotation: &Expr) -> Option<TypePattern> {
        let text = match annotation {
            Expr::StringLiteral(text) => text.value.to_str().to_owned(),
            _ => self.text_of(annotation).to_owned(),
        };
        let value = match self.scope {
            Scope::Host(scope) => self.unit.host.evaluate(scope, &format!("({text})"), &[]).ok()?,
            Scope::Library => return super::pattern::library_type(&text),
        };
        if let HostValue::Type(pattern) = value { Some(pattern) } else { None }
    }
}

/// The atomic operation of an augmented assignment to array memory.
fn atomic_op(op: Operator) -> Option<AtomicOp> {
    match op {
        Operator::Add => Some(AtomicOp::Add),
        Operator::Sub => Some(AtomicOp::Sub),
        Operator::BitAnd => Some(AtomicOp::And),
        Operator::BitOr => Some(AtomicOp::Or),
        Operator::BitXor => Some(AtomicOp::Xor),
        _ => None,
    }
}
