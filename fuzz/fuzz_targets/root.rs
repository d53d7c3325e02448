//! The text of a root.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    millrace_fuzz::root(bytes);
});
