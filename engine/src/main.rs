//! The shell around the engine: Plan and control lines on standard input, events on standard output.

fn main() {}
