//! Digits of a float as C's `%e %f %g %a` print them, without sign and padding.
//!
//! In: a finite f64 that is not negative. Out: its digits, rounded correctly at the precision.

/// `%f`: digits before and `precision` digits after the point.
pub(crate) fn fixed(value: f64, precision: usize, alternate: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if precision == 0 && alternate {
        text.push('.');
    }
    text
}

/// `%e`: one digit before the point, an exponent of at least two digits.
pub(crate) fn scientific(value: f64, precision: usize, alternate: bool) -> String {
    let (digits, exponent) = scientific_parts(value, precision);
    let point = if precision == 0 && alternate { "." } else { "" };
    format!("{digits}{point}{}", exponent_text(exponent))
}

/// `%g`: as `%e` or `%f` with `precision` significant digits, whichever suits the exponent; trailing zeros go unless
/// `alternate`.
pub(crate) fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let (digits, exponent) = scientific_parts(value, precision - 1);
    let is_fixed = exponent >= -4 && exponent < precision as i32;
    let mut text = if is_fixed {
        fixed(value, (precision as i32 - 1 - exponent) as usize, alternate)
    } else if precision == 1 && alternate {
        format!("{digits}.")
    } else {
        digits
    };
    if !alternate && text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if !is_fixed {
        text.push_str(&exponent_text(exponent));
    }
    text
}

/// `%a` without its `0x`: the leading digit is 1 for a normal value and 0 for a denormal one, as in glibc.
pub(crate) fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    const FRACTION_BITS: usize = 52;
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let biased = (bits >> FRACTION_BITS) as i64;
    let exponent = match (biased, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => biased - 1023,
    };
    let mut significand = fraction | u64::from(biased != 0) << FRACTION_BITS;
    let mut n_digits = FRACTION_BITS / 4;
    if let Some(precision) = precision.filter(|p| *p < n_digits) {
        let dropped = FRACTION_BITS - 4 * precision;
        let (half, rest) = (1u64 << (dropped - 1), significand & ((1 << dropped) - 1));
        significand >>= dropped;
        significand += u64::from(rest > half || (rest == half && significand & 1 == 1));
        n_digits = precision;
    }
    let lead = significand >> (4 * n_digits);
    let fraction = significand & ((1 << (4 * n_digits)) - 1);
    let mut digits = if n_digits == 0 { String::new() } else { format!("{fraction:0n_digits$x}") };
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => digits.push_str(&"0".repeat(precision.saturating_sub(n_digits))),
    }
    let point = if digits.is_empty() && !alternate { "" } else { "." };
    format!("{lead}{point}{digits}p{exponent:+}")
}

/// Significant digits with their point, and the decimal exponent.
fn scientific_parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_string(), exponent.parse().unwrap_or(0))
}

fn exponent_text(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}
