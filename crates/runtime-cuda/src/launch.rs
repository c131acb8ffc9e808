//! Launches: one call of the driver each, and a shorter way for a kernel that is launched again and again.
//!
//! A kernel takes three parameters, each by value: the packed arguments, the launch's extents and the address of its
//! failure record. A kernel that a stream runs several times in a row is kept as a graph of one node, whose launch costs
//! about half of an ordinary one; other arguments are written into the node first.

use crate::device::{Device, lock};
use crate::error::{Error, cu};
use crate::module::{FunctionProperties, Module};
use crate::stream::RawStream;
use cudarc::driver::sys::{CUDA_KERNEL_NODE_PARAMS, CUfunction, CUgraph, CUgraphExec, CUgraphNode};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks of a launch, threads of a block, bytes of shared memory that a block gets besides its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
}

/// What a kernel is given, besides its shape.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Packed as the kernel was compiled for.
    pub args: &'a [u64],
    /// The words of a `LaunchBounds`, or of a `BlockBounds` and what stands behind it.
    pub bounds: &'a [i64],
    /// 0, or a record's address.
    pub fault: u64,
}

/// A kernel on a device.
#[derive(Debug)]
pub struct Kernel {
    function: CUfunction,
    module: Module,
    /// Dynamic shared bytes that the driver has been asked to allow.
    allowed_shared_bytes: AtomicU32,
    repeat: Mutex<Repeat>,
}

/// Dynamic shared bytes that every kernel may have.
const USUAL_SHARED_BYTES: u32 = 48 << 10;

// SAFETY: handles of the driver may be used from any thread; the rest is behind a lock.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// Launches of a kernel in a row on one stream before it becomes a graph.
const REPEATS: u32 = 3;

/// What is known of the last launches.
#[derive(Debug)]
struct Repeat {
    stream: usize,
    n: u32,
    node: Option<OneNode>,
    /// Whether making the graph failed, so that it is not tried again.
    is_refused: bool,
}

#[derive(Debug)]
struct OneNode {
    graph: CUgraph,
    exec: CUgraphExec,
    node: CUgraphNode,
    shape: Shape,
    args: Vec<u64>,
    bounds: Vec<i64>,
    fault: u64,
}

impl Kernel {
    pub fn new(module: Module, entry: &str) -> Result<Kernel, Error> {
        let function = module.function(entry)?;
        let repeat = Repeat { stream: 0, n: 0, node: None, is_refused: false };
        let allowed_shared_bytes = AtomicU32::new(USUAL_SHARED_BYTES);
        Ok(Kernel { function, module, allowed_shared_bytes, repeat: Mutex::new(repeat) })
    }

    /// Lets a block have more dynamic shared bytes than every kernel may have.
    fn allow_shared(&self, n_bytes: u32) -> Result<(), Error> {
        if n_bytes > self.allowed_shared_bytes.load(Ordering::Relaxed) {
            Module::allow_shared(self.function, n_bytes)?;
            self.allowed_shared_bytes.store(n_bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    pub fn device(&self) -> &'static Device {
        self.module.device()
    }

    pub fn properties(&self) -> Result<FunctionProperties, Error> {
        let _entered = self.device().enter()?;
        Module::properties(self.function)
    }

    /// Blocks of `n_threads` that a multiprocessor runs at a time.
    pub fn blocks_per_multiprocessor(&self, n_threads: u32, dynamic_shared_bytes: u32) -> Result<u32, Error> {
        let _entered = self.device().enter()?;
        let mut n = 0;
        let (function, shared) = (self.function, dynamic_shared_bytes as usize);
        // SAFETY: a function of a loaded module; writes to a local.
        unsafe { cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut n, function, n_threads as i32, shared)) }?;
        Ok(n.max(0) as u32)
    }

    /// Puts one launch onto a stream, which must be of the kernel's device.
    ///
    /// # Safety
    /// What is given is what the kernel was compiled for, and the memory that the arguments point to lives until the
    /// launch is over.
    pub unsafe fn launch(&self, stream: RawStream, shape: &Shape, given: &Given<'_>) -> Result<(), Error> {
        let mut params = parameters(given);
        let _entered = self.device().enter()?;
        self.allow_shared(shape.dynamic_shared_bytes)?;
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let shared = shape.dynamic_shared_bytes;
        // SAFETY: the kernel's three parameters, which the driver copies; the rest is the caller's promise.
        unsafe {
            let params = params.as_mut_ptr();
            cu!(cuLaunchKernel(self.function, gx, gy, gz, bx, by, bz, shared, stream.0, params, null_mut()))
        }
    }

    /// As `launch`, for a kernel whose blocks wait for each other: all of them must fit the device at once.
    ///
    /// # Safety
    /// As for `launch`.
    pub unsafe fn launch_together(&self, stream: RawStream, shape: &Shape, given: &Given<'_>) -> Result<(), Error> {
        let mut params = parameters(given);
        let _entered = self.device().enter()?;
        self.allow_shared(shape.dynamic_shared_bytes)?;
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let shared = shape.dynamic_shared_bytes;
        // SAFETY: as above.
        unsafe {
            let params = params.as_mut_ptr();
            cu!(cuLaunchCooperativeKernel(self.function, gx, gy, gz, bx, by, bz, shared, stream.0, params))
        }
    }

