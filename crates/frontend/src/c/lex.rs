//! Characters to tokens: names, numbers, strings and punctuation, each with where it stands.

use diagnostics::{Diagnostic, FileId, Span};
use ir::Scalar;
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name(Rc<str>),
    Int(i128, Scalar),
    Float(f64, Scalar),
    Char(i8),
    Str(Rc<str>),
    Punct(&'static str),
    /// The end of the text.
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// Whether it is the first of its line: there a `#` begins a directive.
    pub(super) starts_line: bool,
    /// Whether it follows the token before without a blank: `f(x)` of a macro, not `f (x)`.
    pub(super) is_joined: bool,
}

impl Token {
    pub(super) fn is(&self, punct: &str) -> bool {
        matches!(self.kind, Kind::Punct(found) if found == punct)
    }

    pub(super) fn name(&self) -> Option<&Rc<str>> {
        if let Kind::Name(name) = &self.kind { Some(name) } else { None }
    }
}

/// Longer ones first.
const PUNCTUATION: [&str; 47] = [
    "<<=", ">>=", "...", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", "##", "{", "}", "(", ")", "[", "]", ";", ",", ".", "?", ":", "+", "-", "*", "/", "%",
    "&", "|", "^", "~", "!", "<", ">",
];
const LAST_PUNCTUATION: [&str; 2] = ["=", "#"];

/// The tokens of a text, without comments, and what was no token.
pub(super) fn lex(text: &str, file: FileId) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer { text, at: 0, file, errors: Vec::new() };
    let mut tokens: Vec<Token> = Vec::new();
    loop {
        let (starts_line, is_apart) = lexer.skip_blanks();
        let starts_line = starts_line || tokens.is_empty();
        let start = lexer.at;
        let Some(kind) = lexer.next() else { continue };
        let is_end = kind == Kind::End;
        tokens.push(Token { kind, span: lexer.span(start), starts_line: starts_line || is_end, is_joined: !is_apart });
        if is_end {
            return (tokens, lexer.errors);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    file: FileId,
    errors: Vec<Diagnostic>,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.file, start as u32, self.at as u32)
    }

    fn error(&mut self, start: usize, message: impl Into<String>, help: &str) {
        let span = self.span(start);
        self.errors.push(Diagnostic::new("c-syntax", span, message).help(help));
    }

    /// Passes blanks and comments. Whether a line ended, and whether there was anything.
    fn skip_blanks(&mut self) -> (bool, bool) {
        let (start, mut ends_line) = (self.at, false);
        loop {
            let rest = self.rest();
            if rest.starts_with("\\\n") {
                self.at += 2;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let begin = self.at;
                match rest.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => {
                        self.at += 2;
                        self.error(begin, "this comment has no end", "write `*/` where it ends");
                        self.at = self.text.len();
                    }
                }
            } else if let Some(blank) = rest.chars().next().filter(|c| c.is_whitespace()) {
                ends_line |= blank == '\n';
                self.at += blank.len_utf8();
            } else {
                return (ends_line, self.at > start);
            }
        }
    }

    fn next(&mut self) -> Option<Kind> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Some(Kind::End) };
        let second = rest[first.len_utf8()..].chars().next().unwrap_or(' ');
        if first.is_ascii_digit() || first == '.' && second.is_ascii_digit() {
            return self.number();
        }
        if first.is_alphabetic() || first == '_' {
            let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.at += len;
            return Some(Kind::Name(rest[..len].into()));
        }
        if first == '"' || first == '\'' {
            return self.quoted(first);
        }
        for punct in PUNCTUATION.into_iter().chain(LAST_PUNCTUATION) {
            if rest.starts_with(punct) {
                self.at += punct.len();
                return Some(Kind::Punct(punct));
            }
        }
        let start = self.at;
        self.at += first.len_utf8();
        self.error(start, format!("`{first}` is no part of C"), "remove it");
        None
    }

    fn number(&mut self) -> Option<Kind> {
        let (start, rest) = (self.at, self.rest());
        let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
        let mut previous = ' ';
        let len = rest.find(|c: char| {
            let is_exponent = if is_hex { matches!(previous, 'p' | 'P') } else { matches!(previous, 'e' | 'E') };
            let goes_on = c.is_alphanumeric() || matches!(c, '.' | '\'' | '_') || matches!(c, '+' | '-') && is_exponent;
            previous = c;
            !goes_on
        });
        let len = len.unwrap_or(rest.len());
        self.at += len;
        let digits: String = rest[..len].chars().filter(|c| *c != '\'').collect::<String>().to_ascii_lowercase();
        let has_exponent = !is_hex && digits.contains('e') || is_hex && digits.contains('p');
        let found = if digits.contains('.') || has_exponent || !is_hex && digits.ends_with('f') {
            float(&digits)
        } else {
            int(&digits)
        };
        if found.is_none() {
            let message = format!("`{}` is not a number that C has", &rest[..len]);
            self.error(
                start,
                message,
                "write an integer such as `7`, `0x7f` or `7u`, or a float such as `1.5` or `1.5f`",
            );
        }
        found
    }

    /// The character that a backslash and what follows it stand for: `\n`, `\x7f`, `\177`.
    fn escape(&mut self) -> char {
        let start = self.at;
        self.at += 1;
        let rest = self.rest();
        let (skipped, digits, radix) = match rest.strip_prefix('x') {
            Some(hex) => (1, hex.len() - hex.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len(), 16),
            None => (0, rest.bytes().take(3).take_while(|c| (b'0'..=b'7').contains(c)).count(), 8),
        };
        if digits > 0 {
            let value = u8::from_str_radix(&rest[skipped..skipped + digits], radix);
            self.at += skipped + digits;
            return value.map(char::from).unwrap_or_else(|_| {
                self.error(start, "this escape is no byte", "write up to two hexadecimal or three octal digits");
                ' '
            });
        }
        let letter = rest.chars().next().unwrap_or(' ');
        self.at += letter.len_utf8();
        escaped(letter).unwrap_or_else(|| {
            let help =
                "C has `\\n`, `\\t`, `\\r`, `\\a`, `\\b`, `\\v`, `\\f`, `\\\\`, `\\'`, `\\\"`, `\\x7f` and `\\177`";
            self.error(start, "C has no such escape", help);
            letter
        })
    }

    fn quoted(&mut self, quote: char) -> Option<Kind> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let mut chars = self.rest().chars();
            match chars.next() {
                None | Some('\n') => {
                    self.error(start, "this text has no end", "close it by the quote that it begins with, on its line");
                    return None;
                }
                Some(c) if c == quote => break,
                Some('\\') => {
                    let escaped = self.escape();
                    text.push(escaped);
                    continue;
                }
                Some(c) => text.push(c),
            }
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
        self.at += 1;
        if quote == '"' {
            return Some(Kind::Str(text.into()));
        }
        let mut chars = text.chars();
        match (chars.next().map(|c| u8::try_from(c).map(|c| c as i8)), chars.next()) {
            (Some(Ok(value)), None) => Some(Kind::Char(value)),
            _ => {
                self.error(start, "this is not one character of a byte", "write a single character such as 'a'");
                None
            }
        }
    }
}

