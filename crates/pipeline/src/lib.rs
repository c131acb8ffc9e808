//! Every pass in order.

pub mod cache;
pub mod counters;
pub mod key;
