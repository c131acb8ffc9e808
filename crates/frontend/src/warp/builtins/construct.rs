//! Calls of types: `float(x)`, `vec3(x, y, z)`, `mat22(…)`, `transform(p, q)`, `S()`.

use super::{Arg, Args, Call, Row, own};
use crate::walk::lower::Result;
use crate::walk::operand::literal_as;
use crate::walk::{Lower, Operand, pattern};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Const, Scalar, StructType, Type, TypeKind, Value};

/// The constructors whose type follows from their arguments, `dtype=`, `length=` and `shape=`.
pub(super) const ROWS: &[Row] = &[
    own("vector", "*args, length?, dtype?", vector),
    own("matrix", "*args, shape?, dtype?", matrix),
    own("quaternion", "*args, dtype?, ijk?, x?, y?, z?, w?, real?, quat?", quaternion),
    own("transformation", "*args, p?, q?, dtype?", transformation),
    own("spatial_vector", "*args, dtype?", spatial_vector),
    own("quat_identity", "dtype?", quat_identity),
    own("transform_identity", "dtype?", transform_identity),
    own("_no_components", "*args", no_components),
];

/// The parts of a quaternion by name, in order.
const QUAT: &str = "*args, ijk?, x?, y?, z?, w?, real?, quat?";

/// Whether a named argument says what a type is known to be.
fn restates(ty: Type, key: &str, said: &Operand) -> bool {
    match (key, ty.kind()) {
        ("dtype", _) if ty.is_composite() => {
            let elem = ty.element().map(|elem| TypePattern::Is(Type::scalar(elem)));
            elem.is_some_and(|elem| *said == Operand::Static(HostValue::Type(elem)))
        }
        ("length", TypeKind::Vector { len, .. }) => said.as_int() == Some(i128::from(*len)),
        ("shape", TypeKind::Matrix { rows, cols, .. }) => {
            let items: Vec<Option<i128>> = match said {
                Operand::Tuple(items) => items.iter().map(Operand::as_int).collect(),
                Operand::Static(HostValue::Tuple(items)) => {
                    items.iter().map(|item| Operand::Static(item.clone()).as_int()).collect()
                }
                _ => Vec::new(),
            };
            items == [Some(i128::from(*rows)), Some(i128::from(*cols))]
        }
        _ => false,
    }
}

impl Lower<'_, '_> {
    /// Calls a type.
    pub(crate) fn construct(&mut self, pattern: &TypePattern, args: Args, span: Span) -> Result<Operand> {
        let name = pattern::pattern_name(pattern);
        let open = |elem: &TypePattern| if let TypePattern::Is(ty) = elem { ty.as_scalar() } else { None };
        match pattern {
            TypePattern::Is(ty) => self.construct_type(*ty, &name, args, span),
            TypePattern::Vector { elem, len } => {
                let call = self.match_arguments("vector", "*args", args, span)?;
                self.vector_of(&call, *len, open(elem))
            }
            TypePattern::Matrix { elem, rows, cols } => {
                let call = self.match_arguments("matrix", "*args, shape?", args, span)?;
                let shape = rows.zip(*cols);
                self.matrix_of(&call, shape, open(elem))
            }
            TypePattern::Quat(elem) => {
                let mut call = self.match_arguments("quaternion", QUAT, args, span)?;
                call.rest.extend(call.named_arguments());
                let elem = self.element_of(&call.rest, open(elem));
                self.composite_of(Type::quat(elem), &call)
            }
            TypePattern::Transform(elem) => {
                let call = self.match_arguments("transformation", "*args, p?, q?", args, span)?;
                let elem = self.element_of(&call.all(), open(elem));
                self.transform_of(elem, &call)
            }
            TypePattern::Array { .. } => self.builtin("array", args, span),
            _ => Err(self.error("not-callable", span, format!("`{name}` stands for many types and cannot be called"))),
        }
    }

