//! The shell around the engine: Plan and control lines on standard input, events on standard output.

use assay_engine::check::{check_events, check_plan};
use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = match std::env::args().nth(1).as_deref() {
        Some("--check-plan") => check_plan,
        Some("--check-events") => check_events,
        _ => return ExitCode::SUCCESS,
    };
    let mut input = String::new();
    let checked = std::io::stdin().read_to_string(&mut input).map_err(|error| error.to_string());
    match checked.and_then(|_| check(&input).map_err(|error| error.to_string())) {
        Ok(output) => {
            print!("{output}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}
