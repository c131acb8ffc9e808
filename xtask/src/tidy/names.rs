//! File names say what is inside; a name that fits every file says nothing.

use super::{Finding, Tree};

const EMPTY_WORDS: &[&str] = &[
    "manager", "helper", "helpers", "util", "utils", "handler", "handlers", "process", "data", "info", "misc", "core",
    "common",
];

/// Names that are not ours to choose.
const GIVEN: &[&str] = &[
    "crates/transform/src/eliminate_common_subexpressions.rs", // the textbook's
    "python/gridstride/utils.py",                              // Warp's: programs import it
    "python/gridstride/compat/internals/utils.py",             // Warp's
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !GIVEN.contains(&file.path.as_str())) {
        let words = file.path.split(|c: char| !c.is_ascii_alphanumeric());
        for word in words.filter(|word| EMPTY_WORDS.contains(&word.to_ascii_lowercase().as_str())) {
            findings.push(file.finding(1, format!("`{word}` in a file name says nothing; name it for what is inside")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::{lines, tree};
    use super::*;

    #[test]
    fn empty_words_are_found_in_files_and_folders() {
        let tree = tree(&[("a/string_utils.rs", ""), ("core/b.py", ""), ("score/database.py", "")]);
        assert_eq!(
            lines(check(&tree)),
            [
                "a/string_utils.rs:1: `utils` in a file name says nothing; name it for what is inside",
                "core/b.py:1: `core` in a file name says nothing; name it for what is inside",
            ]
        );
    }
}
