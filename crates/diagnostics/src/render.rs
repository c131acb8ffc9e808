//! Draws a [`Diagnostic`] as text for a terminal or an exception.

use crate::{Diagnostic, SourceMap, Span};
use std::fmt::Write;

/// The report with its source lines. A span of [`Span::NONE`] leaves the excerpt out.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let kind = if diagnostic.is_warning { "warning" } else { "error" };
    let mut out = format!("{kind}[{}]: {}", diagnostic.code, diagnostic.message);
    excerpt(&mut out, diagnostic.span, &diagnostic.label, '^', "-->", sources);
    for (span, text) in &diagnostic.labels {
        excerpt(&mut out, *span, text, '-', ":::", sources);
    }
    if let Some(help) = &diagnostic.help {
        // Under the bar of the excerpt, which stands behind the line's number.
        let bar = sources
            .get(diagnostic.span.file)
            .map_or(1, |file| file.position(diagnostic.span.start).0.to_string().len());
        let _ = write!(out, "\n{:bar$}  = help: {help}", "");
    }
    out
}

fn excerpt(out: &mut String, span: Span, label: &str, mark: char, arrow: &str, sources: &SourceMap) {
    let Some(file) = sources.get(span.file) else { return };
    let (line, column) = file.position(span.start);
    let text = file.line(line);
    let (end_line, end_column) = file.position(span.end);
    // A span over several lines is marked to the end of its first one.
    let last = if end_line == line { end_column } else { text.chars().count() as u32 + 1 };
    let n_marks = last.saturating_sub(column).max(1) as usize;
    let number = line.to_string();
    let pad = " ".repeat(number.len());
    // Tabs stay tabs under the line, so that the caret stays under its column.
    let indent: String = text.chars().take(column as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let marks: String = std::iter::repeat_n(mark, n_marks).collect();
    let _ = write!(
        out,
        "\n{pad} {arrow} {}:{line}:{column}\n{pad}  |\n{number}  | {text}\n{pad}  | {indent}{marks}",
        file.name
    );
    if !label.is_empty() {
        let _ = write!(out, " {label}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceFile;
    use std::sync::Arc;

    #[test]
    fn a_report_has_line_caret_and_help() {
        let mut sources = SourceMap::default();
        let file = sources.add(Arc::new(SourceFile::new("demo.py", "def f():\n    y = a + b\n")));
        let report = Diagnostic::new("type-mismatch", Span::new(file, 17, 22), "cannot add `f32` and `i32`")
            .label("no implicit conversion")
            .help("write `f32(b)`");
        let expected = "\
error[type-mismatch]: cannot add `f32` and `i32`
  --> demo.py:2:9
   |
2  |     y = a + b
   |         ^^^^^ no implicit conversion
   = help: write `f32(b)`";
        assert_eq!(render(&report, &sources), expected);
    }
}
