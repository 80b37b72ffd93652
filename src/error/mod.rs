//! Every error of the library.
//!
//! A message is one plain line, which names the handle, the states concerned and what to do next.
//! The errors of hot paths are `Copy` and own nothing. A value that was not accepted is given back.

mod config;
mod lookup;
mod parse;
mod spawn;
mod transition;

pub use config::ConfigError;
pub use lookup::{HoldError, LookupError};
pub use parse::ParseHandleError;
pub(crate) use parse::Part;
pub use spawn::{BatchError, SpawnError, SpawnFailure};
pub use transition::TransitionError;

#[cfg(all(test, not(loom)))]
pub(crate) mod sample {
    //! The handle that the tests of every message use.

    use crate::handle::Handle;

    pub(crate) fn handle() -> Handle {
        "1:42/gen3".parse().expect("the text of a handle")
    }

    /// Asserts the whole message, and what holds for every message.
    #[track_caller]
    pub(crate) fn assert_message(error: &dyn std::error::Error, message: &str) {
        let text = error.to_string();
        assert_eq!(text, message);
        assert!(!text.contains('\n') && !text.ends_with('.'), "one line, no full stop");
        assert!(!text.starts_with(char::is_uppercase), "lower case");
    }
}
