//! `for` and `while`: what a loop carries from round to round.
//!
//! A name that is set before the loop and changed in it becomes a loop parameter. A literal before the loop has no
//! type yet: the loop is first walked with its default type, and once more where the body shows that it must be
//! another (`s = 0.0; for …: s += x64`). A name first set inside and read after the loop is carried too, where the
//! loop surely sets it.

use super::branch::Joined;
use super::iterate::Sequence;
use super::lower::{Binding, Carried, LoopFrame, Lower, Result};
use super::operand::Operand;
use super::scan;
use crate::HostValue;
use diagnostics::Span;
use ir::{Attr, Const, InstId, Op, Scalar, Type, TypeKind, Value};
use ruff_python_ast::visitor::Visitor;
use ruff_python_ast::{Expr, Stmt, StmtFor, StmtWhile};
use ruff_text_size::Ranged;

/// Walks over one loop until the types of what it carries are settled; a nest of loops may need one a literal.
const MAX_WALKS: usize = 12;

/// What is to be repeated.
pub(crate) struct Plan<'a> {
    pub(crate) body: &'a [Stmt],
    /// Names that the body may change, the induction variable among them.
    pub(crate) changed: Vec<String>,
    pub(crate) span: Span,
    /// Where the loop's text ends.
    pub(crate) end: u32,
    /// Whether at least one round surely runs.
    pub(crate) is_sure: bool,
    pub(crate) head: Head<'a>,
}

pub(crate) enum Head<'a> {
    While(&'a Expr),
    For {
        target: &'a Expr,
        bounds: [Value; 3],
        scalar: Scalar,
        /// What the count stands for; nothing: itself.
        each: Option<Sequence>,
    },
    /// A query of the library's, under a name of its own, that gives an index a round ([`super::query`]).
    Query {
        target: &'a Expr,
        name: String,
    },
}

/// What earlier walks found out.
#[derive(Default)]
pub(super) struct Findings {
    wanted: Vec<(String, Joined)>,
    late: Vec<(String, Joined)>,
    /// Names that are of several kinds, and are not carried.
    pub(super) forgotten: Vec<String>,
}

impl Lower<'_, '_> {
    pub(crate) fn while_statement(&mut self, stmt: &StmtWhile) -> Result<()> {
        let span = self.span_of(&*stmt.test);
        let plan = Plan {
            body: &stmt.body,
            changed: self.changed_names(&stmt.body, Some(&stmt.test), None),
            span,
            end: stmt.end().into(),
            is_sure: is_true(&stmt.test),
            head: Head::While(&stmt.test),
        };
        self.repeat(&plan)
    }

    pub(crate) fn for_statement(&mut self, stmt: &StmtFor) -> Result<()> {
        if let Some((call, reversed)) = self.range_call(&stmt.iter) {
            return self.for_range(stmt, call, reversed);
        }
        let span = self.span_of(&*stmt.iter);
        if self.rules.iterates_arrays && self.for_each(stmt)? {
            return Ok(());
        }
        let iterable = self.expr(&stmt.iter)?;
        if let Operand::Value(array) = iterable
            && let TypeKind::Array { .. } = self.ty(array).kind()
        {
            return Err(self.emit(
                self.report("not-iterable", span, "an array cannot be iterated over in a kernel")
                    .help("loop over its indices: `for i in range(a.shape[0])`"),
            ));
        }
        if self.is_query(&iterable) {
            return self.for_query(stmt, iterable);
        }
        let items = self.items(&iterable, span)?;
        self.unrolled(stmt, items)
    }

    /// Names that a loop's body may change, its test, and its target where something else reads it.
    pub(crate) fn changed_names(&self, body: &[Stmt], test: Option<&Expr>, target: Option<&StmtFor>) -> Vec<String> {
        let mut assigned = scan::assigned(body);
        if let Some(test) = test {
            assigned.visit_expr(test);
        }
        self.add_referenced(body, &mut assigned);
        if let Some(stmt) = target
            && let Expr::Name(name) = &*stmt.target
            && !assigned.bound.iter().any(|known| known == name.id.as_str())
        {
            let outside = |at: u32| at < u32::from(stmt.start()) || at >= u32::from(stmt.end());
            if self.reads.iter().any(|(read, at)| read == name.id.as_str() && outside(*at)) {
                assigned.bound.push(name.id.to_string());
            }
        }
        let is_array = |name: &String| match self.names.get(name) {
            Some(Binding::Is(Operand::Value(value))) => self.ty(*value).is_array(),
            _ => false,
        };
        let mut changed = assigned.bound.clone();
        for name in assigned.updated.iter().filter(|name| !is_array(name)) {
            if !changed.contains(name) {
                changed.push(name.clone());
            }
        }
        self.with_cells(&assigned, changed)
    }

