//! The disk cache under damage, truncation, foreign hands, read-only places and several processes at once.

use pipeline::cache::{DiskCache, Refused};
use pipeline::key::Key;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory of this test's own, removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("gridstride-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("the temporary directory is writable");
        Scratch(dir)
    }

    fn open(&self) -> DiskCache {
        DiskCache::open(self.0.join("cache")).expect("a directory of our own is accepted")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn object(seed: usize) -> Vec<u8> {
    (0..5000 + seed).map(|i| (i * 31 + seed) as u8).collect()
}

fn key(name: &str) -> Key {
    Key::new(&[name.as_bytes()])
}

fn entry(cache: &DiskCache, key: &Key) -> PathBuf {
    cache.dir().join(format!("{key}.o"))
}

fn temporaries(dir: &Path) -> usize {
    let is_temporary = |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "tmp");
    fs::read_dir(dir).map_or(0, |files| files.flatten().filter(is_temporary).count())
}

#[test]
fn what_was_written_is_read_by_the_next_opener() {
    let scratch = Scratch::new("round-trip");
    scratch.open().write(&key("a"), &object(1));
    assert_eq!(scratch.open().read(&key("a")), Some(object(1)));
    assert_eq!(scratch.open().read(&key("b")), None);
    assert_eq!(temporaries(&scratch.0.join("cache")), 0);
}

#[test]
fn any_flipped_byte_makes_an_entry_unread_and_a_new_write_heals_it() {
    let scratch = Scratch::new("damage");
    let cache = scratch.open();
    cache.write(&key("a"), &object(0));
    let whole = fs::read(entry(&cache, &key("a"))).expect("the entry was written");
    let places = (0..60).chain([whole.len() / 2, whole.len() - 1]);
    for at in places {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(entry(&cache, &key("a")), damaged).expect("the entry is writable");
        assert_eq!(cache.read(&key("a")), None, "byte {at} was changed");
    }
    cache.write(&key("a"), &object(0));
    assert_eq!(cache.read(&key("a")), Some(object(0)));
}

#[test]
fn a_truncated_or_longer_entry_is_not_read() {
    let scratch = Scratch::new("truncation");
    let cache = scratch.open();
    cache.write(&key("a"), &object(0));
    let whole = fs::read(entry(&cache, &key("a"))).expect("the entry was written");
    for length in [0, 1, 8, 15, 16, 47, 48, 49, whole.len() - 1] {
        fs::write(entry(&cache, &key("a")), &whole[..length]).expect("the entry is writable");
        assert_eq!(cache.read(&key("a")), None, "{length} bytes were left");
    }
    fs::write(entry(&cache, &key("a")), [&whole[..], b"x"].concat()).expect("the entry is writable");
    assert_eq!(cache.read(&key("a")), None);
}

#[cfg(unix)]
#[test]
fn a_link_or_a_pipe_in_the_place_of_an_entry_is_not_read() {
    let scratch = Scratch::new("no-file");
    let (cache, key) = (scratch.open(), key("k"));
    cache.write(&key, &object(1));
    let (path, moved) = (entry(&cache, &key), scratch.0.join("moved"));
    fs::rename(&path, &moved).expect("the entry is there");
    std::os::unix::fs::symlink(&moved, &path).expect("the directory is writable");
    assert_eq!(cache.read(&key), None);
    fs::remove_file(&path).expect("the link is there");
    assert!(Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success()));
    assert_eq!(cache.read(&key), None);
    cache.write(&key, &object(1));
    assert_eq!(cache.read(&key), Some(object(1)));
}

#[test]
fn an_entry_under_another_key_is_not_read() {
    let scratch = Scratch::new("moved");
    let cache = scratch.open();
    cache.write(&key("a"), &object(0));
    fs::rename(entry(&cache, &key("a")), entry(&cache, &key("b"))).expect("both names are in our directory");
    assert_eq!(cache.read(&key("b")), None);
}

#[test]
fn a_place_that_cannot_be_written_is_an_empty_cache() {
    let scratch = Scratch::new("unwritable");
    // A file where the directory should be stops even root, whom permission bits do not.
    let blocked = scratch.0.join("file");
    fs::write(&blocked, "x").expect("the temporary directory is writable");
    let cache = DiskCache::open(blocked.join("cache")).expect("nothing there to distrust");
    cache.write(&key("a"), &object(0));
    assert_eq!(cache.read(&key("a")), None);
}

