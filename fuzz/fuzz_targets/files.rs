#![no_main]

libfuzzer_sys::fuzz_target!(init: ziggurat_fuzz::on_one_thread(), |data: &[u8]| ziggurat_fuzz::files(data));
