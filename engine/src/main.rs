//! The shell around the engine: Plan and control lines on standard input, events on standard output.
//!
//! The first line of input is the Plan as JSON; control lines follow. The end of input is a stop, and so are TERM, INT
//! and HUP. Exit codes: 0 the stream ends with `finished` (which says how), 2 the call itself was wrong, 4 standard
//! output took no more events (standard error says why): the run was stopped then.
//!
//! Apart from runs, `echo ADDRESS:PORT` reports its time to those who have its key, until standard input ends, and
//! `ask ADDRESS:PORT --exchanges N` asks it. Both read the key from standard input; 3 is that there is no answer.
//! `survey` counts the files of the working directory ([`assay_engine::survey`]).
//! `workingset QUESTION` reads traces of requests, and answers how large a cache has to be for them.

use assay_engine::clock::Clock;
use assay_engine::control;
use assay_engine::control::{Inbox, Message, Stopper};
use assay_engine::echo;
use assay_engine::echo::Key;
use assay_engine::emit::Emitter;
use assay_engine::error::{EngineError, Refusal};
use assay_engine::events;
use assay_engine::events::{Control, Event, Outcome};
use assay_engine::observe::delay_accounting::DelayAccounting;
use assay_engine::observe::{capabilities, facts};
use assay_engine::plan::Plan;
use assay_engine::sys::{process, signals};
use assay_engine::warning_id::WarningId;
use assay_engine::workingset::TraceError;
use assay_engine::{check, run, survey, workingset};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;

/// Exit code when machine, network or the other side refused.
const UNABLE: u8 = 3;
/// Exit code when events could not be written.
const UNRECORDED: u8 = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve(),
        ["--version"] => {
            println!("assay-engine {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        ["--check-plan"] => check_input(check::check_plan),
        ["--check-events"] => check_input(check::check_events),
        ["--check-kinds"] => check_input(check::check_kinds),
        ["echo", address] => exit_code(echo::echo(address, std::io::stdin(), std::io::stdout())),
        ["ask", address, "--exchanges", count] => exit_code(ask(address, count)),
        ["survey"] => exit_code(survey::survey(std::io::BufReader::new(std::io::stdin()), std::io::stdout())),
        ["workingset", question] => exit_code(working_set(question)),
        _ => {
            eprintln!("assay-engine: reads a Plan on standard input; 'assay' is the program for people");
            ExitCode::from(2)
        }
    }
}

/// Ask the echo at an address for its time; the exchanges go out as a line of JSON.
fn ask(address: &str, count: &str) -> Result<(), Refusal> {
    let key = Key::read(&mut std::io::stdin())?;
    let asked = echo::ask_by_address(address, count, &key)?;
    serde_json::to_string(&asked)
        .map_err(std::io::Error::from)
        .and_then(|line| writeln!(std::io::stdout(), "{line}"))
        .map_err(|error| Refusal::Machine(format!("the exchanges could not be reported: {error}")))
}

/// Read traces, and report how large a cache has to be.
fn working_set(question: &str) -> Result<(), Refusal> {
    workingset::answer(question, std::io::stdout()).map_err(|error| match error {
        TraceError::Input(_) => Refusal::Call(error.to_string()),
        TraceError::Unreadable(_) | TraceError::Unwritten(_) => Refusal::Machine(error.to_string()),
    })
}

/// End with what came of it.
fn exit_code(outcome: Result<(), Refusal>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            let _ = writeln!(std::io::stderr(), "assay-engine: {refusal}");
            match refusal {
                Refusal::Call(_) => ExitCode::from(2),
                Refusal::Machine(_) => ExitCode::from(UNABLE),
            }
        }
    }
}

