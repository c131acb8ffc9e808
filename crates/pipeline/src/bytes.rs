//! Numbers, bytes and text in a row, as files hold them: numbers are little-endian u64, the others come after their
//! length.

pub(crate) fn number(out: &mut Vec<u8>, number: usize) {
    out.extend((number as u64).to_le_bytes());
}

pub(crate) fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len());
    out.extend(bytes);
}

/// Reads what was written, in the same order; nothing where it is not there.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u64::from_le_bytes(*number)).ok()
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        self.number().map(|number| number != 0)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}
