//! Things that must not stand in the code: unfinished work, tests switched off, places of one machine, `unsafe`
//! without the reason why it is sound.

use super::scan::{has_word, rust_code};
use super::{File, Finding, Tree};

/// In pieces, or this file would be its own finding.
const UNFINISHED: &[&str] = &[concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("d", "bg!(")];
const SWITCHED_OFF: &[&str] = &[concat!("#[ig", "nore"), concat!("mark.", "skip("), concat!("mark.", "xfail")];
const PLACES: &[&str] = &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/op", "t/")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        check_words(file, &mut findings);
        if file.path.ends_with(".rs") {
            check_unsafe(file, &mut findings);
        }
    }
    findings
}

fn check_words(file: &File, findings: &mut Vec<Finding>) {
    let source = file.path.ends_with(".rs") || file.path.ends_with(".py");
    for (at, line) in file.text.lines().enumerate() {
        for place in PLACES.iter().filter(|place| names_place(line, place)) {
            findings.push(file.finding(at + 1, format!("`{place}` is a place of one machine")));
        }
        for word in UNFINISHED.iter().filter(|word| source && line.contains(**word)) {
            findings.push(file.finding(at + 1, format!("`{word}…)` is unfinished work")));
        }
        for word in SWITCHED_OFF.iter().filter(|word| source && line.contains(**word)) {
            findings.push(file.finding(at + 1, format!("`{word}` switches a test off; assert what happens today")));
        }
    }
}

/// An absolute path: not the inner part of an address or of a longer path.
fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c)))
}

fn check_unsafe(file: &File, findings: &mut Vec<Finding>) {
    let code = rust_code(&file.text);
    let source: Vec<&str> = file.text.lines().collect();
    for (at, line) in code.lines().enumerate() {
        // `unsafe fn` states its demands in its docs, which clippy asks for; a block and an impl owe the proof here.
        let proof_owed = has_word(line, "unsafe")
            && line.split("unsafe").skip(1).any(|rest| {
                let rest = rest.trim_start();
                rest.starts_with('{') || rest.starts_with("impl")
            });
        if proof_owed && !is_proven(&source, at) {
            findings.push(file.finding(at + 1, "`unsafe` without a `// SAFETY:` line above it"));
        }
    }
}

/// Looks for the proof on the line itself, in the comment above it, or above the statement that it is part of.
fn is_proven(source: &[&str], at: usize) -> bool {
    if source[at].contains("SAFETY:") {
        return true;
    }
    for line in source[..at].iter().rev().map(|line| line.trim()) {
        if line.starts_with("//") {
            if line.contains("SAFETY:") {
                return true;
            }
        } else if line.is_empty() || line.ends_with([';', '{', '}']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::{lines, tree};
    use super::*;

    #[test]
    fn unfinished_work_is_found() {
        let tree = tree(&[("a.rs", concat!("fn f() { to", "do!() }"))]);
        assert_eq!(lines(check(&tree)), [concat!("a.rs:1: `to", "do!(…)` is unfinished work")]);
    }

    #[test]
    fn a_test_switched_off_is_found() {
        let tree = tree(&[("a.py", concat!("@pytest.mark.", "skip('later')"))]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn places_are_found() {
        let text = concat!("a = '/ho", "me/me/x'\nb = 'https://a.b/ho", "me/x'\nc = 'x/wo", "rk/y'\n");
        assert_eq!(lines(check(&tree(&[("a.md", text)]))), [concat!("a.md:1: `/ho", "me/` is a place of one machine")]);
    }

    #[test]
    fn unsafe_owes_its_proof() {
        let text = "\
// SAFETY: the pointer comes from a Box.
let a = unsafe { *p };
let b = unsafe { *q };
// SAFETY: both are alive.
let c = f(
    unsafe { *p },
);
/// # Safety
unsafe fn g() {}
// unsafe { }
";
        let found = lines(check(&tree(&[("a.rs", text)])));
        assert_eq!(found, ["a.rs:3: `unsafe` without a `// SAFETY:` line above it"]);
    }
}
