//! Text that kernels print: C's `printf` over 64-bit words.
//!
//! In: a format and one word for each operand: a signed integer sign-extended, an unsigned one and a bool
//! zero-extended, a float as the bits of an f64. Out: the text that C's `printf` gives for operands of the types
//! that the conversions name. The words carry no types, so a conversion reads its word as what it names.
//!
//! Flags (`-+ #0`), width, precision (both may be `*`) and the conversions `d i u x X o c p e E f F g G a A %` are
//! C's; `%?`, which C does not have, prints True or False. Length modifiers are skipped: an unsigned conversion of a
//! word that is a negative i32 prints its low 32 bits (C's meaning of `%x` for an int) unless `l`, `ll`, `z`, `j` or
//! `t` asks for the whole word. A conversion that is unknown, or for which no word is left, stays as written. It never
//! panics; widths above 4096 count as 4096.
//!
//! ```
//! assert_eq!(runtime::format::format("%d|%6.2f|%x\n", &[7, 2.5f64.to_bits(), 255]), "7|  2.50|ff\n");
//! ```

use crate::float_format::{fixed, general, hexadecimal, scientific};
use std::io::Write;
use std::sync::RwLock;

static SINK: RwLock<fn(&str)> = RwLock::new(write_to_stdout);

/// Sends printed text to `sink` from now on, each `print` in one call, from any thread.
pub fn set_print_sink(sink: fn(&str)) {
    *SINK.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = sink;
}

/// Formats and prints in one piece.
pub fn print(format_text: &str, args: &[u64]) {
    let sink = *SINK.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    sink(&format(format_text, args));
}

/// The function that compiled code calls, by the name `gs_print`, for the op `print`.
///
/// # Safety
/// `format` points to `format_len` bytes, `args` to `n_args` words.
pub unsafe extern "C" fn gs_print(format: *const u8, format_len: u64, args: *const u64, n_args: u64) {
    // SAFETY: the caller promises what the pointers point to.
    let (format, args) = unsafe {
        let format = if format_len == 0 { &[] } else { std::slice::from_raw_parts(format, format_len as usize) };
        let args = if n_args == 0 { &[] } else { std::slice::from_raw_parts(args, n_args as usize) };
        (format, args)
    };
    print(&String::from_utf8_lossy(format), args);
}