/// The character that an escape without digits stands for.
fn escaped(letter: char) -> Option<char> {
    Some(match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'v' => '\x0b',
        'f' => '\x0c',
        '\\' | '\'' | '"' | '?' => letter,
        _ => return None,
    })
}

fn float(digits: &str) -> Option<Kind> {
    let (number, scalar) = match digits.strip_suffix('f').filter(|_| !digits.starts_with("0x")) {
        Some(number) => (number, Scalar::F32),
        None => (digits.strip_suffix('l').unwrap_or(digits), Scalar::F64),
    };
    if let Some(hex) = number.strip_prefix("0x") {
        let (hex, scalar) = match hex.strip_suffix('f').filter(|_| hex.contains('p')) {
            Some(hex) => (hex, Scalar::F32),
            None => (hex, Scalar::F64),
        };
        let (mantissa, exponent) = hex.split_once('p')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let value = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()? as f64;
        let exponent = exponent.parse::<i32>().ok()? - 4 * fraction.len() as i32;
        return Some(Kind::Float(value * f64::from(exponent).exp2(), scalar));
    }
    // A float literal is rounded once, from its decimal digits.
    let value = match scalar {
        Scalar::F32 => f64::from(number.parse::<f32>().ok()?),
        _ => number.parse::<f64>().ok()?,
    };
    Some(Kind::Float(value, scalar))
}

/// The type is the first that holds the value, of those that the suffix leaves.
fn int(digits: &str) -> Option<Kind> {
    let suffix = digits.len() - digits.trim_end_matches(['u', 'l']).len();
    let (number, suffix) = digits.split_at(digits.len() - suffix);
    let is_unsigned = suffix.contains('u');
    let is_long = suffix.contains('l');
    if suffix.matches('u').count() > 1 || suffix.matches('l').count() > 2 {
        return None;
    }
    let (number, radix) = match number {
        _ if number.starts_with("0x") => (&number[2..], 16),
        _ if number.starts_with("0b") => (&number[2..], 2),
        _ if number.len() > 1 && number.starts_with('0') => (&number[1..], 8),
        _ => (number, 10),
    };
    let value = u64::from_str_radix(number, radix).ok()?;
    let is_decimal = radix == 10;
    let scalar = match value {
        _ if !is_long && !is_unsigned && i32::try_from(value).is_ok() => Scalar::I32,
        _ if !is_long && (is_unsigned || !is_decimal) && u32::try_from(value).is_ok() => Scalar::U32,
        _ if !is_unsigned && i64::try_from(value).is_ok() => Scalar::I64,
        _ => Scalar::U64,
    };
    Some(Kind::Int(value.into(), scalar))
}
