//! A file stays under 500 lines and a function under 100, so that each can be read in one go.

use super::scan::{has_word, python_code, rust_code};
use super::{File, Finding, Tree};

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.with_extension("rs").map(|file| (file, rust_functions(&rust_code(&file.text))));
    let python = tree.with_extension("py").map(|file| (file, python_functions(&python_code(&file.text))));
    rust.chain(python).flat_map(|(file, functions)| check_file(file, &functions)).collect()
}

fn check_file(file: &File, functions: &[Function]) -> Vec<Finding> {
    let n_lines = file.text.lines().count();
    let whole =
        (n_lines >= FILE_LINES).then(|| file.finding(1, format!("{n_lines} lines; a file stays under {FILE_LINES}")));
    let long = functions.iter().filter(|function| function.n_lines >= FUNCTION_LINES).map(|function| {
        let Function { name, line, n_lines } = function;
        file.finding(*line, format!("`{name}` has {n_lines} lines; a function stays under {FUNCTION_LINES}"))
    });
    whole.into_iter().chain(long).collect()
}

struct Function {
    name: String,
    /// From 1.
    line: usize,
    n_lines: usize,
}

/// Functions of blanked Rust text: from the line of `fn` to the line of the brace that closes it.
fn rust_functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| has_word(line, "fn"));
    starts.filter_map(|(start, line)| rust_function(&lines, start, line)).collect()
}

fn rust_function(lines: &[&str], start: usize, line: &str) -> Option<Function> {
    let at = line.match_indices("fn ").map(|(at, _)| at).find(|at| !line[..*at].ends_with(is_name))?;
    let name: String = line[at + 3..].trim_start().chars().take_while(|c| is_name(*c)).collect();
    if name.is_empty() {
        return None; // a function type
    }
    let mut braces = 0;
    let mut brackets = 0;
    for (end, line) in lines.iter().enumerate().skip(start) {
        let from = if end == start { at } else { 0 };
        for c in line[from..].chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                '{' => braces += 1,
                '}' => braces -= 1,
                // A declaration without a body; `[u8; 4]` in a signature is inside brackets.
                ';' if braces == 0 && brackets == 0 => return None,
                _ => {}
            }
            if c == '}' && braces == 0 {
                return Some(Function { name, line: start + 1, n_lines: end - start + 1 });
            }
        }
    }
    None
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Functions of blanked Python text: from `def` to the last line that is indented deeper.
fn python_functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let mut functions = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(rest) = trimmed.strip_prefix("async def ").or_else(|| trimmed.strip_prefix("def ")) else { continue };
        let name = rest.chars().take_while(|c| is_name(*c)).collect();
        let indent = line.len() - trimmed.len();
        let outside = |line: &str| !line.trim().is_empty() && line.len() - line.trim_start().len() <= indent;
        // A signature may close its parenthesis at the depth of its `def`.
        let body = (start + 1..lines.len()).find(|at| !lines[*at].trim_start().starts_with(')') && outside(lines[*at]));
        let end = body.unwrap_or(lines.len());
        let last = (start..end).rev().find(|at| !lines[*at].trim().is_empty()).unwrap_or(start);
        functions.push(Function { name, line: start + 1, n_lines: last - start + 1 });
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::super::{lines, tree};
    use super::*;

    fn body(n_lines: usize, line: &str) -> String {
        vec![line; n_lines].join("\n")
    }

    #[test]
    fn a_long_rust_function_is_found() {
        let fits = format!("impl A {{\n    fn fits(a: [u8; 4]) {{\n{}\n    }}\n}}", body(97, "let b = '{';"));
        let long = format!("fn declared();\ntype F = fn(u8) -> u8;\npub fn long(\n) {{\n{}\n}}", body(98, "{ }"));
        let tree = tree(&[("a.rs", &fits), ("b.rs", &long)]);
        assert_eq!(lines(check(&tree)), ["b.rs:3: `long` has 101 lines; a function stays under 100"]);
    }

    #[test]
    fn a_long_python_function_is_found() {
        let fits = format!("def fits(\n    a,\n):\n{}\n\n\nx = 1\n", body(96, "    \"\"\"a\ndef \"\"\""))
            .replace("a\ndef", "a def");
        let long = format!("class A:\n    def long(self):\n{}\n\n    def next(self): pass\n", body(99, "        pass"));
        let tree = tree(&[("a.py", &fits), ("b.py", &long)]);
        assert_eq!(lines(check(&tree)), ["b.py:2: `long` has 100 lines; a function stays under 100"]);
    }

    #[test]
    fn a_long_file_is_found() {
        let tree = tree(&[("a.py", &body(500, "pass")), ("b.py", &body(499, "pass")), ("c.md", &body(600, "text"))]);
        assert_eq!(lines(check(&tree)), ["a.py:1: 500 lines; a file stays under 500"]);
    }
}
