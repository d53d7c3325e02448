//! Natural numbers of any width, and how they become floats.
//!
//! Owns: the few operations that exact sums need, and one rounding, to nearest, ties to even, for all of them.
//! May not: know signs, values or windows.
//!
//! A number is its limbs of 64 bits, lowest first; what is missing above is zero.

/// The lower and the upper half.
pub(super) fn halves(wide: u128) -> (u64, u64) {
    let low = u64::try_from(wide & u128::from(u64::MAX)).unwrap_or_default();
    (low, u64::try_from(wide >> 64).unwrap_or_default())
}

/// From the lower and the upper half.
pub(super) fn joined(low: u64, high: u64) -> u128 {
    u128::from(low) | (u128::from(high) << 64)
}

/// How many bits it takes; 0 of zero.
pub(super) fn bits(limbs: &[u64]) -> u32 {
    let top = limbs.iter().rposition(|limb| *limb != 0);
    top.map_or(0, |top| {
        let limb = limbs.get(top).copied().unwrap_or_default();
        u32::try_from(top).unwrap_or(u32::MAX).saturating_mul(64).saturating_add(64_u32.saturating_sub(limb.leading_zeros()))
    })
}

/// Makes `out`, which is zero and has a limb more, `limbs` times a small number.
pub(super) fn times(out: &mut [u64], limbs: &[u64], by: u64) {
    let mut carry = 0;
    for (place, limb) in out.iter_mut().zip(limbs.iter().chain(std::iter::once(&0))) {
        let product = u128::from(*limb).wrapping_mul(u128::from(by)).wrapping_add(u128::from(carry));
        (*place, carry) = halves(product);
    }
}

/// Makes `out`, which is zero and twice as long, the square of `limbs`.
pub(super) fn square(out: &mut [u64], limbs: &[u64]) {
    for (at, by) in limbs.iter().enumerate() {
        let mut carry = 0;
        // What a row adds never reaches beyond the limb after its last: products of n and m limbs have n + m.
        for (place, limb) in out.iter_mut().skip(at).zip(limbs.iter().chain(std::iter::once(&0))) {
            let product = u128::from(*limb).wrapping_mul(u128::from(*by)).wrapping_add(u128::from(*place)).wrapping_add(u128::from(carry));
            (*place, carry) = halves(product);
        }
    }
}

/// Takes a number of no more limbs away; whether it was the larger one.
pub(super) fn take_away(from: &mut [u64], less: &[u64]) -> bool {
    let mut borrow = false;
    for (limb, less) in from.iter_mut().zip(less.iter().chain(std::iter::repeat(&0))) {
        let (first, one) = limb.overflowing_sub(*less);
        let (second, two) = first.overflowing_sub(u64::from(borrow));
        (*limb, borrow) = (second, one | two);
    }
    borrow
}

/// Four limbs: what is divided and rooted has no more.
pub(super) type Four = [u64; 4];

/// Divides by a small number, cutting; whether something was left.
pub(super) fn divide(limbs: &mut Four, by: u64) -> bool {
    let by = u128::from(by.max(1));
    let mut rest = 0;
    for limb in limbs.iter_mut().rev() {
        let part = joined(*limb, rest);
        let quotient = part / by;
        rest = halves(part.wrapping_sub(quotient.wrapping_mul(by))).0;
        *limb = halves(quotient).0;
    }
    rest != 0
}

/// Moved so that it takes `wanted` bits, at most 255: the limbs, how far it was moved down (negative: up), and whether bits
/// that were not zero fell out. Where `even` is set the distance is even, and it may take one bit less.
pub(super) fn moved(limbs: &[u64], wanted: u32, even: bool) -> (Four, i32, bool) {
    let signed = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let mut down = signed(bits(limbs)).saturating_sub(signed(wanted));
    if even && down % 2 != 0 {
        down = down.saturating_add(1);
    }
    let whole = down.div_euclid(64);
    let part = down.rem_euclid(64).unsigned_abs();
    let limb = |at: i32| usize::try_from(at).ok().and_then(|at| limbs.get(at)).copied().unwrap_or_default();
    let word = |at: i32| halves(joined(limb(whole.saturating_add(at)), limb(whole.saturating_add(at).saturating_add(1))) >> part).0;
    let below = usize::try_from(whole).unwrap_or_default();
    let lost = limbs.iter().take(below).any(|limb| *limb != 0) || (down > 0 && limb(whole) & !(u64::MAX << part) != 0);
    ([word(0), word(1), word(2), word(3)], down, lost)
}

/// The float nearest to `number · 2^exponent`, and a little more where `more`; ties go to the even one. More than 54 bits
/// of the number are needed where there is more.
pub(super) fn rounded(number: u128, exponent: i32, more: bool) -> f64 {
    if number == 0 {
        return 0.0;
    }
    let length = 128_i32.saturating_sub(i32::try_from(number.leading_zeros()).unwrap_or(128));
    // The weight of the lowest bit that the float can have.
    let lowest = exponent.saturating_add(length).saturating_sub(53).max(-1_074);
    let drop = lowest.saturating_sub(exponent);
    let (kept, half, below) = if drop <= 0 {
        (number << drop.unsigned_abs().min(127), false, more)
    } else if drop > 128 {
        (0, false, true)
    } else {
        let drop = drop.unsigned_abs();
        let half = (number >> drop.saturating_sub(1)) & 1 == 1;
        let mask = (1_u128 << drop.saturating_sub(1)).wrapping_sub(1);
        (number.checked_shr(drop).unwrap_or(0), half, more || number & mask != 0)
    };
    let up = half && (below || kept & 1 == 1);
    let mantissa = halves(kept.saturating_add(u128::from(up))).0;
    composed(mantissa, lowest)
}

/// The float `mantissa · 2^exponent`, which is one, or infinite.
fn composed(mantissa: u64, exponent: i32) -> f64 {
    const HIDDEN: u64 = 1 << 52;
    // Rounding up may have made it one bit longer: then it is a power of two.
    let (mantissa, exponent) = if mantissa >= HIDDEN << 1 { (mantissa >> 1, exponent.saturating_add(1)) } else { (mantissa, exponent) };
    if mantissa < HIDDEN {
        // Below the least normal float: the exponent is that of the least one.
        return f64::from_bits(mantissa);
    }
    match u64::try_from(exponent.saturating_add(1_075)) {
        Ok(biased) if biased < 2_047 => f64::from_bits((biased << 52) | (mantissa & (HIDDEN - 1))),
        _ => f64::INFINITY,
    }
}
