//! Subscripts of arrays: elements, rows, slices.

use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::fabric::Fabric;
use super::{Access, Index, Place, is_mapped_array};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Site, SiteKind, Value};

/// Whether a slice's step is negative.
#[derive(Clone, Copy)]
enum Backward {
    Known(bool),
    Unknown(Value),
}

impl Lower<'_, '_> {
    /// `a[i, j]`: an element where every dimension has an integer, else a view.
    pub(crate) fn array_place(&mut self, array: Value, indices: &[Index], name: &str, span: Span) -> Result<Place> {
        let rank = self.rank(array);
        if indices.len() > rank {
            let (elem, _) = self.ty(array).as_array().unwrap_or_else(|| panic!("an array has an element type"));
            let dimensions = if rank == 1 { "1 dimension".to_owned() } else { format!("{rank} dimensions") };
            let message = format!("`{name}` has {dimensions}, found {} indices", indices.len());
            let mut report = self.report("too-many-indices", span, message);
            if elem.is_composite() {
                report =
                    report.help(format!("index the `{}` that it holds in a subscript of its own", self.name_of(elem)));
            }
            return Err(self.emit(report));
        }
        let is_slice = |(operand, _): &Index| matches!(operand, Operand::Slice(_));
        if indices.len() == rank && !indices.iter().any(is_slice) {
            return self.element(array, indices, name, span).map(Place::Memory);
        }
        let mut view = array;
        let mut dim = 0;
        for (index, at) in indices {
            if let Operand::Slice(bounds) = index {
                view = self.slice_view(view, dim, bounds, *at)?;
                dim += 1;
            } else {
                let index = self.wrapped(view, index, dim, *at)?;
                self.check_row(view, index, dim, name, span);
                view = self.b().row(view, index, dim);
            }
        }
        Ok(Place::Operand(Operand::Value(view)))
    }

    /// The element of an array of any kind at one integer a dimension.
    pub(crate) fn element(&mut self, array: Value, indices: &[Index], name: &str, span: Span) -> Result<Access> {
        if Fabric::of(self.ty(array)).is_some() {
            return self.fabric_element(array, indices, name, span);
        }
        if is_mapped_array(self.ty(array)) {
            let (base, mapped) = self.mapped(array, indices, name)?;
            return self.plain_element(base, &mapped, name, span);
        }
        self.plain_element(array, indices, name, span)
    }

    /// The element at one integer a dimension; in checked mode the bounds are checked here.
    pub(crate) fn plain_element(&mut self, array: Value, indices: &[Index], name: &str, span: Span) -> Result<Access> {
        let (ty, _) = self.ty(array).as_array().unwrap_or_else(|| panic!("an array has an element type"));
        let mut values = Vec::new();
        for (dim, (index, at)) in (0..).zip(indices) {
            values.push(self.wrapped(array, index, dim, *at)?);
        }
        if self.unit.options.checks_bounds() {
            let site = self.unit.module.add_site(Site { kind: SiteKind::ArrayIndex, span, name: name.to_owned() });
            let operands = [&[array], &values[..]].concat();
            self.b().check(Op::CheckBounds, &operands, site);
        }
        let name = name.to_owned();
        Ok(Access { array, indices: values, path: Vec::new(), path_indices: Vec::new(), ty, name, span })
    }

    /// An index as an i64; a negative one counts from the end.
    pub(crate) fn wrapped(&mut self, array: Value, index: &Operand, dim: u32, at: Span) -> Result<Value> {
        let value = self.index(index, at)?;
        Ok(if self.may_be_negative(index) { self.b().wrap_index(array, value, dim) } else { value })
    }

    pub(crate) fn check_row(&mut self, array: Value, index: Value, dim: u32, name: &str, span: Span) {
        if self.unit.options.checks_bounds() {
            let site = self.unit.module.add_site(Site { kind: SiteKind::ArrayIndex, span, name: name.to_owned() });
            let extent = self.b().extent(array, dim);
            self.b().check(Op::CheckIndex, &[index, extent], site);
        }
    }

    fn rank(&self, array: Value) -> usize {
        self.ty(array).as_array().map_or(0, |(_, rank)| rank as usize)
    }

