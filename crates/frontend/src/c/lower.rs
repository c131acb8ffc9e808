//! From the syntax tree to IR: a kernel and the functions that it calls.

use super::ast::{Declarator, Function, Name, Program, Storage, Struct, TemplateArg, TypeExpr, TypeKind};
use super::types::{CType, StructType};
use super::{CGlobal, CKernel, CParam, parse};
use crate::FuncSource;
use crate::walk::{Reported, Unit};
use body::Body;
use diagnostics::{Diagnostic, FileId, Span};
use ir::{FuncRef, FunctionKind, Type};
use std::rc::Rc;
use std::sync::Arc;

mod body;
mod branch;
mod builtin;
mod call;
mod constant;
mod convert;
mod declare;
mod expression;
mod initial;
mod loops;
mod operator;
mod pieces;
mod place;
mod range;
mod scan;
mod statement;
mod switch;
mod template;
mod type_of;

pub(super) type Result<T> = std::result::Result<T, Reported>;

/// What a template's parameter stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    Type(CType),
    Value(i128, CType),
}

pub(super) type Bindings = Vec<(Name, Bound)>;

/// A function lowered, or being lowered, for the arguments of its template.
struct Instance {
    name: Name,
    span: Span,
    bindings: Bindings,
    /// Nothing while it is being lowered.
    func: Option<FuncRef>,
}

/// A program that is being lowered, or asked for a signature.
pub(super) struct Text<'d> {
    program: Rc<Program>,
    text: Arc<str>,
    diagnostics: &'d mut Vec<Diagnostic>,
    structs: Vec<(Name, Rc<StructType>)>,
    /// Structs whose fields are being looked at: one within itself has no end.
    open: Vec<Name>,
}

/// Everything that bodies share.
pub(super) struct Compile<'c, 'h> {
    unit: &'c mut Unit<'h>,
    program: Rc<Program>,
    text: Arc<str>,
    file: FileId,
    structs: Vec<(Name, Rc<StructType>)>,
    instances: Vec<Instance>,
    /// Variables of the device that the kernel gets as parameters.
    globals: Vec<Rc<Declarator>>,
}

/// What launches pass to the kernel `name`.
pub(super) fn signature(
    program: &Rc<Program>,
    text: &str,
    name: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<CKernel> {
    Text::new(program, text, diagnostics).signature(name).ok()
}

/// The variables of the device.
pub(super) fn globals(program: &Rc<Program>, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<CGlobal>> {
    Text::new(program, text, diagnostics).globals().ok()
}

/// Lowers a kernel, whose arguments have the types `args`.
pub(super) fn kernel(
    unit: &mut Unit<'_>,
    program: Rc<Program>,
    source: &FuncSource,
    file: FileId,
    args: &[Type],
) -> Result<()> {
    let mut compile = Compile {
        unit,
        text: source.text.clone(),
        file,
        globals: program.globals.iter().filter(|global| global.storage == Storage::Device).cloned().collect(),
        program,
        structs: Vec::new(),
        instances: Vec::new(),
    };
    let (function, bindings) = compile.text().find(&source.name)?;
    let params = compile.text().params(&function, &bindings)?;
    let globals = compile.text().globals()?;
    let expected = params.iter().map(|param| param.ty).chain(globals.iter().map(|one| Type::array(one.elem, 1)));
    let expected: Vec<Type> = expected.collect();
    if expected != args {
        let message = format!("`{}` takes other arguments than it is compiled for", source.name);
        compile.unit.diagnostics.push(Diagnostic::new("argument-count", function.span, message));
        return Err(Reported);
    }
    let kind = if function.is_over_elements { FunctionKind::Kernel } else { FunctionKind::BlockKernel };
    let func = Body::function(&mut compile, &function, bindings, kind)?;
    compile.unit.module.funcs.push(func);
    Ok(())
}

impl<'h> Compile<'_, 'h> {
    fn text(&mut self) -> Text<'_> {
        Text {
            program: self.program.clone(),
            text: self.text.clone(),
            diagnostics: &mut self.unit.diagnostics,
            structs: self.structs.clone(),
            open: Vec::new(),
        }
    }

    fn resolve(&mut self, ty: &TypeExpr, bindings: &Bindings) -> Result<CType> {
        let mut text = self.text();
        let found = text.resolve(ty, bindings);
        self.structs = std::mem::take(&mut text.structs);
        found
    }
}

impl<'d> Text<'d> {
    fn new(program: &Rc<Program>, text: &str, diagnostics: &'d mut Vec<Diagnostic>) -> Text<'d> {
        Text { program: program.clone(), text: text.into(), diagnostics, structs: Vec::new(), open: Vec::new() }
    }
}

impl Text<'_> {
    fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Reported {
        self.diagnostics.push(Diagnostic::new(code, span, message).help(help));
        Reported
    }

    fn signature(&mut self, name: &str) -> Result<CKernel> {
        let (function, bindings) = self.find(name)?;
        Ok(CKernel { params: self.params(&function, &bindings)?, globals: self.globals()? })
    }

