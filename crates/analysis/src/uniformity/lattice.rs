//! Arithmetic on [`Lanes`]: what two ways to one place have in common, sums and multiples.

use super::Lanes;

pub(super) fn meet(known: Option<Lanes>, next: Lanes) -> Option<Lanes> {
    Some(match known {
        None => next,
        Some(known) if known == next => known,
        Some(_) => Lanes::Varying,
    })
}

pub(super) fn sum(x: Lanes, y: Lanes, sign: i64) -> Lanes {
    let step = |lanes| match lanes {
        Lanes::Uniform => Some(0),
        Lanes::Affine(step) => Some(step),
        Lanes::Varying => None,
    };
    match (step(x), step(y)) {
        (Some(x), Some(y)) => match x.wrapping_add(sign.wrapping_mul(y)) {
            // Steps that cancel do so only where neither operand wraps.
            0 => Lanes::Varying,
            step => Lanes::Affine(step),
        },
        _ => Lanes::Varying,
    }
}

pub(super) fn scaled(lanes: Lanes, factor: i64) -> Lanes {
    match lanes {
        Lanes::Uniform => Lanes::Uniform,
        Lanes::Affine(step) => step.checked_mul(factor).map_or(Lanes::Varying, affine),
        Lanes::Varying => Lanes::Varying,
    }
}

fn affine(step: i64) -> Lanes {
    if step == 0 { Lanes::Uniform } else { Lanes::Affine(step) }
}