    pub(crate) fn repeat(&mut self, plan: &Plan<'_>) -> Result<()> {
        let mut findings = Findings::default();
        for _ in 0..MAX_WALKS {
            let mark = self.mark();
            let before = self.names.clone();
            let (frame, inst) = self.walk(plan, &findings)?;
            let late = self.late_names(plan, &frame, &before, &findings);
            if late.is_empty() && frame.wanted.is_empty() && frame.forgotten.is_empty() {
                for (name, at) in &frame.early {
                    self.unknown_name(name, *at);
                }
                self.leave(plan, &frame, inst, before);
                return Ok(());
            }
            self.rewind(mark);
            for (name, why, at) in frame.forgotten {
                self.names.set(&name, Binding::Open(why, at));
                findings.late.retain(|(known, _)| *known != name);
                findings.forgotten.push(name);
            }
            findings.wanted.extend(frame.wanted);
            findings.late.extend(late);
        }
        let message = "the types of the variables that this loop changes do not settle";
        Err(self.error("type-mismatch", plan.span, message))
    }

    /// One walk over the loop: appends it with what is carried according to `findings`.
    fn walk(&mut self, plan: &Plan<'_>, findings: &Findings) -> Result<(LoopFrame, InstId)> {
        let mut frame = LoopFrame { changed: plan.changed.clone(), ..LoopFrame::default() };
        let mut initial = Vec::new();
        for name in &plan.changed {
            // The latest walk knows best.
            let wanted = findings.wanted.iter().rfind(|(known, _)| known == name).map(|(_, joined)| joined.clone());
            if let Some((_, joined)) = findings.late.iter().rfind(|(known, _)| known == name) {
                let joined = wanted.unwrap_or_else(|| joined.clone());
                for ty in joined.types() {
                    initial.push(self.zero(ty));
                }
                let name = name.clone();
                frame.carried.push(Carried {
                    name,
                    joined,
                    literal_of: None,
                    param: None,
                    is_late: true,
                    is_open: true,
                });
            } else if let Some(Binding::Is(operand)) = self.names.get(name).cloned()
                && let Some(joined) = wanted.or_else(|| self.carried_form(&operand))
                && self.coerce(&operand, &joined, plan.span, &mut initial)
            {
                let depth = self.loops.len();
                let literal_of = if Self::is_literal(&operand) { Some(depth) } else { self.open_literal(&operand) };
                let (name, is_open) = (name.clone(), self.names.doubt(name).is_some());
                frame.carried.push(Carried { name, joined, literal_of, param: None, is_late: false, is_open });
            }
        }
        let types: Vec<Type> = frame.carried.iter().flat_map(|carried| carried.joined.types()).collect();
        let mut params = types.clone();
        if let Head::For { scalar, .. } = plan.head {
            params.insert(0, Type::scalar(scalar));
        }
        self.loops.push(frame);
        let (region, ()) = self.in_region(&params, |lower| lower.round(plan));
        let frame = self.loops.pop().unwrap_or_else(|| panic!("a loop frame was popped twice"));
        let (op, operands) = match plan.head {
            Head::For { bounds, .. } => (Op::For, [&bounds[..], &initial].concat()),
            Head::While(_) | Head::Query { .. } => (Op::Loop, initial),
        };
        let inst = self.b().push(op, &operands, Attr::None, &[region], &types);
        Ok((frame, inst))
    }

