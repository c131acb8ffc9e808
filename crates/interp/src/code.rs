//! What a function is turned into before it runs: steps over the words of a frame.
//!
//! Every leaf of every value has a word of its own in the frame, known before anything runs. Regions are laid out one
//! after the other, with jumps for control flow.

use crate::scalar::{Binary, Ternary, Unary};
use diagnostics::Span;
use ir::{ShuffleMode, VoteMode};
use runtime::atomics::{Cas, Rmw};

/// The place of a word in a frame.
pub(crate) type Slot = u32;

/// A function ready to run.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) steps: Vec<Step>,
    /// What a frame holds at first: constants in their places, all else 0.
    pub(crate) template: Vec<u64>,
    /// Parameters take the first words, results the next.
    pub(crate) n_param_words: usize,
    pub(crate) n_result_words: usize,
    /// Words that hold the address of a local array's memory, 0 before its first use in a frame.
    pub(crate) local_arrays: Vec<Slot>,
}

/// A run of words to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) dst: Slot,
    pub(crate) src: Slot,
    pub(crate) n: u32,
}

/// One leaf of an accessed piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Bytes from the start of the piece.
    pub(crate) offset: u64,
    pub(crate) width: Width,
}

/// How a leaf lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// One byte: 0 is false, all else true.
    Bool,
    W1,
    W2,
    W4,
    W8,
}

/// Where a memory op goes, from an array and indices.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The array's words: address, extents, strides.
    pub(crate) array: Slot,
    pub(crate) rank: u32,
    pub(crate) indices: Box<[Slot]>,
    /// Bytes that the static steps of the path add.
    pub(crate) offset: u64,
    /// Dynamic steps: the index's slot, how many there are, and the bytes of one.
    pub(crate) path: Box<[(Slot, u64, u64)]>,
    pub(crate) span: Span,
}

/// A load or store.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) place: Place,
    pub(crate) pieces: Box<[Piece]>,
    /// The first word of the value loaded or stored.
    pub(crate) value: Slot,
}

#[derive(Debug)]
pub(crate) struct AtomicAccess {
    pub(crate) place: Place,
    /// For each component: bytes from the piece's start, bytes that it must be aligned to.
    pub(crate) pieces: Box<[(u64, u64)]>,
    pub(crate) operation: AtomicOperation,
    pub(crate) dst: Slot,
    /// Where a chunk of threads adds up what all threads of the launch do (`runtime::sums`): bytes to the address, and to
    /// the accumulators of each component.
    pub(crate) accumulators: Option<(u64, Vec<u64>)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AtomicOperation {
    Rmw { function: Rmw, value: Slot },
    Cas { function: Cas, expected: Slot, value: Slot },
}

/// A component chosen when running.
#[derive(Debug)]
pub(crate) struct DynamicComponent {
    /// For a matrix row and column: the index's slot, how many there are, and the words between two.
    pub(crate) indices: Box<[(Slot, u64, u64)]>,
    pub(crate) src: Slot,
    pub(crate) dst: Slot,
    pub(crate) n: u32,
    /// For `insert_dyn` the new component.
    pub(crate) component: Option<Slot>,
}

/// `rows` by `inner` times `inner` by `cols`; vectors have one row or one column.
#[derive(Debug)]
pub(crate) struct MatMul {
    pub(crate) mul: Binary,
    pub(crate) add: Binary,
    pub(crate) rows: u32,
    pub(crate) inner: u32,
    pub(crate) cols: u32,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) dst: Slot,
}

#[derive(Debug)]
pub(crate) struct CallStep {
    pub(crate) callee: u32,
    /// Into the callee's frame.
    pub(crate) args: Box<[Move]>,
    /// From the callee's frame.
    pub(crate) results: Box<[Move]>,
}

#[derive(Debug)]
pub(crate) struct PrintStep {
    pub(crate) format: Box<str>,
    pub(crate) args: Box<[(Slot, Unary)]>,
}

#[derive(Debug)]
pub(crate) struct ForEnter {
    pub(crate) lo: Slot,
    pub(crate) hi: Slot,
    pub(crate) step: Slot,
    /// Bits of the counter's type, and whether it is signed.
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
    pub(crate) counter: Slot,
    /// A word of its own: how many rounds are left.
    pub(crate) remaining: Slot,
    pub(crate) exit: u32,
}

#[derive(Debug)]
pub(crate) struct LocalArray {
    pub(crate) pointer: Slot,
    /// 8-byte words of memory; `None` where the size does not fit.
    pub(crate) n_words: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct ArrayFromAddress {
    pub(crate) address: Slot,
    pub(crate) extents: Box<[Slot]>,
    pub(crate) elem_size: u64,
    pub(crate) dst: Slot,
}

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) array: Slot,
    pub(crate) rank: u32,
    pub(crate) dim: u32,
    /// `row`: the index. `subarray`: start, count, step.
    pub(crate) start: Slot,
    pub(crate) count_step: Option<(Slot, Slot)>,
    pub(crate) dst: Slot,
}

