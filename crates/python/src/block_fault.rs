//! The exception for what went wrong between the threads of a launch over thread blocks.
//!
//! In: a record whose site is no check of the kernel's own. Out: a `KernelFault` that points at both places:
//!
//! ```text
//! error[divergence]: not all threads of the block reach this barrier
//!   --> demo.py:15:9
//!    |
//! 14 |     if i < 3:
//!    |     --------- thread (3, 0, 0) went another way here
//! 15 |         cuda.syncthreads()
//!    |         ^^^^^^^^^^^^^^^^^^ thread (0, 0, 0) of block (0, 0, 0) of kernel `k` waits
//! ```

use crate::errors::{KernelFault, position};
use crate::fault::Launched;
use diagnostics::{Diagnostic, FileId, Span, render};
use ir::SiteKind;
use pipeline::Unit;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use runtime::{BlockBounds, FaultRecord};

pub(crate) fn block_fault(
    py: Python<'_>,
    unit: &Unit,
    record: &FaultRecord,
    launch: &Launched<'_>,
    bounds: &BlockBounds,
) -> Option<PyErr> {
    let [block, x, y, z] = record.thread;
    let here = format!("thread {} of block {}", shown([x, y, z]), shown(bounds.block_index(block)));
    let place = format!("{here} of kernel `{}`", launch.kernel);
    let values = &record.values;
    let thread = |at: usize| shown(bounds.thread_index(values.get(at).copied().unwrap_or(0)));
    let diverged = |span, there: Span, who: String| {
        let found = Diagnostic::new("divergence", span, "not all threads of the block reach this barrier")
            .label(format!("{place} waits"))
            .help("a barrier is for all threads of a block: move it out of the branch or loop, or return before it");
        let way = if there.is_none() { "has ended" } else { "went another way" };
        if there.is_none() {
            found.label(format!("{place} waits; thread {who} {way}"))
        } else {
            found.also(there, format!("thread {who} {way} here"))
        }
    };
    let (kind, found) = match record.site {
        interp::DIVERGENCE => ("divergence", diverged(span(values, 0), span(values, 3), thread(6))),
        interp::RACE => {
            let other = bounds.block_index(values.get(6).copied().unwrap_or(0));
            let text = "two threads access one place without order, and at least one of them writes";
            let found = Diagnostic::new("race", span(values, 0), text)
                .label(format!("{place} accesses it"))
                .also(span(values, 3), format!("thread {} of block {} did", thread(7), shown(other)))
                .help("put a barrier between the two, or make both atomic");
            ("race", found)
        }
        interp::UNINITIALIZED => {
            let found = Diagnostic::new("uninitialized", span(values, 0), "shared memory that no thread has stored to")
                .label(format!("read by {place}"))
                .help("store to it first, and put a barrier between");
            ("uninitialized", found)
        }
        site => {
            let site = unit.site(site)?;
            if site.kind != SiteKind::Divergence {
                return None;
            }
            let there = values.get(1).and_then(|&site| unit.site(site as u32)).map_or(Span::NONE, |site| site.span);
            ("divergence", diverged(site.span, there, thread(0)))
        }
    };
    let (file, line, _) = position(&unit.sources, found.span);
    let mut text = render(&found, &unit.sources);
    if file.is_empty() {
        text = format!("{text} ({place})");
    }
    let error = KernelFault::new_err(text);
    let fill = || -> PyResult<()> {
        let value = error.value(py);
        value.setattr("kind", kind)?;
        value.setattr("kernel", launch.kernel)?;
        value.setattr("file", &file)?;
        value.setattr("line", line)?;
        value.setattr("thread", PyTuple::new(py, [x, y, z])?)?;
        for name in ["array", "index", "shape"] {
            value.setattr(name, py.None())?;
        }
        Ok(())
    };
    Some(fill().err().unwrap_or(error))
}

/// A span among a record's values.
fn span(values: &[i64], at: usize) -> Span {
    match values.get(at..at + 3) {
        Some(&[file, start, end]) => Span::new(FileId(file as u32), start as u32, end as u32),
        _ => Span::NONE,
    }
}

fn shown([x, y, z]: [i64; 3]) -> String {
    format!("({x}, {y}, {z})")
}