    /// The body of the loop, in its region.
    fn round(&mut self, plan: &Plan<'_>) {
        let before = self.names.clone();
        let params = self.func.region(self.region).params.clone();
        let mut params = params.into_iter();
        let induction = if let Head::For { .. } = plan.head { params.next() } else { None };
        let carried = self.loops.last().map(|frame| frame.carried.clone()).unwrap_or_default();
        for (i, carried) in carried.into_iter().enumerate() {
            let operand = carried.joined.rebuild(&mut params);
            if let Some(frame) = self.loops.last_mut() {
                frame.carried[i].param = operand.as_value();
            }
            let doubt = match carried.is_late {
                true => {
                    let line = self.line_of(plan.span);
                    let text = format!("`{}` is not set in the first round of the loop on line {line}", carried.name);
                    Some((text, plan.span))
                }
                false => self.names.doubt(&carried.name).cloned(),
            };
            self.bind_carried(&carried.name, operand, &before);
            if let Some(doubt) = doubt {
                self.names.set_doubt(&carried.name, doubt);
            }
        }
        match (&plan.head, induction) {
            (Head::For { target, each, .. }, Some(induction)) => {
                let item = match each {
                    Some(sequence) => self.item_of(sequence, induction, plan.span),
                    None => Ok(Operand::Value(induction)),
                };
                // What cannot be read or assigned was reported; the body is still read.
                let _ = item.and_then(|item| self.assign(target, item, plan.span));
            }
            (Head::While(test), _) => self.while_test(test, plan.span),
            (Head::Query { target, name }, _) => self.next_of_query(name, target, plan.span),
            _ => {}
        }
        self.body(plan.body);
        if !self.is_terminated() {
            self.end_round(Op::Continue, plan.span);
        }
    }

    fn while_test(&mut self, test: &Expr, span: Span) {
        let condition = match self.condition(test) {
            Ok(Operand::Static(HostValue::Bool(true))) => return,
            Ok(operand) => self.value(&operand, span),
            Err(reported) => Err(reported),
        };
        if let Ok(condition) = condition {
            self.go_on_where(condition, span);
        }
    }

    /// Leaves the loop unless a condition holds.
    pub(super) fn go_on_where(&mut self, condition: Value, span: Span) {
        let (go, ()) = self.in_region(&[], |lower| lower.b().yield_(&[]));
        let (stop, ()) = self.in_region(&[], |lower| lower.end_round(Op::Break, span));
        self.b().push(Op::If, &[condition], Attr::None, &[go, stop], &[]);
    }

    /// Ends the current point with `continue` or `break` and the present values of what the loop carries.
    pub(crate) fn end_round(&mut self, op: Op, span: Span) {
        let Some(frame) = self.loops.last() else { return };
        let carried = frame.carried.clone();
        let names = self.names.clone();
        let mut values = Vec::new();
        for carried in &carried {
            let n = values.len();
            match names.get(&carried.name) {
                Some(Binding::Is(operand)) if self.widens(carried, operand) => {
                    self.changed_type(carried, operand, span)
                }
                Some(Binding::Is(operand)) if self.coerce(operand, &carried.joined, span, &mut values) => continue,
                Some(Binding::Is(operand)) => self.changed_type(carried, operand, span),
                Some(Binding::Open(text, at)) if carried.is_open => {
                    let forgotten = (carried.name.clone(), text.clone(), *at);
                    if let Some(frame) = self.loops.last_mut() {
                        frame.forgotten.push(forgotten);
                    }
                }
                Some(Binding::Open(text, at)) => {
                    let (text, at) = (text.clone(), *at);
                    let report = self.report("mixed-kinds", span, text.clone()).also(at, "this condition");
                    self.emit(report);
                }
                _ => {}
            }
            values.truncate(n);
            for ty in carried.joined.types() {
                values.push(self.zero(ty));
            }
        }
        self.b().push(op, &values, Attr::None, &[], &[]);
        if let Some(frame) = self.loops.last_mut() {
            if op == Op::Break { &mut frame.breaks } else { &mut frame.rounds }.push(names);
        }
    }

    /// Whether a name ends a round with a type that the one it started with does not hold.
    fn widens(&self, carried: &Carried, operand: &Operand) -> bool {
        let (Some(promote), Joined::One(was)) = (self.rules.promote, &carried.joined) else { return false };
        self.type_of(operand).and_then(|is| promote(*was, is)).is_some_and(|ty| ty != *was)
    }

