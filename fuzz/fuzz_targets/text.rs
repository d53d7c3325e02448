//! The text of a `dynamic` or `defer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    millrace_fuzz::text(bytes);
});
