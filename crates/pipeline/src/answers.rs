//! What the front end asks the running program, and what it is told, as bytes.
//!
//! In: a [`Host`] that the front end asks, through a [`Recorder`]. Out: every question with its answer, in order. The
//! front end knows of a program what it asks, and nothing else: where another process gives the same answers to the
//! same questions, it would make the same IR.
//!
//! Objects are numbered in the order in which answers name them, so that numbers mean the same in every process.

use crate::bytes::{Reader, bytes, number};
use diagnostics::SourceFile;
use frontend::{Custom, Extended, FuncSource, Host, HostArgument, HostValue, ObjectId, ParamSource};
use ir::{Const, Type};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Longer answers are known by their hash.
const MAX_ANSWER: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'a> {
    Source(ObjectId),
    Overloads(ObjectId),
    Custom(ObjectId, Custom),
    Lookup(ObjectId, &'a str),
    Attribute(ObjectId, &'a str),
    LibraryName(ObjectId),
    StaticValue(ObjectId, u32, u32),
    Member(ObjectId, &'a str),
    ConstantArray(ObjectId),
    Describe(ObjectId),
    /// Whether there is one.
    DeviceArray(ObjectId),
    IsExtended,
}

enum Answer<'a> {
    Source(&'a Result<Arc<FuncSource>, String>),
    Objects(&'a [ObjectId]),
    Value(&'a Option<HostValue>),
    Text(Option<&'a str>),
    Array(&'a Option<(Type, Vec<u64>, Vec<Const>)>),
    Flag(bool),
}

/// The objects and texts that questions and answers named so far, the kernel or function in question first.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    objects: Vec<ObjectId>,
    files: Vec<Arc<SourceFile>>,
    /// Of the text of each file.
    hashes: Vec<blake3::Hash>,
}

impl Named {
    pub(crate) fn new(root: ObjectId) -> Named {
        Named { objects: vec![root], files: Vec::new(), hashes: Vec::new() }
    }

    pub(crate) fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn number(&mut self, object: ObjectId) -> usize {
        self.objects.iter().position(|&known| known == object).unwrap_or_else(|| {
            self.objects.push(object);
            self.objects.len() - 1
        })
    }

    /// The hash of a file's text. Functions of one file bring the text along, each its own copy.
    fn hash(&mut self, name: &str, text: &Arc<str>) -> blake3::Hash {
        if let Some(place) = self.files.iter().position(|file| file.name == name && file.text == *text) {
            return self.hashes[place];
        }
        let hash = blake3::hash(text.as_bytes());
        self.files.push(Arc::new(SourceFile::new(name, text.clone())));
        self.hashes.push(hash);
        hash
    }
}

impl<'a> Question<'a> {
    fn write(&self, named: &mut Named) -> Vec<u8> {
        let (tag, object, text, numbers): (u8, _, &str, [u32; 2]) = match *self {
            Question::Source(object) => (0, Some(object), "", [0; 2]),
            Question::Overloads(object) => (1, Some(object), "", [0; 2]),
            Question::Custom(object, Custom::Gradient) => (2, Some(object), "", [0; 2]),
            Question::Custom(object, Custom::Replay) => (3, Some(object), "", [0; 2]),
            Question::Lookup(object, name) => (4, Some(object), name, [0; 2]),
            Question::Attribute(object, name) => (5, Some(object), name, [0; 2]),
            Question::LibraryName(object) => (6, Some(object), "", [0; 2]),
            Question::StaticValue(object, line, column) => (7, Some(object), "", [line, column]),
            Question::Member(object, name) => (8, Some(object), name, [0; 2]),
            Question::ConstantArray(object) => (9, Some(object), "", [0; 2]),
            Question::Describe(object) => (10, Some(object), "", [0; 2]),
            Question::DeviceArray(object) => (11, Some(object), "", [0; 2]),
            Question::IsExtended => (12, None, "", [0; 2]),
        };
        let object = object.map_or(0, |object| named.number(object) as u32);
        let mut out = vec![tag];
        [object, numbers[0], numbers[1]].iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(text.as_bytes());
        out
    }

    /// The question that bytes stand for; `None` for other bytes, and for an object that no answer named.
    pub(crate) fn read(written: &'a [u8], named: &Named) -> Option<Question<'a>> {
        let (&tag, rest) = written.split_first()?;
        let (numbers, text) = rest.split_at_checked(12)?;
        let number = |at: usize| numbers[4 * at..][..4].try_into().map_or(0, u32::from_le_bytes);
        let object = || named.objects.get(number(0) as usize).copied();
        let text = std::str::from_utf8(text).ok()?;
        Some(match tag {
            0 => Question::Source(object()?),
            1 => Question::Overloads(object()?),
            2 => Question::Custom(object()?, Custom::Gradient),
            3 => Question::Custom(object()?, Custom::Replay),
            4 => Question::Lookup(object()?, text),
            5 => Question::Attribute(object()?, text),
            6 => Question::LibraryName(object()?),
            7 => Question::StaticValue(object()?, number(1), number(2)),
            8 => Question::Member(object()?, text),
            9 => Question::ConstantArray(object()?),
            10 => Question::Describe(object()?),
            11 => Question::DeviceArray(object()?),
            12 => Question::IsExtended,
            _ => return None,
        })
    }

    /// What the program answers.
    pub(crate) fn ask(&self, host: &dyn Host, named: &mut Named) -> Vec<u8> {
        match *self {
            Question::Source(func) => Answer::Source(&host.source(func)).write(named),
            Question::Overloads(func) => Answer::Objects(&host.overloads(func)).write(named),
            Question::Custom(func, kind) => Answer::Objects(host.custom(func, kind).as_slice()).write(named),
            Question::Lookup(scope, name) => Answer::Value(&host.lookup(scope, name)).write(named),
            Question::Attribute(object, name) => Answer::Value(&host.attribute(object, name)).write(named),
            Question::LibraryName(object) => Answer::Text(host.library_name(object).as_deref()).write(named),
            Question::StaticValue(scope, line, column) => {
                Answer::Value(&host.static_value(scope, line, column)).write(named)
            }
            Question::Member(class, name) => Answer::Value(&host.member(class, name)).write(named),
            Question::ConstantArray(object) => Answer::Array(&host.constant_array(object)).write(named),
            Question::Describe(object) => Answer::Text(Some(&host.describe(object))).write(named),
            Question::DeviceArray(object) => Answer::Flag(host.device_array(object).is_some()).write(named),
            Question::IsExtended => Answer::Flag(host.is_extended()).write(named),
        }
    }
}

impl Answer<'_> {
    fn write(&self, named: &mut Named) -> Vec<u8> {
        let mut out = vec![0];
        match self {
            Answer::Source(Ok(found)) => source(&mut out, found, named),
            Answer::Source(Err(why)) => {
                out[0] = 1;
                bytes(&mut out, why.as_bytes());
            }
            Answer::Objects(objects) => objects.iter().for_each(|&object| number(&mut out, named.number(object))),
            Answer::Value(found) => found.iter().for_each(|found| value(&mut out, found, named)),
            Answer::Text(text) => text.iter().for_each(|text| bytes(&mut out, text.as_bytes())),
            Answer::Array(found) => {
                for (ty, shape, constants) in found.iter() {
                    bytes(&mut out, ty.to_string().as_bytes());
                    bytes(
                        &mut out,
                        shape.iter().flat_map(|extent| extent.to_le_bytes()).collect::<Vec<_>>().as_slice(),
                    );
                    leaves(&mut out, constants);
                }
            }
            Answer::Flag(flag) => out.push((*flag).into()),
        }
        if out.len() > MAX_ANSWER { [&[2], &blake3::hash(&out).as_bytes()[..]].concat() } else { out }
    }
}

fn source(out: &mut Vec<u8>, source: &FuncSource, named: &mut Named) {
    let FuncSource { name, file, text, first_line, params, returns, dialect, defines } = source;
    out.extend(named.hash(file, text).as_bytes());
    bytes(out, name.as_bytes());
    bytes(out, file.as_bytes());
    number(out, *first_line as usize);
    bytes(out, format!("{returns:?} {dialect:?} {defines:?}").as_bytes());
    for ParamSource { name, annotation, default, passing } in params {
        bytes(out, name.as_bytes());
        bytes(out, format!("{annotation:?} {passing:?}").as_bytes());
        number(out, default.is_some().into());
        default.iter().for_each(|default| value(out, default, named));
    }
}

/// By their bits: -0 is not 0, and a NaN is not another.
fn leaves(out: &mut Vec<u8>, constants: &[Const]) {
    bytes(out, constants.iter().flat_map(|constant| constant.0.to_le_bytes()).collect::<Vec<_>>().as_slice());
}

fn value(out: &mut Vec<u8>, value: &HostValue, named: &mut Named) {
    match value {
        HostValue::None => out.push(0),
        HostValue::Bool(holds) => out.extend([1, (*holds).into()]),
        HostValue::Int(int) => {
            out.push(2);
            out.extend(int.to_le_bytes());
        }
        HostValue::Float(float) => {
            out.push(3);
            out.extend(float.to_bits().to_le_bytes());
        }
        HostValue::Str(text) => {
            out.push(4);
            bytes(out, text.as_bytes());
        }
        HostValue::Scalar(scalar, constant) => {
            out.push(5);
            bytes(out, scalar.name().as_bytes());
            leaves(out, &[*constant]);
        }
        HostValue::Composite(ty, constants) => {
            out.push(6);
            bytes(out, ty.to_string().as_bytes());
            leaves(out, constants);
        }
        HostValue::Tuple(items) => {
            out.push(7);
            number(out, items.len());
            items.iter().for_each(|item| self::value(out, item, named));
        }
        HostValue::Type(pattern) => {
            out.push(8);
            bytes(out, format!("{pattern:?}").as_bytes());
        }
        HostValue::Builtin(name) => {
            out.push(9);
            bytes(out, name.as_bytes());
        }
        HostValue::Func(object) => {
            out.push(10);
            number(out, named.number(*object));
        }
        HostValue::Object(object) => {
            out.push(11);
            number(out, named.number(*object));
        }
    }
}

/// A question and its answer.
pub(crate) type Step<'a> = (&'a [u8], &'a [u8]);

/// What was asked, each question once, and what answers named.
#[derive(Debug)]
pub struct Asked {
    pub(crate) named: Named,
    steps: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Asked {
    /// Whether a program answers as it did, `root` being what was in question.
    pub fn holds(&self, host: &dyn Host, root: ObjectId) -> bool {
        // Texts that are still the same need not be hashed again.
        let mut named = Named { objects: vec![root], ..self.named.clone() };
        self.steps.iter().all(|(question, answer)| {
            Question::read(question, &named).is_some_and(|question| question.ask(host, &mut named) == *answer)
        })
    }

    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        self.steps.iter().map(|(question, answer)| (&question[..], &answer[..])).collect()
    }
}

/// Passes every question on and notes it with its answer.
pub(crate) struct Recorder<'h> {
    host: &'h dyn Host,
    noted: RefCell<Noted>,
}

struct Noted {
    asked: Asked,
    /// Where each question is among the steps.
    places: HashMap<Vec<u8>, usize>,
    /// Something was asked that another process cannot ask again with the same effect.
    is_open: bool,
}

impl<'h> Recorder<'h> {
    pub(crate) fn new(host: &'h dyn Host, root: ObjectId) -> Recorder<'h> {
        let asked = Asked { named: Named::new(root), steps: Vec::new() };
        let noted = Noted { asked, places: HashMap::new(), is_open: false };
        Recorder { host, noted: RefCell::new(noted) }
    }

    /// What was asked; `None` where that is not all that the IR depends on.
    pub(crate) fn finish(self) -> Option<Asked> {
        let Noted { asked, is_open, .. } = self.noted.into_inner();
        (!is_open).then_some(asked)
    }

    fn note(&self, question: Question<'_>, answer: &Answer<'_>) {
        let Noted { asked, places, is_open } = &mut *self.noted.borrow_mut();
        let question = question.write(&mut asked.named);
        let answer = answer.write(&mut asked.named);
        match places.get(&question) {
            // A program that changes while it is compiled.
            Some(&place) => *is_open |= asked.steps[place].1 != answer,
            None => {
                places.insert(question.clone(), asked.steps.len());
                asked.steps.push((question, answer));
            }
        }
    }

    /// What is asked here cannot be asked again elsewhere, or code of the program runs, which may do anything.
    fn leave_open(&self) {
        self.noted.borrow_mut().is_open = true;
    }
}

impl Host for Recorder<'_> {
    fn warn(&self, report: String) {
        // Every process says it.
        self.leave_open();
        self.host.warn(report);
    }

    fn source(&self, func: ObjectId) -> Result<Arc<FuncSource>, String> {
        let found = self.host.source(func);
        self.note(Question::Source(func), &Answer::Source(&found));
        found
    }

    fn overloads(&self, func: ObjectId) -> Vec<ObjectId> {
        let found = self.host.overloads(func);
        self.note(Question::Overloads(func), &Answer::Objects(&found));
        found
    }

    fn custom(&self, func: ObjectId, kind: Custom) -> Option<ObjectId> {
        let found = self.host.custom(func, kind);
        self.note(Question::Custom(func, kind), &Answer::Objects(found.as_slice()));
        found
    }

    fn lookup(&self, scope: ObjectId, name: &str) -> Option<HostValue> {
        let found = self.host.lookup(scope, name);
        self.note(Question::Lookup(scope, name), &Answer::Value(&found));
        found
    }

    fn attribute(&self, object: ObjectId, name: &str) -> Option<HostValue> {
        let found = self.host.attribute(object, name);
        self.note(Question::Attribute(object, name), &Answer::Value(&found));
        found
    }

    fn library_name(&self, object: ObjectId) -> Option<String> {
        let found = self.host.library_name(object);
        self.note(Question::LibraryName(object), &Answer::Text(found.as_deref()));
        found
    }

    fn is_extended(&self) -> bool {
        let found = self.host.is_extended();
        self.note(Question::IsExtended, &Answer::Flag(found));
        found
    }

    fn implementation(&self, what: Extended<'_>, args: &[HostArgument]) -> Result<Option<ObjectId>, String> {
        if self.is_extended() {
            self.leave_open();
        }
        self.host.implementation(what, args)
    }

    fn device_array(&self, object: ObjectId) -> Option<(Type, u64, Vec<u64>)> {
        let found = self.host.device_array(object);
        self.note(Question::DeviceArray(object), &Answer::Flag(found.is_some()));
        // Its address is this process's own.
        if found.is_some() {
            self.leave_open();
        }
        found
    }

    fn static_value(&self, scope: ObjectId, line: u32, column: u32) -> Option<HostValue> {
        let found = self.host.static_value(scope, line, column);
        self.note(Question::StaticValue(scope, line, column), &Answer::Value(&found));
        found
    }

    fn member(&self, class: ObjectId, name: &str) -> Option<HostValue> {
        let found = self.host.member(class, name);
        self.note(Question::Member(class, name), &Answer::Value(&found));
        found
    }

    fn evaluate(&self, scope: ObjectId, expression: &str, locals: &[(String, HostValue)]) -> Result<HostValue, String> {
        self.leave_open();
        self.host.evaluate(scope, expression, locals)
    }

    fn constant_array(&self, object: ObjectId) -> Option<(Type, Vec<u64>, Vec<Const>)> {
        let found = self.host.constant_array(object);
        self.note(Question::ConstantArray(object), &Answer::Array(&found));
        found
    }

    fn describe(&self, object: ObjectId) -> String {
        let found = self.host.describe(object);
        self.note(Question::Describe(object), &Answer::Text(Some(&found)));
        found
    }
}

/// Steps in a row.
pub(crate) fn write_steps(out: &mut Vec<u8>, steps: &[Step<'_>]) {
    number(out, steps.len());
    for (question, answer) in steps {
        bytes(out, question);
        bytes(out, answer);
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn steps(&mut self) -> Option<Vec<Step<'a>>> {
        let n = self.number()?;
        (0..n).map(|_| Some((self.bytes()?, self.bytes()?))).collect()
    }
}
