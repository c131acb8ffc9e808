//! Calls of `@func`s: the choice among overloads, and one lowered instance for each set of argument types.

use super::argument::Argument;
use super::call::Args;
use super::gradient::{Differentiated, Pending};
use super::lower::{Lower, Reported, Result, Scope};
use super::operand::Operand;
use super::pattern;
use super::unit::{Returns, Unit};
use crate::rules::Rules;
use crate::source::ParsedFile;
use crate::warp::builtins::{self, LIBRARY, dialect_of};
use crate::{FuncSource, HostValue, ObjectId, ParamSource, Passing, TypePattern};
use diagnostics::Span;
use ir::{Attr, FuncRef, Function, FunctionKind, Op, Type, TypeKind};
use ruff_python_ast::{Expr, Number, StmtFunctionDef, UnaryOp};
use std::sync::{Arc, OnceLock};

/// A function that can be called: signature and syntax.
#[derive(Clone)]
pub(crate) struct Callee {
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) params: Vec<ParamSource>,
    returns: Option<TypePattern>,
    pub(crate) parsed: Arc<ParsedFile>,
    pub(crate) rules: &'static Rules,
    /// By line for the user's functions, by position in the file for the library's.
    place: Place,
    /// Of a gradient function: the variables that `wp.adjoint[…]` stands for, which it gives in the end.
    pub(crate) accumulators: Option<Vec<(String, Type)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Line(u32),
    Nth(usize),
}

/// A function lowered, or being lowered, for given arguments.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    scope: Scope,
    file: String,
    place: Place,
    arguments: String,
    state: State,
}

/// A call's operands, parameter by parameter.
struct Bound {
    operands: Vec<Operand>,
    /// What `*args` gets, where the function has it.
    rest: Option<Vec<Operand>>,
    /// How far they are from an exact match.
    cost: u32,
}

#[derive(Clone, Debug)]
enum State {
    InProgress,
    Done(FuncRef, Returns),
    Failed,
}

impl Callee {
    pub(crate) fn of_host(object: ObjectId, source: &FuncSource, parsed: Arc<ParsedFile>) -> Callee {
        Callee {
            name: source.name.clone(),
            scope: Scope::Host(object),
            params: source.params.clone(),
            returns: source.returns.clone(),
            parsed,
            rules: source.dialect.rules(),
            place: Place::Line(source.first_line),
            accumulators: None,
        }
    }

    /// A function defined inside of another one, by its line.
    pub(crate) fn nested(
        name: &str,
        scope: Scope,
        params: Vec<ParamSource>,
        parsed: Arc<ParsedFile>,
        rules: &'static Rules,
        line: u32,
    ) -> Callee {
        let (name, returns, accumulators) = (name.to_owned(), None, None);
        Callee { name, scope, params, returns, parsed, rules, place: Place::Line(line), accumulators }
    }

    pub(crate) fn def<'p>(&self, parsed: &'p ParsedFile) -> &'p StmtFunctionDef {
        let found = match self.place {
            Place::Line(line) => parsed.function(&self.name, line),
            Place::Nth(n) => parsed.functions().nth(n),
        };
        found.unwrap_or_else(|| panic!("`{}` was found before", self.name))
    }

    pub(crate) fn is_return_annotated(&self) -> bool {
        self.returns.is_some()
    }

    /// The return types, where the annotation names them.
    pub(crate) fn return_types(&self) -> Option<Vec<Type>> {
        match self.returns.as_ref()? {
            TypePattern::Is(ty) => Some(match ty.kind() {
                TypeKind::Tuple(items) => items.clone(),
                _ => vec![*ty],
            }),
            TypePattern::Tuple(items) => items
                .iter()
                .map(|item| if let TypePattern::Is(ty) = item { Some(*ty) } else { None })
                .collect::<Option<_>>(),
            _ => None,
        }
    }

    /// Whether the body may change the tile that a parameter holds: writes to a part of it, or hands it on.
    pub(crate) fn changes(&self, param: &str) -> bool {
        // A gradient function gives adjoints.
        if self.accumulators.is_some() {
            return false;
        }
        let body = &self.def(&self.parsed).body;
        let mut assigned = super::scan::assigned(body);
        // What the kernel library calls by its name changes nothing.
        let is_named = |call: &&&ruff_python_ast::ExprCall| {
            matches!(&*call.func, Expr::Name(_)) && !matches!(self.scope, Scope::Library)
        };
        for call in super::scan::calls(body).iter().filter(is_named) {
            call.arguments.iter_source_order().for_each(|arg| assigned.hand(arg.value()));
        }
        assigned.in_place().iter().any(|name| name == param)
    }

    fn signature(&self) -> String {
        let mut params = Vec::new();
        for param in &self.params {
            if param.passing == Passing::ByName && !params.contains(&"*".to_owned()) {
                params.push("*".to_owned());
            }
            params.push(match &param.annotation {
                Some(annotation) => format!("{}: {}", param.name, pattern::pattern_name(annotation)),
                None => param.name.clone(),
            });
        }
        format!("{}({})", self.name, params.join(", "))
    }
}

