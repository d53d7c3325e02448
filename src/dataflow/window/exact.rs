//! Exact sums.
//!
//! Owns: a sum of Ints and finite floats, or of their squares, without any rounding; its nearest float, its mean, its
//! deviation.
//! May not: know NaN, infinities or windows.
//!
//! A finite float is a whole number of 2^-1074, and sums of whole numbers are exact: the order in which values come and go
//! means nothing, and what was added can be taken away without a trace. That is why windows may subtract here: it is not
//! floating-point addition that is inverted. Every result is the exact one, rounded once.
//!
//! The sum is kept in two's complement, in limbs of 64 bits, only those that are in use: two or three where the values are
//! of like size, at most 35 (of squares 70) whatever they are.

use super::wide;

/// The weight of bit 0 of limb 0 is two to minus this (of squares, to minus twice this): a whole number of limbs.
const SCALE: i32 = 1_088;
/// More limbs are never needed, whatever is added.
pub(super) const MOST_LIMBS: usize = 72;
/// Zero limbs below are kept up to here, so that they need not come and go.
const SPARE: usize = 4;

/// A sum of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Exact {
    /// Lowest first. The top limb is all zeros or all ones: the sign. Empty is zero.
    limbs: Vec<u64>,
    /// The place of the first limb.
    base: usize,
}

/// A finite number: sign, magnitude, and the bit of the sum where the magnitude begins.
#[derive(Clone, Copy)]
pub(super) struct Number {
    negative: bool,
    magnitude: u64,
    shift: u32,
}

impl Number {
    /// Of an Int.
    #[inline]
    pub(super) fn of_int(int: i64) -> Self {
        Self { negative: int < 0, magnitude: int.unsigned_abs(), shift: SCALE.unsigned_abs() }
    }

    /// Of a float, where it is finite.
    #[inline]
    pub(super) fn of_float(float: f64) -> Option<Self> {
        let bits = float.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let biased = u32::try_from((bits >> 52) & 0x7ff).unwrap_or_default();
        let (magnitude, exponent) = if biased == 0 { (fraction, 1) } else { (fraction | (1 << 52), biased) };
        // Its lowest bit weighs 2^(exponent - 1075).
        float.is_finite().then_some(Self { negative: bits >> 63 == 1, magnitude, shift: exponent.saturating_add(13) })
    }
}

impl Exact {
    /// From its limbs, as [`Exact::normal`] gives them; none where they are not that.
    pub(super) fn from_normal(base: usize, limbs: Vec<u64>) -> Option<Self> {
        let sum = Self { limbs, base };
        let (own_base, own) = sum.normal();
        let fits = base.saturating_add(sum.limbs.len()) <= MOST_LIMBS;
        (fits && own_base == base && own == sum.limbs).then_some(sum)
    }

    /// Where it begins, and its limbs: the one way to write this sum.
    pub(super) fn normal(&self) -> (usize, &[u64]) {
        let zeros = self.limbs.iter().take_while(|limb| **limb == 0).count();
        let mut limbs = self.limbs.get(zeros..).unwrap_or_default();
        while let [rest @ .., below, top] = limbs
            && below == top
            && is_sign(*top)
        {
            limbs = limbs.get(..rest.len().saturating_add(1)).unwrap_or_default();
        }
        if limbs.last().is_some_and(|top| !is_sign(*top)) {
            // Not reached from sums made here: they end in their sign.
            return (usize::MAX, &[]);
        }
        if limbs.is_empty() { (0, limbs) } else { (self.base.saturating_add(zeros), limbs) }
    }

    /// The bytes it takes beside its own place.
    pub(super) fn heap(&self) -> usize {
        self.limbs.capacity().saturating_mul(8)
    }

    /// Makes it nothing; the memory for a sum of usual size stays.
    pub(super) fn clear(&mut self) {
        self.limbs.clear();
        if self.limbs.capacity() > FEW {
            self.limbs = Vec::new();
        }
    }

    /// Adds a number, or takes it away.
    #[inline]
    pub(super) fn change(&mut self, number: Number, away: bool) {
        self.accumulate(number.negative ^ away, u128::from(number.magnitude), number.shift);
        if away {
            self.trim();
        }
    }

    /// Adds a number's square, or takes it away.
    #[inline]
    pub(super) fn change_square(&mut self, number: Number, away: bool) {
        let magnitude = u128::from(number.magnitude);
        self.accumulate(away, magnitude.wrapping_mul(magnitude), number.shift.saturating_mul(2));
        if away {
            self.trim();
        }
    }

    /// Adds another sum, or takes it away.
    pub(super) fn combine(&mut self, other: &Self, away: bool) {
        let Some(top) = other.limbs.last().copied() else { return };
        let reach = other.base.saturating_add(other.limbs.len());
        self.cover(other.base, reach.saturating_add(1));
        let from = other.base.saturating_sub(self.base);
        let more = other.limbs.iter().copied().chain(std::iter::repeat(top));
        let mut carry = away;
        for (limb, more) in self.limbs.iter_mut().skip(from).zip(more) {
            let more = if away { !more } else { more };
            let (first, one) = limb.overflowing_add(more);
            let (second, two) = first.overflowing_add(u64::from(carry));
            (*limb, carry) = (second, one | two);
        }
        self.seal();
        self.trim();
    }

