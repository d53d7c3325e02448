//! The bytes of a key's state; the first byte says under which program.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    millrace_fuzz::snapshot(bytes);
});
