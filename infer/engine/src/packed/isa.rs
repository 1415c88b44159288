//! Which instructions products are made of.

/// Sets of instructions, each with what comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "other machines have none of the wider ones")
)]
pub(crate) enum Isa {
    /// Plain loops.
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL) with VNNI, whose instructions multiply four bytes, or two 16-bit numbers, and add them to a sum of 32 bits.
    Avx512,
}

impl Isa {
    /// What this machine has, the best last.
    pub(crate) fn present() -> impl DoubleEndedIterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let wider = [
            (Self::Avx2, super::avx2::supported()),
            (Self::Avx512, super::avx512::supported()),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let wider: [(Self, bool); 0] = [];
        std::iter::once(Self::Portable).chain(
            wider
                .into_iter()
                .filter_map(|(isa, here)| here.then_some(isa)),
        )
    }
}

impl Default for Isa {
    /// The best that this machine has.
    fn default() -> Self {
        Self::present().next_back().unwrap_or(Self::Portable)
    }
}