#[test]
fn an_entry_that_cannot_be_replaced_leaves_no_temporary_file() {
    let scratch = Scratch::new("unreplaceable");
    let cache = scratch.open();
    fs::create_dir_all(entry(&cache, &key("a")).join("child")).expect("the cache directory is ours");
    cache.write(&key("a"), &object(0));
    assert_eq!(cache.read(&key("a")), None);
    assert_eq!(temporaries(cache.dir()), 0);
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_still_serves_what_it_has() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("read-only");
    let cache = scratch.open();
    cache.write(&key("a"), &object(0));
    fs::set_permissions(cache.dir(), fs::Permissions::from_mode(0o500)).expect("the directory is ours");
    let reopened = scratch.open();
    reopened.write(&key("b"), &object(1));
    assert_eq!(reopened.read(&key("a")), Some(object(0)));
    fs::set_permissions(cache.dir(), fs::Permissions::from_mode(0o700)).expect("the directory is ours");
}

#[cfg(unix)]
#[test]
fn a_new_directory_is_private_and_one_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("private");
    let cache = scratch.open();
    let mode = fs::metadata(cache.dir()).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    for mode in [0o777, 0o770, 0o1777] {
        fs::set_permissions(cache.dir(), fs::Permissions::from_mode(mode)).expect("the directory is ours");
        let refused = DiskCache::open(cache.dir()).expect_err("others can write to it");
        assert_eq!(refused, Refused::WritableByOthers { dir: cache.dir().into(), mode });
        assert!(refused.to_string().contains("chmod 700"), "{refused}");
    }
}

#[cfg(unix)]
#[test]
fn a_directory_of_another_user_is_refused() {
    use std::os::unix::fs::{MetadataExt, chown};
    let scratch = Scratch::new("foreign");
    let cache = scratch.open();
    let user = fs::metadata(cache.dir()).expect("it was made").uid();
    // Root can give a directory away; another user has `/`, which is root's.
    let dir = if chown(cache.dir(), Some(user + 1), None).is_ok() { cache.dir() } else { Path::new("/") };
    assert!(matches!(DiskCache::open(dir), Err(Refused::Foreign { .. })));
}

#[test]
fn a_full_cache_loses_its_oldest_entries() {
    let scratch = Scratch::new("full");
    let cache = scratch.open();
    let epoch = std::time::SystemTime::UNIX_EPOCH;
    for (age, name) in ["oldest", "middle", "newest"].into_iter().enumerate() {
        cache.write(&key(name), &object(0));
        let file = fs::File::options().write(true).open(entry(&cache, &key(name))).expect("the entry was written");
        file.set_modified(epoch + std::time::Duration::from_secs(1000 + age as u64)).expect("the entry is ours");
    }
    cache.sweep(11_000);
    assert_eq!(cache.read(&key("oldest")), None);
    assert!(cache.read(&key("middle")).is_some() && cache.read(&key("newest")).is_some());
}

const CHILD: &str = "GRIDSTRIDE_TEST_CACHE_CHILD";

/// Runs as a process of its own, started by the test below: writes, reads and damages the same few entries.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let cache = DiskCache::open(PathBuf::from(dir)).expect("the parent made it private");
    for round in 0..200 {
        let n = round % 4;
        let key = key(&n.to_string());
        cache.write(&key, &object(n));
        if round % 13 == 0 {
            let _ = fs::write(entry(&cache, &key), b"garbage");
        }
        let read = cache.read(&key);
        assert!(read.is_none() || read == Some(object(n)), "round {round} read foreign bytes");
    }
}

#[test]
fn several_processes_never_read_a_half_written_entry() {
    let scratch = Scratch::new("processes");
    let cache = scratch.open();
    let binary = std::env::current_exe().expect("a test has a binary");
    let start = || Command::new(&binary).args(["--exact", "child"]).env(CHILD, cache.dir()).output();
    let children: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().expect("the thread only waits")).collect()
    });
    for child in children {
        let child = child.expect("the binary starts");
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    }
    for n in 0..4 {
        cache.write(&key(&n.to_string()), &object(n));
        assert_eq!(cache.read(&key(&n.to_string())), Some(object(n)));
    }
    assert_eq!(temporaries(cache.dir()), 0);
}