    fn construct_type(&mut self, ty: Type, name: &str, mut args: Args, span: Span) -> Result<Operand> {
        // A vector or matrix type says its element type and shape already; saying it again is allowed where it agrees.
        for (key, said) in args.named.clone() {
            if restates(ty, &key, &said) {
                args.take(&key);
            }
        }
        // As of slices: a vector of no components is an empty tuple.
        if ty.is_composite() && ty.n_components() == 0 {
            return Ok(Operand::Tuple(Vec::new()));
        }
        match ty.kind() {
            TypeKind::Scalar(scalar) => {
                let call = self.match_arguments(name, "x?", args, span)?;
                self.cast(*scalar, &call)
            }
            TypeKind::Transform(elem) => {
                let call = self.match_arguments(name, "*args, p?, q?", args, span)?;
                self.transform_of(*elem, &call)
            }
            TypeKind::Quat(_) => {
                let mut call = self.match_arguments(name, QUAT, args, span)?;
                call.rest.extend(call.named_arguments());
                self.composite_of(ty, &call)
            }
            TypeKind::Vector { .. } | TypeKind::Matrix { .. } => {
                let call = self.match_arguments(name, "*args", args, span)?;
                self.composite_of(ty, &call)
            }
            TypeKind::Struct(s) => self.structure(ty, s, args, span),
            TypeKind::Tuple(_) | TypeKind::Array { .. } | TypeKind::Tile { .. } => self.builtin("array", args, span),
        }
    }

    /// `float(x)`: a conversion that the user asks for.
    fn cast(&mut self, to: Scalar, call: &Call<'_>) -> Result<Operand> {
        let Some(arg) = call.get(0) else { return Ok(Operand::Static(HostValue::Scalar(to, Const(0)))) };
        if let Operand::Static(value) = &arg.operand
            && let Some(constant) = static_cast(value, to)
        {
            return Ok(Operand::Static(HostValue::Scalar(to, constant)));
        }
        let found = self.type_of(&arg.operand);
        if to == Scalar::Bool && found.is_some_and(Type::is_array) {
            return self.truth(&arg.operand, arg.span);
        }
        if found.and_then(Type::as_scalar).is_none() {
            return Err(self.wrong_type(call, arg, "a scalar"));
        }
        let value = self.arg_value(arg)?;
        Ok(Operand::Value(self.b().cast(value, to)))
    }

    /// A vector, matrix or quaternion: zero, one scalar everywhere, another of its shape, or its components in order
    /// (vectors among them give theirs).
    pub(super) fn composite_of(&mut self, ty: Type, call: &Call<'_>) -> Result<Operand> {
        let elem = ty.element().unwrap_or(Scalar::F32);
        let args = self.spread_arguments(&call.rest)?;
        let n = ty.n_components();
        match args.as_slice() {
            [] => return Ok(Operand::Value(self.zero(ty))),
            [only] => {
                let found = self.type_of(&only.operand);
                if found.and_then(|found| found.with_element(elem)) == Some(ty) {
                    let value = self.arg_value(only)?;
                    return Ok(Operand::Value(self.b().cast(value, elem)));
                }
                let is_splat = n > 1 && !matches!(ty.kind(), TypeKind::Quat(_));
                if is_splat && found.is_some_and(|found| found.as_scalar().is_some()) {
                    let x = self.component(call, only, elem, ty)?;
                    return Ok(Operand::Value(self.b().splat(ty, x)));
                }
            }
            _ => {}
        }
        let is_matrix = matches!(ty.kind(), TypeKind::Matrix { .. });
        if is_matrix && let Some(arg) = args.iter().find(|arg| self.is_composite(arg)) {
            let message = format!("`{}` takes scalars, found {}", call.name, self.describe(&arg.operand));
            let help = match (args.len(), self.type_of(&arg.operand).map(Type::kind)) {
                (1, Some(&TypeKind::Matrix { rows, cols, .. })) => {
                    let wanted = shape_text(ty);
                    format!(
                        "incompatible matrix of shape ({rows}, {cols}) given when copy constructing a matrix of {wanted}"
                    )
                }
                _ => "use `matrix_from_rows(…)` or `matrix_from_cols(…)` for vectors".into(),
            };
            let report = self.report("argument-type", arg.span, message);
            return Err(self.emit(report.help(help)));
        }
        let mut components = Vec::new();
        for arg in &args {
            if self.is_composite(arg) {
                let items = self.items(&arg.operand, arg.span)?;
                for operand in items {
                    components.push(self.component(call, &Arg { operand, span: arg.span }, elem, ty)?);
                }
            } else {
                components.push(self.component(call, arg, elem, ty)?);
            }
        }
        if components.len() != n {
            let plural = if components.len() == 1 { "" } else { "s" };
            let message = format!("`{}` has {n} components, found {} value{plural}", call.name, components.len());
            let help = match (args.as_slice(), ty.kind()) {
                ([only], TypeKind::Vector { len, .. }) if self.is_composite(only) => format!(
                    "incompatible vector of length {} given when copy constructing a vector of length {len}",
                    components.len()
                ),
                (_, TypeKind::Transform(_)) => format!(
                    "incompatible number of values given ({}) when constructing a transform; expected 0, 1, or 7",
                    components.len()
                ),
                _ => format!(
                    "incompatible number of values given ({}) when constructing a {} of {}",
                    components.len(),
                    kind_text(ty),
                    shape_text(ty)
                ),
            };
            let report = self.report("argument-count", call.span, message);
            return Err(self.emit(report.help(help)));
        }
        Ok(Operand::Value(self.b().construct(ty, &components)))
    }

