//! One compile unit: a kernel and the functions that it calls.

use super::argument::Argument;
use super::gradient::{Pending, with_adjoint_names};
use super::instance::{Callee, Instance};
use super::lower::{Lower, Names, Result, Scope};
use super::operand::Operand;
use super::{call::Args, scan};
use crate::rules::Rules;
use crate::source::ParsedFile;
use crate::warp::tiles::Cells;
use crate::{Derivative, Dialect, FuncSource, Host, Lowered, ObjectId, Options, Rejected};
use diagnostics::{Diagnostic, SourceMap, Span};
use ir::{CustomGradient, FuncRef, Function, FunctionKind, Module, Param, Type};
use std::rc::Rc;
use std::sync::Arc;

pub(crate) struct Unit<'h> {
    pub(crate) host: &'h dyn Host,
    pub(crate) options: Options,
    pub(crate) module: Module,
    pub(crate) sources: SourceMap,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Functions lowered so far, one entry for each set of argument types.
    pub(crate) instances: Vec<Instance>,
    /// Functions that may have gradients of the user's.
    pub(crate) pending: Vec<Pending>,
    pub(crate) custom: Vec<CustomGradient>,
    pub(crate) derivatives: Vec<Derivative>,
    /// Of every function of the module so far: its operations with all calls written out.
    pub(crate) sizes: Vec<u64>,
}

/// What a lowered function returns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Returns {
    pub(crate) types: Vec<Type>,
    pub(crate) is_tuple: bool,
}

/// What a walk over a body came to.
enum Walked {
    Done(Function, Returns),
    /// A later `return` needs wider types than the first.
    Again(Returns),
}