fn write_to_stdout(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe must not end the program: the text is lost, as with C's printf.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// The text of `format` with its conversions replaced by the words of `args` in order.
pub fn format(format: &str, args: &[u64]) -> String {
    let mut out = String::with_capacity(format.len() + 16 * args.len());
    let mut args = args.iter().copied();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let before = args.clone();
        let (spec, len) = Spec::parse(rest.as_bytes(), &mut args);
        match spec.and_then(|spec| spec.convert(&mut args)) {
            Some(text) => out.push_str(&text),
            None => {
                args = before;
                out.push_str(&rest[..len]);
            }
        }
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

const MAX_WIDTH: usize = 4096;

/// One conversion specification, `%-8.3f`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spec {
    left: bool,
    pub(crate) plus: bool,
    pub(crate) space: bool,
    pub(crate) alternate: bool,
    zero: bool,
    width: usize,
    pub(crate) precision: Option<usize>,
    is_long: bool,
    conversion: u8,
}

impl Spec {
    /// Reads the specification that `text` starts with; gives its length, also where it is none.
    fn parse(text: &[u8], args: &mut impl Iterator<Item = u64>) -> (Option<Spec>, usize) {
        let mut spec = Spec::default();
        let mut at = 1;
        let peek = |at: usize| text.get(at).copied().unwrap_or(0);
        loop {
            match peek(at) {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            at += 1;
        }
        match number(text, &mut at, args) {
            Some(width) => {
                spec.left |= width < 0;
                spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
            }
            None => return (None, at),
        }
        if peek(at) == b'.' {
            at += 1;
            match number(text, &mut at, args) {
                Some(precision) if precision >= 0 => spec.precision = Some((precision as usize).min(MAX_WIDTH)),
                Some(_) => {}
                None => return (None, at),
            }
        }
        while matches!(peek(at), b'h' | b'l' | b'L' | b'q' | b'j' | b'z' | b't') {
            spec.is_long |= peek(at) != b'h';
            at += 1;
        }
        spec.conversion = peek(at);
        if spec.conversion.is_ascii_graphic() { (Some(spec), at + 1) } else { (None, at) }
    }

    /// The text for the next word; `None` where there is none, or the conversion is unknown.
    fn convert(self, args: &mut impl Iterator<Item = u64>) -> Option<String> {
        match self.conversion {
            b'%' => Some("%".into()),
            b'?' => Some(self.pad("", if args.next()? == 0 { "False" } else { "True" }.into(), false)),
            b'd' | b'i' => Some(self.signed(args.next()? as i64)),
            b'u' | b'x' | b'X' | b'o' => Some(self.unsigned(args.next()?)),
            b'p' => Some(Spec { alternate: true, is_long: true, conversion: b'x', ..self }.unsigned(args.next()?)),
            b'c' => Some(self.pad("", (args.next()? as u8 as char).to_string(), false)),
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => Some(self.float(f64::from_bits(args.next()?))),
            _ => None,
        }
    }

    fn signed(self, value: i64) -> String {
        self.integer(self.sign(value < 0), value.unsigned_abs().to_string(), value == 0)
    }

    fn unsigned(self, word: u64) -> String {
        let is_negative_i32 = (i64::from(i32::MIN)..0).contains(&(word as i64));
        let value = if is_negative_i32 && !self.is_long { word & 0xffff_ffff } else { word };
        let (prefix, mut digits) = match self.conversion {
            b'x' => ("0x", format!("{value:x}")),
            b'X' => ("0X", format!("{value:X}")),
            b'o' => ("", format!("{value:o}")),
            _ => ("", value.to_string()),
        };
        if self.conversion == b'o' && self.alternate && value != 0 && self.precision.unwrap_or(0) <= digits.len() {
            digits.insert(0, '0');
        }
        // C prints nothing for 0 with precision 0, but `%#.0o` prints the 0 that `#` asks for.
        let is_blank_zero = value == 0 && !(self.conversion == b'o' && self.alternate);
        self.integer(if self.alternate && value != 0 { prefix } else { "" }, digits, is_blank_zero)
    }

    /// Precision is the least number of digits, and switches the flag `0` off.
    fn integer(self, prefix: &str, mut digits: String, is_zero: bool) -> String {
        if let Some(precision) = self.precision {
            if precision == 0 && is_zero {
                digits.clear();
            }
            digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
        }
        self.pad(prefix, digits, self.zero && self.precision.is_none())
    }

    fn float(self, value: f64) -> String {
        let is_upper = self.conversion.is_ascii_uppercase();
        let magnitude = value.abs();
        let mut prefix = self.sign(value.is_sign_negative()).to_string();
        let mut body = match self.conversion.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".into(),
            _ if value.is_infinite() => "inf".into(),
            b'e' => scientific(magnitude, self.precision.unwrap_or(6), self.alternate),
            b'f' => fixed(magnitude, self.precision.unwrap_or(6), self.alternate),
            b'g' => general(magnitude, self.precision.unwrap_or(6), self.alternate),
            _ => {
                prefix.push_str("0x");
                hexadecimal(magnitude, self.precision, self.alternate)
            }
        };
        if is_upper {
            body.make_ascii_uppercase();
            prefix.make_ascii_uppercase();
        }
        self.pad(&prefix, body, self.zero && value.is_finite())
    }

    fn sign(self, is_negative: bool) -> &'static str {
        if is_negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        }
    }

    /// Zeros go between prefix and body, spaces outside; `-` wins over `0`.
    fn pad(self, prefix: &str, body: String, with_zeros: bool) -> String {
        let n = self.width.saturating_sub(prefix.chars().count() + body.chars().count());
        if self.left {
            format!("{prefix}{body}{}", " ".repeat(n))
        } else if with_zeros {
            format!("{prefix}{}{body}", "0".repeat(n))
        } else {
            format!("{}{prefix}{body}", " ".repeat(n))
        }
    }
}

/// A width or precision: digits, nothing (0), or `*`, which takes the next word. `None` where no word is left.
fn number(text: &[u8], at: &mut usize, args: &mut impl Iterator<Item = u64>) -> Option<i64> {
    if text.get(*at) == Some(&b'*') {
        *at += 1;
        return args.next().map(|word| word as i64);
    }
    let mut value = 0i64;
    while let Some(digit) = text.get(*at).filter(|c| c.is_ascii_digit()) {
        value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
        *at += 1;
    }
    Some(value)
}
