//! Launches over thread blocks: threads take turns between barriers, in the order of their numbers.
//!
//! In: a block kernel, or the block program that it became, and the launch's shape. Out: the effects on memory, and at
//! most one failure record. A block's threads run one after the other, each until it waits or ends. When all do, warps
//! whose lanes wait for each other go on first ([`crate::warp`]), then the barrier that all threads are at. Threads that
//! wait at different barriers, or at one that another thread ran past, end the launch with a report.
//!
//! Blocks run one after the other; where a kernel waits for the whole grid, they take turns between grid barriers.

use crate::code::{Code, Position, Step, Sync, SyncKind};
use crate::run::{Stop, Thread};
use crate::shadow::{Shadow, Visit, span_values};
use crate::{DIVERGENCE, Program, UNCHECKED, fill};
use diagnostics::Span;
use ir::{FuncRef, FunctionKind};
use runtime::{BlockBounds, Fault, FaultRecord};
use std::cell::RefCell;

/// What a thread knows of its place in the launch.
pub(crate) struct Seat<'p> {
    bounds: &'p BlockBounds,
    pub(crate) block: i64,
    pub(crate) linear: i64,
    /// The block's shared arrays, and behind them its dynamic shared memory.
    shared: u64,
    dynamic: u64,
    /// Of global memory, and of the block's shared memory.
    shadows: Option<(&'p RefCell<Shadow>, std::rc::Rc<RefCell<Shadow>>)>,
    /// Barriers of the block, the warp and the grid that the thread has passed.
    pub(crate) phases: [u32; 3],
}

impl Seat<'_> {
    pub(crate) fn shadows(&self) -> Option<(&RefCell<Shadow>, &RefCell<Shadow>)> {
        self.shadows.as_ref().map(|(global, shared)| (*global, &**shared))
    }

    pub(crate) fn is_shared(&self, address: u64) -> bool {
        (self.shared..self.dynamic + self.bounds.dynamic_shared.max(0) as u64).contains(&address)
    }

    pub(crate) fn visit(&self, span: Span) -> Visit {
        let [phase, warp_phase, grid_phase] = self.phases;
        let (block, thread) = (self.block, self.linear);
        Visit { block, thread, phase, warp_phase, grid_phase, fences: 0, span, is_atomic: false }
    }
}

impl Thread<'_> {
    fn seat(&self) -> &Seat<'_> {
        self.seat.as_ref().expect("only launches over thread blocks run ops over blocks")
    }

    pub(crate) fn position(&self, position: Position) -> i64 {
        let seat = self.seat();
        let bounds = seat.bounds;
        match position {
            Position::ThreadIndex(dim) => bounds.thread_index(seat.linear)[dim as usize],
            Position::BlockIndex(dim) => bounds.block_index(seat.block)[dim as usize],
            Position::BlockExtent(dim) => bounds.block[dim as usize],
            Position::GridExtent(dim) => bounds.grid[dim as usize],
            Position::Lane => seat.linear % 32,
        }
    }

    pub(crate) fn shared(&self) -> u64 {
        self.seat().shared
    }

    /// Address and extent of an array over dynamic shared memory.
    pub(crate) fn dynamic_shared(&self, offset: i64, elem_size: u64) -> (u64, u64) {
        let seat = self.seat();
        let n_bytes = seat.bounds.dynamic_shared.max(0);
        if !(0..=n_bytes).contains(&offset) {
            return (0, 0);
        }
        (seat.dynamic + offset as u64, (n_bytes - offset) as u64 / elem_size.max(1))
    }

    pub(crate) fn n_threads(&self) -> u64 {
        self.seat().bounds.n_threads().unwrap_or(0) as u64
    }

    /// Becomes thread `linear` of the block.
    pub(crate) fn sit(&mut self, linear: i64) {
        if let Some(seat) = &mut self.seat {
            let [x, y, z] = seat.bounds.thread_index(linear);
            (self.tid, seat.linear) = ([seat.block, x, y, z], linear);
        }
    }

    /// Becomes the first thread of the block. What all threads did before is past.
    pub(crate) fn begin_threads(&mut self) {
        self.sit(0);
        self.pass();
    }

    /// Becomes the next thread of the block, where there is one.
    pub(crate) fn sit_next(&mut self) -> bool {
        let next = self.seat().linear + 1;
        let is_there = (next as u64) < self.n_threads();
        if is_there {
            self.sit(next);
        } else {
            self.pass();
        }
        is_there
    }

    fn pass(&mut self) {
        if let Some(seat) = &mut self.seat {
            seat.phases[0] += 1;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Waiting,
    /// `early`: by a `return` or a failed check before the kernel's end.
    Ended {
        early: bool,
    },
}

/// A thread of a block with its frame.
pub(crate) struct Member<'p> {
    pub(crate) thread: Thread<'p>,
    pub(crate) frame: Vec<u64>,
    pub(crate) state: State,
}

