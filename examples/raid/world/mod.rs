//! What there is in the raid: who fights, where, and with what figures.

mod arena;
mod balance;
mod fighter;
mod role;

pub(crate) use self::arena::{Arena, Place, apart, towards};
pub(crate) use self::balance::{Balance, Blueprint, Figures};
pub(crate) use self::fighter::{Act, DEAD, Fighter, Intent, Sight, is_down, is_in_play};
pub(crate) use self::role::{Role, Side};
