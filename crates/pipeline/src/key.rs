//! What compiled code depends on, as one hash.
//!
//! In: the IR's text before it is optimized and everything else that decides what becomes of it. Out: a [`Key`]. Captured
//! values are in the IR by value, so a changed constant, struct or called function gives another key, and nothing else
//! needs tracking.

use std::fmt;

/// The name of compiled code: equal keys mean equal code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; blake3::OUT_LEN]);

impl Key {
    /// Each part is hashed with its length, so that no two lists of parts run together to the same text.
    pub fn new(parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Key(*hasher.finalize().as_bytes())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Key> {
        bytes.try_into().ok().map(Key)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Key::new(&[b"ab", b"c"]), Key::new(&[b"a", b"bc"]));
        assert_eq!(Key::new(&[b"ab", b"c"]), Key::new(&[b"ab", b"c"]));
    }
}
