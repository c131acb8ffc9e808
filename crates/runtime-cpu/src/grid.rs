//! Cooperative launches: blocks that wait for all blocks of the grid.
//!
//! In: the entry point of a block program and a launch. Out: all blocks have run. Each block has a stack of its own. In
//! a round the pool's threads run every block until it waits or ends; when all have, the next round goes on behind the
//! barrier. So any number of machine threads runs any number of blocks, and a barrier of the grid costs one hand-off.

use crate::{Pool, pace::Pace};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use runtime::blocks::{BlockMemory, Turns, set_turns};
use runtime::{BlockBounds, BlockEntryPoint, EntryPoint, Fault, LaunchBounds};
use std::cell::{Cell, RefCell};

/// Most blocks of a cooperative launch: each has a stack.
pub const MAX_GRID: i64 = 4096;

/// A kernel has at most half a megabyte of locals.
const STACK: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    #[error("a launch whose blocks wait for each other has at most {MAX_GRID} blocks, not {0}")]
    TooManyBlocks(i64),
    #[error("no stack for a block: {0}")]
    NoStack(String),
}

/// A block in the middle of its run.
struct Fiber {
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    state: Box<State>,
}

/// What the block's code may ask for; its address does not change.
#[derive(Default)]
struct State {
    memory: RefCell<BlockMemory>,
    /// Where the block gives its turn back; set while it runs.
    yielder: Cell<Option<*const Yielder<(), ()>>>,
}

impl Turns for State {
    fn memory(&self, size: usize) -> *mut u8 {
        self.memory.borrow_mut().get(size)
    }

    fn wait_for_grid(&self) {
        if let Some(yielder) = self.yielder.get() {
            // SAFETY: set by this very coroutine, which lives while its code runs.
            unsafe { (*yielder).suspend(()) };
            // Maybe on another machine thread than before.
            let turns: *const dyn Turns = self;
            // SAFETY: the state outlives the block's code.
            unsafe { set_turns(Some(turns)) };
        }
    }
}

/// What a block is started with.
#[derive(Clone, Copy)]
struct Start {
    entry: BlockEntryPoint,
    args: *const u8,
    bounds: *const BlockBounds,
    fault: *const Fault,
    state: *const State,
}

impl Fiber {
    fn new(start: Start, number: i64, state: Box<State>) -> Result<Fiber, GridError> {
        let stack = DefaultStack::new(STACK).map_err(|error| GridError::NoStack(error.to_string()))?;
        let start = Start { state: &*state, ..start };
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            let start = start;
            // SAFETY: the launch waits until all blocks have ended, and vouches for the rest.
            unsafe {
                (*start.state).yielder.set(Some(yielder));
                (start.entry)(start.args, start.bounds, number, number + 1, start.fault);
            }
        });
        Ok(Fiber { coroutine: Some(coroutine), state })
    }

    /// Runs until the block waits or ends.
    fn resume(&mut self) {
        let Some(coroutine) = &mut self.coroutine else { return };
        let turns: *const dyn Turns = &*self.state;
        // SAFETY: the state lives as long as the fiber.
        unsafe { set_turns(Some(turns)) };
        let result = coroutine.resume(());
        // SAFETY: nothing is set.
        unsafe { set_turns(None) };
        if let CoroutineResult::Return(()) = result {
            self.coroutine = None;
        }
    }
}

/// Runs blocks `begin..end` until they wait; an `EntryPoint`, so that the pool runs rounds as it runs launches.
unsafe extern "C" fn round(args: *const u8, _: *const LaunchBounds, begin: i64, end: i64, _: *const Fault) {
    for number in begin..end {
        // SAFETY: `args` points to as many fibers as the round has, and each number is given to one thread only.
        unsafe { (*args.cast_mut().cast::<Fiber>().add(number as usize)).resume() };
    }
}

impl Pool {
    /// Runs every block of a launch whose blocks wait for each other.
    ///
    /// # Safety
    /// As for [`Pool::launch`].
    pub unsafe fn launch_grid(
        &self,
        entry: BlockEntryPoint,
        args: *const u8,
        bounds: &BlockBounds,
        fault: &Fault,
    ) -> Result<(), GridError> {
        let n = bounds.n_blocks().unwrap_or(i64::MAX);
        if n > MAX_GRID {
            return Err(GridError::TooManyBlocks(n));
        }
        if bounds.n_threads().is_none_or(|n| n <= 0) {
            return Ok(());
        }
        let mut fibers = Vec::new();
        for number in 0..n {
            let state = Box::<State>::default();
            fibers.push(Fiber::new(Start { entry, args, bounds, fault, state: &*state }, number, state)?);
        }
        let shape = LaunchBounds::new([n, 1, 1, 1]);
        let round: EntryPoint = round;
        while fibers.iter().any(|fiber| fiber.coroutine.is_some()) {
            let all = fibers.as_mut_ptr().cast::<u8>();
            // SAFETY: `round` finds its fibers there, which no one else touches meanwhile.
            unsafe { self.run_range(&Pace { min_chunk: 1, ..Pace::DEFAULT }, round, all, &shape, 0..n, fault) };
        }
        Ok(())
    }
}
