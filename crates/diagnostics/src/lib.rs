//! Source positions and the reports that point at them.
//!
//! In: spans that the front end attached to what it built. Out: text with a caret under the user's own source:
//!
//! ```text
//! error[type-mismatch]: cannot add `f32` and `i32`
//!   --> demo.py:15:12
//!    |
//! 15 |     y[i] = a * x[i] + y[i]
//!    |            ^^^^^^^^^^^^^^^ no implicit conversion
//!    |
//!    = help: write `f32(y[i])`
//! ```

mod render;
mod source;

pub use render::render;
pub use source::{FileId, SourceFile, SourceMap, Span};

/// One mistake of the user's, or what may be one, in the user's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable name, `type-mismatch`; listed in docs/errors.md.
    pub code: &'static str,
    /// What is said of the program, which is compiled all the same.
    pub is_warning: bool,
    /// One short line: lower case, no full stop, the user's names in backticks.
    pub message: String,
    /// What the message is about.
    pub span: Span,
    /// Text beside the caret of `span`; may be empty.
    pub label: String,
    /// Further places, each with its own text (the other definition, the call that led here).
    pub labels: Vec<(Span, String)>,
    /// What to write instead, or what is allowed.
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        let (message, label) = (message.into(), String::new());
        Diagnostic { code, is_warning: false, message, span, label, labels: Vec::new(), help: None }
    }

    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { is_warning: true, ..Diagnostic::new(code, span, message) }
    }

    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push((span, text.into()));
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}
