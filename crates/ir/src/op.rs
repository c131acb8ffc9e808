//! The op table. The enum, the text names, the verifier's rules and docs/ops.md all come from its rows.

pub use crate::sync::{FenceScope, ShuffleMode, VoteMode};
use crate::types::Class;

/// What the verifier demands of operands, results, regions and attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `n` operands and one result, all of one type whose scalar is in `classes`; composites go component by component.
    Same { n: usize, classes: &'static [Class] },
    /// As `Same` with `n` operands, but on scalars only.
    SameScalar { n: usize, classes: &'static [Class] },
    /// Two scalars of one type in `classes`, result bool.
    Compare { classes: &'static [Class] },
    /// One float scalar, result bool.
    FloatTest,
    /// A rule of its own, written out in the verifier under the op's name.
    Own,
}

/// What an op does besides computing its results. Transforms decide by this alone what may be moved, merged or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Results depend on operands and attribute only.
    Pure,
    /// Reads array memory.
    Read,
    /// Writes array memory (atomics also read it).
    Write,
    /// May end the thread with a report; otherwise pure.
    Check,
    /// Communicates with other threads, or orders memory between them: never moved, merged, removed, nor put under
    /// other control flow. Memory may have changed behind it.
    Sync,
    /// Output that the user sees, in program order within a thread.
    Print,
    /// Owns regions, ends one, or calls: its effect is that of what it contains.
    Control,
}

/// The kind of attribute that an op carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    None,
    Const,
    /// A component or dimension number.
    Index,
    /// Static extents of a local array.
    Extents,
    /// The way from an array element to the piece accessed.
    Path,
    /// A path and the atomic operation; of tiles the operation alone.
    Atomic,
    Site,
    Text,
    Func,
    /// Who sees the memory that `fence` orders.
    Scope,
    Shuffle,
    Vote,
}

/// The operation of `atomic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    Add,
    Sub,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
}

impl AtomicOp {
    pub const ALL: [(AtomicOp, &'static str); 8] = [
        (AtomicOp::Add, "add"),
        (AtomicOp::Sub, "sub"),
        (AtomicOp::Min, "min"),
        (AtomicOp::Max, "max"),
        (AtomicOp::And, "and"),
        (AtomicOp::Or, "or"),
        (AtomicOp::Xor, "xor"),
        (AtomicOp::Exchange, "exchange"),
    ];

    pub fn name(self) -> &'static str {
        AtomicOp::ALL.into_iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    pub fn from_name(name: &str) -> Option<AtomicOp> {
        AtomicOp::ALL.into_iter().find(|(_, known)| *known == name).map(|(op, _)| op)
    }
}

const INT: &[Class] = &[Class::Int];
const FLOAT: &[Class] = &[Class::Float];
const NUMBER: &[Class] = &[Class::Int, Class::Float];
const BITS: &[Class] = &[Class::Int, Class::Bool];
const ANY: &[Class] = &[Class::Int, Class::Float, Class::Bool];

macro_rules! ops {
    ($($variant:ident $name:literal $rule:expr, $attr:ident, $effect:ident, $doc:literal;)*) => {
        /// An operation. Its row in the table says what it takes and does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = $doc] $variant,)* }

        impl Op {
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// The name in IR text.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            pub fn rule(self) -> Rule {
                match self { $(Op::$variant => $rule,)* }
            }

            pub fn attr_kind(self) -> AttrKind {
                match self { $(Op::$variant => AttrKind::$attr,)* }
            }

            pub fn effect(self) -> Effect {
                match self { $(Op::$variant => Effect::$effect,)* }
            }

            /// What the op means, for docs/ops.md.
            pub fn doc(self) -> &'static str {
                match self { $(Op::$variant => $doc,)* }
            }
        }
    };
}

const fn same(n: usize, classes: &'static [Class]) -> Rule {
    Rule::Same { n, classes }
}

