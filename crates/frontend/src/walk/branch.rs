//! `if` statements, conditional expressions, `and`/`or`: two paths that meet again.

use super::lower::{Binding, Doubt, Lower, Names, Result};
use super::operand::{Operand, literal_as};
use crate::HostValue;
use diagnostics::Span;
use ir::{Attr, Op, RegionId, Scalar, Type, Value};
use ruff_python_ast::{BoolOp, ElifElseClause, Expr, ExprBoolOp, ExprIf, Stmt, StmtIf};

/// What one name can be on all of several paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Joined {
    /// The very same static thing.
    Same(Operand),
    /// A value of this type on every path.
    One(Type),
    Tuple(Vec<Joined>),
}

impl Joined {
    /// The types of the run-time values behind it.
    pub(crate) fn types(&self) -> Vec<Type> {
        match self {
            Joined::Same(_) => Vec::new(),
            Joined::One(ty) => vec![*ty],
            Joined::Tuple(items) => items.iter().flat_map(Joined::types).collect(),
        }
    }

    /// The operand made of run-time values in the order of `types`.
    pub(crate) fn rebuild(&self, values: &mut impl Iterator<Item = Value>) -> Operand {
        match self {
            Joined::Same(operand) => operand.clone(),
            Joined::One(_) => values.next().map_or(Operand::NONE, Operand::Value),
            Joined::Tuple(items) => Operand::Tuple(items.iter().map(|item| item.rebuild(values)).collect()),
        }
    }
}

impl Lower<'_, '_> {
    pub(crate) fn if_statement(&mut self, stmt: &StmtIf) {
        self.branch(&stmt.test, &stmt.body, &stmt.elif_else_clauses);
    }

    fn branch(&mut self, test: &Expr, body: &[Stmt], rest: &[ElifElseClause]) {
        let condition = self.condition(test);
        if let Ok(Operand::Static(HostValue::Bool(holds))) = condition {
            return if holds { self.body(body) } else { self.otherwise(rest) };
        }
        let span = self.span_of(test);
        // After a mistake in the condition the branches are still read, for their own mistakes.
        let condition = match condition {
            Ok(operand) => self.value(&operand, span),
            Err(reported) => Err(reported),
        };
        let condition = condition.unwrap_or_else(|_| self.b().bool(false));
        let before = self.names.clone();
        let (then, ()) = self.in_region(&[], |lower| lower.body(body));
        let then_names = std::mem::replace(&mut self.names, before.clone());
        let (other, ()) = self.in_region(&[], |lower| lower.otherwise(rest));
        let other_names = std::mem::replace(&mut self.names, before.clone());
        self.meet(condition, span, &before, [(then, then_names), (other, other_names)]);
    }

    fn otherwise(&mut self, rest: &[ElifElseClause]) {
        if let Some((clause, rest)) = rest.split_first() {
            match &clause.test {
                Some(test) => self.branch(test, &clause.body, rest),
                None => self.body(&clause.body),
            }
        }
    }

    /// Ends both regions of an `if`, appends it, and sets the names that differ from `before`.
    fn meet(&mut self, condition: Value, span: Span, before: &Names, arms: [(RegionId, Names); 2]) {
        let is_live = arms.each_ref().map(|(region, _)| self.func.terminator(*region).is_none());
        let live: Vec<(RegionId, &Names)> =
            arms.iter().zip(is_live).filter(|(_, live)| *live).map(|((region, names), _)| (*region, names)).collect();
        let regions = [arms[0].0, arms[1].0];
        let mut merged: Vec<(String, Joined)> = Vec::new();
        let mut names = before.clone();
        for name in union(live.iter().map(|(_, names)| *names)) {
            let bindings: Vec<Option<&Binding>> = live.iter().map(|(_, names)| names.get(&name)).collect();
            match self.met(&name, &bindings, before.get(&name), span, is_live) {
                Met::Unchanged => {}
                Met::Joined(joined) => merged.push((name, joined)),
                Met::Binding(binding) => names.set(&name, binding),
            }
        }
        let outer = self.region;
        let mut mixed = Vec::new();
        for (region, arm) in &live {
            self.region = *region;
            // Tiles are what their cells hold at the end of the arm.
            self.names = (*arm).clone();
            let mut values = Vec::new();
            for (name, joined) in &merged {
                match arm.get(name) {
                    Some(Binding::Is(operand)) => {
                        if self.shares_cell(arm, name, operand) {
                            mixed.push(name.clone());
                        }
                        self.coerce(operand, joined, span, &mut values);
                    }
                    _ => values.extend(joined.types().into_iter().map(|ty| self.zero(ty))),
                }
            }
            self.b().yield_(&values);
        }
        self.region = outer;
        let types: Vec<Type> = merged.iter().flat_map(|(_, joined)| joined.types()).collect();
        let inst = self.b().push(Op::If, &[condition], Attr::None, &regions, &types);
        let results = self.func.inst(inst).results.clone();
        let mut results = results.into_iter();
        self.names = names;
        for (name, joined) in &merged {
            let operand = joined.rebuild(&mut results);
            self.bind_mixed(name, operand, mixed.contains(name));
            let doubt = |(arm, (_, names)): (usize, &(RegionId, &Names))| match names.get(name) {
                None => Some(self.unset_in(name, is_live[0] && arm == 0, span)),
                Some(_) => names.doubt(name).cloned(),
            };
            if let Some(doubt) = live.iter().enumerate().find_map(doubt) {
                self.names.set_doubt(name, doubt);
            }
        }
        if live.is_empty() {
            self.unreachable();
        }
    }

