//! The code of a source file without its strings and comments.
//!
//! In: Rust or Python text. Out: the same text, line for line, with the contents of strings and comments blanked, so
//! that a rule can search words and count braces. Knows tokens, not grammar.
//!
//! `let a = "{ fn"; // }`    ->    `let a = "    ";     `

/// Blanks strings, characters and comments of Rust text.
pub(super) fn rust_code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Blanked::new(bytes);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let word_before = at > 0 && is_word(bytes[at - 1]);
        at = if rest.starts_with(b"//") {
            code.blank(at, line_end(bytes, at))
        } else if rest.starts_with(b"/*") {
            code.blank(at, block_comment_end(bytes, at))
        } else if let Some(end) = (!word_before).then(|| raw_string_end(bytes, at)).flatten() {
            code.blank(at, end)
        } else if rest[0] == b'"' {
            code.blank(at + 1, quoted_end(bytes, at, b'"') - 1) + 1
        } else if rest[0] == b'\'' && is_char_literal(rest) {
            code.blank(at + 1, quoted_end(bytes, at, b'\'') - 1) + 1
        } else {
            at + 1
        };
    }
    code.into_text()
}

/// Blanks strings and comments of Python text.
pub(super) fn python_code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Blanked::new(bytes);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at = match rest[0] {
            b'#' => code.blank(at, line_end(bytes, at)),
            quote @ (b'"' | b'\'') if rest.starts_with(&[quote; 3]) => {
                code.blank(at + 3, triple_quoted_end(bytes, at + 3, quote))
            }
            quote @ (b'"' | b'\'') => code.blank(at + 1, quoted_end(bytes, at, quote) - 1) + 1,
            _ => at + 1,
        };
    }
    code.into_text()
}

/// Whether `word` stands in `line` as a word of its own.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].bytes().next_back().is_some_and(is_word);
        let after = line[at + word.len()..].bytes().next().is_some_and(is_word);
        !before && !after
    })
}

struct Blanked {
    bytes: Vec<u8>,
}

impl Blanked {
    fn new(bytes: &[u8]) -> Self {
        Blanked { bytes: bytes.to_vec() }
    }

    /// Blanks a range, keeps its line ends, gives its end.
    fn blank(&mut self, from: usize, to: usize) -> usize {
        let to = to.max(from).min(self.bytes.len());
        self.bytes[from.min(to)..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        to
    }

    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

/// Rust's block comments nest.
fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The end of `r"…"`, `r#"…"#`, `br##"…"##` that starts here.
fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let rest = &bytes[start..];
    let prefix = [&b"br"[..], b"cr", b"r"].into_iter().find(|prefix| rest.starts_with(prefix))?.len();
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(hashes + 1, b'#');
    let length = rest[open + 1..].windows(closing.len()).position(|window| window == closing);
    Some(length.map_or(bytes.len(), |length| start + open + 1 + length + closing.len()))
}

/// One past the closing quote of the string or character that opens at `start`.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn triple_quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            _ if bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn is_char_literal(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) => {
            let width = if *first < 0x80 { 1 } else { first.leading_ones() as usize };
            rest.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_strings_and_comments_are_blanked() {
        let text = "a(\"{\\\"}\", '{', '\\'', 'é') // {\n/* { /* } */ */ b r#\"}\"{\"# 'static {";
        let code = rust_code(text);
        assert_eq!(code.matches('{').count(), 1, "{code}");
        assert_eq!(code.matches('}').count(), 0, "{code}");
        assert_eq!(code.lines().count(), text.lines().count());
        assert!(code.contains("'static {"));
    }

    #[test]
    fn python_strings_and_comments_are_blanked() {
        let text = "a = '''def\ndef'''  # def\nb = \"def \\\" def\"\ndef f(): pass";
        let code = python_code(text);
        assert_eq!(code.matches("def").count(), 1, "{code}");
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("x = unsafe {", "unsafe"));
        assert!(!has_word("unsafe_op_in_unsafe_fn", "unsafe"));
    }
}