impl<'h> Unit<'h> {
    pub(crate) fn new(host: &'h dyn Host, options: &Options) -> Unit<'h> {
        Unit {
            host,
            options: options.clone(),
            module: Module {
                fast_math: options.fast_math,
                approximate: options.approximate,
                block_dim: options.block_dim,
                ..Module::default()
            },
            sources: SourceMap::default(),
            diagnostics: Vec::new(),
            instances: Vec::new(),
            pending: Vec::new(),
            custom: Vec::new(),
            derivatives: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// The verified module, or the mistakes.
    pub(crate) fn finish(mut self, result: Result<()>) -> std::result::Result<Lowered, Rejected> {
        let mut seen: Vec<Diagnostic> = Vec::new();
        for diagnostic in self.diagnostics.drain(..) {
            // One path is warned of where it is met first.
            let is_known = |known: &Diagnostic| match diagnostic.is_warning {
                true => (&known.message, &known.label) == (&diagnostic.message, &diagnostic.label),
                false => *known == diagnostic,
            };
            if !seen.iter().any(is_known) {
                seen.push(diagnostic);
            }
        }
        let (warnings, errors): (Vec<_>, Vec<_>) = seen.into_iter().partition(|diagnostic| diagnostic.is_warning);
        if result.is_err() || !errors.is_empty() {
            assert!(!errors.is_empty(), "lowering failed without a report");
            return Err(Rejected { diagnostics: errors, sources: self.sources });
        }
        for warning in &warnings {
            self.host.warn(diagnostics::render(warning, &self.sources));
        }
        if let Err(errors) = ir::verify::verify(&self.module) {
            let text = ir::print::print_module(&self.module);
            panic!("the front end made invalid IR: {errors:?}\n{text}");
        }
        let Unit { module, sources, custom, derivatives, .. } = self;
        Ok(Lowered { module, sources, launch_rank: self.options.launch_rank, custom, derivatives })
    }

    pub(crate) fn kernel(&mut self, kernel: ObjectId, args: &[Type]) -> Result<()> {
        if let Ok(source) = self.host.source(kernel)
            && source.dialect == Dialect::C
        {
            return crate::c::kernel(self, &source, args);
        }
        let callee = self.callee(kernel)?;
        if callee.is_return_annotated() {
            let span = self.name_span(&callee);
            let report = Diagnostic::new("kernel-return", span, "a kernel cannot return a value")
                .help("write results to an array that is passed as an argument, and leave the annotation out");
            self.diagnostics.push(report);
            return Err(super::Reported);
        }
        let arguments: Vec<Argument> = args.iter().map(|&ty| Argument::Value(ty)).collect();
        let kind = if callee.rules.is_in_blocks { FunctionKind::BlockKernel } else { FunctionKind::Kernel };
        let (mut func, _) = self.lower(&callee, callee.name.clone(), kind, &arguments)?;
        let n_threads = self.options.block_dim;
        let has_tiles = |func: &Function| func.insts.iter().any(|inst| inst.op.is_over_tiles());
        if n_threads > 1 && (has_tiles(&func) || self.module.funcs.iter().any(has_tiles)) {
            // Code is known by its text, which says nothing else about the threads of a block.
            func.name = format!("{}.threads{n_threads}", func.name);
        }
        // The kernel keeps its name, a function of that name gets another: calls refer to it by number.
        if let Some(other) = self.module.find(&func.name) {
            self.module.funcs[other.index()].name = self.free_name(&func.name);
        }
        self.module.funcs.push(func);
        let has_derivatives = self.options.gradients || !self.derivatives.is_empty();
        if has_derivatives { self.custom_gradients() } else { Ok(()) }
    }

    pub(crate) fn entry_function(&mut self, func: ObjectId, args: &[Type]) -> Result<()> {
        let callee = self.callee(func)?;
        self.wrapper(&callee.name, args, |lower, args| lower.call_function(func, args, Span::NONE))?;
        if !self.derivatives.is_empty() {
            let mut entry = self.module.funcs.last().cloned().ok_or(super::Reported)?;
            self.custom_gradients()?;
            // Callers look for it at the end.
            entry.name = self.free_name(&entry.name);
            self.module.funcs.push(entry);
        }
        Ok(())
    }

    /// The last arguments have names where there are any.
    pub(crate) fn builtin_function(&mut self, name: &str, args: &[Type], names: &[String]) -> Result<()> {
        let n_args = args.len();
        self.wrapper(name, args, |lower, mut args| {
            let named = args.positional.split_off(n_args - names.len());
            args.named = names.iter().cloned().zip(named).collect();
            let result = lower.builtin(name, args, Span::NONE)?;
            Ok(crate::warp::builtins::without_outputs(name, n_args, result))
        })?;
        Ok(())
    }

    /// A function of the arguments `args` that returns what `call` gives for them.
    pub(crate) fn wrapper(
        &mut self,
        name: &str,
        args: &[Type],
        call: impl FnOnce(&mut Lower<'_, '_>, Args) -> Result<Operand>,
    ) -> Result<FuncRef> {
        let params = (0..args.len()).map(|i| Param { name: format!("a{i}"), ty: args[i] }).collect();
        let name = self.free_name(&format!("{name}.entry"));
        let func = Function::new(name, FunctionKind::Function, params, Vec::new());
        let parsed = ParsedFile::open("<builtin>", &"".into());
        let mut lower = self.start(func, Scope::Library, parsed, false, Dialect::Warp.rules());
        let operands: Vec<Operand> =
            lower.func.region(lower.region).params.iter().map(|&value| Operand::Value(value)).collect();
        let result = call(&mut lower, Args::positional(&operands, Span::NONE))?;
        let items = match result {
            Operand::Tuple(items) => items,
            operand if operand.is_none() => Vec::new(),
            operand => vec![operand],
        };
        let mut values = Vec::new();
        for item in &items {
            values.push(lower.value(item, Span::NONE)?);
        }
        lower.func.results = values.iter().map(|&value| lower.func.ty(value)).collect();
        lower.b().ret(&values);
        let func = lower.func;
        Ok(self.add(func))
    }

    pub(crate) fn add(&mut self, func: Function) -> FuncRef {
        self.module.funcs.push(func);
        FuncRef(self.module.funcs.len() as u32 - 1)
    }

    /// Source and syntax of a function of the user's.
    pub(crate) fn callee(&mut self, object: ObjectId) -> Result<Callee> {
        let name = self.host.describe(object);
        let source: Arc<FuncSource> = match self.host.source(object) {
            Ok(source) => source,
            Err(message) => {
                let report = Diagnostic::new(
                    "no-source",
                    Span::NONE,
                    format!("the source of `{name}` cannot be read: {message}"),
                )
                .help("kernels must be defined in a file, a notebook cell, or text that `linecache` knows");
                self.diagnostics.push(report);
                return Err(super::Reported);
            }
        };
        let parsed = ParsedFile::open(&source.file, &source.text);
        if parsed.function(&source.name, source.first_line).is_none() {
            let message = format!("no function `{}` at line {} of {}", source.name, source.first_line, source.file);
            let report = Diagnostic::new("no-source", Span::NONE, message)
                .help("the file may have changed since it was imported; lambdas cannot be kernels");
            self.diagnostics.push(report);
            return Err(super::Reported);
        }
        Ok(Callee::of_host(object, &source, parsed))
    }

    /// Lowers one function for the given arguments.
    pub(crate) fn lower(
        &mut self,
        callee: &Callee,
        name: String,
        kind: FunctionKind,
        arguments: &[Argument],
    ) -> Result<(Function, Returns)> {
        let mut returns = callee.return_types().map(|types| Returns { is_tuple: types.len() > 1, types });
        loop {
            let n_before = self.diagnostics.len();
            match self.walk(callee, name.clone(), kind, arguments, returns)? {
                Walked::Done(func, returns) => return Ok((func, returns)),
                Walked::Again(wider) => returns = Some(wider),
            }
            self.diagnostics.truncate(n_before);
        }
    }

    /// One walk over a function's body.
    fn walk(
        &mut self,
        callee: &Callee,
        name: String,
        kind: FunctionKind,
        arguments: &[Argument],
        returns: Option<Returns>,
    ) -> Result<Walked> {
        let parsed = callee.parsed.clone();
        let renamed;
        let def = match &callee.accumulators {
            None => callee.def(&parsed),
            Some(_) => {
                renamed = with_adjoint_names(callee.def(&parsed));
                &renamed
            }
        };
        // The last argument may be what `*args` gets.
        let rest = def.parameters.vararg.as_ref().map(|rest| rest.name.to_string());
        let names = callee.params.iter().map(|param| param.name.clone()).chain(rest);
        let mut params = Vec::new();
        for (name, argument) in names.clone().zip(arguments) {
            params.extend(argument.types().into_iter().map(|ty| Param { name: name.clone(), ty }));
        }
        let func = Function::new(name, kind, params, Vec::new());
        let n_before = self.diagnostics.len();
        let is_kernel = kind != FunctionKind::Function;
        let mut lower = self.start(func, callee.scope.clone(), parsed.clone(), is_kernel, callee.rules);
        lower.reads = Rc::new(scan::reads(&def.body));
        let mut values = lower.func.region(lower.region).params.clone().into_iter();
        for (name, argument) in names.zip(arguments) {
            let operand = argument.operand(&mut values);
            lower.bind_name(&name, operand);
        }
        for (param, argument) in callee.params.iter().zip(arguments) {
            if let (Some(annotation), Argument::Value(ty)) = (&param.annotation, argument)
                && annotation.is_ref()
            {
                lower.refs.push((param.name.clone(), *ty));
                continue;
            }
            if let Argument::Value(ty) = argument
                && ty.as_tile().is_some()
                && callee.changes(&param.name)
            {
                // Whatever the name holds at the end.
                lower.refs.push((lower.cell_of(&param.name), *ty));
            }
        }
        for (name, ty) in callee.accumulators.iter().flatten() {
            // Of a parameter passed by reference, its start is a parameter.
            if lower.names.get(name).is_none() {
                let zero = lower.zero(*ty);
                lower.bind_name(name, Operand::Value(zero));
            }
            lower.refs.push((lower.cell_of(name), *ty));
        }
        lower.is_annotated = callee.return_types().is_some();
        if let Some(returns) = returns {
            lower.returns_tuple = returns.is_tuple;
            lower.returns = Some(returns.types);
        }
        lower.span = lower.span_of(&def.name);
        lower.capture_arrays(&def.body);
        lower.body(&def.body);
        lower.end_body();
        let types = lower.returns.clone().unwrap_or_default();
        let is_tuple = lower.returns_tuple;
        if let Some(types) = lower.wider_returns.take() {
            return Ok(Walked::Again(Returns { types, is_tuple }));
        }
        let refs = lower.refs.iter().map(|(_, ty)| *ty).collect::<Vec<_>>();
        let mut func = lower.func;
        func.results = [types.clone(), refs].concat();
        if self.diagnostics[n_before..].iter().any(|diagnostic| !diagnostic.is_warning) {
            return Err(super::Reported);
        }
        Ok(Walked::Done(func, Returns { types, is_tuple }))
    }

    fn start(
        &mut self,
        func: Function,
        scope: Scope,
        parsed: Arc<ParsedFile>,
        is_kernel: bool,
        rules: &'static Rules,
    ) -> Lower<'_, 'h> {
        let file = self.sources.add(parsed.file.clone());
        let region = func.body;
        Lower {
            unit: self,
            rules,
            func,
            region,
            span: Span::NONE,
            scope,
            file,
            parsed,
            names: Names::default(),
            cells: Cells::default(),
            loops: Vec::new(),
            unrolled: Vec::new(),
            is_kernel,
            reads: Rc::default(),
            own: Vec::new(),
            constants: Vec::new(),
            refs: Vec::new(),
            written: Vec::new(),
            returns: None,
            is_annotated: false,
            returns_tuple: false,
            wider_returns: None,
        }
    }

    pub(crate) fn free_name(&self, name: &str) -> String {
        let is_taken = |name: &str| {
            self.module.find(name).is_some() || self.instances.iter().any(|instance| instance.name == name)
        };
        if !is_taken(name) {
            return name.to_owned();
        }
        (1..).map(|n| format!("{name}.{n}")).find(|name| !is_taken(name)).unwrap_or_default()
    }
}

impl Lower<'_, '_> {
    /// Ends a body whose last statement is no `return`.
    fn end_body(&mut self) {
        if self.is_terminated() {
            return;
        }
        if self.returns.as_ref().is_none_or(Vec::is_empty) {
            let span = self.span;
            if let Ok(values) = self.reference_values(span) {
                self.b().ret(&values);
            } else {
                self.unreachable();
            }
            return;
        }
        let span = self.span;
        let report = self
            .report(
                "missing-return",
                span,
                format!("`{}` returns a value on one path and nothing on another", self.func.name),
            )
            .help("return a value at the end of the function");
        self.emit(report);
    }
}
