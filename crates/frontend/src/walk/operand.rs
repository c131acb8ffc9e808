//! What an expression evaluates to while lowering.

use super::lower::{Lower, Reported, Result};
use crate::warp::tiles::TilePlace;
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Builder, Const, Scalar, Type, TypeKind, Value};

/// A run-time value, or something known while lowering.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Value(Value),
    /// Where a name finds its tile; expressions give the tile itself.
    Tile(Box<TilePlace>),
    /// A literal, a captured value, a type, a function: no op stands for it until one is needed.
    Static(HostValue),
    /// Several operands: a tuple or list display, several results, `a.shape`.
    Tuple(Vec<Operand>),
    /// `a.shape`, whose items are read where they are used.
    Shape(Value),
    /// A method of a value or object that waits for its call: `m.transpose`.
    Method(Box<Operand>, String),
    /// The derivative of a function, which waits for its call: `grad(f)`.
    Derivative(Box<Operand>),
    /// A slice that stands in a subscript.
    Slice(Box<[Operand; 3]>),
}

impl Operand {
    pub(crate) const NONE: Operand = Operand::Static(HostValue::None);

    pub(crate) fn int(value: i128) -> Operand {
        Operand::Static(HostValue::Int(value))
    }

    /// The cells of the tiles in it.
    pub(crate) fn tiles(&self, cells: &mut Vec<String>) {
        match self {
            Operand::Tile(place) => cells.push(place.cell.clone()),
            Operand::Tuple(items) => items.iter().for_each(|item| item.tiles(cells)),
            _ => {}
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Operand::NONE
    }

    /// The integer that a static operand holds; bools count.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Operand::Static(HostValue::Int(value)) => Some(*value),
            Operand::Static(HostValue::Bool(value)) => Some(i128::from(*value)),
            Operand::Static(HostValue::Scalar(scalar, value)) if !scalar.is_float() => Some(value.as_int(*scalar)),
            _ => None,
        }
    }

    /// A captured tuple as the list of its items, at any depth.
    pub(crate) fn opened(&self) -> Operand {
        match self {
            Operand::Static(HostValue::Tuple(items)) => {
                Operand::Tuple(items.iter().map(|item| Operand::Static(item.clone()).opened()).collect())
            }
            other => other.clone(),
        }
    }

    pub(crate) fn as_value(&self) -> Option<Value> {
        if let Operand::Value(value) = self { Some(*value) } else { None }
    }
}

/// The type of a literal that nothing else decides: `int` is i32 where it fits, `float` is f32.
pub(crate) fn default_scalar(value: &HostValue) -> Option<Scalar> {
    Some(match value {
        HostValue::Bool(_) => Scalar::Bool,
        HostValue::Int(v) if i32::try_from(*v).is_ok() => Scalar::I32,
        HostValue::Int(v) if u32::try_from(*v).is_ok() => Scalar::U32,
        HostValue::Int(v) if i64::try_from(*v).is_ok() => Scalar::I64,
        HostValue::Int(v) if u64::try_from(*v).is_ok() => Scalar::U64,
        HostValue::Float(_) => Scalar::F32,
        HostValue::Scalar(scalar, _) => *scalar,
        _ => return None,
    })
}

/// The constant of a static scalar as `to`, where Python's rules allow it without a cast: an integer literal may
/// become any number, a float literal any float, a bool anything. A typed scalar stays what it is.
pub(crate) fn literal_as(value: &HostValue, to: Scalar) -> Option<Const> {
    match value {
        HostValue::Bool(v) if to == Scalar::Bool => Some(Const::bool(*v)),
        HostValue::Bool(v) => Some(Const::int(to, i128::from(*v))),
        HostValue::Int(v) if to != Scalar::Bool => Some(Const::int(to, *v)),
        HostValue::Float(v) if to.is_float() => Some(Const::float(to, *v)),
        HostValue::Scalar(scalar, v) if *scalar == to => Some(*v),
        _ => None,
    }
}

impl Lower<'_, '_> {
    /// The type that an operand has or, for a literal, would get.
    pub(crate) fn type_of(&self, operand: &Operand) -> Option<Type> {
        match operand {
            Operand::Value(value) => Some(self.func.ty(*value)),
            Operand::Tile(place) => Some(place.ty),
            Operand::Static(HostValue::Composite(ty, _)) => Some(*ty),
            Operand::Static(value) => (self.rules.literal)(value).map(Type::scalar),
            Operand::Tuple(items) => Some(Type::tuple(items.iter().map(|i| self.type_of(i)).collect::<Option<_>>()?)),
            Operand::Shape(array) => {
                let (_, rank) = self.func.ty(*array).as_array()?;
                Some(Type::tuple(vec![Type::scalar(self.rules.extent); rank as usize]))
            }
            Operand::Method(..) | Operand::Derivative(_) | Operand::Slice(_) => None,
        }
    }

