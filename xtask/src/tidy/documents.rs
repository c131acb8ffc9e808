//! Documents that must agree with the code: the diagnostic codes, the op reference, links between files.

use super::scan::rust_code;
use super::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

const ERRORS: &str = "docs/errors.md";
pub(crate) const OPS: &str = "docs/ops.md";

/// Every code that the compiler reports of a program has a section in docs/errors.md, and every section a code.
pub(super) fn check_errors(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(ERRORS) else {
        return vec![Finding { path: ERRORS.into(), line: 1, message: "is missing".into() }];
    };
    let used = codes_in_use(tree);
    let listed: BTreeMap<&str, usize> = page
        .text
        .lines()
        .enumerate()
        .filter_map(|(at, line)| Some((line.strip_prefix("### `")?.split('`').next()?, at + 1)))
        .collect();
    let missing = used.iter().filter(|(code, _)| !listed.contains_key(code.as_str())).map(|(code, (path, line))| {
        Finding { path: path.clone(), line: *line, message: format!("diagnostic code `{code}` is not in {ERRORS}") }
    });
    let unused = listed.iter().filter(|(code, _)| !used.contains_key(**code));
    missing
        .chain(unused.map(|(code, line)| page.finding(*line, format!("no diagnostic has the code `{code}`"))))
        .collect()
}

/// Codes by their first place.
fn codes_in_use(tree: &Tree) -> BTreeMap<String, (String, usize)> {
    let mut codes = BTreeMap::new();
    let reports = |path: &str| ["crates/frontend/src/", "crates/autodiff/src/"].iter().any(|at| path.starts_with(at));
    for file in tree.with_extension("rs").filter(|file| reports(&file.path)) {
        // The blanked text says where code is; the literal itself is read from the source at the same place.
        let code = rust_code(&file.text);
        for call in CALLS {
            for (at, _) in code.match_indices(call) {
                let after = file.text[at + call.len()..].trim_start();
                let literal = after.strip_prefix('"').and_then(|text| text.split('"').next());
                let Some(literal) = literal.filter(|literal| is_code(literal)) else { continue };
                let line = file.text[..at].lines().count().max(1);
                codes.entry(literal.to_string()).or_insert((file.path.clone(), line));
            }
        }
    }
    codes
}

/// What stands before a code, where it is a literal.
const CALLS: &[&str] = &["Diagnostic::new(", "Diagnostic::warning(", ".report(", ".error(", "code: "];

fn is_code(literal: &str) -> bool {
    !literal.is_empty() && literal.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

/// docs/ops.md is what the op table says.
pub(super) fn check_ops(tree: &Tree) -> Vec<Finding> {
    let current = tree.file(OPS).is_some_and(|page| page.text == crate::ops::markdown());
    let finding = || Finding {
        path: OPS.into(),
        line: 1,
        message: "is not what the op table says: run `cargo xtask bless`".into(),
    };
    if current { Vec::new() } else { vec![finding()] }
}

/// A link from one document to a file of the repository leads somewhere.
pub(super) fn check_links(tree: &Tree) -> Vec<Finding> {
    let mut places: BTreeSet<&str> = BTreeSet::new();
    for file in &tree.files {
        places.extend(file.path.match_indices('/').map(|(at, _)| &file.path[..at]));
        places.insert(&file.path);
    }
    places.extend(tree.pictures.iter().map(String::as_str));
    let mut findings = Vec::new();
    for page in tree.with_extension("md") {
        let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut is_code = false;
        for (at, line) in page.text.lines().enumerate() {
            is_code ^= line.starts_with("```");
            // In code, `kernel[grid, block](x)` is a launch.
            let prose = if is_code { String::new() } else { line.split('`').step_by(2).collect() };
            for target in prose.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next()) {
                let outside = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
                if !outside && !places.contains(resolve(folder, target).as_str()) {
                    findings.push(page.finding(at + 1, format!("link to `{target}`, which is not there")));
                }
            }
        }
    }
    findings
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::{lines, tree};
    use super::*;

    #[test]
    fn codes_and_their_page_agree() {
        let code =
            "fn f() {\n    // Diagnostic::new(\"in-comment\"\n    Diagnostic::new(\n        \"unlisted\", s, m);\n}";
        let tree = tree(&[
            ("docs/errors.md", "# Errors\n### `gone`\n### `listed`\n"),
            ("crates/frontend/src/a.rs", code),
            ("crates/frontend/src/b.rs", "x.report(\"listed\", s, m); y.error(\"No code\")"),
        ]);
        assert_eq!(
            lines(check_errors(&tree)),
            [
                "crates/frontend/src/a.rs:3: diagnostic code `unlisted` is not in docs/errors.md",
                "docs/errors.md:2: no diagnostic has the code `gone`",
            ]
        );
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "[a](../README.md) [b](b.md#part) [c](https://x.org/y) [d](missing.md) [e](../docs/)";
        let mut tree = tree(&[("README.md", ""), ("docs/a.md", text), ("docs/b.md", ""), ("docs/c.md", "![f](f.png)")]);
        tree.pictures.push("docs/f.png".into());
        assert_eq!(lines(check_links(&tree)), ["docs/a.md:1: link to `missing.md`, which is not there"]);
    }

    #[test]
    fn an_old_op_reference_is_found() {
        assert_eq!(check_ops(&tree(&[(OPS, "old")])).len(), 1);
        assert_eq!(check_ops(&tree(&[(OPS, &crate::ops::markdown())])).len(), 0);
    }
}
