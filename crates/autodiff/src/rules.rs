//! Partial derivatives: one row an op, for all ops that go component by component.
//!
//! In: the operands x0, x1, … and the result y of an op. Out: dy/dx for each operand. Reverse mode multiplies them with
//! the result's adjoint, forward mode with the operands' tangents; both read this table and no other. Where an op has a
//! kink, a row gives the derivative of the branch that the op took. A test checks every row against central
//! differences.
//!
//! Griewank & Walther, "Evaluating Derivatives" (2008), ch. 3.

use ir::{Builder, Op, Scalar, Type, Value};

/// dy/dx for one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    Zero,
    One,
    MinusOne,
    By(Value),
}

/// Where a row computes: on scalars, or on whole composites, whose components are alike.
pub struct Eval<'a, 'f> {
    b: &'a mut Builder<'f>,
    ty: Type,
}

type Row = fn(&mut Eval<'_, '_>, &[Value], Value) -> Vec<Partial>;

/// How an op's derivative is found.
#[derive(Clone, Copy)]
pub enum Rule {
    /// On scalars and on composites at once.
    Whole(Row),
    /// On scalars only: a composite is taken apart.
    Scalar(Row),
    /// Flat between its jumps: no derivative.
    Flat,
}

macro_rules! rules {
    ($($op:ident $kind:ident $row:expr;)*) => {
        /// Every op with a row.
        pub const OPS: &[Op] = &[$(Op::$op,)*];

        /// The row of an op; `None` for those that `linear` and `access` know, and for ops that give no floats.
        pub fn rule(op: Op) -> Option<Rule> {
            match op {
                $(Op::$op => Some(Rule::$kind($row)),)*
                Op::FloorDiv | Op::Floor | Op::Ceil | Op::Trunc | Op::Round | Op::Rint => Some(Rule::Flat),
                _ => None,
            }
        }
    };
}

use Partial::{By, MinusOne, One, Zero};