    /// That a name is not set where the condition of an `if` is true, or false.
    fn unset_in(&self, name: &str, holds: bool, span: Span) -> Doubt {
        let line = self.line_of(span);
        (format!("`{name}` is not set where the condition on line {line} is {holds}"), span)
    }

    fn met(
        &self,
        name: &str,
        bindings: &[Option<&Binding>],
        before: Option<&Binding>,
        span: Span,
        is_live: [bool; 2],
    ) -> Met {
        // What one arm alone sets is 0 after the other.
        if let [Some(Binding::Is(operand)), None] | [None, Some(Binding::Is(operand))] = bindings
            && let Some(form) = self.carried_form(operand)
        {
            return Met::Joined(form);
        }
        for (arm, binding) in bindings.iter().enumerate() {
            match binding {
                Some(Binding::Failed) => return Met::Binding(Binding::Failed),
                Some(open @ Binding::Open(..)) => return Met::Binding((*open).clone()),
                None => {
                    let (text, span) = self.unset_in(name, is_live[0] && arm == 0, span);
                    return Met::Binding(Binding::Open(text, span));
                }
                Some(Binding::Is(_)) => {}
            }
        }
        let operands: Vec<&Operand> = bindings
            .iter()
            .filter_map(|binding| if let Some(Binding::Is(operand)) = binding { Some(operand) } else { None })
            .collect();
        if let Some(Binding::Is(old)) = before
            && operands.iter().all(|operand| *operand == old)
        {
            return Met::Unchanged;
        }
        match self.join(&operands) {
            Some(joined) => Met::Joined(joined),
            None => {
                let line = self.line_of(span);
                let kinds: Vec<String> = operands.iter().map(|operand| self.describe(operand)).collect();
                let text = format!("`{name}` is {} on the two paths of the `if` on line {line}", kinds.join(" and "));
                Met::Binding(Binding::Open(text, span))
            }
        }
    }

    /// What all operands can be at once; `None` where their types differ.
    pub(crate) fn join(&self, operands: &[&Operand]) -> Option<Joined> {
        let first = *operands.first()?;
        let is_same = operands.iter().all(|operand| *operand == first);
        if is_same && !matches!(first, Operand::Value(_) | Operand::Tile(_) | Operand::Tuple(_)) {
            return Some(Joined::Same(first.clone()));
        }
        if let Operand::Tuple(items) = first {
            let lists: Vec<&Vec<Operand>> = operands
                .iter()
                .filter_map(|operand| if let Operand::Tuple(items) = operand { Some(items) } else { None })
                .collect();
            if lists.len() != operands.len() || lists.iter().any(|list| list.len() != items.len()) {
                return None;
            }
            let column = |i: usize| self.join(&lists.iter().map(|list| &list[i]).collect::<Vec<_>>());
            return (0..items.len()).map(column).collect::<Option<_>>().map(Joined::Tuple);
        }
        self.join_types(operands).map(Joined::One)
    }

    /// The type of the value that a joined operand is, where all of it is known at run time only.
    pub(crate) fn joined_type(&self, joined: &Joined) -> Option<Type> {
        match joined {
            Joined::One(ty) => Some(*ty),
            Joined::Same(operand) => self.type_of(operand),
            Joined::Tuple(items) => {
                items.iter().map(|item| self.joined_type(item)).collect::<Option<_>>().map(Type::tuple)
            }
        }
    }

