//! Tells the crate which compiler builds it, for the `hello` event.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok().filter(|output| output.status.success());
    if let Some(text) = version.and_then(|output| String::from_utf8(output.stdout).ok()) {
        println!("cargo::rustc-env=ASSAY_RUSTC_VERSION={}", text.trim());
    }
}
