//! `for` over arrays and tuples, `enumerate`, `zip`: a count, and what it stands for in each sequence.
//!
//! ```text
//! for k, x in enumerate(a)    ->    for v3 = 0 to extent a {0} step 1:  k = v3;  x = load a[v3]
//! ```

use super::lower::{Lower, Result};
use super::operand::Operand;
use super::repeat::{Head, Plan};
use super::scan;
use crate::HostValue;
use diagnostics::Span;
use ir::{Op, Scalar, Type, Value};
use ruff_python_ast::{Expr, StmtFor};
use ruff_text_size::Ranged;

/// Something that a loop takes one item of in each round.
#[derive(Clone, Debug)]
pub(crate) enum Sequence {
    /// An array of one dimension gives elements, others rows.
    Array(Value),
    Items(Vec<Operand>),
    /// Numbers from the first in steps.
    Numbers(Value, Value),
    /// One item of each, as a tuple.
    Several(Vec<Sequence>),
}

impl Lower<'_, '_> {
    /// A loop over what is known at run time only; `false` where the loop is another kind.
    pub(crate) fn for_each(&mut self, stmt: &StmtFor) -> Result<bool> {
        let span = self.span_of(&*stmt.iter);
        let Some((sequence, length)) = self.sequence(&stmt.iter, span)? else { return Ok(false) };
        // A few items of several types are walked while compiling.
        if let Sequence::Items(items) = &sequence
            && (!scan::has_jump(&stmt.body) || self.join(&items.iter().collect::<Vec<_>>()).is_none())
        {
            return Ok(false);
        }
        let (zero, one) = (self.b().int(Scalar::I64, 0), self.b().int(Scalar::I64, 1));
        let plan = Plan {
            body: &stmt.body,
            changed: self.changed_names(&stmt.body, None, Some(stmt)),
            span,
            end: stmt.end().into(),
            is_sure: false,
            head: Head::For {
                target: &stmt.target,
                bounds: [zero, length, one],
                scalar: Scalar::I64,
                each: Some(sequence),
            },
        };
        self.repeat(&plan)?;
        Ok(true)
    }

    /// The sequence that an expression stands for after `in`, and its length.
    fn sequence(&mut self, expr: &Expr, span: Span) -> Result<Option<(Sequence, Value)>> {
        if let Expr::Call(call) = expr
            && let Expr::Name(name) = &*call.func
            && let Some(HostValue::Builtin(builtin)) = self.lookup(name.id.as_str())
        {
            let args = &*call.arguments.args;
            match (builtin.as_str(), args) {
                ("enumerate", [of, rest @ ..]) => {
                    let Some((sequence, length)) = self.sequence(of, span)? else { return Ok(None) };
                    let start = match rest.first().or(call.arguments.keywords.first().map(|keyword| &keyword.value)) {
                        Some(start) => self.expr(start)?,
                        None => Operand::int(0),
                    };
                    let start = self.value_as(&start, Type::i64(), span)?;
                    let one = self.b().int(Scalar::I64, 1);
                    return Ok(Some((Sequence::Several(vec![Sequence::Numbers(start, one), sequence]), length)));
                }
                ("zip", all) if !all.is_empty() => {
                    let mut sequences = Vec::new();
                    let mut shortest: Option<Value> = None;
                    for one in all {
                        let Some((sequence, length)) = self.sequence(one, span)? else { return Ok(None) };
                        sequences.push(sequence);
                        shortest = Some(match shortest {
                            Some(known) => self.b().binary(Op::Min, known, length),
                            None => length,
                        });
                    }
                    return Ok(shortest.map(|length| (Sequence::Several(sequences), length)));
                }
                ("range", bounds @ ([_] | [_, _] | [_, _, _])) => return self.numbers(bounds, span).map(Some),
                _ => {}
            }
        }
        let operand = self.expr(expr)?;
        let array = match &operand {
            Operand::Value(value) if self.ty(*value).is_array() => Some(*value),
            _ => None,
        };
        if let Some(array) = array {
            let length = self.b().extent(array, 0);
            return Ok(Some((Sequence::Array(array), length)));
        }
        let items = self.items(&operand, span)?;
        let length = self.b().int(Scalar::I64, items.len() as i128);
        Ok(Some((Sequence::Items(items), length)))
    }

    fn numbers(&mut self, bounds: &[Expr], span: Span) -> Result<(Sequence, Value)> {
        let mut values = Vec::new();
        for bound in bounds {
            let operand = self.expr(bound)?;
            values.push(self.value_as(&operand, Type::i64(), span)?);
        }
        let (zero, one) = (self.b().int(Scalar::I64, 0), self.b().int(Scalar::I64, 1));
        let (lo, hi, step) = match *values {
            [hi] => (zero, hi, one),
            [lo, hi] => (lo, hi, one),
            [lo, hi, step, ..] => (lo, hi, step),
            [] => (zero, zero, one),
        };
        // (hi - lo) / step rounded up; a step of 0 makes none.
        let mut b = self.b();
        let distance = b.binary(Op::Sub, lo, hi);
        let rounds = b.binary(Op::FloorDiv, distance, step);
        let rounds = b.unary(Op::Neg, rounds);
        let length = b.binary(Op::Max, rounds, zero);
        Ok((Sequence::Numbers(lo, step), length))
    }

    /// Item number `index` of a sequence.
    pub(crate) fn item_of(&mut self, sequence: &Sequence, index: Value, span: Span) -> Result<Operand> {
        match sequence {
            Sequence::Numbers(start, step) => {
                let offset = self.b().binary(Op::Mul, index, *step);
                Ok(Operand::Value(self.b().binary(Op::Add, *start, offset)))
            }
            Sequence::Array(array) => {
                let place = self.array_place(*array, &[(Operand::Value(index), span)], "", span)?;
                self.read(place)
            }
            Sequence::Items(items) => self.dynamic_item(items, &(Operand::Value(index), span), span),
            Sequence::Several(all) => {
                let items = all.iter().map(|one| self.item_of(one, index, span)).collect::<Result<_>>()?;
                Ok(Operand::Tuple(items))
            }
        }
    }
}
