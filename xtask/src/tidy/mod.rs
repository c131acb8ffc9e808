//! What the repository promises its readers, checked.
//!
//! In: the files that git tracks or would track. Out: one line a violation, `path:line: what is wrong`.
//! Each rule is a function over [`Tree`] in the file named for it; a test holds every rule against a wrong example.

mod documents;
mod layers;
mod lengths;
mod names;
mod scan;
mod words;

pub(crate) use documents::OPS;

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Every file of the repository, in order of path.
#[derive(Default)]
pub(crate) struct Tree {
    files: Vec<File>,
    /// Paths of those that are no text.
    pictures: Vec<String>,
}

pub(crate) struct File {
    /// From the root of the repository, with `/`.
    path: String,
    text: String,
}

/// One violation.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

pub(crate) fn run(root: &Path) -> ExitCode {
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: {error}");
            return ExitCode::from(2);
        }
    };
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [
        layers::check,
        lengths::check,
        names::check,
        words::check,
        documents::check_errors,
        documents::check_links,
        documents::check_ops,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

impl Tree {
    /// Reads what git tracks, and what it would track: a new file is checked before its first commit.
    fn read(root: &Path) -> Result<Tree, String> {
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        if !listing.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listing.stderr).trim()));
        }
        let mut paths: Vec<String> =
            String::from_utf8_lossy(&listing.stdout).split('\0').filter(|p| !p.is_empty()).map(String::from).collect();
        paths.sort();
        paths.dedup();
        let mut tree = Tree::default();
        for path in paths {
            match std::fs::read_to_string(root.join(&path)) {
                Ok(text) => tree.files.push(File { path, text }),
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => tree.pictures.push(path),
                // A deleted file is still listed.
                Err(_) => {}
            }
        }
        Ok(tree)
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        let ending = format!(".{extension}");
        self.files.iter().filter(move |file| file.path.ends_with(&ending))
    }
}

impl File {
    fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, message: message.into() }
    }
}

#[cfg(test)]
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files.iter().map(|(path, text)| File { path: path.to_string(), text: text.to_string() }).collect();
    Tree { files, pictures: Vec::new() }
}

#[cfg(test)]
pub(crate) fn lines(findings: Vec<Finding>) -> Vec<String> {
    findings.iter().map(Finding::to_string).collect()
}
