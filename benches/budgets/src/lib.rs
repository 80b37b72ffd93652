#![doc = include_str!("../README.md")]

pub mod count;
pub mod table;
