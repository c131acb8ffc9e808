//! Kernels of a few lines, lowered: the printed IR, or the rendered reports.

use frontend::{Host, Options, TypePattern, lower_kernel, table::TableHost};
use ir::Type;

/// Lowers the kernel `k` of a module's text for the types of its annotations.
pub(crate) fn lower(text: &str, options: &Options) -> Result<ir::Module, String> {
    lower_named(text, "k", options)
}

pub(crate) fn lower_named(text: &str, name: &str, options: &Options) -> Result<ir::Module, String> {
    lower_by(&host_of(text), name, options)
}

fn host_of(text: &str) -> TableHost {
    TableHost::new("t.py", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What is said of a kernel that is accepted.
pub(crate) fn warnings(params: &str, body: &str) -> String {
    let host = host_of(&kernel(params, body));
    lower_by(&host, "k", &Options::default()).unwrap_or_else(|reports| panic!("{reports}"));
    host.warnings.take().join("\n\n")
}

fn lower_by(host: &TableHost, name: &str, options: &Options) -> Result<ir::Module, String> {
    let kernel = host.find(name).expect("the text has the kernel");
    let source = host.source(kernel).expect("a kernel has a source");
    let types: Vec<Type> = source
        .params
        .iter()
        .map(|param| match param.annotation {
            Some(TypePattern::Is(ty)) => ty,
            _ => panic!("`{}` needs an exact type", param.name),
        })
        .collect();
    match lower_kernel(host, kernel, &types, options) {
        Ok(lowered) => Ok(lowered.module),
        Err(rejected) => {
            let reports = rejected.diagnostics.iter().map(|report| diagnostics::render(report, &rejected.sources));
            Err(reports.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// A kernel of these parameters and statements.
pub(crate) fn kernel(params: &str, body: &str) -> String {
    let body: String = body.trim().lines().map(|line| format!("    {line}\n")).collect();
    format!("def k({params}):\n{body}")
}

/// The body of the kernel as IR, without its last `return`.
pub(crate) fn ir(params: &str, body: &str) -> String {
    ir_with(&Options::default(), params, body)
}

pub(crate) fn ir_with(options: &Options, params: &str, body: &str) -> String {
    printed(&kernel(params, body), options)
}

/// The same for a whole module's text.
pub(crate) fn printed(text: &str, options: &Options) -> String {
    let module = lower(text, options).unwrap_or_else(|reports| panic!("{reports}"));
    let kernel = module.kernel().expect("a kernel was lowered");
    let text = ir::print::print_function(Some(&module), module.func(kernel), &|_| Vec::new());
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let body = lines[1..lines.len() - 1].iter().map(|line| line.strip_prefix("  ").unwrap_or(line));
    let body: Vec<&str> = body.filter(|line| *line != "return").collect();
    body.join("\n")
}

/// The reports about a kernel that is refused.
pub(crate) fn errors(params: &str, body: &str) -> String {
    errors_in(&kernel(params, body))
}

pub(crate) fn errors_in(text: &str) -> String {
    match lower(text, &Options::default()) {
        Ok(module) => panic!("accepted:\n{}", ir::print::print_module(&module)),
        Err(reports) => reports,
    }
}