rules! {
    Add Whole |_, _, _| vec![One, One];
    Sub Whole |_, _, _| vec![One, MinusOne];
    Mul Whole |_, x, _| vec![By(x[1]), By(x[0])];
    // Two divisions, rounded once each: y times 1/b would lose a bit, which shows in f16.
    Div Whole |e, x, y| {
        let (inverse, second) = (e.inverse(x[1]), e.div(y, x[1]));
        vec![By(inverse), By(e.neg(second))]
    };
    // y = a - q b, and q is flat.
    Rem Scalar |e, x, y| vec![One, By(e.whole_quotient(x, y))];
    Mod Scalar |e, x, y| vec![One, By(e.whole_quotient(x, y))];
    Neg Whole |_, _, _| vec![MinusOne];
    Abs Scalar |e, x, _| vec![By(e.sign(x[0]))];
    Min Scalar |e, x, _| e.chosen(Op::Lt, x);
    Max Scalar |e, x, _| e.chosen(Op::Gt, x);
    Lesser Scalar |e, x, _| e.chosen(Op::Lt, x);
    Greater Scalar |e, x, _| e.chosen(Op::Gt, x);
    Fma Whole |_, x, _| vec![By(x[1]), By(x[0]), One];
    // Zeros have signs too.
    CopySign Scalar |e, x, _| {
        let one = e.number(1.0);
        let (sign, wanted) = (e.b.binary(Op::CopySign, one, x[0]), e.b.binary(Op::CopySign, one, x[1]));
        vec![By(e.mul(sign, wanted)), Zero]
    };
    // At 0 the slope is infinite, and 0 stands for it: the length of a vector of zeros has the gradient 0, not NaN.
    Sqrt Scalar |e, _, y| {
        let (half, zero) = (e.number(0.5), e.number(0.0));
        let slope = e.div(half, y);
        let is_end = e.b.compare(Op::Eq, y, zero);
        vec![By(e.b.select(is_end, zero, slope))]
    };
    Cbrt Whole |e, _, y| { let third = e.number(1.0 / 3.0); let square = e.mul(y, y); vec![By(e.div(third, square))] };
    Exp Whole |_, _, y| vec![By(y)];
    Exp2 Whole |e, _, y| vec![By(e.scaled(y, std::f64::consts::LN_2))];
    ExpM1 Whole |e, x, _| vec![By(e.b.unary(Op::Exp, x[0]))];
    Log Whole |e, x, _| vec![By(e.inverse(x[0]))];
    Log2 Whole |e, x, _| { let c = e.number(std::f64::consts::LOG2_E); vec![By(e.div(c, x[0]))] };
    Log10 Whole |e, x, _| { let c = e.number(std::f64::consts::LOG10_E); vec![By(e.div(c, x[0]))] };
    Log1P Whole |e, x, _| { let sum = e.plus(x[0], 1.0); vec![By(e.inverse(sum))] };
    Sin Whole |e, x, _| vec![By(e.b.unary(Op::Cos, x[0]))];
    Cos Whole |e, x, _| { let sin = e.b.unary(Op::Sin, x[0]); vec![By(e.neg(sin))] };
    Tan Whole |e, _, y| { let square = e.mul(y, y); vec![By(e.plus(square, 1.0))] };
    Asin Whole |e, x, _| { let root = e.root_of_one_minus_square(x[0]); vec![By(e.inverse(root))] };
    Acos Whole |e, x, _| { let root = e.root_of_one_minus_square(x[0]); let p = e.inverse(root); vec![By(e.neg(p))] };
    Atan Whole |e, x, _| { let square = e.mul(x[0], x[0]); let sum = e.plus(square, 1.0); vec![By(e.inverse(sum))] };
    Atan2 Whole |e, x, _| {
        let (a, b) = (e.mul(x[0], x[0]), e.mul(x[1], x[1]));
        let sum = e.add(a, b);
        let (p, q) = (e.div(x[1], sum), e.div(x[0], sum));
        vec![By(p), By(e.neg(q))]
    };
    Sinh Whole |e, x, _| vec![By(e.b.unary(Op::Cosh, x[0]))];
    Cosh Whole |e, x, _| vec![By(e.b.unary(Op::Sinh, x[0]))];
    Tanh Whole |e, _, y| { let square = e.mul(y, y); let one = e.number(1.0); vec![By(e.sub(one, square))] };
    Asinh Whole |e, x, _| {
        let square = e.mul(x[0], x[0]);
        let sum = e.plus(square, 1.0);
        let root = e.b.unary(Op::Sqrt, sum);
        vec![By(e.inverse(root))]
    };
    // sqrt(x - 1) sqrt(x + 1): x*x - 1 cancels near 1.
    Acosh Whole |e, x, _| {
        let (a, b) = (e.plus(x[0], -1.0), e.plus(x[0], 1.0));
        let product = e.mul(a, b);
        let root = e.b.unary(Op::Sqrt, product);
        vec![By(e.inverse(root))]
    };
    Atanh Whole |e, x, _| {
        let one = e.number(1.0);
        let (a, b) = (e.sub(one, x[0]), e.plus(x[0], 1.0));
        let product = e.mul(a, b);
        vec![By(e.inverse(product))]
    };
    Erf Whole |e, x, _| vec![By(e.bell(x[0]))];
    Erfc Whole |e, x, _| { let bell = e.bell(x[0]); vec![By(e.neg(bell))] };
    Pow Scalar |e, x, y| e.power(x, y);
}

/// The partial derivatives of a scalar op, or of a composite one whose rule is `Whole`.
///
/// Those of 16-bit floats are computed in f32 and rounded once: each step in 16 bits would lose a digit.
pub fn partials(row: Row, b: &mut Builder<'_>, operands: &[Value], result: Value) -> Vec<Partial> {
    let ty = b.ty(result);
    let Some(narrow @ (Scalar::F16 | Scalar::BF16)) = ty.element() else {
        return row(&mut Eval { b, ty }, operands, result);
    };
    let mut widen = |x: Value| if b.ty(x).element() == Some(narrow) { b.cast(x, Scalar::F32) } else { x };
    let wide: Vec<Value> = operands.iter().map(|&x| widen(x)).collect();
    let result = widen(result);
    let ty = b.ty(result);
    let mut found = row(&mut Eval { b, ty }, &wide, result);
    for partial in &mut found {
        if let By(factor) = partial {
            let same = wide.iter().position(|x| x == factor);
            *factor = same.map_or_else(|| b.cast(*factor, narrow), |index| operands[index]);
        }
    }
    found
}