    /// Position and quaternion, seven scalars, a position alone, another transform, or nothing: all zero.
    fn transform_of(&mut self, elem: Scalar, call: &Call<'_>) -> Result<Operand> {
        let mut args = self.spread_arguments(&call.rest)?;
        args.extend([call.get(0), call.get(1)].into_iter().flatten().cloned());
        if let [only] = args.as_slice()
            && let Some(&TypeKind::Transform(from)) = self.type_of(&only.operand).map(Type::kind)
            && from != elem
        {
            let (from, to) = (self.name_of(Type::scalar(from)), self.name_of(Type::scalar(elem)));
            let message = format!("`{}` cannot be made of {}", call.name, self.describe(&only.operand));
            let help = format!(
                "copy constructing a transform requires matching source and target dtypes, got `{from}` and `{to}`"
            );
            let report = self.report("argument-type", only.span, message);
            return Err(self.emit(report.help(help)));
        }
        let is_position = |ty: Type| matches!(ty.kind(), TypeKind::Vector { len: 3, .. });
        if let [only] = args.as_slice()
            && self.type_of(&only.operand).is_some_and(is_position)
        {
            let identity = self.b().float(elem, 1.0);
            let identity = [Operand::Value(self.zero(Type::vector(elem, 3))), Operand::Value(identity)];
            args.extend(identity.map(|operand| Arg { operand, span: call.span }));
        }
        let call = Call::of_rest(call.name, call.span, args);
        self.composite_of(Type::transform(elem), &call)
    }

    fn structure(&mut self, ty: Type, s: &StructType, args: Args, span: Span) -> Result<Operand> {
        let params: Vec<String> = s.fields.iter().map(|(name, _)| format!("{name}?")).collect();
        let call = self.match_arguments(&s.name, &params.join(", "), args, span)?;
        let mut fields = Vec::new();
        for (i, (_, field)) in s.fields.iter().enumerate() {
            fields.push(match call.get(i) {
                Some(arg) => self.value_as(&arg.operand, *field, arg.span)?,
                None => self.zero(*field),
            });
        }
        Ok(Operand::Value(self.b().construct(ty, &fields)))
    }

    fn is_composite(&self, arg: &Arg) -> bool {
        self.type_of(&arg.operand).is_some_and(Type::is_composite)
    }

