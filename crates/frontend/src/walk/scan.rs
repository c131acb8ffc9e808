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
    /// Targets of `+=` and its like, which change a tile in place.
    augmented: Vec<String>,
    /// Bound by another statement than `+=`.
    rebound: Vec<String>,
    /// What a name may be a view of: `row = t[i]`.
    looks: Vec<(String, Vec<String>)>,
    /// What functions get that may change a tile in place.
    handed: Vec<String>,
    /// Cells of tiles that functions change which capture them.
    pub(crate) cells: Vec<String>,
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
    /// What a call changes in place.
    fn changed(&mut self, arg: &Expr) {
        view_roots(arg).into_iter().for_each(|root| insert(&mut self.updated, root));
    }

    /// What a call may change in place if it is a tile.
    pub(crate) fn hand(&mut self, arg: &Expr) {
        view_roots(arg).into_iter().for_each(|root| insert(&mut self.handed, root));
    }

    /// Whether a name gets something else, and not only what it holds changes.
    pub(crate) fn rebinds(&self, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|known| known == name);
        has(&self.bound) && (has(&self.rebound) || !has(&self.augmented))
    }

    /// Names whose tile may be changed in place, itself or through views of it.
    pub(crate) fn in_place(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let direct = self.updated.iter().chain(&self.augmented).chain(&self.handed);
        direct.for_each(|name| insert(&mut names, name));
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            let looks = self.looks.iter().filter(|(view, _)| *view == name);
            looks.flat_map(|(_, roots)| roots).for_each(|root| insert(&mut names, root));
            at += 1;
        }
        names
    }

    fn bind(&mut self, target: &Expr, value: Option<&Expr>) {
        match (target, value) {
            (Expr::Name(name), _) => {
                insert(&mut self.rebound, name.id.as_str());
                let roots = value.map(view_roots).unwrap_or_default();
                self.looks.push((name.id.to_string(), roots.into_iter().map(str::to_owned).collect()));
            }
            (Expr::Tuple(targets), Some(Expr::Tuple(values))) if targets.elts.len() == values.elts.len() => {
                targets.elts.iter().zip(&values.elts).for_each(|(target, value)| self.bind(target, Some(value)));
            }
            (Expr::Tuple(targets), _) => targets.elts.iter().for_each(|target| self.bind(target, value)),
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Assigned {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.target(target);
                    self.bind(target, Some(&assign.value));
                }
            }
            Stmt::AugAssign(assign) => {
                self.target(&assign.target);
                if let Expr::Name(name) = &*assign.target {
                    insert(&mut self.augmented, name.id.as_str());
                }
            }
            Stmt::AnnAssign(assign) => {
                self.target(&assign.target);
                self.bind(&assign.target, assign.value.as_deref());
            }
            Stmt::For(stmt) => {
                self.target(&stmt.target);
                self.bind(&stmt.target, None);
            }
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

/// Functions that give a view of their first argument.
const VIEWS: [&str; 6] =
    ["tile_view", "tile_squeeze", "tile_reshape", "tile_transpose", "tile_broadcast", "tile_slice_indexed"];

/// The names of tiles that an expression may be a view of.
fn view_roots(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Call(call) => {
            let name = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => "",
            };
            let first = call.arguments.iter_source_order().next().filter(|_| VIEWS.contains(&name));
            first.map(|arg| view_roots(arg.value())).unwrap_or_default()
        }
        Expr::If(either) => [view_roots(&either.body), view_roots(&either.orelse)].concat(),
        Expr::Named(named) => view_roots(&named.value),
        _ => root(expr).into_iter().collect(),
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
