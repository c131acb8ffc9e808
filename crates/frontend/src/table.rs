//! A [`Host`] without a Python interpreter: a text of kernels, functions, structs, enums and constants.
//!
//! For tests of the front end and of what comes after it. It evaluates what annotations, constants and `static(…)`
//! need: literals, names, arithmetic, types by their public names, calls of types. Everything else is an error.
//!
//! ```
//! use frontend::{Options, lower_function, table::TableHost};
//! let host = TableHost::new("t.py", "@wp.func\ndef twice(x: float):\n    return 2.0 * x\n").unwrap();
//! let lowered = lower_function(&host, host.find("twice").unwrap(), &[ir::Type::f32()], &Options::default());
//! assert_eq!(lowered.unwrap().module.funcs[0].name, "twice");
//! ```

use crate::warp::builtins;
use crate::{Dialect, FuncSource, Host, HostValue, ObjectId, ParamSource, Passing, TypePattern, walk};
use diagnostics::SourceFile;
use ir::{Const, Type};
use ruff_python_ast::{Expr, ExprCall, Number, Operator, Stmt, StmtClassDef, StmtFunctionDef, UnaryOp};
use ruff_text_size::Ranged;
use std::cell::RefCell;
use std::sync::Arc;

#[derive(Debug)]
pub struct TableHost {
    names: Vec<(String, HostValue)>,
    objects: Vec<Object>,
    /// What the front end warned of.
    pub warnings: RefCell<Vec<String>>,
}

#[derive(Debug)]
enum Object {
    Func(Arc<FuncSource>),
    /// `wp` and what stands under it.
    Library,
    Math,
    Enum(String, Vec<(String, HostValue)>),
}

/// Names of Python's own that kernels may use.
const PYTHON: [&str; 10] = ["range", "len", "abs", "min", "max", "round", "print", "type", "tuple", "reversed"];

impl TableHost {
    /// Reads a module's text; the names `wp` and `math` are there without an import.
    pub fn new(file: &str, text: &str) -> Result<TableHost, String> {
        let parsed = ruff_python_parser::parse_module(text).map_err(|error| error.to_string())?;
        let mut host =
            TableHost { names: Vec::new(), objects: vec![Object::Library, Object::Math], warnings: RefCell::default() };
        host.define("wp", HostValue::Object(ObjectId(0)));
        host.define("math", HostValue::Object(ObjectId(1)));
        let source = SourceFile::new(file, text);
        for stmt in &parsed.syntax().body {
            match stmt {
                Stmt::FunctionDef(def) => host.function(def, &source)?,
                Stmt::ClassDef(class) => host.class(class)?,
                Stmt::Assign(assign) => {
                    let value = host.eval(&assign.value, &[])?;
                    for target in &assign.targets {
                        let Expr::Name(name) = target else { return Err("only names can be assigned".into()) };
                        host.define(name.id.as_str(), value.clone());
                    }
                }
                Stmt::Import(_) | Stmt::ImportFrom(_) => {}
                _ => return Err(format!("unexpected statement: {}", &text[stmt.range()])),
            }
        }
        Ok(host)
    }

    /// A kernel or function by name; the first of its overloads.
    pub fn find(&self, name: &str) -> Option<ObjectId> {
        self.functions(name).next()
    }

    fn functions(&self, name: &str) -> impl Iterator<Item = ObjectId> {
        let is_it = move |object: &Object| matches!(object, Object::Func(source) if source.name == name);
        (0..).zip(&self.objects).filter(move |(_, object)| is_it(object)).map(|(i, _)| ObjectId(i))
    }

    fn define(&mut self, name: &str, value: HostValue) {
        self.names.retain(|(known, _)| known != name);
        self.names.push((name.to_owned(), value));
    }

    fn add(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        ObjectId(self.objects.len() as u32 - 1)
    }

