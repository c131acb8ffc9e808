//! Units that an earlier process made, found without the front end.
//!
//! In: a kernel, the types of its arguments, options, and a program that answers questions. Out: the unit that the front
//! end would make, from the disk.
//!
//! Under a [`Key`] of the kernel's own text, types, options and compiler lie *paths*: what the front end asked the
//! program, what it was told, and which unit it made. It is a function of the answers, so that all paths begin with the
//! same question, and those that agree in their answers so far go on with the same one. [`Paths::follow`] asks what they
//! ask, in their order, and gives up at the first answer that none of them has: a changed constant, function, struct,
//! default or overload is an answer that changed. A program that runs code while its kernel is compiled leaves no path.

use crate::Part;
use crate::answers::{Named, Question, Recorder, Step, write_steps};
use crate::bytes::{Reader, bytes, number};
use crate::cache::DiskCache;
use crate::counters::{Phase, record};
use crate::kept;
use crate::key::Key;
use crate::unit::{Source, SourceIr, Unit};
use autodiff::Request;
use frontend::{Host, ObjectId, Options, Rejected};
use ir::Type;
use std::time::Instant;
use transform::Sharing;

/// A kernel has so many paths at most, the newest ones: one for each value of what it takes from outside.
const MAX_PATHS: usize = 32;
const MAX_BYTES: usize = 1 << 18;

/// What a unit is wanted of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) kernel: ObjectId,
    pub(crate) arg_types: &'a [Type],
    pub(crate) options: &'a Options,
    pub(crate) nulls: Option<u64>,
    /// For a kernel that a gradient takes.
    pub(crate) gradient: Option<(&'a Request, Part)>,
}

/// The unit from the disk, else the one that `make` makes, which the disk has from then on.
pub(crate) fn unit(
    host: &dyn Host,
    wanted: Wanted<'_>,
    disk: Option<&DiskCache>,
    make: impl FnOnce(&dyn Host) -> Result<Unit, Rejected>,
) -> Result<Unit, Rejected> {
    let Some(disk) = disk else { return make(host) };
    let start = Instant::now();
    let base = wanted.key(host);
    let entry = disk.read(&base);
    let paths = entry.as_deref().and_then(Paths::read).unwrap_or_default();
    if let Some(unit) = paths.follow(host, disk, wanted) {
        record(Phase::Recalled, start.elapsed());
        return Ok(unit);
    }
    let recorder = Recorder::new(host, wanted.kernel);
    let unit = make(&recorder)?;
    if let Some(asked) = recorder.finish()
        && let Some(packed) = kept::pack(&unit, asked.named.files())
    {
        let steps = asked.steps();
        let mut written = Vec::new();
        write_steps(&mut written, &steps);
        let key = Key::new(&[b"unit", base.as_bytes(), &written]);
        disk.write(&key, &packed);
        disk.write(&base, &paths.with(&steps, &key));
    }
    Ok(unit)
}

impl Wanted<'_> {
    fn key(&self, host: &dyn Host) -> Key {
        let Wanted { kernel, arg_types, options, nulls, gradient } = self;
        let types = arg_types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
        let how = format!("{options:?} {nulls:?} {gradient:?}");
        let text = Question::Source(*kernel).ask(host, &mut Named::new(*kernel));
        let compiler = [env!("CARGO_PKG_VERSION"), crate::FINGERPRINT, crate::FRONT_END];
        let texts = compiler.into_iter().chain([types.as_str(), how.as_str()]).map(str::as_bytes);
        Key::new(&[b"paths", &text[..]].into_iter().chain(texts).collect::<Vec<_>>())
    }

    fn source(&self, ir: SourceIr) -> Source {
        let sharing = self.gradient.map_or(Sharing::Arrays, |(request, _)| request.shared());
        Source { ir, launch_rank: self.options.launch_rank, sharing, nulls: self.nulls }
    }
}

/// In the order in which they were written.
#[derive(Default)]
struct Paths<'a>(Vec<Path<'a>>);

struct Path<'a> {
    steps: Vec<Step<'a>>,
    unit: Key,
}

impl<'a> Paths<'a> {
    fn read(entry: &'a [u8]) -> Option<Paths<'a>> {
        let mut reader = Reader(entry);
        let n = reader.number()?;
        let path = |_| Some(Path { steps: reader.steps()?, unit: Key::from_bytes(reader.bytes()?)? });
        (0..n).map(path).collect::<Option<_>>().map(Paths)
    }

    /// The unit at the end of the path that the program's answers lead along.
    fn follow(&self, host: &dyn Host, disk: &DiskCache, wanted: Wanted<'_>) -> Option<Unit> {
        let mut named = Named::new(wanted.kernel);
        let mut left: Vec<&Path<'_>> = self.0.iter().collect();
        for at in 0.. {
            let Some(&(question, _)) = left.first()?.steps.get(at) else { break };
            let answer = Question::read(question, &named)?.ask(host, &mut named);
            left.retain(|path| path.steps.get(at) == Some(&(question, &answer[..])));
        }
        let packed = disk.read(&left.first()?.unit)?;
        kept::unpack(&packed, named.files(), |ir| wanted.source(ir))
    }

    /// These and another one, as bytes; the oldest make room for it.
    fn with(&self, steps: &[Step<'_>], unit: &Key) -> Vec<u8> {
        let added = Path { steps: steps.to_vec(), unit: *unit };
        let mut written = Vec::new();
        let mut n_bytes = 0;
        for path in [&added].into_iter().chain(self.0.iter().rev().filter(|path| path.steps != added.steps)) {
            let mut one = Vec::new();
            write_steps(&mut one, &path.steps);
            bytes(&mut one, path.unit.as_bytes());
            n_bytes += one.len();
            if written.len() == MAX_PATHS || n_bytes > MAX_BYTES && !written.is_empty() {
                break;
            }
            written.push(one);
        }
        let mut out = Vec::new();
        number(&mut out, written.len());
        written.iter().rev().for_each(|path| out.extend(path));
        out
    }
}