    fn join_types(&self, operands: &[&Operand]) -> Option<Type> {
        if let Some(promote) = self.rules.promote {
            let mut types = operands.iter().map(|operand| self.type_of(operand));
            let first = types.next()??;
            return types.try_fold(first, |ty, other| promote(ty, other?));
        }
        let typed = operands.iter().filter(|operand| !Self::is_literal(operand));
        let mut types = typed.map(|operand| self.type_of(operand));
        let ty = match types.next() {
            Some(first) if types.all(|ty| ty == first) => first?,
            Some(_) => return None,
            // Literals only: a float among them makes all floats.
            None => {
                let scalars = operands.iter().filter_map(|operand| match operand {
                    Operand::Static(value) => (self.rules.literal)(value),
                    _ => None,
                });
                Type::scalar(scalars.max()?)
            }
        };
        let fits = operands.iter().all(|operand| match operand {
            Operand::Static(value) if Self::is_literal(operand) => {
                ty.as_scalar().is_some_and(|scalar| literal_as(value, scalar).is_some())
            }
            _ => true,
        });
        fits.then_some(ty)
    }

    /// What one operand becomes when it must be a run-time value (or stays the static thing it is).
    pub(crate) fn carried_form(&self, operand: &Operand) -> Option<Joined> {
        match operand {
            Operand::Value(value) => Some(Joined::One(self.ty(*value))),
            Operand::Tile(place) => Some(Joined::One(place.ty)),
            Operand::Tuple(items) => {
                items.iter().map(|item| self.carried_form(item)).collect::<Option<_>>().map(Joined::Tuple)
            }
            Operand::Static(HostValue::Composite(ty, _)) => Some(Joined::One(*ty)),
            Operand::Static(value) => (self.rules.literal)(value).map(|scalar| Joined::One(Type::scalar(scalar))),
            _ => None,
        }
    }

    /// Appends the run-time values of an operand in the form `joined`; false where it has another type.
    pub(crate) fn coerce(&mut self, operand: &Operand, joined: &Joined, span: Span, values: &mut Vec<Value>) -> bool {
        match (joined, operand) {
            (Joined::Same(_), _) => true,
            (Joined::One(ty), _) => match self.try_value_as(operand, *ty, span) {
                Ok(Some(value)) => {
                    values.push(value);
                    true
                }
                _ => false,
            },
            (Joined::Tuple(forms), Operand::Tuple(items)) if forms.len() == items.len() => {
                forms.iter().zip(items).all(|(form, item)| self.coerce(item, form, span, values))
            }
            (Joined::Tuple(_), _) => false,
        }
    }

    /// An expression as a condition: a static bool or a bool value.
    pub(crate) fn condition(&mut self, expr: &Expr) -> Result<Operand> {
        let operand = self.expr(expr)?;
        let span = self.span_of(expr);
        self.truth(&operand, span)
    }

    /// Python's truth of an operand: numbers are compared with zero, an array is true unless it is null.
    pub(crate) fn truth(&mut self, operand: &Operand, span: Span) -> Result<Operand> {
        let holds = match operand {
            Operand::Static(HostValue::None) => Some(false),
            Operand::Static(HostValue::Bool(value)) => Some(*value),
            Operand::Static(HostValue::Int(value)) => Some(*value != 0),
            Operand::Static(HostValue::Float(value)) => Some(*value != 0.0),
            Operand::Static(HostValue::Scalar(scalar, value)) => Some(value.as_float(*scalar) != 0.0),
            Operand::Static(HostValue::Str(text)) => Some(!text.is_empty()),
            Operand::Static(HostValue::Tuple(items)) => Some(!items.is_empty()),
            Operand::Tuple(items) => Some(!items.is_empty()),
            Operand::Static(HostValue::Func(_) | HostValue::Builtin(_) | HostValue::Type(_)) => Some(true),
            _ => None,
        };
        if let Some(holds) = holds {
            return Ok(Operand::Static(HostValue::Bool(holds)));
        }
        if let Operand::Value(value) = *operand {
            let ty = self.ty(value);
            if ty.is_array() {
                let is_null = self.b().push1(Op::IsNull, &[value], Attr::None, Type::bool());
                return Ok(Operand::Value(self.b().unary(Op::Not, is_null)));
            }
            match ty.as_scalar() {
                Some(Scalar::Bool) => return Ok(operand.clone()),
                Some(scalar) => {
                    let zero = self.b().int(scalar, 0);
                    return Ok(Operand::Value(self.b().compare(Op::Ne, value, zero)));
                }
                None => {}
            }
            if let Some(truth) = self.rules.truth
                && let Some(holds) = truth(self, value)
            {
                return Ok(Operand::Value(holds));
            }
        }
        let what = self.describe(operand);
        Err(self.error("not-a-condition", span, format!("{what} cannot be used as a condition")))
    }

