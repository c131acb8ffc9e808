//! What stands outside of functions, and declarations of variables.

use super::{
    Failed, Function, Name, Param, Parsed, Parser, Rc, Struct, TemplateArg, TemplateParam, TypeExpr, TypeKind,
};
use crate::c::ast::{Declarator, Expr, ExprKind, Stmt, StmtKind, Storage};
use crate::c::lex::Kind;
use diagnostics::Span;
use ir::Scalar;

/// What stands before a function or variable.
#[derive(Default)]
struct Words {
    is_kernel: bool,
    is_over_elements: bool,
    is_device: bool,
    is_constant: bool,
    is_shared: bool,
    is_extern: bool,
}

impl Parser<'_> {
    /// A function, struct, type name or constant; a block of `extern "C"`.
    pub(super) fn item(&mut self) -> Parsed<()> {
        if self.take(";") {
            return Ok(());
        }
        let is_c_block = self.is_word("extern") && matches!(self.ahead(1).kind, Kind::Str(_)) && self.ahead(2).is("{");
        let is_namespace = self.is_word("namespace") && self.ahead(1).is("{");
        if is_c_block || is_namespace {
            while !self.take("{") {
                self.next();
            }
            while !self.take("}") {
                if self.is_end() {
                    return Err(self.expected("`}`"));
                }
                self.item()?;
            }
            return Ok(());
        }
        if self.take_word("using") {
            return self.using();
        }
        if self.take_word("typedef") {
            return self.typedef();
        }
        if self.is_word("struct") && self.ahead(1).name().is_some() && self.ahead(2).is("{") {
            self.structure()?;
            return self.need(";");
        }
        if self.take_word("enum") {
            return self.enumeration();
        }
        let template = if self.take_word("template") { self.template_params()? } else { Vec::new() };
        self.function_or_global(template)
    }

    fn using(&mut self) -> Parsed<()> {
        if self.take_word("namespace") {
            self.qualified()?;
            return self.need(";");
        }
        let (name, span) = self.need_name("a name")?;
        if self.take("=") {
            let ty = self.type_expr()?;
            self.name_type(name, ty);
        } else if self.take("::") {
            self.qualified()?;
        } else {
            return Err(self.fail(span, "this `using` is not read", "write `using Name = type;`"));
        }
        self.need(";")
    }

    fn typedef(&mut self) -> Parsed<()> {
        if self.is_word("struct") && (self.ahead(1).is("{") || self.ahead(2).is("{")) {
            let start = self.peek().span;
            let (name, _) = self.structure()?;
            let (alias, _) = self.need_name("the name of the type")?;
            let ty = TypeExpr { kind: TypeKind::Named(name, Vec::new()), is_const: false, span: self.since(start) };
            self.name_type(alias, ty);
            return self.need(";");
        }
        let ty = self.type_expr()?;
        let (name, _) = self.need_name("the name of the type")?;
        let ty = self.array_of(ty)?;
        self.name_type(name, ty);
        self.need(";")
    }

    fn name_type(&mut self, name: Name, ty: TypeExpr) {
        self.types.insert(name.clone());
        // `typedef struct S { … } S;` names nothing new.
        if !matches!(&ty.kind, TypeKind::Named(known, _) if *known == name) {
            self.program.aliases.push((name, ty));
        }
    }

    /// `struct S { float x; int n[3]; }`; one without a name gets one.
    fn structure(&mut self) -> Parsed<(Name, Span)> {
        let start = self.next().span;
        let (name, span) = match self.peek().name().cloned() {
            Some(name) => (name, self.next().span),
            None => (format!("struct_{}", self.program.structs.len()).into(), start),
        };
        self.types.insert(name.clone());
        self.need("{")?;
        let mut fields = Vec::new();
        while !self.take("}") {
            if !self.is_type() {
                return Err(self.expected("a field"));
            }
            let base = self.base_type()?;
            loop {
                let (name, span, ty) = self.declared(&base)?;
                if self.peek().is("(") {
                    let message = format!("a member function `{name}` is not read");
                    return Err(self.fail(span, &message, "write a `__device__` function that takes the struct"));
                }
                fields.push(Param { name, span, ty });
                if !self.take(",") {
                    break;
                }
            }
            self.need(";")?;
        }
        self.program.structs.push(Rc::new(Struct { name: name.clone(), span, fields }));
        Ok((name, span))
    }

    /// `enum { A, B = 4 }`: constants.
    fn enumeration(&mut self) -> Parsed<()> {
        let _ = self.take_word("class");
        if let Some(name) = self.peek().name().cloned() {
            let span = self.next().span;
            self.name_type(name, TypeExpr { kind: TypeKind::Scalar(Scalar::I32), is_const: false, span });
        }
        self.need("{")?;
        let mut before: Option<Expr> = None;
        while !self.take("}") {
            let (name, span) = self.need_name("a constant of the enum")?;
            let value = if self.take("=") {
                self.constant()?
            } else {
                let one = |value| Expr { kind: ExprKind::Int(value, Scalar::I32), span };
                match before {
                    None => one(0),
                    Some(before) => {
                        let kind = ExprKind::Binary(crate::c::ast::Binary::Add, Box::new(before), Box::new(one(1)));
                        Expr { kind, span }
                    }
                }
            };
            before = Some(value.clone());
            let ty = TypeExpr { kind: TypeKind::Scalar(Scalar::I32), is_const: true, span };
            let made = Declarator { name, span, ty, init: Some(value), storage: Storage::Constant };
            self.program.globals.push(Rc::new(made));
            if !self.take(",") && !self.peek().is("}") {
                return Err(self.expected("`,`"));
            }
        }
        self.need(";")
    }

    fn template_params(&mut self) -> Parsed<Vec<TemplateParam>> {
        self.need("<")?;
        let mut params = Vec::new();
        while !self.peek().is(">") {
            let is_type = self.take_word("typename") || self.take_word("class");
            let value = if is_type { None } else { Some(self.type_expr()?) };
            let (name, _) = self.need_name("the name of a template's parameter")?;
            if is_type {
                self.types.insert(name.clone());
            }
            let default = match self.take("=") {
                true if is_type => Some(TemplateArg::Type(self.type_expr()?)),
                true => Some(TemplateArg::Value(self.template_value()?)),
                false => None,
            };
            params.push(TemplateParam { name, value, default });
            if !self.take(",") {
                break;
            }
        }
        self.need(">")?;
        Ok(params)
    }

    fn words(&mut self) -> Parsed<Words> {
        let mut words = Words::default();
        loop {
            let Some(name) = self.peek().name().cloned() else { return Ok(words) };
            match &*name {
                "extern" => words.is_extern = true,
                "__global__" => words.is_kernel = true,
                "__elements__" => words.is_over_elements = true,
                "__device__" => words.is_device = true,
                "__constant__" | "constexpr" => words.is_constant |= &*name == "constexpr",
                "__shared__" => words.is_shared = true,
                "static" | "inline" | "__forceinline__" | "__inline__" | "__host__" | "__noinline__" => {}
                "__launch_bounds__" => {
                    self.next();
                    self.need("(")?;
                    self.args(")")?;
                    continue;
                }
                _ => return Ok(words),
            }
            words.is_device |= &*name == "__constant__";
            self.next();
            if words.is_extern && matches!(self.peek().kind, Kind::Str(_)) {
                words.is_extern = false;
                self.next();
            }
        }
    }

    fn function_or_global(&mut self, template: Vec<TemplateParam>) -> Parsed<()> {
        let mut words = self.words()?;
        if !self.is_type() {
            return Err(self.expected("a function, a struct or a constant"));
        }
        let base = self.base_type()?;
        // `void __global__ f()` and `void __launch_bounds__(256) f()` are C++ too.
        let more = self.words()?;
        words.is_kernel |= more.is_kernel;
        words.is_over_elements |= more.is_over_elements;
        words.is_device |= more.is_device;
        let mut returns = base.clone();
        while let Some(next) = self.pointed(&returns)? {
            returns = next;
        }
        if self.peek().name().is_some() && self.ahead(1).is("(") {
            return self.function(&words, returns, template);
        }
        let storage = match words {
            Words { is_shared: true, .. } => {
                let span = self.peek().span;
                return Err(self.fail(span, "`__shared__` stands inside of a function", "declare it in the kernel"));
            }
            Words { is_device: true, is_constant: false, .. } => Storage::Device,
            _ => Storage::Constant,
        };
        let (name, span) = self.need_name("a name")?;
        let ty = self.array_of(returns)?;
        self.rest_of_globals(&base, storage, (name, span, ty))
    }

    fn rest_of_globals(&mut self, base: &TypeExpr, storage: Storage, first: (Name, Span, TypeExpr)) -> Parsed<()> {
        let mut next = first;
        loop {
            let (name, span, ty) = next;
            let init = self.initializer()?;
            self.program.globals.push(Rc::new(Declarator { name, span, ty, init, storage }));
            if !self.take(",") {
                return self.need(";");
            }
            next = self.declared(base)?;
        }
    }

    fn function(&mut self, words: &Words, returns: TypeExpr, template: Vec<TemplateParam>) -> Parsed<()> {
        let (name, span) = self.need_name("the name of a function")?;
        if !template.is_empty() {
            self.templates.insert(name.clone());
        }
        self.need("(")?;
        let mut params = Vec::new();
        let is_void = self.is_word("void") && self.ahead(1).is(")");
        if is_void {
            self.next();
        }
        while !self.peek().is(")") {
            if !self.is_type() {
                return Err(self.expected("the type of a parameter"));
            }
            let base = self.base_type()?;
            let (name, span, ty) = self.declared(&base)?;
            if self.peek().is("=") {
                let span = self.peek().span;
                return Err(self.fail(span, "defaults of parameters are not read", "give every argument in the call"));
            }
            // A parameter `float a[]` is a pointer.
            let ty = match ty.kind {
                TypeKind::Array(inner, _) => TypeExpr { kind: TypeKind::Pointer(inner), ..ty },
                _ => ty,
            };
            params.push(Param { name, span, ty });
            if !self.take(",") {
                break;
            }
        }
        self.need(")")?;
        // A declaration ahead of the definition says nothing new.
        if self.take(";") {
            return Ok(());
        }
        if !self.peek().is("{") {
            return Err(self.expected("the body of the function"));
        }
        let (body, end) = self.block()?;
        let Words { is_kernel, is_over_elements, .. } = *words;
        let made = Function { name, span, is_kernel, is_over_elements, template, returns, params, body, end };
        self.program.functions.push(Rc::new(made));
        Ok(())
    }

    /// A declared name with its type: `*p`, `a[3]`, `(*p)[4]` is not read.
    fn declared(&mut self, base: &TypeExpr) -> Parsed<(Name, Span, TypeExpr)> {
        let mut ty = base.clone();
        while let Some(next) = self.pointed(&ty)? {
            ty = next;
        }
        if self.peek().is("(") {
            let span = self.peek().span;
            return Err(self.fail(
                span,
                "pointers to functions and to arrays are not read",
                "index a pointer to the elements",
            ));
        }
        let (name, span) = match self.peek().name() {
            Some(_) => self.need_name("a name")?,
            // A parameter that is not used may have no name.
            None => ("".into(), self.peek().span),
        };
        Ok((name, span, self.array_of(ty)?))
    }

    /// The type with the lengths behind a name: `[2][3]`.
    fn array_of(&mut self, elem: TypeExpr) -> Parsed<TypeExpr> {
        let mut lengths = Vec::new();
        while self.take("[") {
            let length = if self.peek().is("]") { None } else { Some(Box::new(self.constant()?)) };
            self.need("]")?;
            lengths.push(length);
        }
        let span = self.since(elem.span);
        let array = |inner, length| TypeExpr { kind: TypeKind::Array(Box::new(inner), length), is_const: false, span };
        Ok(lengths.into_iter().rev().fold(elem, array))
    }

    fn initializer(&mut self) -> Parsed<Option<Expr>> {
        if self.peek().is("{") {
            return self.braces().map(Some);
        }
        match self.take("=") {
            true if self.peek().is("{") => self.braces().map(Some),
            true => self.assignment().map(Some),
            false => Ok(None),
        }
    }

    /// A declaration inside of a function, with its `;`.
    pub(super) fn declaration(&mut self) -> Parsed<Stmt> {
        let start = self.peek().span;
        let words = self.words()?;
        if !self.is_type() {
            return Err(self.expected("a type"));
        }
        let mut base = self.base_type()?;
        let more = self.words()?;
        base.is_const |= words.is_constant;
        let storage = match words.is_shared || more.is_shared {
            true if words.is_extern => Storage::Dynamic,
            true => Storage::Shared,
            false if words.is_constant => Storage::Constant,
            false => Storage::Own,
        };
        let mut list = Vec::new();
        loop {
            let (name, span, ty) = self.declared(&base)?;
            if name.is_empty() {
                return Err(self.expected("a name"));
            }
            let mut init = self.initializer()?;
            // `float4 v(1, 2, 3, 4)`.
            if init.is_none() && self.take("(") {
                let args = self.args(")")?;
                init = Some(Expr { kind: ExprKind::Construct(ty.clone(), args), span: self.since(span) });
            }
            list.push(Rc::new(Declarator { name, span, ty, init, storage }));
            if !self.take(",") {
                break;
            }
        }
        self.need(";")?;
        Ok(Stmt { kind: StmtKind::Declare(list), span: self.since(start) })
    }

    pub(super) fn unsupported(&mut self, what: &str, help: &str) -> Failed {
        let span = self.peek().span;
        self.fail(span, &format!("{what} cannot be used in a kernel"), help)
    }
}
