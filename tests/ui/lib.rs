//! What the types of hatchery rule out, and what they allow: the programs of `fail/` and `pass/`,
//! which the test compiles.