    /// `a and b`, `a or b`: a bool; what follows runs only where it decides.
    pub(crate) fn bool_op(&mut self, expr: &ExprBoolOp) -> Result<Operand> {
        let is_and = expr.op == BoolOp::And;
        let mut result = self.condition(&expr.values[0])?;
        for next in &expr.values[1..] {
            match result {
                Operand::Static(HostValue::Bool(holds)) if holds == is_and => result = self.condition(next)?,
                Operand::Static(_) => return Ok(result),
                _ => {
                    let span = self.span_of(next);
                    let left = self.value(&result, span)?;
                    let (region, right) = self.in_region(&[], |lower| {
                        let operand = lower.condition(next)?;
                        lower.value(&operand, span)
                    });
                    let right = right?;
                    result = Operand::Value(if self.is_pure(region) {
                        self.splice(region);
                        self.b().binary(if is_and { Op::And } else { Op::Or }, left, right)
                    } else {
                        self.short_circuit(is_and, left, region, right)
                    });
                }
            }
        }
        Ok(result)
    }

    fn short_circuit(&mut self, is_and: bool, left: Value, region: RegionId, right: Value) -> Value {
        let outer = std::mem::replace(&mut self.region, region);
        self.b().yield_(&[right]);
        self.region = outer;
        let (decided, ()) = self.in_region(&[], |lower| {
            let value = lower.b().bool(!is_and);
            lower.b().yield_(&[value]);
        });
        let regions = if is_and { [region, decided] } else { [decided, region] };
        let inst = self.b().push(Op::If, &[left], Attr::None, &regions, &[Type::bool()]);
        self.func.inst(inst).result()
    }

    /// `x if c else y`: only the chosen side runs.
    pub(crate) fn if_expression(&mut self, expr: &ExprIf) -> Result<Operand> {
        let condition = self.condition(&expr.test)?;
        if let Operand::Static(HostValue::Bool(holds)) = condition {
            return self.expr(if holds { &expr.body } else { &expr.orelse });
        }
        let span = self.span_of(expr);
        let condition = self.value(&condition, span)?;
        let (then, x) = self.in_region(&[], |lower| lower.expr(&expr.body));
        let (other, y) = self.in_region(&[], |lower| lower.expr(&expr.orelse));
        let (x, y) = (x?, y?);
        let Some(joined) = self.join(&[&x, &y]) else {
            let (x, y) = (self.describe(&x), self.describe(&y));
            let message = format!("the two sides of a conditional expression must have one type, found {x} and {y}");
            return Err(self.error("type-mismatch", span, message));
        };
        let sides = [(then, x), (other, y)].map(|(region, operand)| {
            let outer = std::mem::replace(&mut self.region, region);
            let mut values = Vec::new();
            self.coerce(&operand, &joined, span, &mut values);
            self.region = outer;
            (region, values)
        });
        if sides.iter().all(|(region, _)| self.is_pure(*region)) {
            self.splice(then);
            self.splice(other);
            let pairs = sides[0].1.iter().zip(&sides[1].1);
            let chosen: Vec<Value> = pairs.map(|(&x, &y)| self.b().select(condition, x, y)).collect();
            return Ok(joined.rebuild(&mut chosen.into_iter()));
        }
        for (region, values) in &sides {
            let outer = std::mem::replace(&mut self.region, *region);
            self.b().yield_(values);
            self.region = outer;
        }
        let inst = self.b().push(Op::If, &[condition], Attr::None, &[then, other], &joined.types());
        let results = self.func.inst(inst).results.clone();
        Ok(joined.rebuild(&mut results.into_iter()))
    }
}

enum Met {
    Unchanged,
    Joined(Joined),
    Binding(Binding),
}

/// All names of several environments, in order of first appearance.
pub(crate) fn union<'n>(environments: impl Iterator<Item = &'n Names>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for names in environments {
        for (name, _) in names.iter() {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
    }
    all
}