/// Functions of the kernel library, read once.
pub(crate) fn library() -> &'static Vec<Callee> {
    static FUNCTIONS: OnceLock<Vec<Callee>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let mut all = Vec::new();
        for (file, text) in LIBRARY {
            let parsed = ParsedFile::open(file, &(*text).into());
            for (n, def) in parsed.functions().enumerate() {
                let params = def.parameters.iter_non_variadic_params().map(|param| ParamSource {
                    name: param.parameter.name.to_string(),
                    annotation: param.parameter.annotation.as_deref().and_then(annotation),
                    default: param.default.as_deref().and_then(literal),
                    passing: Passing::of(&def.parameters, param),
                });
                all.push(Callee {
                    name: def.name.to_string(),
                    scope: Scope::Library,
                    params: params.collect(),
                    returns: None,
                    parsed: parsed.clone(),
                    rules: dialect_of(file).rules(),
                    place: Place::Nth(n),
                    accumulators: None,
                });
            }
        }
        all
    })
}

/// Whether the kernel library has a function of that name.
pub(crate) fn is_in_library(name: &str) -> bool {
    library().iter().any(|callee| callee.name == name)
}

/// Whether a function of the kernel library has a first parameter of that very type.
pub(crate) fn takes(name: &str, ty: Type) -> bool {
    let known = library().iter().filter(|callee| callee.name == name);
    known.filter_map(|callee| callee.params.first()).any(|param| param.annotation == Some(TypePattern::Is(ty)))
}

fn annotation(expr: &Expr) -> Option<TypePattern> {
    let found = match expr {
        Expr::Name(name) => pattern::library_type(name.id.as_str()),
        other => builtins::annotated(other).map(TypePattern::Is),
    };
    Some(found.unwrap_or_else(|| panic!("the kernel library names an unknown type: {expr:?}")))
}

/// The value of a default that is a literal.
pub(crate) fn literal(expr: &Expr) -> Option<HostValue> {
    match expr {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(value) => value.as_i64().map(|value| HostValue::Int(value.into())),
            Number::Float(value) => Some(HostValue::Float(*value)),
            Number::Complex { .. } => None,
        },
        Expr::UnaryOp(negated) if negated.op == UnaryOp::USub => match literal(&negated.operand)? {
            HostValue::Int(value) => Some(HostValue::Int(-value)),
            HostValue::Float(value) => Some(HostValue::Float(-value)),
            _ => None,
        },
        Expr::BooleanLiteral(value) => Some(HostValue::Bool(value.value)),
        Expr::NoneLiteral(_) => Some(HostValue::None),
        _ => None,
    }
}

impl Lower<'_, '_> {
    /// Calls a function of the user's, or an overload of it.
    pub(crate) fn call_function(&mut self, func: ObjectId, args: Args, span: Span) -> Result<Operand> {
        let mut candidates = Vec::new();
        for overload in self.unit.host.overloads(func) {
            candidates.push(self.unit.callee(overload)?);
        }
        self.call_best(&candidates, &args, span)
    }

    /// Calls a function of the kernel library; `None` where it has none of that name.
    pub(crate) fn call_library(&mut self, name: &str, args: Args, span: Span) -> Option<Result<Operand>> {
        let candidates: Vec<Callee> = library().iter().filter(|callee| callee.name == name).cloned().collect();
        if candidates.is_empty() { None } else { Some(self.call_best(&candidates, &args, span)) }
    }

    pub(crate) fn call_best(&mut self, candidates: &[Callee], args: &Args, span: Span) -> Result<Operand> {
        let mut best: Option<(&Callee, Bound)> = None;
        let mut reason = String::new();
        for callee in candidates {
            match self.bind(callee, args) {
                Ok(bound) if best.as_ref().is_none_or(|(_, known)| bound.cost < known.cost) => {
                    best = Some((callee, bound));
                }
                Ok(_) => {}
                Err(why) => reason = why,
            }
        }
        if let Some((callee, bound)) = best {
            return self.call_instance(&callee.clone(), bound, span);
        }
        // What no kernel can hold fits no function: that is the mistake.
        let mut all = args.positional.iter().chain(args.named.iter().map(|(_, operand)| operand));
        if let Some(object) = all.find(|operand| matches!(operand, Operand::Static(HostValue::Object(_)))) {
            self.value(object, span)?;
        }
        let mut given: Vec<String> = args.positional.iter().map(|operand| self.describe(operand)).collect();
        given.extend(args.named.iter().map(|(name, operand)| format!("{} as `{name}`", self.describe(operand))));
        let name = candidates.first().map_or("", |callee| callee.name.as_str());
        let known: Vec<String> = candidates.iter().map(|callee| format!("`{}`", callee.signature())).collect();
        let report = self
            .report("no-overload", span, format!("`{name}` cannot be called with {}", listed(&given)))
            .label(reason)
            .help(format!("it is defined as {}", known.join(", ")));
        Err(self.emit(report))
    }

