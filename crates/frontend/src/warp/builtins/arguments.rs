//! Arguments of a builtin call: matched to parameters, brought to one type.

use super::{Accepts, Args, Lower, Operand};
use crate::walk::Reported;
use crate::walk::lower::Result;
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Class, Scalar, Type, TypeKind, Value};

/// An argument and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub(crate) operand: Operand,
    pub(crate) span: Span,
}

/// A call whose arguments are matched to the parameters of its row.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    /// One a parameter, without the `*` one.
    named: Vec<Option<Arg>>,
    /// What the `*` parameter takes.
    pub(crate) rest: Vec<Arg>,
}

impl<'a> Call<'a> {
    /// A call with positional arguments alone.
    pub(crate) fn of_rest(name: &'a str, span: Span, rest: Vec<Arg>) -> Call<'a> {
        Call { name, span, named: Vec::new(), rest }
    }

    /// The argument of parameter number `index`, where it is given.
    pub(crate) fn get(&self, index: usize) -> Option<&Arg> {
        self.named.get(index).and_then(Option::as_ref)
    }

    /// The argument of a parameter that cannot be left out.
    pub(crate) fn arg(&self, index: usize) -> &Arg {
        self.get(index).unwrap_or_else(|| panic!("argument {index} of `{}` is not checked", self.name))
    }

    /// What is given for parameters, in their order, without the rest.
    pub(crate) fn named_arguments(&self) -> Vec<Arg> {
        self.named.iter().flatten().cloned().collect()
    }

    /// Every argument given, in the order of the parameters, then the rest.
    pub(crate) fn all(&self) -> Vec<Arg> {
        self.named.iter().flatten().chain(&self.rest).cloned().collect()
    }
}

fn is_required(param: &str) -> bool {
    !param.ends_with('?') && !param.starts_with('*')
}

impl Lower<'_, '_> {
    /// Matches arguments to parameters.
    pub(crate) fn match_arguments<'a>(
        &mut self,
        name: &'a str,
        params: &str,
        args: Args,
        span: Span,
    ) -> Result<Call<'a>> {
        let params: Vec<&str> = params.split(", ").filter(|param| !param.is_empty()).collect();
        let names: Vec<&str> = params.iter().filter(|p| !p.starts_with('*')).map(|p| p.trim_end_matches('?')).collect();
        // Parameters after `*args` are given by name only.
        let star = params.iter().position(|param| param.starts_with('*'));
        let n_positional = star.unwrap_or(params.len());
        let mut call = Call { name, span, named: vec![None; names.len()], rest: Vec::new() };
        let n_given = args.positional.len();
        let mut spans = args.spans.into_iter();
        for (i, operand) in args.positional.into_iter().enumerate() {
            let arg = Arg { operand, span: spans.next().unwrap_or(span) };
            if i < n_positional {
                call.named[i] = Some(arg);
            } else if star.is_some() {
                call.rest.push(arg);
            } else {
                return Err(self.wrong_count(name, &params, n_given, span));
            }
        }
        for (key, operand) in args.named {
            let arg = Arg { operand, span: spans.next().unwrap_or(span) };
            let Some(i) = names.iter().position(|param| *param == key) else {
                let report = self.report("argument-name", arg.span, format!("`{name}` has no argument `{key}`"));
                let help = match names.is_empty() {
                    true => "its arguments have no names".to_owned(),
                    false => format!("its arguments: {}", quoted(&names)),
                };
                return Err(self.emit(report.help(help)));
            };
            if call.named[i].is_some() {
                return Err(self.error(
                    "argument-name",
                    arg.span,
                    format!("argument `{key}` of `{name}` is given twice"),
                ));
            }
            call.named[i] = Some(arg);
        }
        let missing: Vec<&str> = (params.iter().filter(|p| !p.starts_with('*')).zip(&call.named))
            .filter(|(param, arg)| is_required(param) && arg.is_none())
            .map(|(param, _)| *param)
            .collect();
        match missing.first() {
            Some(_) if n_given == 0 || missing.len() > 1 => Err(self.wrong_count(name, &params, n_given, span)),
            Some(param) => Err(self.error("argument-count", span, format!("`{name}` needs its argument `{param}`"))),
            None => Ok(call),
        }
    }

    fn wrong_count(&mut self, name: &str, params: &[&str], n_given: usize, span: Span) -> Reported {
        let least = params.iter().filter(|param| is_required(param)).count();
        let most = if params.iter().any(|p| p.starts_with('*')) { None } else { Some(params.len()) };
        let plural = |n: usize| if n == 1 { "argument" } else { "arguments" };
        let takes = match most {
            Some(most) if most == least => format!("{most} {}", plural(most)),
            Some(most) => format!("{least} to {most} arguments"),
            None => format!("at least {least} {}", plural(least)),
        };
        let given = if n_given == 1 { "1 was given".into() } else { format!("{n_given} were given") };
        let mut report = self.report("argument-count", span, format!("`{name}` takes {takes}, {given}"));
        if !params.is_empty() {
            let names: Vec<&str> = params.iter().map(|param| param.trim_matches(['?', '*'])).collect();
            report = report.help(format!("its arguments: {}", quoted(&names)));
        }
        self.emit(report)
    }

    /// Brings arguments to one type: that of the first which is not a literal, else what the literals default to.
    pub(super) fn one_type(&mut self, call: &Call<'_>, args: &[Arg], accepts: Accepts) -> Result<Vec<Value>> {
        let ty = self.common_type(call, args, accepts)?;
        args.iter().map(|arg| self.unified(call, args, arg, ty)).collect()
    }

    pub(crate) fn unified(&mut self, call: &Call<'_>, args: &[Arg], arg: &Arg, ty: Type) -> Result<Value> {
        if let Some(value) = self.try_value_as(&arg.operand, ty, arg.span)? {
            return Ok(value);
        }
        let found = self.describe(&arg.operand);
        let wanted = self.name_of(ty);
        let message = format!("the arguments of `{}` must have one type, found `{wanted}` and {found}", call.name);
        let mut report = self.report("type-mismatch", arg.span, message);
        let first = args.iter().find(|other| self.type_of(&other.operand) == Some(ty));
        if let Some(first) = first {
            report = report.also(first.span, format!("this is `{wanted}`"));
        }
        let is_float = matches!(arg.operand, Operand::Static(HostValue::Float(_)));
        match first {
            // A float literal beside an integer: the integer is what should be converted.
            Some(first) if is_float && ty.as_scalar().is_some() => {
                report = report.help(format!("write `float({})`", self.source(first.span)));
            }
            _ if ty.as_scalar().is_some() && self.type_of(&arg.operand).is_some_and(|ty| ty.as_scalar().is_some()) => {
                report = report.help(format!("write `{wanted}({})`", self.source(arg.span)));
            }
            _ => {}
        }
        Err(self.emit(report))
    }

    fn common_type(&mut self, call: &Call<'_>, args: &[Arg], accepts: Accepts) -> Result<Type> {
        let typed = args.iter().find(|arg| !Self::is_literal(&arg.operand));
        let Some(first) = typed else {
            let scalars = args.iter().filter_map(|arg| match &arg.operand {
                Operand::Static(HostValue::Bool(_)) => Some(Scalar::I32),
                Operand::Static(value) => (self.rules.literal)(value),
                _ => None,
            });
            let scalar = scalars.max().unwrap_or(Scalar::I32);
            let scalar = if accepts == Accepts::Float { Scalar::F32 } else { scalar };
            let ty = Type::scalar(scalar);
            let is_fit = fits(ty, accepts);
            return if is_fit { Ok(ty) } else { Err(self.unaccepted(call, &args[0], accepts)) };
        };
        match self.type_of(&first.operand) {
            Some(ty) if fits(ty, accepts) => Ok(ty),
            _ => Err(self.unaccepted(call, first, accepts)),
        }
    }

    /// Reports an argument of a type that the function does not take.
    pub(super) fn unaccepted(&mut self, call: &Call<'_>, arg: &Arg, accepts: Accepts) -> Reported {
        let wanted = match accepts {
            Accepts::Float => "a floating-point scalar",
            Accepts::Int => "an integer",
            Accepts::Number => "a scalar number",
            Accepts::Numbers => "a number or a vector",
            Accepts::Vector => "a vector",
        };
        self.wrong_type(call, arg, wanted)
    }

    /// Reports an argument that should have been `wanted`.
    pub(crate) fn wrong_type(&mut self, call: &Call<'_>, arg: &Arg, wanted: &str) -> Reported {
        let found = self.describe(&arg.operand);
        let mut report =
            self.report("argument-type", arg.span, format!("`{}` needs {wanted}, found {found}", call.name));
        let scalar = self.type_of(&arg.operand).and_then(Type::as_scalar);
        if wanted.starts_with("a floating-point") && scalar.is_some() {
            report = report.help(format!("write `float({})`", self.source(arg.span)));
        }
        self.emit(report)
    }

    /// The text at a span of this file, shortened to one line.
    pub(crate) fn source(&self, span: Span) -> String {
        let text = self.parsed.file.text.get(span.start as usize..span.end as usize);
        let text = text.filter(|text| span.file == self.file && !text.is_empty() && !text.contains('\n'));
        text.unwrap_or("…").to_owned()
    }

    /// The type that an argument names.
    pub(crate) fn type_argument(&mut self, call: &Call<'_>, arg: &Arg) -> Result<Type> {
        match &arg.operand {
            Operand::Static(HostValue::Type(TypePattern::Is(ty))) => Ok(*ty),
            Operand::Static(HostValue::Builtin(name)) if name == "int" => Ok(Type::i32()),
            Operand::Static(HostValue::Builtin(name)) if name == "float" => Ok(Type::f32()),
            Operand::Static(HostValue::Builtin(name)) if name == "bool" => Ok(Type::bool()),
            _ => Err(self.wrong_type(call, arg, "a type such as `float` here")),
        }
    }

    /// The scalar type that `dtype=` names.
    pub(crate) fn scalar_argument(&mut self, call: &Call<'_>, arg: &Arg) -> Result<Scalar> {
        let ty = self.type_argument(call, arg)?;
        match ty.as_scalar() {
            Some(scalar) => Ok(scalar),
            None => Err(self.wrong_type(call, arg, "a scalar type such as `float` here")),
        }
    }

    /// The integer that an argument holds while compiling.
    pub(crate) fn static_int(&mut self, call: &Call<'_>, arg: &Arg) -> Result<u32> {
        match arg.operand.as_int().map(u32::try_from) {
            Some(Ok(value)) => Ok(value),
            _ => Err(self.wrong_type(call, arg, "an integer that is known when compiling")),
        }
    }

    /// The integers of a shape that is known while compiling: a tuple or one number.
    pub(crate) fn static_shape(&mut self, call: &Call<'_>, arg: &Arg) -> Result<Vec<u32>> {
        let is_one = self.type_of(&arg.operand).is_some_and(|ty| ty.as_scalar().is_some());
        if is_one {
            return Ok(vec![self.static_int(call, arg)?]);
        }
        let items = self.items(&arg.operand, arg.span)?;
        items.into_iter().map(|operand| self.static_int(call, &Arg { operand, span: arg.span })).collect()
    }

    /// An argument as a value of its own type.
    pub(crate) fn arg_value(&mut self, arg: &Arg) -> Result<Value> {
        self.value(&arg.operand, arg.span)
    }

    /// An argument as a value of a vector, quaternion, matrix or transform type.
    pub(crate) fn composite_argument(&mut self, call: &Call<'_>, arg: &Arg, wanted: &str) -> Result<Value> {
        match self.type_of(&arg.operand) {
            Some(ty) if ty.is_composite() => self.arg_value(arg),
            _ => Err(self.wrong_type(call, arg, wanted)),
        }
    }
}

fn fits(ty: Type, accepts: Accepts) -> bool {
    let Some(element) = ty.element() else { return false };
    let is_scalar = ty.as_scalar().is_some();
    match accepts {
        Accepts::Float => is_scalar && element.is_float(),
        Accepts::Int => is_scalar && element.is_int(),
        Accepts::Number => is_scalar && element.class() != Class::Bool,
        Accepts::Numbers => element.class() != Class::Bool,
        Accepts::Vector => matches!(ty.kind(), TypeKind::Vector { .. }) && element.class() != Class::Bool,
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
