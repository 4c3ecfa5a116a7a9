//! What a job does, made ready to run, and the rules that it keeps.

pub mod actions;
pub mod backend_rules;
pub mod command;
pub mod compile;
pub mod device_rules;
pub mod file_rules;
pub mod lines;
pub mod op;
pub mod op_rules;
pub mod script;
pub mod script_text;
pub mod stamp_rules;