    /// Tuples among arguments give their items: `vec3((x, y, z))`.
    fn spread_arguments(&mut self, args: &[Arg]) -> Result<Vec<Arg>> {
        let mut all = Vec::new();
        for arg in args {
            match &arg.operand {
                Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) | Operand::Shape(_) => {
                    let items = self.items(&arg.operand, arg.span)?;
                    all.extend(items.into_iter().map(|operand| Arg { operand, span: arg.span }));
                }
                _ => all.push(arg.clone()),
            }
        }
        Ok(all)
    }

    /// A scalar argument as a component of a `whole`: literals convert, values must have the type.
    fn component(&mut self, call: &Call<'_>, arg: &Arg, elem: Scalar, whole: Type) -> Result<Value> {
        if let Some(value) = self.try_value_as(&arg.operand, Type::scalar(elem), arg.span)? {
            return Ok(value);
        }
        let (found, wanted) = (self.describe(&arg.operand), self.name_of(Type::scalar(elem)));
        let message = format!("the components of `{}` are `{wanted}`, found {found}", call.name);
        let mut report = self.report("type-mismatch", arg.span, message);
        if self.type_of(&arg.operand).is_some_and(|ty| ty.as_scalar().is_some()) {
            let (what, source) = (kind_text(whole), self.source(arg.span));
            let rule = match call.rest.len() {
                1 => format!("the value used to fill this {what} is"),
                _ => format!("all values used to initialize this {what} are"),
            };
            report = report.help(format!("write `{wanted}({source})`; {rule} expected to be of the type `{wanted}`"));
        }
        Err(self.emit(report))
    }

    /// The element type that arguments have: `dtype`, else that of the first that is not a literal, else a float
    /// where any literal is one.
    pub(super) fn element_of(&mut self, args: &[Arg], dtype: Option<Scalar>) -> Scalar {
        if let Some(dtype) = dtype {
            return dtype;
        }
        let types = |lower: &Self, is_literal: bool| {
            let chosen = args.iter().filter(|arg| Self::is_literal(&arg.operand) == is_literal);
            chosen.filter_map(|arg| lower.type_of(&arg.operand)?.element()).collect::<Vec<_>>()
        };
        let typed = types(self, false).first().copied();
        typed.or_else(|| types(self, true).into_iter().max()).unwrap_or(Scalar::F32)
    }

    fn vector_of(&mut self, call: &Call<'_>, len: Option<u32>, dtype: Option<Scalar>) -> Result<Operand> {
        let args = self.spread_arguments(&call.rest)?;
        let elem = self.element_of(&args, dtype);
        let counts = args.iter().map(|arg| self.type_of(&arg.operand).map_or(1, |ty| ty.n_components().max(1)));
        let len = match len {
            Some(len) => len,
            None => counts.sum::<usize>() as u32,
        };
        if len == 0 {
            let report = self.report("argument-count", call.span, "the length of this vector is not known");
            let help = "write `vector(length=3, dtype=float)`: \
                        the `length` argument must be specified when zero-initializing a vector";
            return Err(self.emit(report.help(help)));
        }
        let call = Call::of_rest(call.name, call.span, args);
        self.composite_of(Type::vector(elem, len), &call)
    }

    fn matrix_of(&mut self, call: &Call<'_>, shape: Option<(u32, u32)>, dtype: Option<Scalar>) -> Result<Operand> {
        let args = self.spread_arguments(&call.rest)?;
        let elem = self.element_of(&args, dtype);
        let given = args.first().and_then(|arg| self.type_of(&arg.operand)).map(Type::kind);
        let shape = match (shape, given) {
            (Some(shape), _) => shape,
            (None, Some(&TypeKind::Matrix { rows, cols, .. })) if args.len() == 1 => (rows, cols),
            _ => {
                let report = self.report("argument-count", call.span, "the shape of this matrix is not known");
                let help = "write `matrix(…, shape=(2, 2))`: \
                            the `shape` argument must be specified when initializing a matrix by value";
                return Err(self.emit(report.help(help)));
            }
        };
        let call = Call::of_rest(call.name, call.span, args);
        self.composite_of(Type::matrix(elem, shape.0, shape.1), &call)
    }

    fn dtype(&mut self, call: &Call<'_>, index: usize) -> Result<Option<Scalar>> {
        call.get(index).cloned().map(|arg| self.scalar_argument(call, &arg)).transpose()
    }
}

fn kind_text(ty: Type) -> &'static str {
    match ty.kind() {
        TypeKind::Matrix { .. } => "matrix",
        TypeKind::Quat(_) => "quaternion",
        TypeKind::Transform(_) => "transform",
        _ => "vector",
    }
}

/// `length 3`, `shape (2, 2)`.
fn shape_text(ty: Type) -> String {
    match ty.kind() {
        TypeKind::Matrix { rows, cols, .. } => format!("shape ({rows}, {cols})"),
        _ => format!("length {}", ty.n_components()),
    }
}

/// The constant that a cast of something static gives.
fn static_cast(value: &HostValue, to: Scalar) -> Option<Const> {
    match value {
        HostValue::Bool(_) | HostValue::Int(_) if to == Scalar::Bool => {
            literal_as(value, Scalar::I64).map(|word| Const::bool(word.0 != 0))
        }
        HostValue::Bool(_) | HostValue::Int(_) => literal_as(value, to),
        HostValue::Float(x) => Some(Const::float(to, *x)),
        HostValue::Scalar(from, x) if from.is_float() => Some(Const::float(to, x.as_float(*from))),
        HostValue::Scalar(from, x) => Some(Const::int(to, x.as_int(*from))),
        // Python's way to write infinities: `float("inf")`.
        HostValue::Str(text) if to.is_float() => text.trim().parse().ok().map(|x| Const::float(to, x)),
        _ => None,
    }
}

