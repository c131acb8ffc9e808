//! `else` of loops: what runs unless the loop was left by `break`, told by a flag.
//!
//! ```text
//! for x in a:               .else9 = True
//!     if x > 0: break  ->   for x in a:
//! else:                         if x > 0: .else9 = False; break
//!     y = 1                 if .else9: y = 1
//! ```

use ruff_python_ast::name::Name;
use ruff_python_ast::{Expr, ExprBooleanLiteral, ExprContext, ExprName, Stmt, StmtAssign, StmtIf, Suite};
use ruff_text_size::{Ranged, TextRange};

/// The statements that a loop with an `else` stands for; none for any other statement.
pub(crate) fn without_else(stmt: &Stmt) -> Option<Vec<Stmt>> {
    let mut plain = stmt.clone();
    let (body, orelse) = match &mut plain {
        Stmt::For(stmt) => (&mut stmt.body, std::mem::take(&mut stmt.orelse)),
        Stmt::While(stmt) => (&mut stmt.body, std::mem::take(&mut stmt.orelse)),
        _ => return None,
    };
    if orelse.is_empty() {
        return None;
    }
    let range = stmt.range();
    // No name of Python's.
    let flag = format!(".else{}", u32::from(range.start()));
    if !marked(body, &flag) {
        return Some(std::iter::once(plain).chain(orelse).collect());
    }
    let test = StmtIf {
        node_index: Default::default(),
        range,
        test: Box::new(name(&flag, range, ExprContext::Load)),
        body: orelse,
        elif_else_clauses: Vec::new(),
    };
    Some(vec![assigned(&flag, true, range), plain, Stmt::If(test)])
}

/// Takes the flag down before each `break` of this very loop; whether there is one.
fn marked(body: &mut Suite, flag: &str) -> bool {
    let mut found = false;
    let mut at = 0;
    while at < body.len() {
        match &mut body[at] {
            Stmt::Break(stmt) => {
                let range = stmt.range;
                body.insert(at, assigned(flag, false, range));
                found = true;
                at += 1;
            }
            Stmt::If(stmt) => {
                found |= marked(&mut stmt.body, flag);
                for clause in &mut stmt.elif_else_clauses {
                    found |= marked(&mut clause.body, flag);
                }
            }
            // A `break` in the `else` of a loop inside leaves this one.
            Stmt::For(stmt) => found |= marked(&mut stmt.orelse, flag),
            Stmt::While(stmt) => found |= marked(&mut stmt.orelse, flag),
            _ => {}
        }
        at += 1;
    }
    found
}

fn name(flag: &str, range: TextRange, ctx: ExprContext) -> Expr {
    Expr::Name(ExprName { node_index: Default::default(), range, id: Name::new(flag), ctx })
}

fn assigned(flag: &str, value: bool, range: TextRange) -> Stmt {
    let value = Box::new(Expr::BooleanLiteral(ExprBooleanLiteral { node_index: Default::default(), range, value }));
    let targets = vec![name(flag, range, ExprContext::Store)];
    Stmt::Assign(StmtAssign { node_index: Default::default(), range, targets, value })
}