impl Eval<'_, '_> {
    fn number(&mut self, value: f64) -> Value {
        let scalar = self.ty.element().unwrap_or(Scalar::F64);
        let number = self.b.float(scalar, value);
        if self.ty.is_composite() { self.b.splat(self.ty, number) } else { number }
    }

    fn add(&mut self, x: Value, y: Value) -> Value {
        self.b.binary(Op::Add, x, y)
    }

    fn sub(&mut self, x: Value, y: Value) -> Value {
        self.b.binary(Op::Sub, x, y)
    }

    fn mul(&mut self, x: Value, y: Value) -> Value {
        self.b.binary(Op::Mul, x, y)
    }

    fn div(&mut self, x: Value, y: Value) -> Value {
        self.b.binary(Op::Div, x, y)
    }

    fn neg(&mut self, x: Value) -> Value {
        self.b.unary(Op::Neg, x)
    }

    fn plus(&mut self, x: Value, number: f64) -> Value {
        let number = self.number(number);
        self.add(x, number)
    }

    fn scaled(&mut self, x: Value, number: f64) -> Value {
        let number = self.number(number);
        self.mul(x, number)
    }

    fn inverse(&mut self, x: Value) -> Value {
        let one = self.number(1.0);
        self.div(one, x)
    }

    /// (1 - x)(1 + x), which does not cancel near 1 and -1.
    fn root_of_one_minus_square(&mut self, x: Value) -> Value {
        let one = self.number(1.0);
        let (a, b) = (self.sub(one, x), self.add(one, x));
        let product = self.mul(a, b);
        self.b.unary(Op::Sqrt, product)
    }

    /// 2 / sqrt(pi) exp(-x x).
    fn bell(&mut self, x: Value) -> Value {
        let square = self.mul(x, x);
        let exponent = self.neg(square);
        let exp = self.b.unary(Op::Exp, exponent);
        self.scaled(exp, std::f64::consts::FRAC_2_SQRT_PI)
    }

    /// 1, -1, or 0 at 0.
    fn sign(&mut self, x: Value) -> Value {
        let (zero, one, minus) = (self.number(0.0), self.number(1.0), self.number(-1.0));
        let is_above = self.b.compare(Op::Gt, x, zero);
        let is_below = self.b.compare(Op::Lt, x, zero);
        let rest = self.b.select(is_below, minus, zero);
        self.b.select(is_above, one, rest)
    }

    /// -q of y = a - q b.
    fn whole_quotient(&mut self, x: &[Value], y: Value) -> Value {
        let difference = self.sub(y, x[0]);
        let quotient = self.div(difference, x[1]);
        self.b.unary(Op::Rint, quotient)
    }

    /// Of `min` and `max`: the operand that the op gave. A NaN counts as missing; of two it is the second, which an atomic
    /// puts in the place of the first.
    fn chosen(&mut self, order: Op, x: &[Value]) -> Vec<Partial> {
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let is_before = self.b.compare(order, x[0], x[1]);
        let is_missing = self.b.compare(Op::Ne, x[1], x[1]);
        let is_number = self.b.compare(Op::Eq, x[0], x[0]);
        let is_alone = self.b.binary(Op::And, is_missing, is_number);
        let is_first = self.b.binary(Op::Or, is_before, is_alone);
        vec![By(self.b.select(is_first, one, zero)), By(self.b.select(is_first, zero, one))]
    }

    /// x^p: p x^(p-1), 0 for p = 0 even at x = 0; and y log x, 0 where x is not positive: there p does not vary.
    fn power(&mut self, x: &[Value], y: Value) -> Vec<Partial> {
        let zero = self.number(0.0);
        let less = self.plus(x[1], -1.0);
        let power = self.b.binary(Op::Pow, x[0], less);
        let product = self.mul(x[1], power);
        let is_constant = self.b.compare(Op::Eq, x[1], zero);
        let base = self.b.select(is_constant, zero, product);
        let log = self.b.unary(Op::Log, x[0]);
        let product = self.mul(y, log);
        let is_positive = self.b.compare(Op::Gt, x[0], zero);
        vec![By(base), By(self.b.select(is_positive, product, zero))]
    }
}