    /// A carried name has another type at the end of a round than at its start.
    fn changed_type(&mut self, carried: &Carried, operand: &Operand, span: Span) {
        if let Some(promote) = self.rules.promote
            && let Joined::One(was) = carried.joined
            && let Some(is) = self.type_of(operand)
            && let Some(ty) = promote(was, is).filter(|ty| *ty != was)
            && let Some(frame) = self.loops.last_mut()
        {
            frame.want(&carried.name, Joined::One(ty));
            return;
        }
        if let Some(scalar) = self.type_of(operand).and_then(Type::as_scalar)
            && let Some(param) = carried.param
            && !Self::is_literal(operand)
            && self.retype(&Operand::Value(param), scalar)
        {
            return;
        }
        let was = match &carried.joined {
            Joined::One(ty) => format!("`{}`", self.name_of(*ty)),
            _ => "a tuple".into(),
        };
        let is = self.describe(operand);
        let message = format!("`{}` is {was} before the loop and {is} after a round", carried.name);
        if carried.is_open
            && let Some(frame) = self.loops.last_mut()
        {
            frame.forgotten.push((carried.name.clone(), message, span));
            return;
        }
        let report = self.report("type-mismatch", span, message).help("give it one type before the loop");
        self.emit(report);
    }

    /// The loop that a value entered as a literal of open type, where it is what that loop, or one inside, carries.
    fn open_literal(&self, operand: &Operand) -> Option<usize> {
        let value = operand.as_value()?;
        let carried =
            self.loops.iter().flat_map(|frame| &frame.carried).find(|carried| carried.param == Some(value))?;
        carried.literal_of
    }

    /// Asks for another walk over the loop that a value entered as a literal, in which the literal has type `to`.
    /// False where the value is no such literal, or it cannot become one of that type; else whoever asked gives up on
    /// what it is doing, without a report.
    pub(crate) fn retype(&mut self, operand: &Operand, to: Scalar) -> bool {
        if self.rules.promote.is_some() {
            return false;
        }
        let Some(root) = self.open_literal(operand) else { return false };
        let Some(from) = self.type_of(operand).and_then(Type::as_scalar) else { return false };
        let fits = from != to && (to.is_float() && from.is_float() || from.is_int() && to != Scalar::Bool);
        let name =
            self.loops.iter().flat_map(|frame| &frame.carried).find(|carried| carried.param == operand.as_value());
        let Some(name) = name.map(|carried| carried.name.clone()).filter(|_| fits) else { return false };
        let wanted = &mut self.loops[root].wanted;
        match wanted.iter().find(|(known, _)| *known == name) {
            // Two places ask for different types: the literal cannot be both.
            Some((_, joined)) => *joined == Joined::One(Type::scalar(to)),
            None => {
                wanted.push((name, Joined::One(Type::scalar(to))));
                true
            }
        }
    }

    /// A zero of any type: zeroed components, null arrays.
    pub(crate) fn zero(&mut self, ty: Type) -> Value {
        if let Some((elem, _)) = ty.as_tile() {
            let elem = self.zero(elem);
            return self.b().push1(Op::TileFill, &[elem], Attr::None, ty);
        }
        if let Some(scalar) = ty.as_scalar() {
            return self.b().constant(scalar, Const(0));
        }
        if let Some((_, rank)) = ty.as_array() {
            let null = self.b().int(Scalar::U64, 0);
            let none = self.b().int(Scalar::I64, 0);
            let operands = [vec![null], vec![none; rank as usize]].concat();
            return self.b().push1(Op::ArrayFromAddress, &operands, Attr::None, ty);
        }
        if let Some(elem) = ty.element() {
            let zero = self.b().constant(elem, Const(0));
            return self.b().splat(ty, zero);
        }
        let items: Vec<Value> =
            (0..ty.n_components()).filter_map(|i| ty.component(i)).map(|component| self.zero(component)).collect();
        self.b().construct(ty, &items)
    }
}

pub(super) fn is_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => {
            matches!(&literal.value, ruff_python_ast::Number::Int(value) if value.as_i64() == Some(1))
        }
        _ => false,
    }
}
