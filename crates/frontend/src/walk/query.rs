//! `for i in query`: a query of the library's that gives one index a round.
//!
//! ```text
//! for i in hash_grid_query(…)    ->    v3 = loop (v4 = …) { v5, v6, v7 = call @_next(v4); if v5 {} else { break }; … }
//! ```

use super::lower::{Binding, Lower, Result};
use super::operand::Operand;
use super::repeat::{Head, Plan};
use super::{call::Args, instance};
use diagnostics::Span;
use ruff_python_ast::{Expr, StmtFor};
use ruff_text_size::Ranged;

/// The library's function that gives whether there is an index, the index, and the query after it.
const NEXT: &str = "_next";

impl Lower<'_, '_> {
    /// Whether a value can be asked for one index after another.
    pub(super) fn is_query(&self, operand: &Operand) -> bool {
        self.type_of(operand).is_some_and(|ty| instance::takes(NEXT, ty))
    }

    /// A loop over the indices that a query gives.
    pub(super) fn for_query(&mut self, stmt: &StmtFor, query: Operand) -> Result<()> {
        // No name of the user's has a space.
        let name = format!("query at {}", u32::from(stmt.start()));
        self.names.set(&name, Binding::Is(query));
        let mut changed = self.changed_names(&stmt.body, None, Some(stmt));
        changed.push(name.clone());
        let plan = Plan {
            body: &stmt.body,
            changed,
            span: self.span_of(&*stmt.iter),
            end: stmt.end().into(),
            is_sure: false,
            head: Head::Query { target: &stmt.target, name },
        };
        self.repeat(&plan)
    }

    /// Takes the next index at the start of a round, or leaves the loop.
    pub(super) fn next_of_query(&mut self, name: &str, target: &Expr, span: Span) {
        let Some(Binding::Is(query)) = self.names.get(name).cloned() else { return };
        let Some(Ok(Operand::Tuple(found))) = self.call_library(NEXT, Args::positional(&[query], span), span) else {
            panic!("the kernel library's `{NEXT}` fails");
        };
        let [Operand::Value(is_there), index, query] = &found[..] else {
            panic!("the kernel library's `{NEXT}` gives {found:?}");
        };
        self.names.set(name, Binding::Is(query.clone()));
        self.go_on_where(*is_there, span);
        // What cannot be assigned was reported; the body is still read.
        let _ = self.assign(target, index.clone(), span);
    }
}
