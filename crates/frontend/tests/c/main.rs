//! Kernels in C text, lowered: the printed IR, or the rendered reports.

use frontend::{Dialect, FuncSource, Host, HostValue, ObjectId, Options, c_kernel, lower_kernel};
use ir::Type;
use std::sync::Arc;

mod constructs;
mod mistakes;
mod reading;

/// A program of one text of C.
struct CHost(Arc<FuncSource>);

impl Host for CHost {
    fn source(&self, _: ObjectId) -> Result<Arc<FuncSource>, String> {
        Ok(self.0.clone())
    }

    fn overloads(&self, func: ObjectId) -> Vec<ObjectId> {
        vec![func]
    }

    fn lookup(&self, _: ObjectId, _: &str) -> Option<HostValue> {
        None
    }

    fn attribute(&self, _: ObjectId, _: &str) -> Option<HostValue> {
        None
    }

    fn evaluate(&self, _: ObjectId, _: &str, _: &[(String, HostValue)]) -> Result<HostValue, String> {
        Err("C has nothing to evaluate".into())
    }

    fn describe(&self, _: ObjectId) -> String {
        self.0.name.clone()
    }
}

fn lower(text: &str, name: &str, options: &Options) -> Result<ir::Module, String> {
    let shown = |rejected: frontend::Rejected| {
        let reports = rejected.diagnostics.iter().map(|report| diagnostics::render(report, &rejected.sources));
        reports.collect::<Vec<_>>().join("\n\n")
    };
    let kernel = c_kernel("k.cu", text, name, &[]).map_err(shown)?;
    let source = FuncSource {
        name: name.into(),
        file: "k.cu".into(),
        text: text.into(),
        first_line: 1,
        params: Vec::new(),
        returns: None,
        dialect: Dialect::C,
        defines: Vec::new(),
    };
    let mut types: Vec<Type> = kernel.params.iter().map(|param| param.ty).collect();
    types.extend(kernel.globals.iter().map(|global| Type::array(global.elem, 1)));
    let lowered = lower_kernel(&CHost(Arc::new(source)), ObjectId(0), &types, options).map_err(shown)?;
    Ok(lowered.module)
}

/// The body of a kernel of these parameters and statements as IR, without its last `return`.
fn ir(params: &str, body: &str) -> String {
    ir_of(&format!("__global__ void k({params}) {{\n{body}\n}}"), "k", &Options::default())
}

fn ir_of(text: &str, name: &str, options: &Options) -> String {
    let module = lower(text, name, options).unwrap_or_else(|reports| panic!("{reports}"));
    let kernel = module.kernel().expect("a kernel was lowered");
    let text = ir::print::print_function(Some(&module), module.func(kernel), &|_| Vec::new());
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let body = lines[1..lines.len() - 1].iter().map(|line| line.strip_prefix("  ").unwrap_or(line));
    let body: Vec<&str> = body.filter(|line| *line != "return").collect();
    body.join("\n")
}

/// The reports about statements that are refused.
fn errors(params: &str, body: &str) -> String {
    errors_in(&format!("__global__ void k({params}) {{\n    {body}\n}}"))
}

fn errors_in(text: &str) -> String {
    match lower(text, "k", &Options::default()) {
        Ok(module) => panic!("accepted:\n{}", ir::print::print_module(&module)),
        Err(reports) => reports,
    }
}
