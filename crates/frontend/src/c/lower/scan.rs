//! What statements change, found before they are lowered.

use crate::c::ast::{Declarator, Expr, ExprKind, Name, Program, Stmt, StmtKind, TypeExpr, TypeKind, Unary};

/// A variable that statements assign to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Changed {
    pub(super) name: Name,
    /// Whether it is assigned itself, and not what it leads to or a part of it.
    pub(super) is_direct: bool,
    /// Whether a pointer among these may come to point into other memory, and is not just moved.
    pub(super) is_whole: bool,
}

/// Calls `look` with every expression in a statement, the outer before the inner.
pub(super) fn each_expr<'a>(stmt: &'a Stmt, look: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Expr(expr) | StmtKind::Return(Some(expr)) => in_expr(expr, look),
        StmtKind::Declare(list) => list.iter().filter_map(|one| one.init.as_ref()).for_each(|init| in_expr(init, look)),
        StmtKind::Block(body) => body.iter().for_each(|stmt| each_expr(stmt, look)),
        StmtKind::If(test, then, other) => {
            in_expr(test, look);
            each_expr(then, look);
            other.iter().for_each(|stmt| each_expr(stmt, look));
        }
        StmtKind::While(test, body) | StmtKind::DoWhile(body, test) => {
            in_expr(test, look);
            each_expr(body, look);
        }
        StmtKind::For(parts) => {
            each_expr(&parts.init, look);
            parts.test.iter().chain(&parts.step).for_each(|expr| in_expr(expr, look));
            each_expr(&parts.body, look);
        }
        StmtKind::Switch(value, cases) => {
            in_expr(value, look);
            cases.iter().flat_map(|case| &case.body).for_each(|stmt| each_expr(stmt, look));
        }
        StmtKind::Return(None) | StmtKind::Break | StmtKind::Continue | StmtKind::Empty => {}
    }
}

/// Calls `look` with an expression and all within it.
pub(super) fn in_expr<'a>(expr: &'a Expr, look: &mut dyn FnMut(&'a Expr)) {
    look(expr);
    match &expr.kind {
        ExprKind::Unary(_, x) | ExprKind::Step(_, _, x) | ExprKind::Member(x, ..) | ExprKind::Cast(_, x) => {
            in_expr(x, look);
        }
        ExprKind::Binary(_, x, y) | ExprKind::Logical(_, x, y) | ExprKind::Assign(_, x, y) => {
            in_expr(x, look);
            in_expr(y, look);
        }
        ExprKind::Comma(x, y) | ExprKind::Index(x, y) => {
            in_expr(x, look);
            in_expr(y, look);
        }
        ExprKind::Conditional(x, y, z) => [x, y, z].into_iter().for_each(|expr| in_expr(expr, look)),
        ExprKind::Method(x, _, args) => {
            in_expr(x, look);
            args.iter().for_each(|arg| in_expr(arg, look));
        }
        ExprKind::Call(_, _, args) | ExprKind::Construct(_, args) | ExprKind::Braces(args) => {
            args.iter().for_each(|arg| in_expr(arg, look));
        }
        ExprKind::Int(..)
        | ExprKind::Float(..)
        | ExprKind::Bool(_)
        | ExprKind::Str(_)
        | ExprKind::Null
        | ExprKind::Name(_)
        | ExprKind::SizeOf(_)
        | ExprKind::SizeOfValue(_) => {}
    }
}

/// The variable at the bottom of `a.b[i]`.
pub(super) fn root(expr: &Expr) -> Option<&Name> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Member(base, _, false) | ExprKind::Index(base, _) => root(base),
        _ => None,
    }
}

/// Variables whose addresses are taken, or that a reference may stand for.
pub(super) fn addressed(body: &[Stmt], program: &Program) -> Vec<Name> {
    let mut found = Vec::new();
    let is_reference = |ty: &TypeExpr| matches!(ty.kind, TypeKind::Reference(_));
    for stmt in body {
        each_expr(stmt, &mut |expr| match &expr.kind {
            ExprKind::Unary(Unary::Address, operand) => found.extend(root(operand).cloned()),
            ExprKind::Call(name, _, args) => {
                for function in program.functions.iter().filter(|function| function.name == *name) {
                    let taken = function.params.iter().zip(args).filter(|(param, _)| is_reference(&param.ty));
                    found.extend(taken.filter_map(|(_, arg)| root(arg).cloned()));
                }
            }
            _ => {}
        });
        each_declared(stmt, &mut |one| {
            found.extend(one.init.as_ref().filter(|_| is_reference(&one.ty)).and_then(root).cloned());
        });
    }
    found
}

