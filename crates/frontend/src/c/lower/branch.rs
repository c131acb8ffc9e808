//! Two paths that meet again: `if`, `?:`, `&&`, `||`.

use super::Result;
use super::body::{Body, Held, Holds, Rvalue};
use crate::c::ast::{Expr, Stmt};
use crate::c::types::{self, CType};
use ir::{Attr, Op, RegionId, Type, Value};

/// The values that hold each variable, by number.
pub(super) type State = Vec<Vec<Value>>;

impl Body<'_, '_, '_> {
    pub(super) fn state(&self) -> State {
        let held = |var: &super::body::Var| match &var.storage {
            Holds::Values(values) => values.clone(),
            Holds::Memory(_) | Holds::Failed => Vec::new(),
        };
        self.vars.iter().map(held).collect()
    }

    pub(super) fn set_state(&mut self, state: &State) {
        for (var, values) in self.vars.iter_mut().zip(state) {
            if let Holds::Values(held) = &mut var.storage {
                held.clone_from(values);
            }
        }
    }

    /// One of two ways, by a condition. What each way gives is the same for all: a value, or nothing.
    fn choose(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
        other: impl FnOnce(&mut Self) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let before = self.state();
        let (then_region, then_values) = self.in_region(&[], then);
        let then_state = self.state();
        self.set_state(&before);
        let (other_region, other_values) = self.in_region(&[], other);
        let other_state = self.state();
        self.set_state(&before);
        let (then_values, other_values) = (then_values?, other_values?);
        let is_unchanged = then_state[..before.len()] == before && other_state[..before.len()] == before;
        if is_unchanged && self.is_pure(then_region) && self.is_pure(other_region) {
            self.splice(then_region);
            self.splice(other_region);
            let pairs = then_values.into_iter().zip(other_values);
            return Ok(pairs.map(|(x, y)| self.b().select(condition, x, y)).collect());
        }
        let arms = [(then_region, then_state, then_values), (other_region, other_state, other_values)];
        Ok(self.meet(condition, &before, arms))
    }

    /// Ends both ways of an `if`, appends it, and gives the variables the values in which the ways meet.
    pub(super) fn meet(
        &mut self,
        condition: Value,
        before: &State,
        arms: [(RegionId, State, Vec<Value>); 2],
    ) -> Vec<Value> {
        let is_live = |func: &ir::Function, region: RegionId| func.terminator(region).is_none();
        let live: Vec<&(RegionId, State, Vec<Value>)> =
            arms.iter().filter(|(region, ..)| is_live(&self.func, *region)).collect();
        let regions = [arms[0].0, arms[1].0];
        let mut places = Vec::new();
        for (var, values) in before.iter().enumerate() {
            for (part, value) in values.iter().enumerate() {
                if live.iter().any(|(_, state, _)| state[var][part] != *value) {
                    places.push((var, part));
                }
            }
        }
        let n_given = live.first().map_or(0, |(_, _, values)| values.len());
        let mut types: Vec<Type> = Vec::new();
        let outer = self.region;
        for (region, state, values) in &live {
            let mut yielded = values.clone();
            yielded.extend(places.iter().map(|&(var, part)| state[var][part]));
            types = yielded.iter().map(|&value| self.func.ty(value)).collect();
            self.region = *region;
            self.b().yield_(&yielded);
        }
        self.region = outer;
        let inst = self.b().push(Op::If, &[condition], Attr::None, &regions, &types);
        let results = self.func.inst(inst).results.to_vec();
        for (&(var, part), &value) in places.iter().zip(&results[n_given.min(results.len())..]) {
            if let Holds::Values(values) = &mut self.vars[var].storage {
                values[part] = value;
            }
        }
        if live.is_empty() {
            self.b().push(Op::Unreachable, &[], Attr::None, &[], &[]);
        }
        results[..n_given.min(results.len())].to_vec()
    }

    pub(super) fn if_statement(&mut self, test: &Expr, then: &Stmt, other: Option<&Stmt>) -> Result<()> {
        // `if constexpr`, and tests of a template's parameters: the other way need not make sense.
        if let Some(holds) = self.known(test) {
            if holds != 0 {
                self.scoped(|body| body.statement(then));
            } else if let Some(other) = other {
                self.scoped(|body| body.statement(other));
            }
            return Ok(());
        }
        let condition = match self.condition(test) {
            Ok(condition) => condition,
            // After a mistake in the condition the branches are still read, for their own mistakes.
            Err(_) => self.b().bool(false),
        };
        let way = |stmt: Option<&Stmt>, body: &mut Self| {
            if let Some(stmt) = stmt {
                body.scoped(|body| body.statement(stmt));
            }
        };
        let before = self.state();
        let (then_region, ()) = self.in_region(&[], |body| way(Some(then), body));
        let then_state = self.state();
        self.set_state(&before);
        let (other_region, ()) = self.in_region(&[], |body| way(other, body));
        let other_state = self.state();
        self.set_state(&before);
        let arms = [(then_region, then_state, Vec::new()), (other_region, other_state, Vec::new())];
        self.meet(condition, &before, arms);
        Ok(())
    }

    /// An expression as a condition.
    pub(super) fn condition(&mut self, expr: &Expr) -> Result<Value> {
        let value = self.expr(expr)?;
        let outer = std::mem::replace(&mut self.span, expr.span);
        let truth = self.truth(&value, expr.span);
        self.span = outer;
        truth
    }

    /// `x && y`, `x || y`: y runs only where it decides.
    pub(super) fn logical(&mut self, is_and: bool, x: &Expr, y: &Expr) -> Result<Rvalue> {
        let left = self.condition(x)?;
        let decided = |body: &mut Self| Ok(vec![body.b().bool(!is_and)]);
        let asked = |body: &mut Self| Ok(vec![body.condition(y)?]);
        let found = if is_and { self.choose(left, asked, decided) } else { self.choose(left, decided, asked) };
        Ok(Rvalue::value(CType::BOOL, found?[0]))
    }

    /// `test ? x : y`.
    pub(super) fn conditional(&mut self, test: &Expr, x: &Expr, y: &Expr) -> Result<Rvalue> {
        if let Some(holds) = self.known(test) {
            let ty = self.meeting_type(x, y)?;
            let value = self.expr(if holds != 0 { x } else { y })?;
            return self.converted(value, &ty, x.span);
        }
        let condition = self.condition(test)?;
        let ty = self.meeting_type(x, y)?;
        let way = |expr: &Expr, body: &mut Self| {
            let value = body.expr(expr)?;
            let value = body.converted(value, &ty, expr.span)?;
            Ok(body.values_of(&value))
        };
        let values = self.choose(condition, |body| way(x, body), |body| way(y, body))?;
        let held = if values.is_empty() { Held::Nothing } else { self.of_values(&ty, &values).held };
        Ok(Rvalue { ty, held })
    }

    /// The type in which the two results of `?:` meet.
    fn meeting_type(&mut self, x: &Expr, y: &Expr) -> Result<CType> {
        let (left, right) = (self.type_of(x)?, self.type_of(y)?);
        let pointer = |ty: &CType| match ty {
            CType::Array(elem, _) => CType::Pointer(elem.clone(), false),
            ty => ty.clone(),
        };
        let (left, right) = (pointer(&left), pointer(&right));
        Ok(match (&left, &right) {
            _ if left == right => left,
            (CType::Scalar(s), CType::Scalar(t)) => CType::Scalar(types::common(*s, *t)),
            (CType::Pointer(to, _), CType::Pointer(other, _)) if to == other => CType::Pointer(to.clone(), true),
            // `p ? p : 0`.
            (CType::Pointer(..), CType::Scalar(_)) => left,
            (CType::Scalar(_), CType::Pointer(..)) => right,
            (CType::Pointer(..), CType::Pointer(to, _)) if **to == CType::Void => left,
            (CType::Pointer(to, _), CType::Pointer(..)) if **to == CType::Void => right,
            _ => {
                let message = format!("`?:` gives `{}` on one way and `{}` on the other", left.name(), right.name());
                return Err(self.error("type-mismatch", y.span, message, "convert one of the two"));
            }
        })
    }
}