impl Member<'_> {
    /// Where the thread waits: the steps after the calls that lead there, outermost first, then after the op.
    pub(crate) fn place(&self) -> Vec<usize> {
        let inner = self.thread.paused.iter().rev().map(|paused| paused.pc);
        std::iter::once(self.thread.pc).chain(inner).collect()
    }

    /// The op at which the thread waits.
    pub(crate) fn sync<'c>(&self, codes: &'c [Code], kernel: &'c Code) -> &'c Sync {
        let (code, pc) = match self.thread.paused.first() {
            Some(paused) => (&codes[paused.callee as usize], paused.pc),
            None => (kernel, self.thread.pc),
        };
        let Step::Sync(sync) = &code.steps[pc - 1] else { panic!("the thread waits at {:?}", code.steps[pc - 1]) };
        sync
    }

    /// The frame of the function that waits.
    pub(crate) fn frame(&mut self) -> &mut [u64] {
        match self.thread.paused.first_mut() {
            Some(paused) => &mut paused.frame,
            None => &mut self.frame,
        }
    }

    /// Lets the thread go on behind the op, which gave these results.
    pub(crate) fn go_on(&mut self, sync: &Sync, results: &[u64]) {
        for (&slot, &word) in sync.results.iter().zip(results) {
            self.frame()[slot as usize] = word;
        }
        self.state = State::Ready;
    }
}

/// Where a block stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    AtGridBarrier,
    Done,
}

/// A block with its memory.
struct Block<'p> {
    members: Vec<Member<'p>>,
    /// Keeps the memory that the members' seats point to.
    _memory: Vec<u64>,
}

impl Program {
    /// Runs every block of a launch in order; with `is_checked`, looks for races and for reads of shared memory that
    /// nobody stored to. `args` as for [`Program::launch`].
    pub fn launch_blocks(&self, func: FuncRef, args: &[u8], bounds: &BlockBounds, fault: &Fault, is_checked: bool) {
        let code = &self.codes[func.index()];
        let args = self.unpack(func, args);
        let shadow = RefCell::new(Shadow::default());
        let shadow = is_checked.then_some(&shadow);
        let n_blocks = bounds.n_blocks().unwrap_or(i64::MAX);
        let is_program = self.signatures[func.index()].kind == FunctionKind::BlockProgram;
        let n_members = if is_program { 1 } else { bounds.n_threads().unwrap_or(i64::MAX) };
        if n_members == 0 {
            return;
        }
        let start = |number| {
            let mut frame = code.template.clone();
            fill(&mut frame, &args);
            self.start_block(&frame, bounds, number, n_members, shadow)
        };
        let waits_for_grid = |step: &Step| matches!(step, Step::Sync(sync) if sync.kind == SyncKind::Grid);
        if !self.codes.iter().any(|code| code.steps.iter().any(waits_for_grid)) {
            for number in 0..n_blocks {
                start(number).run(&self.codes, code, fault);
                if fault.is_set() {
                    return;
                }
            }
            return;
        }
        let mut blocks: Vec<Block> = (0..n_blocks).map(start).collect();
        loop {
            let mut stopped = Vec::new();
            for block in &mut blocks {
                stopped.push(block.run(&self.codes, code, fault));
                if fault.is_set() {
                    return;
                }
            }
            if stopped.iter().all(|&stopped| stopped == Stopped::Done) {
                return;
            }
            let runaway = blocks.iter().zip(&stopped).find(|(block, stopped)| {
                **stopped == Stopped::Done && block.members.iter().any(|m| m.state == State::Ended { early: false })
            });
            let waiting = blocks.iter().find_map(|block| block.waiting());
            if let (Some((ended, _)), Some(waiting)) = (runaway, waiting) {
                return diverged(waiting, &ended.members[0], &self.codes, code, fault);
            }
            blocks.iter_mut().for_each(|block| block.pass_barrier(&self.codes, code));
        }
    }

