//! The phases of a frame.

/// When a system ticks. What a phase produces is used by later phases only: data flows one way.
///
/// The actor phase runs between [`Pre`](Phase::Pre) and [`Main`](Phase::Main).
///
/// # Examples
///
/// ```
/// use hatchery::scene::Phase;
///
/// assert!(Phase::Main < Phase::Post);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before any actor decides: input, rules.
    Pre,
    /// After the actors: movement, directors.
    Main,
    /// Reads what Main has moved: collisions, hits.
    Post,
    /// When everything is settled: what is displayed and sent.
    Presentation,
}

impl Phase {
    pub(super) const ALL: [Phase; 4] = [Phase::Pre, Phase::Main, Phase::Post, Phase::Presentation];
}
