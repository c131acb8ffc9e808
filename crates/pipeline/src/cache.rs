//! Compiled objects on disk.
//!
//! In: a [`Key`] and an object's bytes. Out: those bytes in a later process, or nothing: an entry that is missing,
//! damaged, truncated or written by someone else is never trusted, and a directory that cannot be written costs only
//! the time to compile again.
//!
//! An entry is the file `KEY.o`: [`MAGIC`], the object's length, a BLAKE3 checksum of key and object, the object. It is
//! written to a temporary file and renamed, so that another process sees all of it or nothing.
//! The directory is private to its user (mode 0700): whoever can write to it can run code in this process.

use crate::counters::{Mishap, record_mishap};
use crate::key::Key;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"GSOBJ\0\0\x01";
const HEADER: usize = MAGIC.len() + 8 + blake3::OUT_LEN;

/// Entries are removed, oldest first, when all of them together take more than this.
const MAX_BYTES: u64 = 1 << 30;

/// A temporary file of this age belongs to a process that died while writing.
const STALE: Duration = Duration::from_secs(3600);

/// A directory of compiled objects.
#[derive(Clone, Debug)]
pub struct DiskCache {
    dir: PathBuf,
}

/// Why a directory must not be used as a cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("kernel cache {} is not used: it belongs to user {owner}, not to user {user}", dir.display())]
    Foreign { dir: PathBuf, owner: u32, user: u32 },
    #[error("kernel cache {} is not used: others can write to it (mode {mode:04o}); `chmod 700` makes it safe", dir.display())]
    WritableByOthers { dir: PathBuf, mode: u32 },
}

/// The cache directory of this version for this user: `$GRIDSTRIDE_CACHE_DIR`, or `gridstride/VERSION` under
/// `$XDG_CACHE_HOME` or `~/.cache`; none where the environment names no place.
pub fn default_dir() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("GRIDSTRIDE_CACHE_DIR").or_else(|| {
        // The XDG specification tells programs to ignore relative paths.
        let base = var("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let base = base.or_else(|| var("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".cache")))?;
        Some(base.join("gridstride").join(env!("CARGO_PKG_VERSION")))
    })
}

impl DiskCache {
    /// Opens a directory, making it where it is missing. One that cannot be made gives a cache that stays empty.
    pub fn open(dir: impl Into<PathBuf>) -> Result<DiskCache, Refused> {
        let dir = dir.into();
        // A failure shows in every later read and write, where it is harmless.
        let _ = make_private_dir(&dir);
        check_private(&dir)?;
        Ok(DiskCache { dir })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The object stored under a key, if it is there and whole.
    pub fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let file = open_entry(&self.path(key)).ok()?;
        let mut bytes = Vec::new();
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        let is_read = is_file && file.take(MAX_BYTES).read_to_end(&mut bytes).is_ok();
        let object = is_read.then(|| unpack(key, bytes)).flatten();
        if object.is_none() {
            record_mishap(Mishap::Damaged);
        }
        object
    }

    /// Stores an object. A failure is counted and otherwise ignored: the code is in memory already.
    pub fn write(&self, key: &Key, object: &[u8]) {
        if self.try_write(key, object).is_err() {
            record_mishap(Mishap::Unwritten);
        }
        static SWEPT: AtomicBool = AtomicBool::new(false);
        if !SWEPT.swap(true, Ordering::Relaxed) {
            self.sweep(MAX_BYTES);
        }
    }

    /// Removes temporary files that were left behind, then the oldest entries until `max_bytes` are not exceeded.
    pub fn sweep(&self, max_bytes: u64) {
        let Ok(files) = fs::read_dir(&self.dir) else { return };
        let mut entries = Vec::new();
        for file in files.flatten() {
            let path = file.path();
            let Ok(found) = file.metadata() else { continue };
            let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("tmp") if modified.elapsed().is_ok_and(|age| age > STALE) => {
                    let _ = fs::remove_file(&path);
                }
                Some("o") => entries.push((modified, path, found.len())),
                _ => {}
            }
        }
        let mut total: u64 = entries.iter().map(|(.., size)| size).sum();
        entries.sort();
        for (_, path, size) in entries {
            if total <= max_bytes {
                break;
            }
            let _ = fs::remove_file(&path);
            total -= size;
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.dir.join(format!("{key}.o"))
    }

    fn try_write(&self, key: &Key, object: &[u8]) -> io::Result<()> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let temporary = self.dir.join(format!("{key}.{}.{serial}.tmp", std::process::id()));
        let written = create_private_file(&temporary).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(&(object.len() as u64).to_le_bytes())?;
            file.write_all(checksum(key, object).as_bytes())?;
            file.write_all(object)
        });
        let renamed = written.and_then(|()| fs::rename(&temporary, self.path(key)));
        if renamed.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        renamed
    }
}

fn checksum(key: &Key, object: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(key.as_bytes()).update(object).finalize()
}

/// The object in an entry's bytes, where header, length and checksum agree.
fn unpack(key: &Key, mut entry: Vec<u8>) -> Option<Vec<u8>> {
    let header = entry.get(..HEADER)?;
    let (magic, rest) = header.split_at(MAGIC.len());
    let (length, sum) = rest.split_at(8);
    let object = &entry[HEADER..];
    let is_whole = magic == MAGIC
        && length == (object.len() as u64).to_le_bytes()
        && sum == checksum(key, object).as_bytes().as_slice();
    is_whole.then(|| entry.split_off(HEADER))
}

#[cfg(unix)]
fn make_private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::DirBuilder::new().mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn make_private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(unix)]
fn check_private(dir: &Path) -> Result<(), Refused> {
    use std::os::unix::fs::MetadataExt;
    // A directory that is not there holds nothing to distrust.
    let Ok(found) = fs::metadata(dir) else { return Ok(()) };
    // SAFETY: geteuid has no preconditions and cannot fail.
    let user = unsafe { libc::geteuid() };
    if found.uid() != user {
        return Err(Refused::Foreign { dir: dir.into(), owner: found.uid(), user });
    }
    if found.mode() & 0o022 != 0 {
        return Err(Refused::WritableByOthers { dir: dir.into(), mode: found.mode() & 0o7777 });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_dir: &Path) -> Result<(), Refused> {
    Ok(())
}

/// Opens what stands where an entry should, without waiting for whoever writes to it if it is a pipe. A link is none of
/// ours.
fn open_entry(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options.open(path)
}

fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