    #[inline]
    fn accumulate(&mut self, negative: bool, magnitude: u128, shift: u32) {
        let (place, part) = (usize::try_from(shift / 64).unwrap_or_default(), shift % 64);
        let (low, high) = wide::halves(magnitude << part);
        let (above, _) = wide::halves((magnitude >> 1) >> (127_u32.saturating_sub(part)));
        match self.limbs.as_mut_slice() {
            // Values of like size: two limbs and a sign, which are there already.
            [a, b, c] if place == self.base && above == 0 && is_sign(*c) => {
                let sum = wide::joined(*a, *b);
                let ((sum, carry), sign) = if negative {
                    let (sum, borrow) = sum.overflowing_sub(wide::joined(low, high));
                    ((sum, borrow), c.wrapping_sub(u64::from(borrow)))
                } else {
                    let (sum, carry) = sum.overflowing_add(wide::joined(low, high));
                    ((sum, carry), c.wrapping_add(u64::from(carry)))
                };
                (*a, *b) = wide::halves(sum);
                *c = sign;
                if carry {
                    self.seal();
                }
            }
            _ if magnitude == 0 => {}
            _ => self.accumulate_anywhere(negative, place, [low, high, above]),
        }
    }

    #[inline(never)]
    fn accumulate_anywhere(&mut self, negative: bool, place: usize, parts: [u64; 3]) {
        let width = parts.iter().rposition(|part| *part != 0).map_or(0, |last| last.saturating_add(1));
        self.cover(place, place.saturating_add(width));
        let from = place.saturating_sub(self.base);
        let mut parts = parts.into_iter().take(width);
        let mut carry = false;
        for limb in self.limbs.iter_mut().skip(from) {
            let part = match parts.next() {
                Some(part) => part,
                None if carry => 0,
                None => break,
            };
            let ((first, one), carried) =
                if negative { (limb.overflowing_sub(part), u64::from(carry)) } else { (limb.overflowing_add(part), u64::from(carry)) };
            let (second, two) = if negative { first.overflowing_sub(carried) } else { first.overflowing_add(carried) };
            (*limb, carry) = (second, one | two);
        }
        self.seal();
    }

    /// Makes limbs for the places from `from` up to `to`, and a sign above them.
    fn cover(&mut self, from: usize, to: usize) {
        if self.limbs.is_empty() {
            self.base = from;
        } else if from < self.base {
            let more = self.base.saturating_sub(from);
            self.limbs.splice(0..0, std::iter::repeat_n(0, more));
            self.base = from;
        }
        let sign = self.limbs.last().copied().unwrap_or_default();
        let wanted = to.saturating_add(1).saturating_sub(self.base);
        if self.limbs.len() < wanted {
            self.limbs.resize(wanted, sign);
        }
    }

    /// Ends in a sign again: what was added reaches one bit into the top limb at most.
    fn seal(&mut self) {
        if let Some(top) = self.limbs.last().copied()
            && !is_sign(top)
        {
            self.limbs.push(if top >> 63 == 1 { u64::MAX } else { 0 });
        }
    }

    /// Lets go of limbs that say nothing.
    #[inline]
    fn trim(&mut self) {
        if let [_, below, top] = self.limbs.as_slice()
            && below != top
        {
            return;
        }
        self.trim_anywhere();
    }

    #[inline(never)]
    fn trim_anywhere(&mut self) {
        while let [.., below, top] = self.limbs.as_slice()
            && below == top
            && is_sign(*top)
        {
            self.limbs.pop();
        }
        if self.limbs.as_slice() == [0] {
            self.limbs.clear();
        }
        if self.limbs.len() > SPARE && self.limbs.first() == Some(&0) {
            let zeros = self.limbs.iter().take_while(|limb| **limb == 0).count();
            self.limbs.drain(..zeros);
            self.base = self.base.saturating_add(zeros);
            self.limbs.shrink_to(SPARE);
        }
    }

    /// Where it takes two limbs and a sign, these: the common case, without any allocation.
    fn small(&self) -> Option<(bool, u128)> {
        let number = match self.limbs.as_slice() {
            [] => 0,
            [low, high, sign] if high >> 63 == sign >> 63 => wide::joined(*low, *high).cast_signed(),
            [low, sign] => wide::joined(*low, *sign).cast_signed(),
            _ => return None,
        };
        Some((number < 0, number.unsigned_abs()))
    }

    /// The weight of its lowest bit.
    fn exponent(&self, scale: i32) -> i32 {
        i32::try_from(self.base).unwrap_or(i32::MAX).saturating_mul(64).saturating_sub(scale)
    }

    /// Sign, the upper bits (exactly 128, or all where `exactly` is not set and it has fewer), their exponent, and whether
    /// there are more below.
    fn upper(&self) -> (bool, u128, i32, bool) {
        let exponent = self.exponent(SCALE);
        if let Some((negative, number)) = self.small() {
            let up = number.leading_zeros().min(127);
            return (negative, number << up, exponent.saturating_sub(i32::try_from(up).unwrap_or_default()), false);
        }
        self.with_magnitude(|negative, limbs| {
            let ([low, high, ..], down, more) = wide::moved(limbs, 128, false);
            (negative, wide::joined(low, high), exponent.saturating_add(down), more)
        })
    }