    /// The kernel of a name, with what its template's parameters stand for.
    fn find(&mut self, name: &str) -> Result<(Rc<Function>, Bindings)> {
        let mut mistakes = Vec::new();
        let parsed = parse::parse_name(super::name_tokens(name), &self.program, &mut mistakes);
        let Some((plain, args)) = parsed else {
            let help = "write the name of a kernel, with its template's arguments: `f` or `f<float, 4>`";
            return Err(self.error("no-source", Span::NONE, format!("`{name}` is no name of a kernel"), help));
        };
        let program = self.program.clone();
        let Some(function) = program.functions.iter().find(|function| function.is_kernel && function.name == plain)
        else {
            let known: Vec<String> =
                program.functions.iter().filter(|one| one.is_kernel).map(|one| format!("`{}`", one.name)).collect();
            let help = match known.as_slice() {
                [] => "mark a function `extern \"C\" __global__ void`".to_owned(),
                known => format!("it has {}", known.join(", ")),
            };
            let message = format!("there is no kernel `{plain}` in this text");
            return Err(self.error("no-source", Span::NONE, message, help));
        };
        let bindings = self.bind(function, &args, &Bindings::new(), function.span)?;
        Ok((function.clone(), bindings))
    }

    /// What the parameters of a kernel are for a launch.
    fn params(&mut self, function: &Function, bindings: &Bindings) -> Result<Vec<CParam>> {
        let mut params = Vec::new();
        for param in &function.params {
            let ty = self.resolve(&param.ty, bindings)?;
            let refuse = match &ty {
                CType::Pointer(to, _) if matches!(**to, CType::Pointer(..)) => Some("a pointer to pointers"),
                CType::Pointer(to, _) if matches!(**to, CType::Array(..)) => Some("a pointer to arrays"),
                CType::Void | CType::Array(..) => Some("this type"),
                _ if matches!(param.ty.kind, TypeKind::Reference(_)) => Some("a reference"),
                _ => None,
            };
            if let Some(what) = refuse {
                let message = format!("{what} cannot be passed to a kernel: `{}` is `{}`", param.name, ty.name());
                let help = "pass a pointer to numbers, vectors or structs, a number, or a struct of numbers";
                return Err(self.error("argument-type", param.span, message, help));
            }
            let spelled = ty.name();
            params.push(CParam { name: param.name.to_string(), ty: ty.cell(), spelled });
        }
        Ok(params)
    }

    /// The variables of the device.
    fn globals(&mut self) -> Result<Vec<CGlobal>> {
        let program = self.program.clone();
        let mut globals = Vec::new();
        for global in program.globals.iter().filter(|global| global.storage == Storage::Device) {
            let ty = self.declared(global, &Bindings::new())?;
            let mut begins_with = Vec::new();
            if let Some(init) = &global.init {
                self.initial(init, &ty, &mut begins_with)?;
            }
            globals.push(CGlobal { name: global.name.to_string(), elem: ty.cell(), len: ty.n_cells(), begins_with });
        }
        Ok(globals)
    }

    fn structure(&mut self, item: &Struct, bindings: &Bindings) -> Result<Rc<StructType>> {
        if let Some((_, known)) = self.structs.iter().find(|(name, _)| *name == item.name) {
            return Ok(known.clone());
        }
        if self.open.contains(&item.name) {
            let message = format!("`{}` holds itself", item.name);
            return Err(self.error("type-mismatch", item.span, message, "hold an index to another one"));
        }
        self.open.push(item.name.clone());
        let mut fields = Vec::new();
        for field in &item.fields {
            let ty = self.resolve(&field.ty, bindings)?;
            let fits = match &ty {
                CType::Scalar(_) | CType::Vector(..) | CType::Struct(_) => true,
                CType::Array(elem, _) => matches!(**elem, CType::Scalar(_)),
                _ => false,
            };
            if !fits {
                let message = format!("a field of type `{}` is not read", ty.name());
                let help = "fields are numbers, vectors such as float4, structs, and arrays of numbers";
                return Err(self.error("type-mismatch", field.span, message, help));
            }
            fields.push((field.name.clone(), ty));
        }
        self.open.pop();
        let parts = fields.iter().map(|(name, ty)| (name.to_string(), pieces::held(ty))).collect();
        let ir = Type::structure(item.name.to_string(), parts);
        let made = Rc::new(StructType { name: item.name.clone(), fields, ir });
        self.structs.push((item.name.clone(), made.clone()));
        Ok(made)
    }

    fn template_arg(&mut self, arg: &TemplateArg, bindings: &Bindings) -> Result<Bound> {
        Ok(match arg {
            TemplateArg::Type(ty) => Bound::Type(self.resolve(ty, bindings)?),
            TemplateArg::Value(expr) => Bound::Value(self.constant(expr, bindings, &[])?, CType::INT),
        })
    }
}