    fn function(&mut self, def: &StmtFunctionDef, source: &SourceFile) -> Result<(), String> {
        let mut params = Vec::new();
        for param in def.parameters.iter_non_variadic_params() {
            params.push(ParamSource {
                name: param.parameter.name.to_string(),
                annotation: param.parameter.annotation.as_deref().map(|expr| self.pattern(expr)).transpose()?,
                default: param.default.as_deref().map(|expr| self.eval(expr, &[])).transpose()?,
                passing: Passing::of(&def.parameters, param),
            });
        }
        let start = def.decorator_list.first().map_or(def.start(), Ranged::start);
        let func = FuncSource {
            name: def.name.to_string(),
            file: source.name.clone(),
            text: source.text.clone(),
            first_line: source.position(start.into()).0,
            params,
            returns: def.returns.as_deref().map(|expr| self.pattern(expr)).transpose()?,
            dialect: Dialect::Warp,
            defines: Vec::new(),
        };
        let id = self.add(Object::Func(Arc::new(func)));
        self.define(def.name.as_str(), HostValue::Func(id));
        Ok(())
    }

    /// A struct where a decorator says so, else an enum.
    fn class(&mut self, class: &StmtClassDef) -> Result<(), String> {
        let name = class.name.to_string();
        if class.decorator_list.is_empty() {
            let mut members = Vec::new();
            for stmt in &class.body {
                if let Stmt::Assign(assign) = stmt
                    && let Some(Expr::Name(member)) = assign.targets.first()
                {
                    members.push((member.id.to_string(), self.eval(&assign.value, &[])?));
                }
            }
            let id = self.add(Object::Enum(name.clone(), members));
            self.define(&name, HostValue::Object(id));
            return Ok(());
        }
        let mut fields = Vec::new();
        for stmt in &class.body {
            if let Stmt::AnnAssign(field) = stmt
                && let Expr::Name(target) = &*field.target
            {
                let TypePattern::Is(ty) = self.pattern(&field.annotation)? else { return Err("an open field".into()) };
                fields.push((target.id.to_string(), ty));
            }
        }
        let ty = Type::structure(name.clone(), fields);
        self.define(&name, HostValue::Type(TypePattern::Is(ty)));
        Ok(())
    }

    fn pattern(&self, expr: &Expr) -> Result<TypePattern, String> {
        match self.eval(expr, &[])? {
            HostValue::Type(pattern) => Ok(pattern),
            HostValue::Tuple(items) => {
                let patterns = items.into_iter().map(|item| match item {
                    HostValue::Type(pattern) => Ok(pattern),
                    other => Err(format!("{other:?} is no type")),
                });
                Ok(TypePattern::Tuple(patterns.collect::<Result<_, _>>()?))
            }
            other => Err(format!("{other:?} is no type")),
        }
    }

    fn name(&self, name: &str) -> Option<HostValue> {
        if let Some((_, value)) = self.names.iter().find(|(known, _)| known == name) {
            return Some(value.clone());
        }
        match name {
            "int" | "float" | "bool" | "Any" => walk::library_type(name).map(HostValue::Type),
            _ => PYTHON.contains(&name).then(|| HostValue::Builtin(name.to_owned())),
        }
    }

