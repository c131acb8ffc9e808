//! Constants and names in IR text, printed and parsed.
//!
//! Integers are decimal, bools `true` and `false`. Floats are the shortest decimal that reads back as the same bits,
//! always with a dot, an exponent, or as `inf`, `-inf`, `nan`; every other NaN is its bits, `0x7fc00001`.

use crate::constant::Const;
use crate::types::Scalar;
use std::fmt::Write;

/// Text of a constant of type `scalar`.
pub fn print_const(scalar: Scalar, value: Const) -> String {
    match scalar {
        Scalar::Bool => if value.0 != 0 { "true" } else { "false" }.to_string(),
        _ if !scalar.is_float() => value.as_int(scalar).to_string(),
        _ => {
            let x = value.as_float(scalar);
            if x.is_nan() {
                let is_plain = value == Const::float(scalar, f64::from_bits(0x7ff8 << 48));
                return if is_plain { "nan".into() } else { format!("{:#x}", value.0) };
            }
            match scalar {
                Scalar::F32 => format!("{:?}", f32::from_bits(value.0 as u32)),
                Scalar::F64 => format!("{x:?}"),
                _ => shortest(scalar, value, x),
            }
        }
    }
}

/// The decimal with the fewest digits that rounds to `value`, for the floats that Rust cannot print.
fn shortest(scalar: Scalar, value: Const, x: f64) -> String {
    for digits in 0..8 {
        if let Ok(short) = format!("{x:.digits$e}").parse::<f64>()
            && Const::float(scalar, short) == value
        {
            return format!("{short:?}");
        }
    }
    format!("{x:?}")
}

/// Reads what [`print_const`] writes, and integers for floats too.
pub fn parse_const(scalar: Scalar, text: &str) -> Result<Const, String> {
    let wrong = || format!("`{text}` is no constant of type `{}`", scalar.name());
    if scalar == Scalar::Bool {
        return match text {
            "true" => Ok(Const::bool(true)),
            "false" => Ok(Const::bool(false)),
            _ => Err(wrong()),
        };
    }
    if !scalar.is_float() {
        let value: i128 = text.parse().map_err(|_| wrong())?;
        let constant = Const::int(scalar, value);
        return if constant.as_int(scalar) == value { Ok(constant) } else { Err(wrong()) };
    }
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).map_err(|_| wrong())?;
        return if scalar.bits() < 64 && bits >> scalar.bits() != 0 { Err(wrong()) } else { Ok(Const(bits)) };
    }
    let is_number = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    match text {
        "inf" => Ok(Const::float(scalar, f64::INFINITY)),
        "-inf" => Ok(Const::float(scalar, f64::NEG_INFINITY)),
        "nan" => Ok(Const::float(scalar, f64::from_bits(0x7ff8 << 48))),
        _ if !is_number => Err(wrong()),
        // Through f64 a decimal would be rounded twice.
        _ if scalar == Scalar::F32 => text.parse().map(|x: f32| Const(x.to_bits().into())).map_err(|_| wrong()),
        _ => text.parse().map(|x| Const::float(scalar, x)).map_err(|_| wrong()),
    }
}

/// Whether a name may stand in IR text without quotes.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_char)
}

pub fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// A name as it stands in IR text: in quotes where it has characters of other meaning.
pub fn print_name(name: &str) -> String {
    if is_plain_name(name) { name.to_string() } else { quote(name) }
}

/// Text in double quotes. Only `"`, `\` and control characters are escaped.
pub fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn floats_are_shortest() {
        let check = |scalar, x| print_const(scalar, Const::float(scalar, x));
        assert_eq!(check(Scalar::F16, 0.1), "0.1");
        assert_eq!(check(Scalar::BF16, 3.0), "3.0");
        assert_eq!(check(Scalar::F32, 0.1), "0.1");
        assert_eq!(check(Scalar::F64, -0.0), "-0.0");
        assert_eq!(check(Scalar::F32, f64::INFINITY), "inf");
        assert_eq!(print_const(Scalar::F32, Const(0x7fc0_0001)), "0x7fc00001");
        assert_eq!(print_const(Scalar::F32, Const(0x7fc0_0000)), "nan");
    }

    #[test]
    fn a_constant_must_fit_its_type() {
        assert!(parse_const(Scalar::I8, "128").is_err());
        assert!(parse_const(Scalar::U8, "-1").is_err());
        assert!(parse_const(Scalar::F16, "0x10000").is_err());
        assert!(parse_const(Scalar::F32, "infinity").is_err());
        assert_eq!(parse_const(Scalar::F32, "3"), Ok(Const::float(Scalar::F32, 3.0)));
    }

    proptest! {
        #[test]
        fn every_constant_reads_back(scalar in proptest::sample::select(&Scalar::ALL[..]), bits: u64) {
            let value = Const(bits & (u64::MAX >> (64 - scalar.bits())));
            prop_assert_eq!(parse_const(scalar, &print_const(scalar, value)), Ok(value));
        }
    }
}
