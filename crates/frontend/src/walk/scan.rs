//! Which names statements set, and where a body reads names: what must be known before a loop is lowered.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, ExprContext, Parameter, Stmt};
use ruff_text_size::Ranged;

/// Names that statements set.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// Bound as a whole: `x = …`, `for x in …`.
    pub(crate) bound: Vec<String>,
    /// Changed in a part: `v.x = …`, `m[i, j] = …`. For an array the name itself does not change.
    pub(crate) updated: Vec<String>,
}

pub(crate) fn assigned(body: &[Stmt]) -> Assigned {
    let mut found = Assigned::default();
    for stmt in body {
        found.visit_stmt(stmt);
    }
    found
}

/// Names that statements which kernels do not have would set: `import math`, `def f`, `with … as f`, `n := 1`.
pub(crate) fn defined(stmt: &Stmt) -> Vec<String> {
    struct Defined(Assigned);
    impl<'a> Visitor<'a> for Defined {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            let names = &mut self.0.bound;
            match stmt {
                // What is in them is theirs.
                Stmt::FunctionDef(def) => return insert(names, def.name.as_str()),
                Stmt::ClassDef(def) => return insert(names, def.name.as_str()),
                Stmt::Import(import) => {
                    for alias in &import.names {
                        let first = alias.name.split('.').next().unwrap_or_default();
                        insert(names, alias.asname.as_deref().unwrap_or(first));
                    }
                }
                Stmt::ImportFrom(import) => {
                    import.names.iter().for_each(|alias| insert(names, alias.asname.as_ref().unwrap_or(&alias.name)));
                }
                Stmt::With(with) => {
                    with.items.iter().filter_map(|item| item.optional_vars.as_deref()).for_each(|to| self.0.target(to));
                }
                _ => {}
            }
            walk_stmt(self, stmt);
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Named(named) = expr {
                self.0.target(&named.target);
            }
            walk_expr(self, expr);
        }
    }
    let mut found = Defined(Assigned::default());
    found.visit_stmt(stmt);
    found.0.bound
}

/// Names that `+=` and its like change, and nothing else binds.
pub(crate) fn augmented(body: &[Stmt]) -> Vec<String> {
    #[derive(Default)]
    struct Augmented {
        changed: Vec<String>,
        bound: Assigned,
    }
    impl<'a> Visitor<'a> for Augmented {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::AugAssign(assign) => {
                    if let Expr::Name(name) = &*assign.target {
                        insert(&mut self.changed, name.id.as_str());
                    }
                }
                Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.bound.target(target)),
                _ => {}
            }
            walk_stmt(self, stmt);
        }
    }
    let mut found = Augmented::default();
    for stmt in body {
        found.visit_stmt(stmt);
    }
    let Augmented { mut changed, bound } = found;
    changed.retain(|name| !bound.bound.contains(name));
    changed
}

/// Every call in a body.
pub(crate) fn calls(body: &[Stmt]) -> Vec<&ExprCall> {
    struct Calls<'a>(Vec<&'a ExprCall>);
    impl<'a> Visitor<'a> for Calls<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Call(call) = expr {
                self.0.push(call);
            }
            walk_expr(self, expr);
        }
    }
    let mut calls = Calls(Vec::new());
    for stmt in body {
        calls.visit_stmt(stmt);
    }
    calls.0
}

impl Assigned {
    pub(crate) fn target(&mut self, target: &Expr) {
        match target {
            Expr::Name(name) => insert(&mut self.bound, name.id.as_str()),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| self.target(item)),
            Expr::List(list) => list.elts.iter().for_each(|item| self.target(item)),
            Expr::Starred(starred) => self.target(&starred.value),
            Expr::Attribute(_) | Expr::Subscript(_) => {
                if let Some(root) = root(target) {
                    insert(&mut self.updated, root);
                }
            }
            _ => {}
        }
    }
}

impl Assigned {
    /// A name that a call changes what it holds of.
    fn changed(&mut self, arg: &Expr) {
        if let Some(root) = root(arg) {
            insert(&mut self.updated, root);
        }
    }
}