    fn eval(&self, expr: &Expr, locals: &[(String, HostValue)]) -> Result<HostValue, String> {
        match expr {
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(value) => value.as_u64().map(|v| HostValue::Int(v.into())).ok_or("a large integer".into()),
                Number::Float(value) => Ok(HostValue::Float(*value)),
                Number::Complex { .. } => Err("a complex number".into()),
            },
            Expr::BooleanLiteral(literal) => Ok(HostValue::Bool(literal.value)),
            Expr::StringLiteral(literal) => Ok(HostValue::Str(literal.value.to_str().to_owned())),
            Expr::NoneLiteral(_) => Ok(HostValue::None),
            Expr::Tuple(tuple) => {
                tuple.elts.iter().map(|item| self.eval(item, locals)).collect::<Result<_, _>>().map(HostValue::Tuple)
            }
            Expr::Name(name) => {
                let local = locals.iter().find(|(known, _)| known == name.id.as_str()).map(|(_, value)| value.clone());
                local.or_else(|| self.name(name.id.as_str())).ok_or_else(|| format!("NameError: {}", name.id))
            }
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                let HostValue::Object(object) = self.eval(&attribute.value, locals)? else {
                    return Err(format!("AttributeError: {name}"));
                };
                self.attribute(object, name).ok_or_else(|| format!("AttributeError: {name}"))
            }
            Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => match self.eval(&unary.operand, locals)? {
                HostValue::Int(value) => Ok(HostValue::Int(-value)),
                HostValue::Float(value) => Ok(HostValue::Float(-value)),
                other => Err(format!("-{other:?}")),
            },
            Expr::BinOp(binary) => {
                arithmetic(binary.op, self.eval(&binary.left, locals)?, self.eval(&binary.right, locals)?)
            }
            Expr::Subscript(subscript) => {
                let elem = self.pattern(&subscript.slice)?;
                match self.eval(&subscript.value, locals)? {
                    HostValue::Builtin(name) => array(elem, rank_of(&name).ok_or("not an array type")?),
                    other => Err(format!("{other:?}[…]")),
                }
            }
            Expr::Call(call) => self.call(call, locals),
            _ => Err("an expression that this host does not evaluate".into()),
        }
    }

    fn call(&self, call: &ExprCall, locals: &[(String, HostValue)]) -> Result<HostValue, String> {
        let callee = self.eval(&call.func, locals)?;
        let mut args =
            call.arguments.args.iter().map(|arg| self.eval(arg, locals)).collect::<Result<Vec<_>, _>>()?.into_iter();
        let mut arg = |name: &str| match call.arguments.find_keyword(name) {
            Some(keyword) => self.eval(&keyword.value, locals),
            None => args.next().ok_or_else(|| format!("no argument `{name}`")),
        };
        let of = |value: HostValue| match value {
            HostValue::Type(pattern) => Ok(pattern),
            other => Err(format!("{other:?} is no type")),
        };
        let size = |value: HostValue| match value {
            HostValue::Int(value) => u32::try_from(value).map_err(|error| error.to_string()),
            other => Err(format!("{other:?} is no size")),
        };
        match callee {
            HostValue::Builtin(name) => match name.as_str() {
                "constant" => arg("value"),
                "vector" => match (size(arg("length")?)?, of(arg("dtype")?)?) {
                    (len, TypePattern::Is(ty)) => Ok(type_value(ty.element().map(|elem| Type::vector(elem, len)))),
                    (len, elem) => Ok(HostValue::Type(TypePattern::Vector { elem: Box::new(elem), len: Some(len) })),
                },
                "matrix" => match (arg("shape")?, of(arg("dtype")?)?) {
                    (HostValue::Tuple(shape), TypePattern::Is(ty)) if shape.len() == 2 => {
                        let (rows, cols) = (size(shape[0].clone())?, size(shape[1].clone())?);
                        Ok(type_value(ty.element().map(|elem| Type::matrix(elem, rows, cols))))
                    }
                    _ => Err("wp.types.matrix(shape, dtype)".into()),
                },
                _ => {
                    let elem = of(arg("dtype")?)?;
                    let rank = rank_of(&name).ok_or_else(|| format!("{name}(…)"))?;
                    let rank = if rank > 1 { rank } else { size(arg("ndim").unwrap_or(HostValue::Int(1)))? };
                    if name == "indexedarray" { indexed(elem, rank) } else { array(elem, rank) }
                }
            },
            HostValue::Type(TypePattern::Is(ty)) => instance(ty, &args.collect::<Vec<_>>()),
            other => Err(format!("{other:?}(…)")),
        }
    }
}

fn type_value(ty: Option<Type>) -> HostValue {
    ty.map_or(HostValue::None, |ty| HostValue::Type(TypePattern::Is(ty)))
}

/// Rank of `array`, `array2d` …
fn rank_of(name: &str) -> Option<u32> {
    match name {
        "array" | "array1d" | "indexedarray" => Some(1),
        "array2d" => Some(2),
        "array3d" => Some(3),
        "array4d" => Some(4),
        _ => None,
    }
}

fn array(elem: TypePattern, rank: u32) -> Result<HostValue, String> {
    Ok(HostValue::Type(match elem {
        TypePattern::Is(ty) => TypePattern::Is(Type::array(ty, rank)),
        elem => TypePattern::Array { elem: Box::new(elem), rank },
    }))
}

fn indexed(elem: TypePattern, rank: u32) -> Result<HostValue, String> {
    let TypePattern::Is(elem) = elem else { return Err("an open indexedarray".into()) };
    let mut fields = vec![("base".to_owned(), Type::array(elem, rank))];
    fields.extend((0..rank).map(|dim| (format!("index{dim}"), Type::array(Type::i32(), 1))));
    Ok(HostValue::Type(TypePattern::Is(Type::structure("indexedarray", fields))))
}

