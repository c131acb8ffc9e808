//! NVIDIA devices: contexts, memory, streams, events, graphs, loaded kernels and their launches, by the driver alone.
//!
//! In: PTX or machine code, packed arguments, addresses. Out: work on a stream, and errors that name the call.
//! The driver is looked for when something of this crate is first asked for; nothing is linked and no toolkit is
//! needed. Contexts are the devices' primary ones, which PyTorch, CuPy and JAX use too, so memory and streams can be
//! shared with them.
//!
//! ```no_run
//! use runtime_cuda::{Device, MemoryKind};
//! let device = Device::get(0)?;
//! let memory = device.allocate(MemoryKind::Device, 1024)?;
//! // SAFETY: the memory has that many bytes.
//! unsafe { device.current_stream().fill(memory.ptr(), 0, 1024)? };
//! device.synchronize()?;
//! # Ok::<(), runtime_cuda::Error>(())
//! ```

mod condition;
mod context;
mod device;
pub mod driver;
mod error;
mod event;
mod fault;
mod graph;
mod launch;
mod memory;
mod module;
mod scratch;
mod stream;

pub use condition::{Condition, end_body};
pub use context::{current_context, pop_context, push_context};
pub use device::{Device, Entered};
pub use error::Error;
pub use event::{Event, EventOptions};
pub use fault::Slot;
pub use graph::{Graph, begin_capture, end_capture};
pub use launch::{Given, Kernel, Shape};
pub use memory::{Allocation, HANDLE_BYTES, HostLock, MemoryKind, PointerPlace, handle_of, pointer_place, range_of};
pub use module::{FunctionProperties, LinkInput, LinkKind, LinkOptions, Module, link};
pub use scratch::N_CLEAR;
pub use stream::{RawStream, Stream};