    /// Whether an operand is a literal whose type is still open.
    pub(crate) fn is_literal(operand: &Operand) -> bool {
        matches!(operand, Operand::Static(HostValue::Bool(_) | HostValue::Int(_) | HostValue::Float(_)))
    }

    /// The operand as a run-time value of its own type.
    pub(crate) fn value(&mut self, operand: &Operand, span: Span) -> Result<Value> {
        match operand {
            Operand::Value(value) => Ok(*value),
            Operand::Tile(place) => match self.looked(place) {
                Some(tile) => Ok(tile),
                None => Err(self.unset_tile(span)),
            },
            Operand::Static(HostValue::Composite(ty, leaves)) => Ok(self.composite(*ty, leaves)),
            Operand::Static(value) => {
                if let Some(scalar) = (self.rules.literal)(value)
                    && let Some(constant) = literal_as(value, scalar)
                {
                    return Ok(self.b().constant(scalar, constant));
                }
                let what = self.describe(operand);
                let mut report =
                    self.report("not-a-value", span, format!("{what} is not a value that a kernel can hold"));
                if matches!(value, HostValue::Object(_)) {
                    report =
                        report.help("numbers, vectors and structs may come from outside; pass arrays as arguments");
                }
                Err(self.emit(report))
            }
            Operand::Tuple(items) => {
                let values = items.iter().map(|item| self.value(item, span)).collect::<Result<Vec<_>>>()?;
                let ty = Type::tuple(values.iter().map(|&v| self.func.ty(v)).collect());
                Ok(self.b().construct(ty, &values))
            }
            Operand::Shape(_) => {
                let items = self.items(operand, span)?;
                self.value(&Operand::Tuple(items), span)
            }
            Operand::Method(..) | Operand::Derivative(_) | Operand::Slice(_) => {
                let what = self.describe(operand);
                Err(self.error("not-a-value", span, format!("{what} is not a value that a kernel can hold")))
            }
        }
    }

    /// The operand as a value of exactly type `to`; literals are converted exactly, values must have it already.
    pub(crate) fn value_as(&mut self, operand: &Operand, to: Type, span: Span) -> Result<Value> {
        if let Some(value) = self.try_value_as(operand, to, span)? {
            return Ok(value);
        }
        if to.as_scalar().is_some_and(|scalar| self.retype(operand, scalar)) {
            return Err(Reported);
        }
        let found = self.describe(operand);
        let help = to.as_scalar().filter(|_| self.type_of(operand).is_some_and(|ty| ty.as_scalar().is_some()));
        let mut report = self.report("type-mismatch", span, format!("expected `{}`, found {found}", self.name_of(to)));
        if let Some(scalar) = help {
            report = report.help(format!("convert it: `{}(…)`", self.name_of(Type::scalar(scalar))));
        } else if matches!(operand, Operand::Tuple(_)) && to.is_composite() {
            report = report.help(format!("a tuple is no vector: write `{}(…)`", self.name_of(to)));
        }
        Err(self.emit(report))
    }

