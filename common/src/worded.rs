//! Enums whose variants are written as words.

/// Defines an enum with a word for each variant: `ALL` has the variants in order, and the method
/// gives a variant's word.
///
/// ```
/// common::worded! {
///     /// A direction.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Side, fn word() {
///         /// To the left.
///         Left = "left",
///         /// To the right.
///         Right = "right",
///     }
/// }
/// assert_eq!(Side::ALL.map(Side::word), ["left", "right"]);
/// ```
#[macro_export]
macro_rules! worded {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident, fn $method:ident() {
            $($(#[$one:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$one])* $variant,)*
        }

        impl $name {
            /// All variants in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// How the variant is written.
            #[must_use]
            pub const fn $method(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}