/// What a check demands.
#[derive(Debug)]
pub(crate) enum Check {
    Bounds {
        array: Slot,
        rank: u32,
        indices: Box<[Slot]>,
    },
    Index {
        index: Slot,
        extent: Slot,
    },
    Converged {
        holds: Slot,
        thread: Slot,
        place: Slot,
    },
    /// Each of `n` words from `value` satisfies `test`.
    Each {
        value: Slot,
        n: u32,
        test: Unary,
    },
}

#[derive(Debug)]
pub(crate) enum Step {
    Unary {
        function: Unary,
        dst: Slot,
        a: Slot,
    },
    Binary {
        function: Binary,
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    Ternary {
        function: Ternary,
        dst: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    UnaryN {
        function: Unary,
        dst: Slot,
        a: Slot,
        n: u32,
    },
    BinaryN {
        function: Binary,
        dst: Slot,
        a: Slot,
        b: Slot,
        n: u32,
    },
    TernaryN(Box<TernaryN>),
    Mask(Box<Mask>),
    MaskSelect(Box<MaskSelect>),
    /// One word.
    Move1 {
        dst: Slot,
        src: Slot,
    },
    Move(Move),
    /// Of one word.
    Select1 {
        dst: Slot,
        condition: Slot,
        a: Slot,
        b: Slot,
    },
    Select {
        dst: Slot,
        condition: Slot,
        a: Slot,
        b: Slot,
        n: u32,
    },
    Fill {
        dst: Slot,
        src: Slot,
        n: u32,
    },
    ExtractDyn(Box<DynamicComponent>),
    InsertDyn(Box<DynamicComponent>),
    MatMul(Box<MatMul>),
    Transpose {
        dst: Slot,
        src: Slot,
        rows: u32,
        cols: u32,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<AtomicAccess>),
    IsNull {
        dst: Slot,
        array: Slot,
    },
    View(Box<View>),
    WrapIndex {
        dst: Slot,
        index: Slot,
        extent: Slot,
    },
    LocalArray(Box<LocalArray>),
    ArrayFromAddress(Box<ArrayFromAddress>),
    Tid {
        dst: Slot,
        dim: u32,
    },
    LaunchExtent {
        dst: Slot,
        dim: u32,
    },
    Position {
        dst: Slot,
        position: Position,
    },
    SharedArray {
        pointer: Slot,
        offset: u64,
    },
    DynamicShared {
        dst: Slot,
        offset: Slot,
        elem_size: u64,
    },
    ThreadSlots(Box<ThreadSlots>),
    /// Waits for other threads. The scheduler does what it says and lets the thread go on behind it.
    Sync(Box<Sync>),
    /// Begins with the first thread of the block.
    ThreadsEnter,
    /// Goes on with the next thread of the block, where there is one.
    ThreadsNext {
        body: u32,
    },
    Check {
        check: Box<Check>,
        site: u32,
    },
    Print(Box<PrintStep>),
    Call(Box<CallStep>),
    Jump {
        target: u32,
    },
    JumpUnless {
        condition: Slot,
        target: u32,
    },
    /// Sets up the counter, or jumps to the exit where there is no round.
    ForEnter(Box<ForEnter>),
    /// Counts on and jumps to the body where a round is left.
    ForNext {
        counter: Slot,
        step: Slot,
        remaining: Slot,
        bits: u32,
        body: u32,
    },
    Return,
    Unreachable,
}

/// Where a thread is in its launch over thread blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Position {
    ThreadIndex(u32),
    BlockIndex(u32),
    BlockExtent(u32),
    GridExtent(u32),
    Lane,
}

/// An array with elements for each thread of the block.
#[derive(Debug)]
pub(crate) struct ThreadSlots {
    pub(crate) pointer: Slot,
    /// Extents before the last.
    pub(crate) extents: Box<[u64]>,
    pub(crate) elem_size: u64,
}

/// An op that communicates between threads.
#[derive(Debug)]
pub(crate) struct Sync {
    pub(crate) kind: SyncKind,
    pub(crate) span: Span,
    /// The op's operands and results, one word each.
    pub(crate) operands: Box<[Slot]>,
    pub(crate) results: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncKind {
    Barrier,
    Count,
    And,
    Or,
    Grid,
    Warp,
    /// Waits for no one.
    Fence,
    Shuffle(ShuffleMode),
    Vote(VoteMode),
    MatchAny,
    MatchAll,
    Active,
}

#[derive(Debug)]
pub(crate) struct TernaryN {
    pub(crate) function: Ternary,
    pub(crate) dst: Slot,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    pub(crate) n: u32,
}

/// Bit k of the result: what the comparison says of component k.
#[derive(Debug)]
pub(crate) struct Mask {
    pub(crate) function: Binary,
    pub(crate) dst: Slot,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) n: u32,
}

#[derive(Debug)]
pub(crate) struct MaskSelect {
    pub(crate) mask: Slot,
    pub(crate) dst: Slot,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) n: u32,
}