    /// As `launch`, for streams of ours that no graph is captured from. The driver's cost is less for a kernel that the
    /// stream's last launches ran.
    ///
    /// # Safety
    /// As for `launch`.
    #[inline]
    pub unsafe fn launch_again(&self, stream: RawStream, shape: &Shape, given: &Given<'_>) -> Result<(), Error> {
        let mut repeat = lock(&self.repeat);
        if repeat.stream != stream.0 as usize {
            repeat.stream = stream.0 as usize;
            repeat.n = 0;
        }
        if let Some(node) = &mut repeat.node {
            let _entered = self.device().enter()?;
            self.allow_shared(shape.dynamic_shared_bytes)?;
            // SAFETY: the caller's promise.
            return unsafe { node.launch(self.function, stream, shape, given) };
        }
        repeat.n += 1;
        if repeat.n > REPEATS && !repeat.is_refused {
            let _entered = self.device().enter()?;
            self.allow_shared(shape.dynamic_shared_bytes)?;
            // SAFETY: the caller's promise.
            match unsafe { OneNode::new(self.function, shape, given) } {
                Ok(node) => {
                    let node = repeat.node.insert(node);
                    // SAFETY: the caller's promise.
                    return unsafe { node.launch(self.function, stream, shape, given) };
                }
                // An ordinary launch says what is wrong, if it is wrong for one too.
                Err(_) => repeat.is_refused = true,
            }
        }
        drop(repeat);
        // SAFETY: the caller's promise.
        unsafe { self.launch(stream, shape, given) }
    }
}

/// Addresses of the three parameters. A kernel without arguments still has the parameter.
#[inline]
fn parameters(given: &Given<'_>) -> [*mut c_void; 3] {
    static NONE: u64 = 0;
    let args = if given.args.is_empty() { &raw const NONE } else { given.args.as_ptr() };
    [args.cast_mut().cast(), given.bounds.as_ptr().cast_mut().cast(), (&raw const given.fault).cast_mut().cast()]
}

fn node_params(function: CUfunction, shape: &Shape, params: &mut [*mut c_void; 3]) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: function,
        gridDimX: shape.grid[0],
        gridDimY: shape.grid[1],
        gridDimZ: shape.grid[2],
        blockDimX: shape.block[0],
        blockDimY: shape.block[1],
        blockDimZ: shape.block[2],
        sharedMemBytes: shape.dynamic_shared_bytes,
        kernelParams: params.as_mut_ptr(),
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    }
}

impl OneNode {
    /// # Safety
    /// As for `Kernel::launch`; the context is current.
    unsafe fn new(function: CUfunction, shape: &Shape, given: &Given<'_>) -> Result<OneNode, Error> {
        let (args, bounds, fault) = (given.args.to_vec(), given.bounds.to_vec(), given.fault);
        let (graph, exec, node) = (null_mut(), null_mut(), null_mut());
        let mut made = OneNode { graph, exec, node, shape: *shape, args, bounds, fault };
        let mut params = parameters(given);
        let params = node_params(function, shape, &mut params);
        // SAFETY: writes to the new object; the parameters are copied.
        unsafe {
            cu!(cuGraphCreate(&mut made.graph, 0))?;
            cu!(cuGraphAddKernelNode_v2(&mut made.node, made.graph, null(), 0, &params))?;
            cu!(cuGraphInstantiateWithFlags(&mut made.exec, made.graph, 0))?;
        }
        Ok(made)
    }

    /// # Safety
    /// As for `Kernel::launch`; the context is current.
    #[inline]
    unsafe fn launch(
        &mut self,
        function: CUfunction,
        stream: RawStream,
        shape: &Shape,
        given: &Given<'_>,
    ) -> Result<(), Error> {
        let is_same = self.args == given.args && self.bounds == given.bounds && self.fault == given.fault;
        if !is_same || self.shape != *shape {
            let mut params = parameters(given);
            let params = node_params(function, shape, &mut params);
            // SAFETY: the kernel's parameters, which the driver copies; launches before keep theirs.
            unsafe { cu!(cuGraphExecKernelNodeSetParams_v2(self.exec, self.node, &params)) }?;
            self.args.clear();
            self.args.extend_from_slice(given.args);
            self.bounds.clear();
            self.bounds.extend_from_slice(given.bounds);
            (self.fault, self.shape) = (given.fault, *shape);
        }
        // SAFETY: a graph that was instantiated and a live stream.
        unsafe { cu!(cuGraphLaunch(self.exec, stream.0)) }
    }
}

impl Drop for OneNode {
    fn drop(&mut self) {
        // SAFETY: made in `new` and destroyed only here; launches that run still end.
        unsafe {
            if !self.exec.is_null() {
                let _ = cu!(cuGraphExecDestroy(self.exec));
            }
            if !self.graph.is_null() {
                let _ = cu!(cuGraphDestroy(self.graph));
            }
        }
    }
}
