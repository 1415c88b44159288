//! The instruction sets that products are written for.

/// An instruction set; each includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only x86-64 has wider instruction sets")
)]
pub(crate) enum Isa {
    /// Plain loops.
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL) with VNNI, which multiplies four pairs of bytes, or two pairs of
    /// 16-bit numbers, and adds the products to a 32-bit sum.
    Avx512,
}

impl Isa {
    /// Whether this machine has the instructions.
    pub(super) fn supported(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// The instruction sets of this machine, the best last.
    pub(crate) fn present() -> impl DoubleEndedIterator<Item = Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|isa| isa.supported())
    }
}

impl Default for Isa {
    /// The best that this machine has.
    fn default() -> Self {
        Self::present().next_back().unwrap_or(Self::Portable)
    }
}
