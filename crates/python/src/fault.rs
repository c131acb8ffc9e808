//! The exception for a check that failed while a kernel ran.
//!
//! In: the first failing thread's record. Out: a `KernelFault` that says, under the user's own line, what was wrong:
//!
//! ```text
//! error[out-of-bounds]: index (5,) is out of bounds for array `a` of shape (3,)
//!   --> demo.py:15:5
//!    |
//! 15 |     a[i] = 1.0
//!    |     ^^^^ in thread (5,) of kernel `oob`
//! ```

use crate::errors::{KernelFault, position};
use diagnostics::{Diagnostic, render};
use ir::SiteKind;
use pipeline::Unit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use runtime::{BlockBounds, FaultRecord};

/// What a launch knew when it failed.
pub(crate) struct Launched<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) rank: usize,
    /// Whether a parameter, by its number, was given None for an array.
    pub(crate) is_null: &'a dyn Fn(usize) -> bool,
    /// For a launch over thread blocks its shape.
    pub(crate) blocks: Option<&'a BlockBounds>,
}

impl Launched<'_> {
    /// The failing thread's index, and what it is called in a report.
    fn thread(&self, record: &FaultRecord) -> (Vec<i64>, String) {
        let Some(bounds) = self.blocks else {
            let thread = record.thread[..self.rank].to_vec();
            let name = shown(&thread);
            return (thread, name);
        };
        let [block, thread @ ..] = record.thread;
        let name = format!("{} of block {}", shown(&thread), shown(&bounds.block_index(block)));
        (thread.to_vec(), name)
    }
}

pub(crate) fn fault_error(py: Python<'_>, unit: &Unit, record: &FaultRecord, launch: &Launched<'_>) -> PyErr {
    let (thread, thread_name) = launch.thread(record);
    let Some(site) = unit.site(record.site) else {
        let kernel = launch.kernel;
        let text = format!("a check failed in thread {thread_name} of kernel `{kernel}`");
        return KernelFault::new_err(text);
    };
    let (index, shape) = record.values.split_at(record.values.len() / 2);
    // A negative index counts from the end and was moved by the extent already: back to what the user wrote.
    let written = |(&index, &extent): (&i64, &i64)| if index < 0 { index.wrapping_sub(extent) } else { index };
    let index: &[i64] = &index.iter().zip(shape).map(written).collect::<Vec<_>>();
    let name = &site.name;
    let is_null = || {
        let param = unit.func().params.iter().position(|param| param.name == *name);
        param.is_some_and(launch.is_null)
    };
    let (code, kind, message) = match site.kind {
        SiteKind::ArrayIndex if is_null() => ("null-array", "null", format!("array `{name}` is None")),
        SiteKind::ArrayIndex => {
            let of = if name.is_empty() { "an array".to_owned() } else { format!("array `{name}`") };
            let (index, shape) = (shown(index), shown(shape));
            ("out-of-bounds", "bounds", format!("index {index} is out of bounds for {of} of shape {shape}"))
        }
        SiteKind::ComponentIndex => {
            let of = if name.is_empty() { "a value".to_owned() } else { format!("`{name}`") };
            let (index, n) = (index.first().copied().unwrap_or(0), shape.first().copied().unwrap_or(0));
            ("out-of-bounds", "component", format!("index {index} is out of bounds for {of} with {n} components"))
        }
        SiteKind::DivisionByZero => ("division-by-zero", "division", "integer division by zero".to_owned()),
        SiteKind::NotFinite => {
            let of = if name.is_empty() { "a value".to_owned() } else { format!("the value stored to `{name}`") };
            ("not-finite", "finite", format!("{of} is NaN or infinite"))
        }
        SiteKind::Assert if name.is_empty() => ("assert", "assert", "assertion failed".to_owned()),
        SiteKind::Assert => ("assert", "assert", format!("assertion failed: {name}")),
        SiteKind::Divergence => ("divergence", "divergence", "not all threads of the block are here".to_owned()),
    };
    let place = format!("in thread {thread_name} of kernel `{}`", launch.kernel);
    let (file, line, _) = position(&unit.sources, site.span);
    let mut text = render(&Diagnostic::new(code, site.span, message).label(&place), &unit.sources);
    if file.is_empty() {
        text = format!("{text} ({place})");
    }
    let error = KernelFault::new_err(text);
    let is_index = matches!(site.kind, SiteKind::ArrayIndex | SiteKind::ComponentIndex);
    let array = matches!(site.kind, SiteKind::ArrayIndex | SiteKind::NotFinite).then_some(name.as_str());
    let fill = || -> PyResult<()> {
        let value = error.value(py);
        value.setattr("kind", kind)?;
        value.setattr("kernel", launch.kernel)?;
        value.setattr("file", &file)?;
        value.setattr("line", line)?;
        value.setattr("thread", PyTuple::new(py, &thread)?)?;
        value.setattr("array", array.filter(|array| !array.is_empty()))?;
        value.setattr("index", if is_index { Some(PyTuple::new(py, index)?) } else { None })?;
        value.setattr("shape", if is_index { Some(PyTuple::new(py, shape)?) } else { None })
    };
    match fill() {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// As Python writes a tuple.
fn shown(values: &[i64]) -> String {
    match values {
        [one] => format!("({one},)"),
        _ => format!("({})", values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