    /// As `value_as`, but gives `None` where the types differ.
    pub(crate) fn try_value_as(&mut self, operand: &Operand, to: Type, span: Span) -> Result<Option<Value>> {
        match operand {
            Operand::Value(value) if self.func.ty(*value) == to => Ok(Some(*value)),
            Operand::Tile(place) if place.ty == to => self.value(operand, span).map(Some),
            Operand::Value(value) => Ok(self.rules.convert.and_then(|convert| convert(self, *value, to))),
            Operand::Static(HostValue::Composite(ty, leaves)) if *ty == to => Ok(Some(self.composite(to, leaves))),
            Operand::Static(_) if self.rules.convert.is_some() && self.type_of(operand).is_some() => {
                let value = self.value(operand, span)?;
                self.try_value_as(&Operand::Value(value), to, span)
            }
            Operand::Static(HostValue::Composite(..)) => Ok(None),
            Operand::Static(value) => {
                let Some(scalar) = to.as_scalar() else { return Ok(None) };
                Ok(self.literal_in_range(value, scalar, span)?.map(|constant| self.b().constant(scalar, constant)))
            }
            Operand::Tuple(items) if matches!(to.kind(), TypeKind::Tuple(_)) && items.len() == to.n_components() => {
                let mut values = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    let Some(ty) = to.component(i) else { return Ok(None) };
                    let Some(value) = self.try_value_as(item, ty, span)? else { return Ok(None) };
                    values.push(value);
                }
                Ok(Some(self.b().construct(to, &values)))
            }
            Operand::Shape(_) => {
                let items = self.items(operand, span)?;
                self.try_value_as(&Operand::Tuple(items), to, span)
            }
            _ => Ok(None),
        }
    }

    /// An integer operand of any width as an i64 index.
    pub(crate) fn index(&mut self, operand: &Operand, span: Span) -> Result<Value> {
        if let Some(value) = operand.as_int() {
            return Ok(self.b().int(Scalar::I64, value));
        }
        let ty = self.type_of(operand);
        if ty.and_then(Type::as_scalar).is_none_or(|scalar| !scalar.is_int()) {
            let what = self.describe(operand);
            return Err(self.error("not-an-index", span, format!("an index must be an integer, found {what}")));
        }
        let value = self.value(operand, span)?;
        Ok(self.b().cast(value, Scalar::I64))
    }

    /// The items of a tuple-like operand.
    pub(crate) fn items(&mut self, operand: &Operand, span: Span) -> Result<Vec<Operand>> {
        match operand {
            Operand::Tuple(items) => Ok(items.clone()),
            Operand::Static(HostValue::Tuple(items)) => Ok(items.iter().cloned().map(Operand::Static).collect()),
            Operand::Static(HostValue::Composite(ty, _)) if ty.is_composite() => {
                let value = self.value(operand, span)?;
                self.items(&Operand::Value(value), span)
            }
            Operand::Shape(array) => {
                let rank = self.func.ty(*array).as_array().map_or(0, |(_, rank)| rank);
                Ok((0..rank).map(|dim| Operand::Value(self.extent_of(*array, dim))).collect())
            }
            Operand::Value(value) if self.func.ty(*value).n_components() > 0 => {
                let n = self.func.ty(*value).n_components() as u32;
                if let TypeKind::Matrix { rows, .. } = *self.func.ty(*value).kind() {
                    return Ok((0..rows).map(|row| Operand::Value(self.matrix_row(*value, row))).collect());
                }
                Ok((0..n).map(|i| Operand::Value(self.b().extract(*value, i))).collect())
            }
            _ => {
                let what = self.describe(operand);
                Err(self.error("not-iterable", span, format!("{what} cannot be unpacked")))
            }
        }
    }

    /// Length of an array along a dimension as the integer that `shape` holds.
    pub(crate) fn extent_of(&mut self, array: Value, dim: u32) -> Value {
        let extent = self.b().extent(array, dim);
        let scalar = self.rules.extent;
        self.b().cast(extent, scalar)
    }

    /// A row of a matrix as a vector.
    pub(crate) fn matrix_row(&mut self, matrix: Value, row: u32) -> Value {
        let TypeKind::Matrix { elem, cols, .. } = *self.func.ty(matrix).kind() else { panic!("row of a non-matrix") };
        let items: Vec<_> = (0..cols).map(|col| self.b().extract(matrix, row * cols + col)).collect();
        self.b().construct(Type::vector(elem, cols), &items)
    }

    fn composite(&mut self, ty: Type, leaves: &[Const]) -> Value {
        let mut rest = leaves;
        constant_of(&mut self.b(), ty, &mut rest)
    }

    /// What an operand is, for messages: `` `f32` ``, `` `vec3` ``, "the function `f`", "the literal `1.5`".
    pub(crate) fn describe(&self, operand: &Operand) -> String {
        match operand {
            Operand::Static(HostValue::None) => "`None`".into(),
            Operand::Static(HostValue::Bool(v)) => format!("the literal `{}`", if *v { "True" } else { "False" }),
            Operand::Static(HostValue::Int(v)) => format!("the literal `{v}`"),
            Operand::Static(HostValue::Float(v)) => format!("the literal `{v:?}`"),
            Operand::Static(HostValue::Str(_)) => "a string".into(),
            Operand::Static(HostValue::Type(TypePattern::Is(ty))) => format!("the type `{}`", self.name_of(*ty)),
            Operand::Static(HostValue::Type(_)) => "a generic type".into(),
            Operand::Static(HostValue::Builtin(name)) => format!("the function `{name}`"),
            Operand::Static(HostValue::Func(func)) => format!("the function `{}`", self.unit.host.describe(*func)),
            Operand::Static(HostValue::Object(object)) => format!("`{}`", self.unit.host.describe(*object)),
            Operand::Method(_, name) => format!("the method `{name}`"),
            Operand::Slice(_) => "a slice".into(),
            Operand::Derivative(of) => format!("the derivative of {}", self.describe(of)),
            _ => match self.type_of(operand) {
                Some(ty) => format!("`{}`", self.name_of(ty)),
                None => "a tuple".into(),
            },
        }
    }

    /// A type by the name that the user knows: `vec3`, `mat33d`, `array(dtype=float32)`.
    pub(crate) fn name_of(&self, ty: Type) -> String {
        (self.rules.type_name)(ty)
    }
}

fn constant_of(b: &mut Builder<'_>, ty: Type, leaves: &mut &[Const]) -> Value {
    if let Some(scalar) = ty.as_scalar() {
        let (first, rest) = leaves.split_first().map_or((Const(0), *leaves), |(c, r)| (*c, r));
        *leaves = rest;
        return b.constant(scalar, first);
    }
    let items: Vec<_> =
        (0..ty.n_components()).map(|i| constant_of(b, ty.component(i).unwrap_or_else(Type::bool), leaves)).collect();
    b.construct(ty, &items)
}