    /// The operand of each parameter, or why the call does not fit.
    fn bind(&self, callee: &Callee, args: &Args) -> std::result::Result<Bound, String> {
        let n_positional = callee.params.iter().filter(|param| param.passing != Passing::ByName).count();
        let (given, rest) = args.positional.split_at(n_positional.min(args.positional.len()));
        let takes_rest = callee.def(&callee.parsed).parameters.vararg.is_some();
        if !rest.is_empty() && !takes_rest {
            let by_position = if n_positional < callee.params.len() { " by position" } else { "" };
            return Err(format!("takes {n_positional} arguments{by_position}, {} given", args.positional.len()));
        }
        let by_position = callee.params.iter().filter(|param| param.passing == Passing::ByPosition);
        if let Some((name, _)) = args.named.iter().find(|(name, _)| by_position.clone().any(|p| p.name == *name)) {
            return Err(format!("takes `{name}` by position only"));
        }
        if let Some((name, _)) = args.named.iter().find(|(name, _)| !callee.params.iter().any(|p| p.name == *name)) {
            return Err(format!("has no parameter `{name}`"));
        }
        let mut operands = Vec::new();
        let mut cost = 0;
        for (i, param) in callee.params.iter().enumerate() {
            let named = args.named.iter().find(|(name, _)| *name == param.name).map(|(_, operand)| operand.clone());
            let default = || param.default.clone().map(Operand::Static);
            let operand = match (given.get(i), named) {
                (Some(_), Some(_)) => return Err(format!("got `{}` twice", param.name)),
                (Some(operand), None) => operand.clone(),
                (None, named) => named.or_else(default).ok_or_else(|| format!("lacks `{}`", param.name))?,
            };
            match self.distance(&operand, param.annotation.as_ref()) {
                Some(distance) => cost += distance,
                None => return Err(format!("{} does not fit `{}`", self.describe(&operand), param.name)),
            }
            operands.push(operand);
        }
        Ok(Bound { cost, operands, rest: takes_rest.then(|| rest.to_vec()) })
    }

    /// 0 for the very type, more for a literal that converts and for a pattern; `None` where it does not fit.
    fn distance(&self, operand: &Operand, annotation: Option<&TypePattern>) -> Option<u32> {
        let is_static_only = self.type_of(operand).is_none();
        let annotation = annotation.map(TypePattern::value);
        let Some(annotation) = annotation else { return Some(8) };
        if is_static_only {
            return match (operand, annotation) {
                (_, TypePattern::Any | TypePattern::Callable) => Some(8),
                // A null array.
                (operand, TypePattern::Is(ty)) if ty.is_array() && operand.is_none() => Some(1),
                _ => None,
            };
        }
        let ty = self.type_of(operand)?;
        match annotation {
            TypePattern::Is(wanted) if *wanted == ty => Some(0),
            // Numbers are converted where the language does so by itself.
            TypePattern::Is(wanted)
                if self.rules.convert.is_some() && wanted.as_scalar().is_some() && ty.as_scalar().is_some() =>
            {
                Some(2)
            }
            TypePattern::Is(wanted) => {
                let Operand::Static(value) = operand else { return None };
                let scalar = wanted.as_scalar()?;
                let fits = super::operand::literal_as(value, scalar).is_some();
                // An integer literal is closer to another integer type than to a float.
                fits.then_some(if scalar.class() == ty.as_scalar()?.class() { 1 } else { 3 })
            }
            _ => pattern::matches(annotation, ty).then_some(8),
        }
    }

