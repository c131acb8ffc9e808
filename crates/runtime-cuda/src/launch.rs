//! Launches: one call of the driver each, and a shorter way for a kernel that is launched again and again.
//!
//! A kernel takes three parameters, each by value: the packed arguments, the launch's shape and the address of its
//! failure record. A kernel that a stream runs several times in a row is kept as a graph of one node, whose launch costs
//! about half of an ordinary one; other arguments are written into the node first.

use crate::device::{Device, lock};
use crate::error::{Error, cu};
use crate::module::{FunctionProperties, Module};
use crate::stream::RawStream;
use cudarc::driver::sys::{CUDA_KERNEL_NODE_PARAMS, CUfunction, CUgraph, CUgraphExec, CUgraphNode};
use runtime::LaunchBounds;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// Blocks of a launch, threads of a block, bytes of shared memory that a block gets besides its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
}

/// A kernel on a device.
#[derive(Debug)]
pub struct Kernel {
    function: CUfunction,
    module: Module,
    repeat: Mutex<Repeat>,
}

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
    bounds: LaunchBounds,
    fault: u64,
}

impl Kernel {
    pub fn new(module: Module, entry: &str, dynamic_shared_bytes: u32) -> Result<Kernel, Error> {
        let function = module.function(entry, dynamic_shared_bytes)?;
        let repeat = Repeat { stream: 0, n: 0, node: None, is_refused: false };
        Ok(Kernel { function, module, repeat: Mutex::new(repeat) })
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
    /// `args` are packed as the kernel was compiled for, and the memory that they point to lives until the launch is
    /// over; `fault` is 0 or a record's address.
    pub unsafe fn launch(
        &self,
        stream: RawStream,
        shape: &Shape,
        args: &[u64],
        bounds: &LaunchBounds,
        fault: u64,
    ) -> Result<(), Error> {
        let mut params = parameters(args, bounds, &fault);
        let _entered = self.device().enter()?;
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let shared = shape.dynamic_shared_bytes;
        // SAFETY: the kernel's three parameters, which the driver copies; the rest is the caller's promise.
        unsafe {
            let params = params.as_mut_ptr();
            cu!(cuLaunchKernel(self.function, gx, gy, gz, bx, by, bz, shared, stream.0, params, null_mut()))
        }
    }

    /// As `launch`, for streams of ours that no graph is captured from. The driver's cost is less for a kernel that the
    /// stream's last launches ran.
    ///
    /// # Safety
    /// As for `launch`.
    #[inline]
    pub unsafe fn launch_again(
        &self,
        stream: RawStream,
        shape: &Shape,
        args: &[u64],
        bounds: &LaunchBounds,
        fault: u64,
    ) -> Result<(), Error> {
        let mut repeat = lock(&self.repeat);
        if repeat.stream != stream.0 as usize {
            repeat.stream = stream.0 as usize;
            repeat.n = 0;
        }
        if let Some(node) = &mut repeat.node {
            let _entered = self.device().enter()?;
            // SAFETY: the caller's promise.
            return unsafe { node.launch(self.function, stream, shape, args, bounds, fault) };
        }
        repeat.n += 1;
        if repeat.n > REPEATS && !repeat.is_refused {
            let _entered = self.device().enter()?;
            // SAFETY: the caller's promise.
            match unsafe { OneNode::new(self.function, shape, args, bounds, fault) } {
                Ok(node) => {
                    let node = repeat.node.insert(node);
                    // SAFETY: the caller's promise.
                    return unsafe { node.launch(self.function, stream, shape, args, bounds, fault) };
                }
                // An ordinary launch says what is wrong, if it is wrong for one too.
                Err(_) => repeat.is_refused = true,
            }
        }
        drop(repeat);
        // SAFETY: the caller's promise.
        unsafe { self.launch(stream, shape, args, bounds, fault) }
    }
}

/// Addresses of the three parameters. A kernel without arguments still has the parameter.
#[inline]
fn parameters(args: &[u64], bounds: &LaunchBounds, fault: &u64) -> [*mut c_void; 3] {
    static NONE: u64 = 0;
    let args = if args.is_empty() { &raw const NONE } else { args.as_ptr() };
    [args.cast_mut().cast(), (&raw const *bounds).cast_mut().cast(), (&raw const *fault).cast_mut().cast()]
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
    unsafe fn new(
        function: CUfunction,
        shape: &Shape,
        args: &[u64],
        bounds: &LaunchBounds,
        fault: u64,
    ) -> Result<OneNode, Error> {
        let (args, bounds, shape) = (args.to_vec(), *bounds, *shape);
        let mut made = OneNode { graph: null_mut(), exec: null_mut(), node: null_mut(), shape, args, bounds, fault };
        let mut params = parameters(&made.args, &made.bounds, &made.fault);
        let params = node_params(function, &made.shape, &mut params);
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
        args: &[u64],
        bounds: &LaunchBounds,
        fault: u64,
    ) -> Result<(), Error> {
        if self.args != args || self.bounds != *bounds || self.fault != fault || self.shape != *shape {
            let mut params = parameters(args, bounds, &fault);
            let params = node_params(function, shape, &mut params);
            // SAFETY: the kernel's parameters, which the driver copies; launches before keep theirs.
            unsafe { cu!(cuGraphExecKernelNodeSetParams_v2(self.exec, self.node, &params)) }?;
            self.args.clear();
            self.args.extend_from_slice(args);
            (self.bounds, self.fault, self.shape) = (*bounds, fault, *shape);
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
