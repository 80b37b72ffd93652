#![doc = include_str!("../README.md")]

pub mod allocator;
pub mod baton;
pub mod cores;
pub mod drive;
pub mod estimate;
pub mod lines;
pub mod marks;
pub mod mesi;
pub mod names;
pub mod places;
pub mod plan;
pub mod run;
pub mod simulation;
pub mod tables;
pub mod trace;