    fn call_instance(&mut self, callee: &Callee, bound: Bound, span: Span) -> Result<Operand> {
        let mut arguments = Vec::new();
        let mut values = Vec::new();
        let mut refs = Vec::new();
        let Bound { operands, rest, .. } = bound;
        for (index, (param, operand)) in callee.params.iter().zip(operands).enumerate() {
            let annotation = param.annotation.as_ref();
            if annotation.is_some_and(TypePattern::is_ref) {
                self.require_reference(&operand, &param.name, span)?;
                refs.push((index, param.name.clone(), values.len()));
            }
            let exact =
                if let Some(TypePattern::Is(ty)) = annotation.map(TypePattern::value) { Some(*ty) } else { None };
            if let Some(ty) = exact {
                let is_null = ty.is_array() && operand.is_none();
                values.push(if is_null { self.zero(ty) } else { self.value_as(&operand, ty, span)? });
                arguments.push(Argument::Value(ty));
            } else {
                let is_tile = operand.as_value().is_some_and(|value| self.ty(value).as_tile().is_some());
                if is_tile && callee.changes(&param.name) {
                    refs.push((index, param.name.clone(), values.len()));
                }
                arguments.push(self.argument(operand, span, &mut values)?);
            }
        }
        if let Some(rest) = rest {
            arguments.push(self.parts(None, rest, span, &mut values)?);
        }
        let (func, returns) = self.instance(callee, &arguments, span)?;
        let mut types = returns.types.clone();
        types.extend(refs.iter().map(|&(_, _, value)| self.ty(values[value])));
        let inst = self.b().push(Op::Call, &values, Attr::Func(func), &[], &types);
        let mut results: Vec<Operand> =
            self.func.inst(inst).results.iter().map(|&value| Operand::Value(value)).collect();
        let written = results.split_off(returns.types.len());
        self.written.clear();
        for ((index, name, value), operand) in refs.into_iter().zip(written) {
            match operand {
                Operand::Value(new) if self.ty(new).as_tile().is_some() => self.change_tile(values[value], new),
                operand => self.written.push((index, name, operand)),
            }
        }
        Ok(match results.as_slice() {
            [] => Operand::NONE,
            [single] if !returns.is_tuple => single.clone(),
            _ => Operand::Tuple(results),
        })
    }

    fn instance(&mut self, callee: &Callee, arguments: &[Argument], span: Span) -> Result<(FuncRef, Returns)> {
        let key = format!("{arguments:?}");
        let file = callee.parsed.file.name.clone();
        let known = self.unit.instances.iter().find(|instance| {
            instance.scope == callee.scope
                && instance.place == callee.place
                && instance.file == file
                && instance.arguments == key
        });
        match known.map(|instance| instance.state.clone()) {
            Some(State::Done(func, returns)) => return Ok((func, returns)),
            Some(State::Failed) => return Err(Reported),
            Some(State::InProgress) => {
                let report = self
                    .report("recursion", span, format!("`{}` calls itself", callee.name))
                    .help("functions of a kernel cannot be recursive; use a loop");
                return Err(self.emit(report));
            }
            None => {}
        }
        let index = self.unit.instances.len();
        let name = self.unit.free_name(&callee.name);
        self.unit.instances.push(Instance {
            name: name.clone(),
            scope: callee.scope.clone(),
            file,
            place: callee.place,
            arguments: key,
            state: State::InProgress,
        });
        let result = self.unit.lower(callee, name, FunctionKind::Function, arguments);
        let (state, result) = match result {
            Ok((func, returns)) => {
                let reference = FuncRef(self.unit.module.funcs.len() as u32);
                let size = self.unit.written_out(&func);
                if size > MAX_WRITTEN_OUT {
                    let message = format!("`{}` is {size} operations long with what it calls", callee.name);
                    let report = self.report("too-large", span, message);
                    let help = format!(
                        "calls are written out where they stand, and a kernel has at most {MAX_WRITTEN_OUT} operations: \
                         keep a result that is needed twice in a variable, or call the function in a loop"
                    );
                    self.unit.instances[index].state = State::Failed;
                    return Err(self.emit(report.help(help)));
                }
                self.unit.sizes.resize(self.unit.module.funcs.len(), 1);
                self.unit.sizes.push(size);
                self.unit.module.funcs.push(func);
                if let Some(of) = Differentiated::of(callee) {
                    let (arguments, returns) = (arguments.to_vec(), returns.clone());
                    self.unit.pending.push(Pending { func: reference, of, arguments, returns });
                }
                (State::Done(reference, returns.clone()), Ok((reference, returns)))
            }
            Err(reported) => (State::Failed, Err(reported)),
        };
        self.unit.instances[index].state = state;
        result
    }
}

/// Calls are written out before code generation: functions that each call another twice would grow without end.
pub(crate) const MAX_WRITTEN_OUT: u64 = 100_000;

impl Unit<'_> {
    /// Operations of a function with every call written out.
    pub(crate) fn written_out(&self, func: &Function) -> u64 {
        let insts = func.regions.iter().flat_map(|region| &region.insts);
        insts.fold(0u64, |sum, &inst| {
            let called = match func.inst(inst).attr {
                Attr::Func(callee) => self.sizes.get(callee.index()).copied().unwrap_or(1),
                _ => 1,
            };
            sum.saturating_add(called)
        })
    }
}

fn listed(items: &[String]) -> String {
    match items {
        [] => "no arguments".into(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