const fn scalar(n: usize, classes: &'static [Class]) -> Rule {
    Rule::SameScalar { n, classes }
}

const fn compare(classes: &'static [Class]) -> Rule {
    Rule::Compare { classes }
}

ops! {
    Const "const" Rule::Own, Const, Pure, "A scalar constant.";

    Add "add" same(2, NUMBER), None, Pure, "Sum. Integers wrap.";
    Sub "sub" same(2, NUMBER), None, Pure, "Difference. Integers wrap.";
    Mul "mul" same(2, NUMBER), None, Pure, "Product, component by component on composites. Integers wrap.";
    Div "div" same(2, NUMBER), None, Pure, "Quotient. Integers truncate toward zero; x / 0 is 0, and the least value / -1 is the least value. Floats as IEEE 754.";
    Rem "rem" same(2, NUMBER), None, Pure, "Remainder with the sign of the dividend (C's `%` and `fmod`). For integers x rem 0 is x.";
    FloorDiv "floordiv" same(2, NUMBER), None, Pure, "Quotient rounded toward minus infinity. For integers x / 0 is 0.";
    Mod "mod" same(2, NUMBER), None, Pure, "Remainder with the sign of the divisor (Python's `%`). For integers x mod 0 is x. For floats r = fmod(x, y), plus y where r is not 0 and the signs of r and y differ.";
    Neg "neg" same(1, NUMBER), None, Pure, "Negation. Integers wrap; floats flip the sign bit.";
    Abs "abs" same(1, NUMBER), None, Pure, "Absolute value. The least integer stays itself.";
    Min "min" same(2, NUMBER), None, Pure, "Smaller operand. A NaN counts as missing: min(a, b) is a where b is NaN, else a < b ? a : b.";
    Max "max" same(2, NUMBER), None, Pure, "Larger operand. A NaN counts as missing: max(a, b) is a where b is NaN, else a > b ? a : b.";
    Lesser "lesser" same(2, FLOAT), None, Pure, "lesser a, b: a where a < b, else b, also where one is NaN. An instruction of x86, which `min` is not.";
    Greater "greater" same(2, FLOAT), None, Pure, "greater a, b: a where a > b, else b, also where one is NaN.";
    Fma "fma" same(3, FLOAT), None, Pure, "a * b + c rounded once.";
    CopySign "copysign" same(2, FLOAT), None, Pure, "Magnitude of the first, sign of the second.";

    Sqrt "sqrt" same(1, FLOAT), None, Pure, "Square root, correctly rounded.";
    Cbrt "cbrt" same(1, FLOAT), None, Pure, "Cube root.";
    Exp "exp" same(1, FLOAT), None, Pure, "e to the power.";
    Exp2 "exp2" same(1, FLOAT), None, Pure, "2 to the power.";
    ExpM1 "expm1" same(1, FLOAT), None, Pure, "exp(x) - 1 without cancellation.";
    Log "log" same(1, FLOAT), None, Pure, "Natural logarithm.";
    Log2 "log2" same(1, FLOAT), None, Pure, "Logarithm to base 2.";
    Log10 "log10" same(1, FLOAT), None, Pure, "Logarithm to base 10.";
    Log1P "log1p" same(1, FLOAT), None, Pure, "log(1 + x) without cancellation.";
    Sin "sin" same(1, FLOAT), None, Pure, "Sine of radians.";
    Cos "cos" same(1, FLOAT), None, Pure, "Cosine of radians.";
    Tan "tan" same(1, FLOAT), None, Pure, "Tangent of radians.";
    Asin "asin" same(1, FLOAT), None, Pure, "Inverse sine; NaN outside [-1, 1].";
    Acos "acos" same(1, FLOAT), None, Pure, "Inverse cosine; NaN outside [-1, 1].";
    Atan "atan" same(1, FLOAT), None, Pure, "Inverse tangent.";
    Atan2 "atan2" same(2, FLOAT), None, Pure, "Angle of the point (second, first).";
    Sinh "sinh" same(1, FLOAT), None, Pure, "Hyperbolic sine.";
    Cosh "cosh" same(1, FLOAT), None, Pure, "Hyperbolic cosine.";
    Tanh "tanh" same(1, FLOAT), None, Pure, "Hyperbolic tangent.";
    Asinh "asinh" same(1, FLOAT), None, Pure, "Inverse hyperbolic sine.";
    Acosh "acosh" same(1, FLOAT), None, Pure, "Inverse hyperbolic cosine.";
    Atanh "atanh" same(1, FLOAT), None, Pure, "Inverse hyperbolic tangent.";
    Erf "erf" same(1, FLOAT), None, Pure, "Error function.";
    Erfc "erfc" same(1, FLOAT), None, Pure, "1 - erf(x) without cancellation.";
    Pow "pow" same(2, FLOAT), None, Pure, "First to the power of the second, as C's `pow`.";
    Floor "floor" same(1, FLOAT), None, Pure, "Rounds toward minus infinity.";
    Ceil "ceil" same(1, FLOAT), None, Pure, "Rounds toward plus infinity.";
    Trunc "trunc" same(1, FLOAT), None, Pure, "Rounds toward zero.";
    Round "round" same(1, FLOAT), None, Pure, "Rounds to nearest, halves away from zero.";
    Rint "rint" same(1, FLOAT), None, Pure, "Rounds to nearest, halves to even.";
    IsNan "isnan" Rule::FloatTest, None, Pure, "Whether the value is NaN.";
    IsInf "isinf" Rule::FloatTest, None, Pure, "Whether the value is an infinity.";
    IsFinite "isfinite" Rule::FloatTest, None, Pure, "Whether the value is neither NaN nor infinite.";

    And "and" same(2, BITS), None, Pure, "Bitwise and.";
    Or "or" same(2, BITS), None, Pure, "Bitwise or.";
    Xor "xor" same(2, BITS), None, Pure, "Bitwise exclusive or.";
    Not "not" same(1, BITS), None, Pure, "Bitwise complement.";
    Shl "shl" same(2, INT), None, Pure, "Left shift. The amount is read as unsigned; one of the width or more gives 0.";
    Shr "shr" same(2, INT), None, Pure, "Right shift, arithmetic for signed types. The amount is read as unsigned; one of the width or more gives 0, or -1 for a negative value.";
    PopCount "popcount" same(1, INT), None, Pure, "Number of one bits.";
    LeadingZeros "clz" same(1, INT), None, Pure, "Number of leading zero bits; the width for 0.";
    TrailingZeros "ctz" same(1, INT), None, Pure, "Number of trailing zero bits; the width for 0.";
    MulHigh "mulhi" scalar(2, INT), None, Pure, "High half of the double-width product.";

    Eq "eq" compare(ANY), None, Pure, "Equal; false for NaN.";
    Ne "ne" compare(ANY), None, Pure, "Not equal; true for NaN.";
    Lt "lt" compare(ANY), None, Pure, "Less.";
    Le "le" compare(ANY), None, Pure, "Less or equal.";
    Gt "gt" compare(ANY), None, Pure, "Greater.";
    Ge "ge" compare(ANY), None, Pure, "Greater or equal.";
    MaskLe "mask_le" Rule::Own, None, Pure, "mask_le a, b: the u32 whose bit k says whether component k of the float vector a is at most that of b; both have at most 32.";
    MaskSelect "mask_select" Rule::Own, None, Pure, "mask_select m, a, b: the vector of at most 32 components whose component k is that of a where bit k of the u32 is set, else of b.";
    Select "select" Rule::Own, None, Pure, "select c, a, b: a where the bool c holds, else b; any type but neither is skipped.";
    Cast "cast" Rule::Own, None, Pure, "Conversion to the result's scalar type. Integer to integer wraps; float to integer truncates, saturates, and takes NaN to 0; anything to bool is `!= 0`; to a narrower float rounds to nearest even. Composites go component by component.";
    Bitcast "bitcast" Rule::Own, None, Pure, "The same bits read as another scalar type of one size.";

    Construct "construct" Rule::Own, None, Pure, "A composite, struct or tuple from its components in order.";
    Splat "splat" Rule::Own, None, Pure, "A composite whose components are all the operand.";
    Extract "extract" Rule::Own, Index, Pure, "Component number `index`; a matrix counts row by row.";
    Insert "insert" Rule::Own, Index, Pure, "insert v, x {index}: v with that component replaced.";
    ExtractDyn "extract_dyn" Rule::Own, None, Pure, "extract_dyn v, i (a matrix takes row and column, i64): that component, or 0 outside.";
    InsertDyn "insert_dyn" Rule::Own, None, Pure, "insert_dyn v, x, i (a matrix takes row and column, i64): v with that component replaced, or v outside.";
    Dot "dot" Rule::Own, None, Pure, "Sum of products of two vectors, added from the first component on, each step rounded.";
    MatMul "matmul" Rule::Own, None, Pure, "Matrix by matrix, matrix by vector, or vector by matrix; sums run as in `dot`.";
    Transpose "transpose" Rule::Own, None, Pure, "Rows become columns.";

    Load "load" Rule::Own, Path, Read, "load a[i, j].path: an element, or the piece of it that the path names. Indices are i64 and in range.";
    Store "store" Rule::Own, Path, Write, "store a[i, j].path, x: replaces the element or the piece.";
    Atomic "atomic" Rule::Own, Atomic, Write, "atomic OP a[i, j].path, x: replaces the piece by OP of itself and x in one step, and gives what was there. On a composite each component is one step. Minimum and maximum as `min` and `max`.";
    AtomicCas "atomic_cas" Rule::Own, Path, Write, "atomic_cas a[i, j].path, expected, x: stores x where the bits equal expected, in one step, and gives what was there.";
    Extent "extent" Rule::Own, Index, Pure, "Length of an array along a dimension, i64.";
    IsNull "is_null" Rule::Own, None, Pure, "Whether an array has no memory behind it.";
    WithAdjoint "with_adjoint" Rule::Own, None, Pure, "with_adjoint a, d: the array a. Differentiating takes the array d of the same type as its adjoint, where that has memory.";
    Address "address" Rule::Own, None, Pure, "Base address of an array, u64.";
    Row "row" Rule::Own, Index, Pure, "row a, i {dim}: the array of one dimension less at index i of that dimension.";
    Subarray "subarray" Rule::Own, Index, Pure, "subarray a, start, count, step {dim}: a view with `count` elements along that dimension.";
    WrapIndex "wrap_index" Rule::Own, Index, Pure, "wrap_index a, i {dim}: i, or i + extent where i is negative.";
    LocalArray "local_array" Rule::Own, Extents, Control, "A zeroed array private to the thread, alive until the thread ends.";
    ArrayFromAddress "array_from_address" Rule::Own, None, Pure, "array_from_address p, n0, n1, …: a contiguous array over memory at the u64 address p.";

    SpareMemory "spare_memory" Rule::Own, None, Pure, "Address of 64 bytes that belong to nobody, u64: zeros until somebody writes there. Arrays of an object that is none lie over them, with steps of 0, so that a stray access does no harm.";
    OnHost "on_host" Rule::Own, None, Pure, "Whether the kernel runs on a CPU or in the interpreter, not on a GPU. It chooses between two ways to the same results.";

    Tid "tid" Rule::Own, Index, Pure, "Index of this thread along a dimension of the launch, i64, below 2^31 - 1. Kernels only.";
    LaunchExtent "launch_extent" Rule::Own, Index, Pure, "Threads along a dimension of the launch, i64, below 2^31. Kernels only, and block kernels that are made from one.";

    ThreadIndex "thread_index" Rule::Own, Index, Pure, "Index of this thread in its thread block along dimension x (0), y (1) or z (2), i64. The linear index of a thread is x + width * (y + height * z); warps are 32 neighbors of it. This and the rows up to `grid_barrier`: block kernels and the functions that they call only.";
    BlockIndex "block_index" Rule::Own, Index, Pure, "Index of the thread block in the grid along x (0), y (1) or z (2), i64.";
    BlockExtent "block_extent" Rule::Own, Index, Pure, "Threads of a block along x (0), y (1) or z (2), i64, at least 1.";
    GridExtent "grid_extent" Rule::Own, Index, Pure, "Thread blocks of the grid along x (0), y (1) or z (2), i64, at least 1.";
    LaneId "lane_id" Rule::Own, None, Pure, "Number of this thread in its warp, i32: its linear index mod 32.";
    SharedArray "shared_array" Rule::Own, Extents, Control, "An array that all threads of the block share, one for each such instruction; also in kernels over threads. It lives as long as the block; what it holds is unspecified until it is stored.";
    DynamicShared "dynamic_shared" Rule::Own, None, Pure, "dynamic_shared offset: an array of one dimension over the launch's dynamic shared bytes from the i64 offset on, as many whole elements as fit. All such arrays lie over the same bytes.";
    Barrier "barrier" Rule::Own, None, Sync, "Waits until every thread of the block that has not returned early is at this instruction in the same round of the loops around it. What they stored before is seen by all after. Threads that go other ways end the block with a report.";
    BarrierCount "barrier_count" Rule::Own, None, Sync, "A `barrier` that gives the number of threads whose bool operand holds, i32.";
    BarrierAnd "barrier_and" Rule::Own, None, Sync, "A `barrier` that gives whether the bool operands of all threads hold, i32 1 or 0.";
    BarrierOr "barrier_or" Rule::Own, None, Sync, "A `barrier` that gives whether the bool operand of any thread holds, i32 1 or 0.";
    WarpBarrier "warp_barrier" Rule::Own, None, Sync, "warp_barrier mask: waits for the lanes of the warp that the u32 mask names and orders memory between them.";
    Fence "fence" Rule::Own, Scope, Sync, "What this thread stored before is seen by the scope no later than what it stores after.";
    GridBarrier "grid_barrier" Rule::Own, None, Sync, "A `barrier` of all threads of the grid. Cooperative launches only.";
    Shuffle "shuffle" Rule::Own, Shuffle, Sync, "shuffle mask, x, n, width: gives x of another lane, and whether there is one. Groups are `width` lanes (1, 2, 4, 8, 16 or 32), n counts mod 32. The lane is number n mod width of the own group (idx), or the own number less n where that is in the own group (up), plus n where it is (down), or exclusive or n where it is not in a later group (xor); else x itself and false. Of a lane that is not in the u32 mask, or not at this instruction, x itself and true (on a GPU unspecified). x has 4 or 8 bytes, n and width are i32.";
    Vote "vote" Rule::Own, Vote, Sync, "vote mask, p: whether the bool p holds in all (all), in any (any) or alike in all (uni) lanes of the u32 mask that are at this instruction; or (ballot) the u32 of the lanes where it holds.";
    MatchAny "match_any" Rule::Own, None, Sync, "match_any mask, x: the lanes of the u32 mask at this instruction whose x has the same bits, u32. x has 4 or 8 bytes.";
    MatchAll "match_all" Rule::Own, None, Sync, "match_all mask, x: where x has the same bits in all lanes of the u32 mask at this instruction, these lanes and true; else 0 and false.";
    CallExtern "call_extern" Rule::Own, Text, Sync, "call_extern NAME, x, …: calls a function of other code that is linked with the kernel, with scalars as C passes them; gives a scalar, or nothing. What memory it reads and writes is unknown. On a GPU only.";
    ActiveMask "active_mask" Rule::Own, None, Sync, "The lanes of the warp that are at this instruction, u32.";

    Threads "threads" Rule::Own, None, Control, "Runs its region once for every thread of the block, in any order, and goes on when all are done; the region ends with `yield`. Block programs only, and not within itself; `thread_index` and `lane_id` stand within it.";
    ThreadSlots "thread_slots" Rule::Own, Extents, Control, "An array private to the block whose last dimension has an element for each of its threads by linear index, and 64 more; the numbers are the extents before it. What it holds is unspecified until it is stored. Block programs only, and not within `threads`.";
    CheckConverged "check_converged" Rule::Own, Site, Check, "check_converged ok, thread, where: ends the block with a report unless the bool holds. `thread` is the linear index, i64, of one that is not here, `where` the number, i64, of the site that it went instead.";

    CheckBounds "check_bounds" Rule::Own, Site, Check, "Ends the thread with a report unless the array has memory and 0 <= index < extent in every dimension.";
    CheckIndex "check_index" Rule::Own, Site, Check, "check_index i, n: ends the thread with a report unless 0 <= i < n.";
    CheckNonZero "check_nonzero" Rule::Own, Site, Check, "Ends the thread with a report where an integer divisor, or a component of it, is 0.";
    CheckFinite "check_finite" Rule::Own, Site, Check, "Ends the thread with a report where a float, or a component, is NaN or infinite.";
    Assert "assert" Rule::Own, Site, Check, "Ends the thread with a report where the bool operand is false.";
    Print "print" Rule::Own, Text, Print, "Writes text: C's printf format over scalar operands, written in one piece.";

    TileFill "tile_fill" Rule::Own, None, Pure, "A tile whose elements are all the operand. This and the rows up to `tile_atomic_at` are over tiles: all threads of a block run them together; `lower_tiles` turns them into `each` before code is made.";
    TileIndex "tile_index" Rule::Own, Index, Pure, "The tile of i32 whose elements are their own index along a dimension.";
    TileMap "tile_map" Rule::Own, Func, Pure, "tile_map @f(x, …): the tile of what the function gives for each element. Where the function takes a tile it gets the whole operand, where it takes the element type of a tile of the result's extents the element; other operands go to every call. The function is pure.";
    TileReduce "tile_reduce" Rule::Own, Func, Pure, "tile_reduce @f(t): one element from all, or from each row along the last dimension, by an associative and commutative function of two. Element e belongs to partial e mod p, each partial runs from its first element on, and halves of the partials are joined until one is left. p is the largest power of two that is at most the number of elements, at most 256 and, from 32 on, at most a sixteenth of them; of rows, 1.";
    TileScan "tile_scan" Rule::Own, Func, Pure, "tile_scan @f(t): element e of the result is elements 0 to e of the operand, row by row, one after the other by an associative function of two.";
    TileView "tile_view" Rule::Own, Extents, Pure, "tile_view t, start {strides}: the element of the result at (i, j, …) is the operand's at start + i * stride0 + j * stride1 + …, row by row, i64, in range.";
    TilePut "tile_put" Rule::Own, Extents, Pure, "tile_put t, u, start {strides}: t, with the element at start + i * stride0 + j * stride1 + … replaced by that of u at (i, j, …); these are in range and distinct.";
    TileScatter "tile_scatter" Rule::Own, Extents, Pure, "As `tile_put`, but adds in the place of replacing, and places may be the same; elements are added row by row.";
    TileGet "tile_get" Rule::Own, None, Pure, "tile_get t, i: element i, row by row, i64, in range.";
    TileSet "tile_set" Rule::Own, None, Pure, "tile_set t, x, i: t with element i, row by row, replaced by x.";
    TileUpdate "tile_update" Rule::Own, Atomic, Pure, "tile_update t, x, i {OP}: t after each thread of the block that comes here has joined its x with element i, its own, by `atomic OP`.";
    TileMatMul "tile_matmul" Rule::Own, None, Pure, "tile_matmul a, b, c: c plus the matrix product of a and b in the scalar type of c; each sum begins with c's element and runs from the first product on, each step rounded.";
    TileOfThreads "tile_of_threads" Rule::Own, None, Pure, "The tile of the operand's value in each thread of the block, by the thread's index.";
    TileOfThread "tile_of_thread" Rule::Own, None, Pure, "tile_of_thread t: the element at this thread's index in the block.";
    TileLoad "tile_load" Rule::Own, None, Read, "tile_load a, i, j, …: the tile of the array's elements from (i, j, …) on; 0 outside of the array.";
    TileStore "tile_store" Rule::Own, None, Write, "tile_store a, i, j, …, t: replaces the array's elements from (i, j, …) on; what is outside of the array is left out.";
    TileAtomic "tile_atomic" Rule::Own, Atomic, Write, "tile_atomic a, i, j, …, t {OP}: as `tile_store`, by `atomic OP`; gives what was there, 0 outside.";
    TileLoadAt "tile_load_at" Rule::Own, Index, Read, "tile_load_at a, t, i, j, … {dim}: as `tile_load`, but along one dimension the element is at an index that the tile t of i32 holds instead, by the index along that dimension.";
    TileStoreAt "tile_store_at" Rule::Own, Index, Write, "tile_store_at a, t, i, j, …, u {dim}: as `tile_store`, at the places of `tile_load_at`.";
    TileAtomicAt "tile_atomic_at" Rule::Own, Index, Write, "tile_atomic_at a, t, i, j, …, u {dim}: adds as `tile_atomic` at the places of `tile_load_at`; gives what was there.";

    Call "call" Rule::Own, Func, Control, "Calls a function of the module.";
    If "if" Rule::Own, None, Control, "Runs the first region where the bool operand holds, else the second; its results are what that region yields.";
    For "for" Rule::Own, None, Control, "for i = lo to hi step s: as Python's range: i takes lo, lo + s, … before hi (s > 0) or above hi (s < 0); none for s = 0. The bounds are read once. Carries values through the body's parameters.";
    Loop "loop" Rule::Own, None, Control, "Repeats its region until it breaks. Carries values through the region's parameters.";
    Each "each" Rule::Own, None, Control, "each i = n: runs its region for every i from 0 to below n, in any order or at once, and goes on when all are done; the region ends with `yield`. The threads of a block share the work, and see all that was stored before. Kernels only, and not within itself.";
    Yield "yield" Rule::Own, None, Control, "Ends a region of `if` with its results.";
    Continue "continue" Rule::Own, None, Control, "Ends this round of the nearest enclosing loop with the next values of its parameters.";
    Break "break" Rule::Own, None, Control, "Leaves the nearest enclosing loop with its results.";
    Return "return" Rule::Own, None, Control, "Leaves the function with its results; in a kernel ends the thread.";
    Unreachable "unreachable" Rule::Own, None, Control, "Ends a region that control never reaches the end of.";
}

impl Op {
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    pub fn is_terminator(self) -> bool {
        matches!(self, Op::Yield | Op::Continue | Op::Break | Op::Return | Op::Unreachable)
    }

    pub fn is_pure(self) -> bool {
        self.effect() == Effect::Pure
    }

    /// Whether it is over tiles: `lower_tiles` turns it into others.
    pub fn is_over_tiles(self) -> bool {
        Op::TileFill <= self && self <= Op::TileAtomicAt
    }

    /// Whether it is for block kernels, block programs and what they call.
    pub fn is_over_blocks(self) -> bool {
        self.effect() == Effect::Sync
            || matches!(
                self,
                Op::ThreadIndex
                    | Op::BlockIndex
                    | Op::BlockExtent
                    | Op::GridExtent
                    | Op::LaneId
                    | Op::SharedArray
                    | Op::DynamicShared
                    | Op::Threads
                    | Op::ThreadSlots
                    | Op::CheckConverged
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for &op in Op::ALL {
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
    }
}