    /// `a[start:stop:step]` along a dimension, bounds clamped as Python does.
    fn slice_view(&mut self, array: Value, dim: u32, bounds: &[Operand; 3], at: Span) -> Result<Value> {
        let [start, stop, step] = bounds;
        if start.is_none() && stop.is_none() && (step.is_none() || step.as_int() == Some(1)) {
            return Ok(array);
        }
        let (step, size, is_backward) = self.slice_step(step, at)?;
        // Forward slices stop between 0 and n, backward ones between -1 and n - 1.
        let (n, zero) = (self.b().extent(array, dim), self.b().int(Scalar::I64, 0));
        let minus_one = self.b().int(Scalar::I64, -1);
        let last = self.b().binary(Op::Add, n, minus_one);
        let least = self.either(is_backward, minus_one, zero);
        let most = self.either(is_backward, last, n);
        let first = self.either(is_backward, last, zero);
        let end = self.either(is_backward, minus_one, n);
        let start = self.clamped(start, array, dim, [first, least, most], at)?;
        let stop = self.clamped(stop, array, dim, [end, least, most], at)?;
        let (low, high) = (self.either(is_backward, stop, start), self.either(is_backward, start, stop));
        // The number of steps is rounded up; a step of 0 makes none, because x / 0 is 0.
        let distance = self.b().binary(Op::Sub, high, low);
        let round = self.b().binary(Op::Add, size, minus_one);
        let sum = self.b().binary(Op::Add, distance, round);
        let count = self.b().binary(Op::Div, sum, size);
        let count = self.b().binary(Op::Max, count, zero);
        let ty = self.ty(array);
        Ok(self.b().push1(Op::Subarray, &[array, start, count, step], Attr::Index(dim), ty))
    }

    /// The step of a slice, its size, and whether it goes backward.
    fn slice_step(&mut self, step: &Operand, at: Span) -> Result<(Value, Value, Backward)> {
        let known = if step.is_none() { Some(1) } else { step.as_int() };
        if let Some(step) = known {
            if step == 0 {
                return Err(self.error("slice-step", at, "slice step cannot be zero"));
            }
            if i64::try_from(step).is_err() {
                return Err(self.error("literal-range", at, "the step of this slice does not fit `int64`"));
            }
            let value = self.b().int(Scalar::I64, step);
            return Ok((value, self.b().int(Scalar::I64, step.abs()), Backward::Known(step < 0)));
        }
        let value = self.index(step, at)?;
        self.assert_step(value, "slice step cannot be zero", at);
        let zero = self.b().int(Scalar::I64, 0);
        let is_backward = self.b().compare(Op::Lt, value, zero);
        Ok((value, self.b().unary(Op::Abs, value), Backward::Unknown(is_backward)))
    }

    /// In checked mode, reports a step of zero.
    pub(crate) fn check_step(&mut self, step: Value, message: &str, span: Span) {
        if self.unit.options.checked {
            self.assert_step(step, message, span);
        }
    }

    /// Reports a step of zero, in every mode: a view of nothing would be a wrong result that nobody sees.
    fn assert_step(&mut self, step: Value, message: &str, span: Span) {
        let site = self.unit.module.add_site(Site { kind: SiteKind::Assert, span, name: message.to_owned() });
        let scalar = self.ty(step).as_scalar().unwrap_or(Scalar::I64);
        let zero = self.b().int(scalar, 0);
        let holds = self.b().compare(Op::Ne, step, zero);
        self.b().check(Op::Assert, &[holds], site);
    }

    fn either(&mut self, is_backward: Backward, backward: Value, forward: Value) -> Value {
        match is_backward {
            Backward::Known(holds) => {
                if holds {
                    backward
                } else {
                    forward
                }
            }
            Backward::Unknown(condition) => self.b().select(condition, backward, forward),
        }
    }

    /// A bound of a slice, counted from the end where negative, between `least` and `most`.
    fn clamped(
        &mut self,
        bound: &Operand,
        array: Value,
        dim: u32,
        [default, least, most]: [Value; 3],
        at: Span,
    ) -> Result<Value> {
        if bound.is_none() {
            return Ok(default);
        }
        let value = self.wrapped(array, bound, dim, at)?;
        let value = self.b().binary(Op::Max, value, least);
        Ok(self.b().binary(Op::Min, value, most))
    }
}
