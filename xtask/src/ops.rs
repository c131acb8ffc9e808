//! docs/ops.md: the op table as a page.
//!
//! In: the rows of `ir::op`. Out: one line an op, in the order of the table.

use ir::Op;
use ir::op::{AttrKind, Effect, Rule};
use std::fmt::Write;

const HEAD: &str = "\
# Operations of the IR

Made from the table in [crates/ir/src/op.rs](../crates/ir/src/op.rs) by `cargo xtask bless`; change it there.

*Takes*: how many operands, of which scalars; *composite* where vectors, matrices and the like go component by
component. An op with a rule of its own says it in its meaning. *Effect*: a pure op may be moved, merged and removed; a
check may end its thread; one that syncs communicates with other threads and stays where it is.

| op | takes | carries | effect | meaning |
|---|---|---|---|---|
";

pub(crate) fn markdown() -> String {
    let mut page = HEAD.to_string();
    for op in Op::ALL {
        let (takes, carries, effect) = (takes(op.rule()), carries(op.attr_kind()), effect(op.effect()));
        let doc = op.doc().replace('|', "\\|");
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| `{}` | {takes} | {carries} | {effect} | {doc} |", op.name());
    }
    page
}

fn takes(rule: Rule) -> String {
    let listed = |classes: &[ir::Class]| {
        classes.iter().map(|class| format!("{class:?}").to_lowercase()).collect::<Vec<_>>().join(", ")
    };
    match rule {
        Rule::Same { n, classes } => format!("{n} {}, composite", listed(classes)),
        Rule::SameScalar { n, classes } => format!("{n} {}", listed(classes)),
        Rule::Compare { classes } => format!("2 {}, gives bool", listed(classes)),
        Rule::FloatTest => "1 float, gives bool".into(),
        Rule::Own => "own rule".into(),
    }
}

fn carries(attr: AttrKind) -> &'static str {
    match attr {
        AttrKind::None => "",
        AttrKind::Const => "constant",
        AttrKind::Index => "number",
        AttrKind::Extents => "extents",
        AttrKind::Path => "path",
        AttrKind::Atomic => "operation, path",
        AttrKind::Site => "site",
        AttrKind::Text => "text",
        AttrKind::Func => "function",
        AttrKind::Scope => "block, device or system",
        AttrKind::Shuffle => "idx, up, down or xor",
        AttrKind::Vote => "all, any, uni or ballot",
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "pure",
        Effect::Read => "reads",
        Effect::Write => "writes",
        Effect::Check => "check",
        Effect::Print => "prints",
        Effect::Sync => "syncs",
        Effect::Control => "control",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_has_its_line() {
        let page = markdown();
        for op in Op::ALL {
            assert_eq!(page.matches(&format!("| `{}` |", op.name())).count(), 1, "{}", op.name());
        }
    }
}