    fn start_block<'p>(
        &'p self,
        frame: &[u64],
        bounds: &'p BlockBounds,
        number: i64,
        n_members: i64,
        shadow: Option<&'p RefCell<Shadow>>,
    ) -> Block<'p> {
        let n_bytes = self.shared + bounds.dynamic_shared.max(0) as u64;
        let memory = vec![0u64; (n_bytes as usize).div_ceil(8) + 1];
        let shared = memory.as_ptr() as u64;
        let shadows = shadow.map(|global| (global, std::rc::Rc::default()));
        let member = |linear: i64| {
            let mut thread = Thread::new(&self.codes, [1; runtime::abi::MAX_RANK]);
            let (dynamic, shadows) = (shared + self.shared, shadows.clone());
            thread.seat = Some(Seat { bounds, block: number, linear, shared, dynamic, shadows, phases: [0; 3] });
            thread.is_checked = shadow.is_some();
            thread.sit(linear);
            Member { thread, frame: frame.to_vec(), state: State::Ready }
        };
        Block { members: (0..n_members).map(member).collect(), _memory: memory }
    }
}

impl Block<'_> {
    /// Runs until all threads have ended or are at a grid barrier, or a failure is reported.
    fn run(&mut self, codes: &[Code], kernel: &Code, fault: &Fault) -> Stopped {
        loop {
            for member in &mut self.members {
                if member.state == State::Ready {
                    member.state = step(member, kernel, fault);
                }
            }
            if fault.is_set() || self.waiting().is_none() {
                return Stopped::Done;
            }
            if crate::warp::go_on(&mut self.members, codes, kernel) {
                continue;
            }
            let Some(first) = self.waiting() else { return Stopped::Done };
            let place = first.place();
            let strays = |m: &&Member| match m.state {
                State::Ended { early } => !early,
                _ => m.place() != place,
            };
            if let Some(stray) = self.members.iter().find(strays) {
                diverged(first, stray, codes, kernel, fault);
                return Stopped::Done;
            }
            if first.sync(codes, kernel).kind == SyncKind::Grid {
                return Stopped::AtGridBarrier;
            }
            self.pass_barrier(codes, kernel);
        }
    }

    fn waiting(&self) -> Option<&Member<'_>> {
        self.members.iter().find(|member| member.state == State::Waiting)
    }

    /// Lets all threads go on behind the barrier at which they wait.
    fn pass_barrier(&mut self, codes: &[Code], kernel: &Code) {
        let Some(sync) = self.waiting().map(|first| first.sync(codes, kernel)) else { return };
        let mut votes = Vec::new();
        for member in self.members.iter_mut().filter(|member| member.state == State::Waiting) {
            votes.extend(sync.operands.iter().map(|&slot| member.frame()[slot as usize] != 0));
        }
        let count = votes.iter().filter(|&&vote| vote).count() as u64;
        let result = match sync.kind {
            SyncKind::And => u64::from(count == votes.len() as u64),
            SyncKind::Or => u64::from(count > 0),
            _ => count,
        };
        for member in self.members.iter_mut().filter(|member| member.state == State::Waiting) {
            member.go_on(sync, &[result]);
            if let Some(seat) = &mut member.thread.seat {
                seat.phases[0] += 1;
                seat.phases[2] += u32::from(sync.kind == SyncKind::Grid);
            }
        }
    }
}

/// Runs a thread until it waits or ends.
fn step(member: &mut Member, kernel: &Code, fault: &Fault) -> State {
    // SAFETY: whoever launches vouches for the descriptors among the arguments; the rest are made here.
    match unsafe { member.thread.run(kernel, &mut member.frame) } {
        Ok(()) => return State::Ended { early: member.thread.pc != kernel.steps.len() },
        Err(Stop::Wait) => return State::Waiting,
        Err(Stop::Fault(record)) => fault.report(*record),
        Err(Stop::TooDeep) => {
            fault.report(FaultRecord { site: UNCHECKED, thread: member.thread.tid, values: Vec::new() });
        }
    }
    State::Ended { early: true }
}

/// Reports a barrier at which one thread waits and another does not.
fn diverged(waiting: &Member, stray: &Member, codes: &[Code], kernel: &Code, fault: &Fault) {
    let mut values = span_values(waiting.sync(codes, kernel).span).to_vec();
    let span = if stray.state == State::Waiting { stray.sync(codes, kernel).span } else { Span::NONE };
    values.extend(span_values(span));
    values.push(stray.thread.seat.as_ref().map_or(0, |seat| seat.linear));
    fault.report(FaultRecord { site: DIVERGENCE, thread: waiting.thread.tid, values });
}