impl<'a> Visitor<'a> for Assigned {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.target(target)),
            Stmt::AugAssign(assign) => self.target(&assign.target),
            Stmt::AnnAssign(assign) => self.target(&assign.target),
            Stmt::For(stmt) => self.target(&stmt.target),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    /// Some builtins store to their arguments: `randf(state)`.
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let name = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            let args = || call.arguments.iter_source_order();
            for &(_, index) in crate::warp::tiles::CHANGED.iter().filter(|(known, _)| *known == name) {
                let by_name = || {
                    call.arguments.keywords.iter().find(|keyword| names_out(keyword.arg.as_deref())).map(|k| &k.value)
                };
                if let Some(arg) = call.arguments.args.get(index).or_else(by_name) {
                    self.changed(arg);
                }
            }
            for &index in crate::warp::builtins::outputs(name, args().count()) {
                if let Some(arg) = args().nth(index) {
                    self.target(arg.value());
                }
            }
        }
        walk_expr(self, expr);
    }
}

/// The keywords by which functions are given a tile that they change.
fn names_out(keyword: Option<&str>) -> bool {
    matches!(keyword, Some("out" | "dst" | "dest" | "a" | "y" | "z" | "A" | "keys" | "values" | "inout"))
}

fn insert(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// The name at the bottom of `a.b[i].c`.
pub(crate) fn root(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        _ => None,
    }
}

/// Names that an expression reads and does not bind itself, as comprehensions and lambdas do.
pub(crate) fn free_names(expr: &Expr) -> Vec<String> {
    #[derive(Default)]
    struct Free {
        read: Vec<String>,
        bound: Vec<String>,
    }
    impl<'a> Visitor<'a> for Free {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(name) if name.ctx == ExprContext::Load => insert(&mut self.read, name.id.as_str()),
                Expr::Name(name) => insert(&mut self.bound, name.id.as_str()),
                _ => {}
            }
            walk_expr(self, expr);
        }

        fn visit_parameter(&mut self, parameter: &'a Parameter) {
            insert(&mut self.bound, parameter.name.as_str());
        }
    }
    let mut free = Free::default();
    free.visit_expr(expr);
    free.read.retain(|name| !free.bound.contains(name));
    free.read
}

/// Every place that reads a name, in order of the text.
pub(crate) fn reads(body: &[Stmt]) -> Vec<(String, u32)> {
    struct Reads(Vec<(String, u32)>);
    impl<'a> Visitor<'a> for Reads {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            if let Stmt::AugAssign(assign) = stmt
                && let Expr::Name(name) = &*assign.target
            {
                self.0.push((name.id.to_string(), name.start().into()));
            }
            walk_stmt(self, stmt);
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(name) if name.ctx == ExprContext::Load => {
                    self.0.push((name.id.to_string(), name.start().into()));
                }
                _ => {}
            }
            walk_expr(self, expr);
        }
    }
    let mut reads = Reads(Vec::new());
    for stmt in body {
        reads.visit_stmt(stmt);
    }
    reads.0
}

/// Whether a body has a `static(…)` expression that uses `name`: then the name must be known while lowering.
pub(crate) fn uses_in_static(body: &[Stmt], name: &str) -> bool {
    struct Statics<'n> {
        name: &'n str,
        depth: u32,
        is_found: bool,
    }
    impl<'a> Visitor<'a> for Statics<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            let is_static = matches!(expr, Expr::Call(call) if match &*call.func {
                Expr::Name(name) => name.id.as_str() == "static",
                Expr::Attribute(attribute) => attribute.attr.as_str() == "static",
                _ => false,
            });
            if let Expr::Name(found) = expr {
                self.is_found |= self.depth > 0 && found.id.as_str() == self.name;
            }
            self.depth += u32::from(is_static);
            walk_expr(self, expr);
            self.depth -= u32::from(is_static);
        }
    }
    let mut statics = Statics { name, depth: 0, is_found: false };
    for stmt in body {
        statics.visit_stmt(stmt);
    }
    statics.is_found
}

/// Whether a loop body leaves or repeats that very loop.
pub(crate) fn has_jump(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Break(_) | Stmt::Continue(_) => true,
        Stmt::If(stmt) => has_jump(&stmt.body) || stmt.elif_else_clauses.iter().any(|clause| has_jump(&clause.body)),
        _ => false,
    })
}
