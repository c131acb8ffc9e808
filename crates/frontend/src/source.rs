//! Files of Python text, each parsed once, and functions found in them by line.
//!
//! A file that does not parse as a whole (a notebook cell with a magic, say) still yields its functions.

use diagnostics::SourceFile;
use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{ModModule, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::Ranged;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// A file and its syntax tree.
#[derive(Debug)]
pub struct ParsedFile {
    pub file: Arc<SourceFile>,
    syntax: Option<Parsed<ModModule>>,
}

impl ParsedFile {
    /// Parses `text`, or finds the tree of an earlier call with the same name and text.
    pub fn open(name: &str, text: &Arc<str>) -> Arc<ParsedFile> {
        static FILES: OnceLock<Mutex<HashMap<String, Arc<ParsedFile>>>> = OnceLock::new();
        let mut files = FILES.get_or_init(Default::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = files.get(name).filter(|known| known.file.text == *text) {
            return known.clone();
        }
        let file = Arc::new(SourceFile::new(name, text.clone()));
        let syntax = parse_unchecked(text, ParseOptions::from(Mode::Module)).try_into_module();
        let parsed = Arc::new(ParsedFile { file, syntax });
        // Only the latest text of a name is kept: notebooks and exec'd strings come under ever new names or texts.
        files.insert(name.to_owned(), parsed.clone());
        parsed
    }

    /// The function named `name` whose first decorator, or `def`, is on `first_line` (from 1). Without a name match
    /// the line alone decides, for functions that were renamed after their definition.
    pub fn function(&self, name: &str, first_line: u32) -> Option<&StmtFunctionDef> {
        let mut finder = Finder { file: &self.file, first_line, found: Vec::new() };
        for stmt in &self.syntax.as_ref()?.syntax().body {
            finder.visit_stmt(stmt);
        }
        let named = finder.found.iter().find(|def| def.name.as_str() == name);
        named.or(finder.found.first()).copied()
    }

    /// The top-level functions of the file, in order.
    pub fn functions(&self) -> impl Iterator<Item = &StmtFunctionDef> {
        self.statements().filter_map(|stmt| if let Stmt::FunctionDef(def) = stmt { Some(def) } else { None })
    }

    /// The top-level classes of the file, in order.
    pub fn classes(&self) -> impl Iterator<Item = &StmtClassDef> {
        self.statements().filter_map(|stmt| if let Stmt::ClassDef(def) = stmt { Some(def) } else { None })
    }

    fn statements(&self) -> impl Iterator<Item = &Stmt> {
        self.syntax.as_ref().map(|parsed| parsed.syntax().body.iter()).into_iter().flatten()
    }
}

struct Finder<'a> {
    file: &'a SourceFile,
    first_line: u32,
    found: Vec<&'a StmtFunctionDef>,
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::FunctionDef(def) = stmt {
            let line = |offset: ruff_text_size::TextSize| self.file.position(offset.into()).0;
            // Python 3.8 and later count from the first decorator.
            let first = line(def.decorator_list.first().map_or(def.start(), Ranged::start));
            if first == self.first_line || line(def.name.start()) == self.first_line {
                self.found.push(def);
            }
        }
        walk_stmt(self, stmt);
    }

    /// Functions are statements: expressions, most of a file, need not be walked.
    fn visit_expr(&mut self, _: &'a ruff_python_ast::Expr) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, name: &str, line: u32) -> Option<String> {
        ParsedFile::open("t.py", &text.into()).function(name, line).map(|def| def.name.to_string())
    }

    #[test]
    fn a_function_is_found_by_its_decorator_or_def() {
        let text = "import x\n\n@a\n@b(1)\ndef f():\n    pass\n\nclass C:\n    def g(self): pass\n";
        assert_eq!(find(text, "f", 3).as_deref(), Some("f"));
        assert_eq!(find(text, "f", 5).as_deref(), Some("f"));
        assert_eq!(find(text, "g", 9).as_deref(), Some("g"));
        assert_eq!(find(text, "f", 1), None);
    }

    #[test]
    fn a_broken_line_does_not_hide_a_function() {
        assert_eq!(find("%magic here\n\ndef f():\n    return 1\n", "f", 3).as_deref(), Some("f"));
    }
}
