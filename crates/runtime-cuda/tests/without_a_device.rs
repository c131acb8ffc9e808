//! What a machine without a device, or without so many, is told. No test here needs a GPU.

use runtime_cuda::{Device, Error, PointerPlace, driver, pointer_place};

#[test]
fn a_device_that_is_not_there_is_named() {
    let ordinal = driver::device_count();
    let error = Device::get(ordinal).map(|device| device.ordinal).unwrap_err();
    match &error {
        // The reason is the driver's: there is none, it is too old, or it found nothing.
        Error::NoDriver | Error::OldDriver(_) | Error::Call { .. } => assert_eq!(ordinal, 0, "{error}"),
        Error::NoDevice { count, .. } => assert_eq!(*count, ordinal, "{error}"),
        _ => panic!("{error}"),
    }
    assert!(Device::opened(ordinal).is_none());
    assert!(matches!(Device::get(64), Err(Error::NoDevice { ordinal: 64, .. })));
}

#[test]
fn errors_name_what_is_missing() {
    assert!(Error::NoDriver.to_string().contains("`libcuda.so.1` was not found"));
    let old = Error::OldDriver(11080).to_string();
    assert_eq!(old, "the CUDA driver supports CUDA 11.8; version 12.0 or newer is needed");
    let device = Error::OldDevice { ordinal: 1, sm: 61 }.to_string();
    assert_eq!(device, "cuda:1 has compute capability 6.1; 7.5 or newer is needed");
    assert!(!Error::NoDriver.is_out_of_memory());
    let call = Error::Call {
        call: "cuMemAlloc",
        code: 2,
        name: "CUDA_ERROR_OUT_OF_MEMORY".to_owned(),
        text: "out of memory".to_owned(),
        hint: String::new(),
    };
    assert!(call.is_out_of_memory());
    assert_eq!(call.to_string(), "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

#[test]
fn memory_of_the_host_is_the_hosts() {
    let word = 0u64;
    assert_eq!(pointer_place(&raw const word as u64), PointerPlace::Host);
}
