//! `runtime::format` against the C library's `snprintf`.

use std::ffi::{CString, c_char, c_int, c_void};

unsafe extern "C" {
    fn snprintf(out: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

#[derive(Clone, Copy)]
enum Arg {
    Int(i64),
    Float(f64),
}

/// What C prints for one operand; `width` feeds the `*` of a format that has it.
fn c_text(format: &str, width: Option<i32>, arg: Arg) -> String {
    let format = CString::new(format).unwrap();
    let mut out = vec![0u8; 8192];
    let p: *mut c_void = out.as_mut_ptr().cast();
    // SAFETY: the buffer has the size named, and each format below takes operands of the types passed.
    let n = unsafe {
        match (width, arg) {
            (None, Arg::Int(x)) => snprintf(p.cast(), out.len(), format.as_ptr(), x),
            (None, Arg::Float(x)) => snprintf(p.cast(), out.len(), format.as_ptr(), x),
            (Some(w), Arg::Int(x)) => snprintf(p.cast(), out.len(), format.as_ptr(), w, x),
            (Some(w), Arg::Float(x)) => snprintf(p.cast(), out.len(), format.as_ptr(), w, x),
        }
    };
    out.truncate(n as usize);
    String::from_utf8(out).unwrap()
}

fn check(format: &str, width: Option<i32>, arg: Arg) {
    let word = match arg {
        Arg::Int(x) => x as u64,
        Arg::Float(x) => x.to_bits(),
    };
    let args: Vec<u64> = width.map(|w| i64::from(w) as u64).into_iter().chain([word]).collect();
    assert_eq!(runtime::format::format(format, &args), c_text(format, width, arg), "format {format:?} of {word:#x}");
}

fn specs(conversions: &str, length: &str) -> Vec<String> {
    let mut specs = Vec::new();
    for conversion in conversions.chars() {
        for flags in ["", "-", "+", " ", "#", "0", "-0", "+0", "#0", "# 0", "-#+"] {
            for size in ["", "1", "12", "30", ".0", ".", ".1", ".3", "14.2", "25.17"] {
                specs.push(format!("<%{flags}{size}{length}{conversion}>"));
            }
        }
    }
    specs
}

#[test]
fn integers_print_as_in_c() {
    let values = [0, 1, -1, 7, 42, -42, 255, 4096, i64::from(i32::MIN), i64::from(i32::MAX), i64::MIN, i64::MAX];
    for spec in specs("diuxXo", "ll") {
        for value in values {
            check(&spec, None, Arg::Int(value));
        }
    }
    for spec in specs("diuxXo", "") {
        for value in values.into_iter().filter(|v| i32::try_from(*v).is_ok()) {
            check(&spec, None, Arg::Int(value));
        }
    }
    for spec in ["<%c>", "<%5c>", "<%-5c>"] {
        check(spec, None, Arg::Int(65));
    }
}

#[test]
fn floats_print_as_in_c() {
    let mut values = vec![0.0, 0.5, 1.5, 2.5, 0.25, 0.125, 1.0, 9.5, 9.995, 99.5, 123456.0, 999999.5, 1e6, 1e5, 1e-4];
    values.extend([1e-5, 0.1, 1.0 / 3.0, 1e22, 1e23, 1e100, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1.9999, 3.0e-310]);
    values.extend([f64::INFINITY, f64::NAN, std::f64::consts::PI, 65535.9999]);
    for spec in specs("eEfFgGaA", "") {
        for &value in &values {
            // glibc drops the zeros that `#` asks for where rounding reaches the next power of ten.
            if spec.contains('#') && spec.to_lowercase().contains('g') && matches!(value, 999999.5 | 9.995 | 9.5 | 99.5)
            {
                continue;
            }
            check(&spec, None, Arg::Float(value));
            if !value.is_nan() {
                check(&spec, None, Arg::Float(-value));
            }
        }
    }
}

#[test]
fn random_floats_print_as_in_c() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let specs = ["%g", "%.17g", "%.3e", "%.10f", "%a", "%.2a", "%.0f", "%.1g", "%#.5g"];
    for i in 0..20_000usize {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut value = f64::from_bits(state);
        if i % 2 == 0 {
            // Half of them of common size, with few bits, so that ties occur.
            value = (state >> 48) as f64 / 1024.0;
        }
        if !value.is_nan() {
            check(specs[i % specs.len()], None, Arg::Float(value));
        }
    }
}

#[test]
fn star_takes_a_word() {
    for width in [-12, -1, 0, 3, 12] {
        check("<%*lld>", Some(width), Arg::Int(-123));
        check("<%.*f>", Some(width), Arg::Float(3.25));
        check("<%*.3f>", Some(width), Arg::Float(3.25));
    }
}

#[test]
fn text_around_conversions_stays() {
    let check =
        |format: &str, args: &[u64], expected: &str| assert_eq!(runtime::format::format(format, args), expected);
    check("a %d b %% c %u d\n", &[-3i64 as u64, 9], "a -3 b % c 9 d\n");
    check("é%dé", &[1], "é1é");
    check("", &[], "");
    check("%", &[], "%");
    check("%5", &[1], "%5");
    check("100%é", &[1], "100%é");
    check("%p", &[0x1000], "0x1000");
    check("%lx %x", &[-1i64 as u64, -1i64 as u64], "ffffffffffffffff ffffffff");
}

#[test]
fn what_cannot_be_converted_stays_as_written() {
    let check =
        |format: &str, args: &[u64], expected: &str| assert_eq!(runtime::format::format(format, args), expected);
    check("%d %d", &[1], "1 %d");
    check("%s|%n|%k %d", &[5], "%s|%n|%k 5");
    check("%*d %d", &[5], "%*d 5");
    check("%99999999999999999999d", &[5], &format!("{}5", " ".repeat(4095)));
}

#[test]
fn a_sink_receives_each_print_in_one_piece() {
    static SEEN: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
    runtime::format::set_print_sink(|text| SEEN.lock().unwrap().push(text.to_string()));
    let (format, args) = ("x=%d y=%g\n", [3, 0.5f64.to_bits()]);
    // SAFETY: pointers and lengths of live slices.
    unsafe { runtime::format::gs_print(format.as_ptr(), format.len() as u64, args.as_ptr(), 2) };
    // SAFETY: lengths are 0.
    unsafe { runtime::format::gs_print(std::ptr::null(), 0, std::ptr::null(), 0) };
    assert_eq!(*SEEN.lock().unwrap(), ["x=3 y=0.5\n", ""]);
}

#[test]
fn bools_print_as_python_does() {
    assert_eq!(runtime::format::format("%? %?|%6?", &[1, 0, 1]), "True False|  True");
}
