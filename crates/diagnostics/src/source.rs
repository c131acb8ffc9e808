//! Files of source text and ranges in them.

use std::sync::{Arc, OnceLock};

/// Index of a file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes in one file. `Span::NONE` stands for text that no user wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const NONE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Span { file, start, end }
    }

    pub fn is_none(self) -> bool {
        self.file == Span::NONE.file
    }
}

/// One file: its name as Python reports it, its text, and where its lines start.
#[derive(Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: Arc<str>,
    /// Found when they are first asked for: most texts have no message about them.
    line_starts: OnceLock<Vec<u32>>,
}

impl SourceFile {
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        SourceFile { name: name.into(), text: text.into(), line_starts: OnceLock::new() }
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let bytes = self.text.bytes().enumerate();
            let newlines = bytes.filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1);
            std::iter::once(0).chain(newlines).collect()
        })
    }

    pub fn n_lines(&self) -> u32 {
        self.line_starts().len() as u32
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let line = self.line_starts().partition_point(|&start| start <= offset).max(1);
        let start = self.line_starts()[line - 1] as usize;
        let end = (offset as usize).clamp(start, self.text.len());
        let column = self.text.get(start..end).map_or(end - start, |before| before.chars().count());
        (line as u32, column as u32 + 1)
    }

    /// Byte offset at which a line (from 1) starts.
    pub fn line_start(&self, line: u32) -> u32 {
        self.line_starts()[line as usize - 1]
    }

    /// Text of a line (from 1) without its line break.
    pub fn line(&self, line: u32) -> &str {
        let start = self.line_start(line) as usize;
        let end = self.line_starts().get(line as usize).map_or(self.text.len(), |&next| next as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// All files that spans of one compilation may point into.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Arc<SourceFile>>,
}

impl SourceMap {
    /// Adds a file, or finds it when the same text was added before under the same name.
    pub fn add(&mut self, file: Arc<SourceFile>) -> FileId {
        let known =
            self.files.iter().position(|f| Arc::ptr_eq(f, &file) || (f.name == file.name && f.text == file.text));
        FileId(known.unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        }) as u32)
    }

    pub fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    pub fn get(&self, id: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(id.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_characters_not_bytes() {
        let file = SourceFile::new("f.py", "a = 1\nπ = x\n");
        assert_eq!(file.position(0), (1, 1));
        assert_eq!(file.position(6), (2, 1));
        assert_eq!(file.position(11), (2, 5));
        assert_eq!(file.line(2), "π = x");
    }

    #[test]
    fn position_past_the_end_is_the_last_line() {
        assert_eq!(SourceFile::new("f.py", "ab").position(99), (1, 3));
    }
}