    /// The nearest float; `0.0` of nothing.
    pub(super) fn nearest(&self) -> f64 {
        let (negative, number, exponent, more) = self.upper();
        signed(negative, wide::rounded(number, exponent, more))
    }

    /// The nearest float to the sum divided by a count.
    pub(super) fn mean(&self, count: u64) -> f64 {
        let (negative, number, exponent, more) = self.upper();
        let count = u128::from(count.max(1));
        let quotient = number / count;
        signed(negative, wide::rounded(quotient, exponent, more || quotient.wrapping_mul(count) != number))
    }

    /// The whole number it is; none where that leaves Int. Only for sums of Ints.
    pub(super) fn int(&self) -> Option<i64> {
        let one = usize::try_from(SCALE / 64).unwrap_or_default();
        let above = self.base.saturating_add(self.limbs.len());
        self.with_magnitude(|negative, limbs| {
            let place = |at: usize| at.checked_sub(self.base).and_then(|at| limbs.get(at)).copied().unwrap_or_default();
            if (one.saturating_add(1)..above).any(|at| place(at) != 0) {
                return None;
            }
            let magnitude = i128::from(place(one));
            i64::try_from(if negative { magnitude.saturating_neg() } else { magnitude }).ok()
        })
    }

    /// The nearest float to the population's standard deviation: the root of (n · squares − sum²) divided by n, where `self`
    /// is the sum.
    pub(super) fn deviation(&self, squares: &Self, count: u64) -> f64 {
        let count = count.max(1);
        let low = self.base.saturating_mul(2).min(squares.base);
        let above = |base: usize| base.saturating_sub(low);
        // The places of both products, with a limb to spare.
        let sum_width = above(self.base.saturating_mul(2)).saturating_add(self.limbs.len().saturating_mul(2));
        let width = above(squares.base).saturating_add(squares.limbs.len()).max(sum_width).saturating_add(1);
        let mut few = [[0; FEW]; 2];
        let mut many = [Vec::new(), Vec::new()];
        let [spread, product] = if width <= FEW {
            few.each_mut().map(|limbs| limbs.get_mut(..width).unwrap_or_default())
        } else {
            many.each_mut().map(|limbs| {
                limbs.resize(width, 0);
                limbs.as_mut_slice()
            })
        };
        squares.with_magnitude(|_, limbs| wide::times(spread.get_mut(above(squares.base)..).unwrap_or_default(), limbs, count));
        let sum_place = above(self.base.saturating_mul(2));
        self.with_magnitude(|_, limbs| wide::square(product.get_mut(sum_place..).unwrap_or_default(), limbs));
        if wide::take_away(spread, product) || wide::bits(spread) == 0 {
            return 0.0;
        }
        // So many bits that the quotient has 125 to 128, and its root enough for one rounding.
        let wanted = 126_u32.saturating_add(64_u32.saturating_sub(count.leading_zeros()).saturating_mul(2));
        let (mut quotient, down, more) = wide::moved(spread, wanted, true);
        let more = wide::divide(&mut quotient, count) | wide::divide(&mut quotient, count) | more;
        let [first, second, ..] = quotient;
        let quotient = wide::joined(first, second);
        let root = quotient.isqrt();
        let rest = root.wrapping_mul(root) != quotient;
        let exponent =
            i32::try_from(low).unwrap_or_default().saturating_mul(64).saturating_sub(SCALE.saturating_mul(2)).saturating_add(down);
        wide::rounded(root, exponent / 2, more || rest)
    }

    /// Does something with its magnitude, on the stack where it takes few limbs.
    fn with_magnitude<T>(&self, does: impl FnOnce(bool, &[u64]) -> T) -> T {
        let negative = self.limbs.last() == Some(&u64::MAX);
        if !negative {
            return does(false, &self.limbs);
        }
        let mut few = [0; FEW];
        match few.get_mut(..self.limbs.len()) {
            Some(limbs) => {
                limbs.copy_from_slice(&self.limbs);
                does(true, negated(limbs))
            }
            None => does(true, negated(&mut self.limbs.clone())),
        }
    }
}

/// How many limbs are computed with on the stack.
const FEW: usize = 12;

/// The other sign, in place.
fn negated(limbs: &mut [u64]) -> &[u64] {
    let mut carry = true;
    for limb in &mut *limbs {
        let (sum, over) = (!*limb).overflowing_add(u64::from(carry));
        (*limb, carry) = (sum, over);
    }
    limbs
}

/// Equal sums are equal, however many spare limbs they hold.
impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.normal() == other.normal()
    }
}

const fn is_sign(limb: u64) -> bool {
    limb == 0 || limb == u64::MAX
}

fn signed(negative: bool, float: f64) -> f64 {
    if negative { -float } else { float }
}

#[cfg(test)]
mod tests;
