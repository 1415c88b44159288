//! An acceptor of any UTF-8 text.

use common::acceptor::Acceptor;

#[derive(Clone, Copy)]
pub(crate) struct AnyText;

/// The position inside a character: continuation bytes left, and the bounds of the next byte.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct InChar {
    left: u8,
    low: u8,
    high: u8,
}

impl Acceptor for AnyText {
    type State = InChar;

    fn start(&self) -> InChar {
        InChar {
            left: 0,
            low: 0x80,
            high: 0xbf,
        }
    }

    fn step(&self, state: &InChar, byte: u8) -> Option<InChar> {
        let (left, low, high) = match (state.left, byte) {
            (0, 0x00..=0x7f) => (0, 0x80, 0xbf),
            (0, 0xc2..=0xdf) => (1, 0x80, 0xbf),
            (0, 0xe0) => (2, 0xa0, 0xbf),
            (0, 0xed) => (2, 0x80, 0x9f),
            (0, 0xe1..=0xef) => (2, 0x80, 0xbf),
            (0, 0xf0) => (3, 0x90, 0xbf),
            (0, 0xf1..=0xf3) => (3, 0x80, 0xbf),
            (0, 0xf4) => (3, 0x80, 0x8f),
            (0, _) => return None,
            (left, _) if (state.low..=state.high).contains(&byte) => (left - 1, 0x80, 0xbf),
            _ => return None,
        };
        Some(InChar { left, low, high })
    }

    fn may_end(&self, state: &InChar) -> bool {
        state.left == 0
    }
}

#[test]
fn any_text_is_utf8_and_nothing_else() {
    let accepts = |bytes: &[u8]| {
        let end = bytes
            .iter()
            .try_fold(AnyText.start(), |s, &b| AnyText.step(&s, b));
        end.is_some_and(|s| AnyText.may_end(&s))
    };
    for a in 0..=255u8 {
        for b in 0..=255u8 {
            for tail in [&[][..], &[0x80], &[0xbf, 0x90], &[0x41]] {
                let text = [&[a, b], tail].concat();
                assert_eq!(
                    accepts(&text),
                    std::str::from_utf8(&text).is_ok(),
                    "{text:x?}"
                );
            }
        }
    }
}
