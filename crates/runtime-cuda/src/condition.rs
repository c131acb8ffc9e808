//! Parts of a graph that run only if, or as long as, a number on the device is not zero when the graph gets there.
//!
//! In: a stream that is captured, the number's address. Out: the graph goes on behind a node whose body is captured from
//! another stream:
//!
//! ```text
//! let condition = Condition::new(stream, address, false)?;   // reads the number at this point of the graph
//! condition.begin_body(stream, inner, true)?;                // a loop; later work of `stream` comes after it
//! …                                                          // work of `inner` is its body
//! condition.read(inner, address)?;                           // the number again: whether it runs once more
//! end_body(inner)?;
//! ```

use crate::device::{Device, lock};
use crate::driver;
use crate::error::{Error, cu};
use crate::module::Module;
use crate::stream::RawStream;
use cudarc::driver::sys::{
    self, CUfunction, CUgraph, CUgraphConditionalHandle, CUgraphConditionalNodeType, CUgraphNode, CUgraphNodeParams,
    CUgraphNodeType, CUstreamCaptureMode, CUstreamCaptureStatus, CUstreamUpdateCaptureDependencies_flags,
};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// Tells the graph whether the number at an address is zero, or is not. `cudaGraphSetConditional` is the driver's.
const SET: &str = concat!(include_str!("condition.ptx"), "\0");

/// What decides whether bodies of a graph run.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    handle: CUgraphConditionalHandle,
    is_negated: u32,
}

/// Where a captured stream is: its graph, and the nodes that come right before what it does next.
struct Place {
    graph: CUgraph,
    before: Vec<CUgraphNode>,
}

impl Condition {
    /// A condition of the graph that is captured from a stream: whether the 32-bit number at `address` is not zero when
    /// the graph gets here, or is zero.
    pub fn new(stream: RawStream, address: u64, is_negated: bool) -> Result<Condition, Error> {
        let found = driver::version()?;
        if found < (12, 4) {
            let (major, minor) = found;
            return Err(Error::Refused(format!(
                "graphs with conditions need a driver of CUDA 12.4 or newer; this one is of CUDA {major}.{minor}"
            )));
        }
        let place = Place::of(stream)?;
        let _entered = stream.device().enter()?;
        let mut handle = 0;
        // SAFETY: the graph that is being captured; writes to a local.
        unsafe { cu!(cuGraphConditionalHandleCreate(&mut handle, place.graph, stream.device().context, 0, 0)) }?;
        let condition = Condition { handle, is_negated: u32::from(is_negated) };
        condition.read(stream, address)?;
        Ok(condition)
    }

    /// Reads the number anew at this point of the stream.
    pub fn read(&self, stream: RawStream, address: u64) -> Result<(), Error> {
        let function = set_function(stream.device())?;
        let (mut handle, mut address, mut is_negated) = (self.handle, address, self.is_negated);
        let mut params: [*mut c_void; 3] =
            [(&raw mut handle).cast(), (&raw mut address).cast(), (&raw mut is_negated).cast()];
        let _entered = stream.device().enter()?;
        // SAFETY: the kernel's three parameters, which the driver copies.
        unsafe { cu!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream.0, params.as_mut_ptr(), null_mut())) }
    }

    /// Adds a body after what was captured from `stream` so far, and begins to capture it from `inner`.
    pub fn begin_body(&self, stream: RawStream, inner: RawStream, is_loop: bool) -> Result<(), Error> {
        let place = Place::of(stream)?;
        let _entered = stream.device().enter()?;
        let kind = match is_loop {
            true => CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
            false => CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF,
        };
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        let mut node: CUgraphNode = null_mut();
        // SAFETY: the parameters are plain numbers and addresses, for which zeros are valid; the node's are set as its
        // type asks; the driver writes the body's place into them. The graph is the one that the stream's capture builds,
        // and `inner` is in no capture.
        unsafe {
            let mut params: CUgraphNodeParams = std::mem::zeroed();
            params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
            params.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
                handle: self.handle,
                type_: kind,
                size: 1,
                phGraph_out: null_mut(),
                ctx: stream.device().context,
            };
            let (before, n) = (place.before.as_ptr(), place.before.len());
            cu!(cuGraphAddNode(&mut node, place.graph, before, n, &mut params))?;
            go_on_after(stream, node)?;
            let body = *params.__bindgen_anon_1.conditional.phGraph_out;
            cu!(cuStreamBeginCaptureToGraph(inner.0, body, null(), null(), 0, mode))
        }
    }
}

/// Ends the capture of a body. If something in it was refused, so is the whole graph at its end.
pub fn end_body(inner: RawStream) -> Result<(), Error> {
    let _entered = inner.device().enter()?;
    let mut graph = null_mut();
    // SAFETY: a live stream; writes to a local. The graph belongs to its node.
    let ended = unsafe { cu!(cuStreamEndCapture(inner.0, &mut graph)) };
    if ended.is_err() {
        inner.device().note_broken_body(true);
    }
    ended
}

/// Makes a graph a part of the one that is captured from a stream.
pub(crate) fn add_part(stream: RawStream, part: CUgraph) -> Result<(), Error> {
    let place = Place::of(stream)?;
    let _entered = stream.device().enter()?;
    let mut node: CUgraphNode = null_mut();
    let (before, n) = (place.before.as_ptr(), place.before.len());
    // SAFETY: the graph that the stream's capture builds, and one that is complete, of which the driver makes a copy.
    unsafe { cu!(cuGraphAddChildGraphNode(&mut node, place.graph, before, n, part)) }?;
    go_on_after(stream, node)
}

/// What is captured from the stream next comes after a node.
fn go_on_after(stream: RawStream, mut node: CUgraphNode) -> Result<(), Error> {
    let flags = CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES as u32;
    // SAFETY: a node of the graph that the stream's capture builds.
    unsafe { cu!(cuStreamUpdateCaptureDependencies(stream.0, &mut node, 1, flags)) }
}

impl Place {
    fn of(stream: RawStream) -> Result<Place, Error> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut id, mut graph, mut nodes, mut n) = (0, null_mut(), null(), 0);
        let _entered = stream.device().enter()?;
        // SAFETY: a live stream; writes to locals. The list of nodes is the driver's until the capture goes on.
        unsafe {
            cu!(cuStreamGetCaptureInfo_v2(stream.0, &mut status, &mut id, &mut graph, &mut nodes, &mut n))?;
            if status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE {
                return Err(Error::Refused("no graph is captured from this stream".to_owned()));
            }
            let before = if n == 0 { Vec::new() } else { std::slice::from_raw_parts(nodes, n).to_vec() };
            Ok(Place { graph, before })
        }
    }
}

/// The kernel that tells a graph, loaded once for a device.
fn set_function(device: &'static Device) -> Result<CUfunction, Error> {
    struct Loaded(CUfunction);
    // SAFETY: handles of the driver may be used from any thread.
    unsafe impl Send for Loaded {}
    static LOADED: Mutex<Option<HashMap<u32, Loaded>>> = Mutex::new(None);
    let mut loaded = lock(&LOADED);
    let known = loaded.get_or_insert_default();
    if let Some(found) = known.get(&device.ordinal) {
        return Ok(found.0);
    }
    // Kept for good: graphs use it.
    let module = Box::leak(Box::new(Module::load(device, SET.as_bytes())?));
    let function = module.function("set_condition")?;
    known.insert(device.ordinal, Loaded(function));
    Ok(function)
}