/// Send standard input through the engine's types and back.
fn check_input(through: impl Fn(&str) -> assay_engine::error::Result<String>) -> ExitCode {
    let mut input = String::new();
    match std::io::stdin()
        .read_to_string(&mut input)
        .map_err(|e| e.to_string())
        .and_then(|_| through(&input).map_err(|error| error.to_string()))
    {
        Ok(output) => {
            print!("{output}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("assay-engine: {error}");
            ExitCode::from(2)
        }
    }
}

fn serve() -> ExitCode {
    // One heap for all threads. Workers allocate before they start, so they do not get into each other's way; a heap for
    // each would be mapped and unmapped with it, and every unmapping interrupts the other CPUs.
    process::use_one_heap();
    let (sender, messages) = mpsc::channel::<Message>();
    let inbox = Inbox::new(messages);
    let stopper = Stopper::new(sender.clone());
    let alarm = stopper.clone();
    let emitter = Emitter::with_alarm(Clock::start(), std::io::stdout(), move || {
        alarm.stop();
    });
    // A file that grows past `ulimit -f` is an error of the call, which is reported, and no end of the engine.
    signals::ignore(libc::SIGXFSZ);
    let hears_signals = control::listen_to_signals(stopper.clone());
    // Tasks carry delay accounting only when it is on while they are made: before any thread.
    let delay_accounting = DelayAccounting::enable();
    let mut capabilities = capabilities::probe();
    capabilities.delay_accounting = delay_accounting.is_on();
    emitter.emit(&Event::Hello {
        schema: events::SCHEMA.to_owned(),
        engine: facts::engine_facts(),
        machine: facts::machine_facts(),
        clock: facts::clock_facts(emitter.clock()),
        capabilities: capabilities.clone(),
    });
    if let Some(text) = delay_accounting.warning() {
        emitter.warn(None, WarningId::DelayAccountingLeftOn, text);
    }
    let (listener_sender, listener_stopper) = (sender.clone(), stopper.clone());
    let listen = move || control::listen(std::io::stdin().lock(), &listener_sender, &listener_stopper);
    let hears = hears_signals.and_then(|()| std::thread::Builder::new().spawn(listen));
    let outcome = match hears.map_err(no_listener).and_then(|_| wait_for_plan(&inbox)) {
        Ok(Some(plan)) => run::run(&plan, &emitter, &inbox, &sender, &stopper, &capabilities),
        Ok(None) => Outcome::Stopped,
        Err(error) => {
            let (t_ns, class, errno) = (emitter.now_ns(), error.class(), error.errno());
            emitter.emit(&Event::Error { t_ns, phase_index: None, class, text: error.to_string(), path: None, errno });
            Outcome::Failed
        }
    };
    if capabilities.delay_accounting && !delay_accounting.is_on() {
        let text = "kernel.task_delayacct was turned off by another program during the run: from then on, waits for block \
                    devices are in the other waits";
        emitter.warn(None, WarningId::DelayAccountingLost, text);
    }
    drop(delay_accounting);
    emitter.emit(&facts::finished(emitter.now_ns(), outcome));
    match emitter.take_failure() {
        None => ExitCode::SUCCESS,
        Some(error) => {
            // Not eprintln!, which panics where standard error is full as well.
            let text = format!("events could not be written to standard output: {error}; the run was stopped");
            let _ = writeln!(std::io::stderr(), "assay-engine: {text}");
            ExitCode::from(UNRECORDED)
        }
    }
}

/// The Plan, or why there is none; a stop that comes first leaves nothing to do.
fn wait_for_plan(inbox: &Inbox) -> Result<Option<Box<Plan>>, EngineError> {
    loop {
        match inbox.receive(None)? {
            Some(Message::Plan(plan)) => return plan.map(Some).map_err(EngineError::Plan),
            Some(Message::Control(Control::Stop {})) => return Ok(None),
            _ => {}
        }
    }
}

/// Nobody could be made who listens.
fn no_listener(error: std::io::Error) -> EngineError {
    let cure = "raise the limit of processes (ulimit -u), or end some";
    EngineError::Environment(format!("no thread could be made to listen for a stop: {error}; {cure}. Nothing was done"))
}
