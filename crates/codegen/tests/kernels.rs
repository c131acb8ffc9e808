//! Kernels compiled, loaded and run: one test binary, because each links LLVM.

#[path = "kernels/casts.rs"]
mod casts;
#[path = "kernels/composites.rs"]
mod composites;
#[path = "kernels/control.rs"]
mod control;
#[path = "kernels/differential.rs"]
mod differential;
#[path = "kernels/effects.rs"]
mod effects;
#[path = "kernels/gangs.rs"]
mod gangs;
#[path = "kernels/launch.rs"]
mod launch;
#[path = "kernels/long.rs"]
mod long;
#[path = "kernels/own_arrays.rs"]
mod own_arrays;
#[path = "kernels/roots.rs"]
mod roots;
#[path = "kernels/rows.rs"]
mod rows;
#[path = "kernels/saxpy.rs"]
mod saxpy;