/// `vector(3, float)`, `matrix((2, 2), float)`: a type, as these calls give in Python.
fn named_type<'c>(call: &'c Call<'_>) -> Option<(&'c Arg, Scalar)> {
    match call.rest.as_slice() {
        [extents, dtype] => match &dtype.operand {
            Operand::Static(HostValue::Type(TypePattern::Is(ty))) => Some((extents, ty.as_scalar()?)),
            _ => None,
        },
        _ => None,
    }
}

fn type_operand(ty: Type) -> Operand {
    Operand::Static(HostValue::Type(TypePattern::Is(ty)))
}

/// The type that Python makes with a length of 0, which only the host has.
fn no_components(_: &mut Lower<'_, '_>, _: &Call<'_>) -> Result<Operand> {
    Ok(Operand::Tuple(Vec::new()))
}

fn vector(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    if let Some((length, elem)) = named_type(call) {
        return Ok(type_operand(Type::vector(elem, lower.static_int(call, length)?)));
    }
    let len = call.get(0).cloned().map(|arg| lower.static_int(call, &arg)).transpose()?;
    let dtype = lower.dtype(call, 1)?;
    lower.vector_of(call, len, dtype)
}

fn matrix(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    if let Some((shape, elem)) = named_type(call) {
        let (rows, cols) = matrix_shape(lower, call, shape)?;
        return Ok(type_operand(Type::matrix(elem, rows, cols)));
    }
    let quat = call.rest.get(1).and_then(|arg| lower.type_of(&arg.operand));
    if call.rest.len() == 3 && matches!(quat.map(Type::kind), Some(TypeKind::Quat(_))) {
        // The old spelling of `transform_compose`.
        let operands: Vec<Operand> = call.rest.iter().map(|arg| arg.operand.clone()).collect();
        return lower.builtin("transform_compose", Args::positional(&operands, call.span), call.span);
    }
    let shape = call.get(0).cloned().map(|arg| matrix_shape(lower, call, &arg)).transpose()?;
    let dtype = lower.dtype(call, 1)?;
    lower.matrix_of(call, shape, dtype)
}

fn matrix_shape(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<(u32, u32)> {
    match lower.static_shape(call, arg)?.as_slice() {
        [rows, cols] => Ok((*rows, *cols)),
        _ => Err(lower.wrong_type(call, arg, "a shape of two numbers")),
    }
}

fn quaternion(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let dtype = lower.dtype(call, 0)?;
    let parts: Vec<Arg> = call.rest.iter().chain((1..8).filter_map(|i| call.get(i))).cloned().collect();
    let elem = lower.element_of(&parts, dtype);
    let call = Call::of_rest(call.name, call.span, parts);
    lower.composite_of(Type::quat(elem), &call)
}

fn transformation(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let dtype = lower.dtype(call, 2)?;
    let given: Vec<Arg> = [call.get(0), call.get(1)].into_iter().flatten().chain(&call.rest).cloned().collect();
    let elem = lower.element_of(&given, dtype);
    lower.transform_of(elem, call)
}

fn spatial_vector(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let dtype = lower.dtype(call, 0)?;
    lower.vector_of(call, Some(6), dtype)
}

fn quat_identity(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    identity(lower, call, 4)
}

fn transform_identity(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    identity(lower, call, 7)
}

/// Zeros and a last component 1: the real part of a quaternion.
fn identity(lower: &mut Lower<'_, '_>, call: &Call<'_>, n: usize) -> Result<Operand> {
    let elem = lower.dtype(call, 0)?.unwrap_or(Scalar::F32);
    if !elem.is_float() {
        return Err(lower.wrong_type(call, call.arg(0), "a floating-point type"));
    }
    let mut b = lower.b();
    let (zero, one) = (b.float(elem, 0.0), b.float(elem, 1.0));
    let components: Vec<Value> = (1..=n).map(|i| if i == n { one } else { zero }).collect();
    let ty = if n == 4 { Type::quat(elem) } else { Type::transform(elem) };
    Ok(Operand::Value(b.construct(ty, &components)))
}