/// Calls `look` with every variable that a statement declares.
pub(super) fn each_declared<'a>(stmt: &'a Stmt, look: &mut dyn FnMut(&'a Declarator)) {
    match &stmt.kind {
        StmtKind::Declare(list) => list.iter().for_each(|one| look(one)),
        StmtKind::Block(body) => body.iter().for_each(|stmt| each_declared(stmt, look)),
        StmtKind::If(_, then, other) => {
            each_declared(then, look);
            other.iter().for_each(|stmt| each_declared(stmt, look));
        }
        StmtKind::While(_, body) | StmtKind::DoWhile(body, _) => each_declared(body, look),
        StmtKind::For(parts) => {
            each_declared(&parts.init, look);
            each_declared(&parts.body, look);
        }
        StmtKind::Switch(_, cases) => {
            cases.iter().flat_map(|case| &case.body).for_each(|stmt| each_declared(stmt, look))
        }
        _ => {}
    }
}

/// The variables that statements and expressions change.
pub(super) fn changed(stmts: &[&Stmt], exprs: &[&Expr]) -> Vec<Changed> {
    let mut found: Vec<Changed> = Vec::new();
    let mut look = |expr: &Expr| {
        let (target, is_whole) = match &expr.kind {
            ExprKind::Assign(op, target, _) => (target, op.is_none()),
            ExprKind::Step(_, _, target) => (target, false),
            _ => return,
        };
        let Some(name) = root(target) else { return };
        let is_direct = matches!(target.kind, ExprKind::Name(_));
        let is_whole = is_whole && is_direct;
        match found.iter_mut().find(|known| known.name == *name) {
            Some(known) => {
                known.is_direct |= is_direct;
                known.is_whole |= is_whole;
            }
            None => found.push(Changed { name: name.clone(), is_direct, is_whole }),
        }
    };
    stmts.iter().for_each(|stmt| each_expr(stmt, &mut look));
    exprs.iter().for_each(|expr| in_expr(expr, &mut look));
    found
}

/// Whether statements have a `break` (or `continue`) of the loop or switch that they are the body of.
pub(super) fn has_jump(stmt: &Stmt, is_break: bool) -> bool {
    match &stmt.kind {
        StmtKind::Break => is_break,
        StmtKind::Continue => !is_break,
        StmtKind::Block(body) => body.iter().any(|stmt| has_jump(stmt, is_break)),
        StmtKind::If(_, then, other) => {
            has_jump(then, is_break) || other.as_ref().is_some_and(|stmt| has_jump(stmt, is_break))
        }
        // A `continue` in a switch is the loop's around it.
        StmtKind::Switch(_, cases) => {
            !is_break && cases.iter().flat_map(|case| &case.body).any(|stmt| has_jump(stmt, is_break))
        }
        _ => false,
    }
}

/// Whether an expression gives the same wherever it stands in a loop that changes `changed`: it reads no memory, calls
/// nothing and changes nothing.
pub(super) fn is_fixed(expr: &Expr, changed: &[Changed]) -> bool {
    let mut holds = true;
    in_expr(expr, &mut |expr| {
        holds &= match &expr.kind {
            ExprKind::Name(name) => !changed.iter().any(|one| one.name == *name),
            ExprKind::Unary(op, _) => !matches!(op, Unary::Deref | Unary::Address),
            ExprKind::Member(_, _, is_arrow) => !is_arrow,
            ExprKind::Assign(..) | ExprKind::Step(..) | ExprKind::Index(..) | ExprKind::Method(..) => false,
            ExprKind::Call(name, ..) => matches!(&**name, "min" | "max"),
            _ => true,
        };
    });
    holds
}
