//! A position in the text, and the smallest pieces read there.

use super::{ParseError, Parsed};
use crate::func::Value;
use crate::literal::is_name_char;

/// Highest value number: the table of values has a row for each number below the highest used.
const MAX_VALUE: u64 = 1_000_000;

#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Where the next piece starts, for [`Cursor::error_at`].
    pub(super) fn position(&mut self) -> usize {
        self.skip();
        self.at
    }

    pub(super) fn error(&mut self, message: &str) -> ParseError {
        let at = self.position();
        self.error_at(at, message)
    }

    pub(super) fn error_at(&self, at: usize, message: &str) -> ParseError {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.matches('\n').count() + 1;
        ParseError { line, column: before[line_start..].chars().count() + 1, message: message.to_string() }
    }

    /// Skips blanks, line breaks and comments, but not a `;` between instructions.
    fn skip(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.is_at_comment() {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn is_at_comment(&self) -> bool {
        let starts_line = || {
            let before = self.text[..self.at].trim_end_matches([' ', '\t', '\r']);
            before.is_empty() || before.ends_with('\n')
        };
        self.rest().starts_with(";;") || self.rest().starts_with(';') && starts_line()
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    /// Whether the instruction ends here, so that operands would be another line's.
    pub(super) fn is_at_inst_end(&self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t', '\r']);
        rest.is_empty() || rest.starts_with(['\n', ';', '}'])
    }

    /// The place of the next piece, without going there: line breaks end instructions.
    fn ahead(&self) -> Cursor<'a> {
        let mut ahead = self.clone();
        ahead.skip();
        ahead
    }

    pub(super) fn is_at(&self, token: &str) -> bool {
        self.ahead().rest().starts_with(token)
    }

    /// Takes a piece of punctuation where it is next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let ahead = self.ahead();
        let is_next = ahead.rest().starts_with(token);
        if is_next {
            self.at = ahead.at + token.len();
        }
        is_next
    }

    /// Takes a character that must follow without a blank.
    pub(super) fn eat_attached(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.at += c.len_utf8();
        }
        is_next
    }

    pub(super) fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(self.error(&format!("expected `{token}`"))) }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A name, plain or in quotes.
    pub(super) fn name(&mut self) -> Parsed<String> {
        if self.is_at("\"") {
            return self.string();
        }
        self.skip();
        let name = self.take_while(is_name_char);
        if name.is_empty() { Err(self.error("expected a name")) } else { Ok(name.to_string()) }
    }

    /// The name that would come next, without taking it.
    pub(super) fn peek_name(&self) -> &'a str {
        self.ahead().take_while(is_name_char)
    }

    pub(super) fn dashed_name(&mut self) -> Parsed<String> {
        self.skip();
        let name = self.take_while(|c| is_name_char(c) || c == '-');
        if name.is_empty() { Err(self.error("expected a name")) } else { Ok(name.to_string()) }
    }

    /// Takes this very word.
    pub(super) fn word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.error(&format!("expected `{word}`"))) }
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.peek_name() == word;
        if is_next {
            self.at = self.ahead().at + word.len();
        }
        is_next
    }

    pub(super) fn integer(&mut self) -> Parsed<u64> {
        let at = self.position();
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| self.error_at(at, "expected a number"))
    }

    pub(super) fn integer32(&mut self) -> Parsed<u32> {
        let at = self.position();
        u32::try_from(self.integer()?).map_err(|_| self.error_at(at, "the number is too large"))
    }

    /// Whatever may be a constant: digits, signs, dots, exponents, words.
    pub(super) fn literal(&mut self) -> &'a str {
        self.skip();
        self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
    }

    /// `v3`.
    pub(super) fn value(&mut self) -> Parsed<Value> {
        let at = self.position();
        if !self.eat("v") {
            return Err(self.error("expected a value such as `v3`"));
        }
        // A dot after the number goes on with a path.
        let digits = self.take_while(|c| c.is_ascii_digit());
        let is_longer = self.peek().is_some_and(|c| is_name_char(c) && c != '.');
        match digits.parse::<u64>() {
            Ok(number) if number <= MAX_VALUE && !is_longer => Ok(Value(number as u32)),
            Ok(_) if !is_longer => Err(self.error_at(at, &format!("values are numbered up to v{MAX_VALUE}"))),
            _ => Err(self.error_at(at, "expected a value such as `v3`")),
        }
    }

    /// Whether `v3` comes next.
    pub(super) fn is_at_value(&self) -> bool {
        let name = self.peek_name();
        name.strip_prefix('v').is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Text in double quotes.
    pub(super) fn string(&mut self) -> Parsed<String> {
        let at = self.position();
        self.expect("\"")?;
        let mut out = String::new();
        loop {
            let c = self.peek().ok_or_else(|| self.error_at(at, "the string has no end"))?;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let at = self.at;
        let wrong = |cursor: &Self| cursor.error_at(at, "expected `\\\"`, `\\\\`, `\\n` or `\\u{…}`");
        let c = self.peek().ok_or_else(|| wrong(self))?;
        self.at += c.len_utf8();
        match c {
            '"' | '\\' => Ok(c),
            'n' => Ok('\n'),
            'u' if self.eat_attached('{') => {
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                if self.eat_attached('}') { c.ok_or_else(|| wrong(self)) } else { Err(wrong(self)) }
            }
            _ => Err(wrong(self)),
        }
    }
}