/// `wp.float64(1.5)`, `wp.vec3(1.0, 2.0, 3.0)`.
fn instance(ty: Type, args: &[HostValue]) -> Result<HostValue, String> {
    let elem = ty.element().ok_or("a struct instance")?;
    let mut leaves = Vec::new();
    for arg in args {
        leaves.push(match arg {
            HostValue::Bool(value) => Const::int(elem, i128::from(*value)),
            HostValue::Int(value) => Const::int(elem, *value),
            HostValue::Float(value) => Const::float(elem, *value),
            other => return Err(format!("{other:?} in a constant")),
        });
    }
    if leaves.len() != ty.n_leaves() {
        return Err(format!("{} components for {ty}", leaves.len()));
    }
    Ok(if ty.as_scalar().is_some() { HostValue::Scalar(elem, leaves[0]) } else { HostValue::Composite(ty, leaves) })
}

fn arithmetic(op: Operator, x: HostValue, y: HostValue) -> Result<HostValue, String> {
    match (op, x, y) {
        (Operator::Add, HostValue::Int(x), HostValue::Int(y)) => Ok(HostValue::Int(x + y)),
        (Operator::Sub, HostValue::Int(x), HostValue::Int(y)) => Ok(HostValue::Int(x - y)),
        (Operator::Mult, HostValue::Int(x), HostValue::Int(y)) => Ok(HostValue::Int(x * y)),
        (Operator::Mult, HostValue::Float(x), HostValue::Float(y)) => Ok(HostValue::Float(x * y)),
        (Operator::Div, HostValue::Float(_), HostValue::Float(0.0)) => {
            Err("ZeroDivisionError: division by zero".into())
        }
        (Operator::Div, HostValue::Float(x), HostValue::Float(y)) => Ok(HostValue::Float(x / y)),
        (_, x, y) => Err(format!("{x:?} {} {y:?}", op.as_str())),
    }
}

impl Host for TableHost {
    fn warn(&self, report: String) {
        self.warnings.borrow_mut().push(report);
    }

    fn source(&self, func: ObjectId) -> Result<Arc<FuncSource>, String> {
        match self.objects.get(func.0 as usize) {
            Some(Object::Func(source)) => Ok(source.clone()),
            _ => Err("not a function".into()),
        }
    }

    fn overloads(&self, func: ObjectId) -> Vec<ObjectId> {
        self.functions(&self.describe(func)).collect()
    }

    fn lookup(&self, _: ObjectId, name: &str) -> Option<HostValue> {
        self.name(name)
    }

    fn names(&self, _: ObjectId) -> Vec<String> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }

    fn attribute(&self, object: ObjectId, name: &str) -> Option<HostValue> {
        match &self.objects[object.0 as usize] {
            Object::Func(_) => None,
            Object::Math if name == "pi" => Some(HostValue::Float(std::f64::consts::PI)),
            Object::Math => builtins::is_builtin(name).then(|| HostValue::Builtin(name.to_owned())),
            Object::Enum(_, members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
            Object::Library if name == "types" => Some(HostValue::Object(object)),
            Object::Library if rank_of(name).is_some() || ["constant", "vector", "matrix"].contains(&name) => {
                Some(HostValue::Builtin(name.to_owned()))
            }
            Object::Library if name == "func" || name == "kernel" || name == "struct" => None,
            Object::Library => match walk::library_type(name) {
                Some(pattern) => Some(HostValue::Type(pattern)),
                None => builtins::is_builtin(name).then(|| HostValue::Builtin(name.to_owned())),
            },
        }
    }

    fn evaluate(&self, _: ObjectId, expression: &str, locals: &[(String, HostValue)]) -> Result<HostValue, String> {
        let parsed = ruff_python_parser::parse_expression(expression).map_err(|error| error.to_string())?;
        self.eval(parsed.expr(), locals)
    }

    fn describe(&self, object: ObjectId) -> String {
        match &self.objects[object.0 as usize] {
            Object::Func(source) => source.name.clone(),
            Object::Library => "wp".into(),
            Object::Math => "math".into(),
            Object::Enum(name, _) => name.clone(),
        }
    }
}
