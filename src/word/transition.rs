//! The operations on a slot word as pure functions: a word in, the next word or a refusal out.
//!
//! | operation | edge | refused |
//! | --- | --- | --- |
//! | `activate` | Pending → Active | guarded |
//! | `cancel` | Pending → Dead, emptied | guarded |
//! | `kill`, `kill_and_hold` | Active → Dying | at the limit of holds |
//! | `revive` | Dying → Active | once a reap was requested |
//! | `reap` | Dying → Dead at holds = 0, else it marks the request | once a reap was requested |
//! | `seal` | Active → Dying with the reap requested | |
//! | `seal_dying` | none: Dying with the reap requested | while there are holds, once a reap was requested |
//! | `finish` | sealed Dying → Dead | |
//! | `end` | Active → Dead, Dying passed through | while there are holds |
//! | `evict` | Active → sealed Dying, Dying → Dead | while there are holds, once a reap was requested |
//! | `claim_pending` | none: the guard of a Pending entity, to stamp it before it is shown | guarded |
//! | `hold` | none: one more hold of Active or Dying | once a reap was requested |
//! | `unhold` | the last one after a request: Dying → Dead | never |
//! | `mark` | none: a lease of a pool is in use | never, by its lease |
//! | `revoke` | Active → Dying with the reap requested | in use |
//! | `end_lease` | Active → Dead, Dying passed through | never, by its lease |
//!
//! **Sealed** is Dying with the reap requested and no hold: only the call that sealed it finishes
//! it, because every other operation on such a word is refused.

use super::layout::*;
use super::snapshot::SlotWord;
use crate::state::{IllegalTransition, State};
use crate::sync::planted;

/// Why an operation does not apply to the word that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The generation or the entity has ended, or was never there.
    Gone,
    /// Reserved, not visible yet: reads and holds only.
    NotYet,
    /// The table has no such edge.
    Illegal(IllegalTransition),
    /// The table has the edge, but this operation starts elsewhere.
    WrongState { found: State, needed: State },
    /// A `Pending` guard has the entity to itself.
    Guarded,
    /// A reap was asked for already.
    ReapRequested,
    /// The count of holds is at its limit.
    TooManyHolds,
    /// Somebody holds the entity, and this operation does not wait for them.
    Held,
}

pub(crate) type Step = Result<SlotWord, Refusal>;

/// What a reap did to the word.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reap {
    /// Dead: the caller owes the slot its burial.
    Done,
    /// The request stands: the last Hold owes the burial.
    Deferred { holds: u32 },
}

/// What giving back a hold did to the word.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unhold {
    /// The entity lives on, or others hold it.
    Released,
    /// The last one after a reap request: the caller owes the slot its burial.
    Buried,
    /// The last one of a closed store: the caller owes the payload its destructor, at once.
    Ended,
}

/// An operation's edge, legal by construction.
#[derive(Clone, Copy)]
struct Edge {
    from: State,
    to: State,
}

impl Edge {
    const fn new(from: State, to: State) -> Edge {
        assert!(from.can_become(to), "the legal-edge table has this edge");
        Edge { from, to }
    }
}

const ACTIVATE: Edge = Edge::new(State::Pending, State::Active);
const CANCEL: Edge = Edge::new(State::Pending, State::Dead);
const KILL: Edge = Edge::new(State::Active, State::Dying);
const REVIVE: Edge = Edge::new(State::Dying, State::Active);
const REAP: Edge = Edge::new(State::Dying, State::Dead);

impl SlotWord {
    /// Whether the word is in the state that `edge` starts from, and the refusal if it is not.
    #[inline]
    fn starts(self, edge: Edge) -> Result<(), Refusal> {
        let found = self.state();
        if found == edge.from { Ok(()) } else { Err(self.refuse(edge)) }
    }

    #[cold]
    fn refuse(self, edge: Edge) -> Refusal {
        let found = self.state();
        if matches!(found, State::None | State::Dead) {
            Refusal::Gone
        } else if found.can_become(edge.to) {
            Refusal::WrongState { found, needed: edge.from }
        } else {
            Refusal::Illegal(IllegalTransition { from: found, to: edge.to })
        }
    }

    /// Pending → Active, by handle.
    #[inline]
    pub(crate) fn activate(self) -> Step {
        self.starts(ACTIVATE)?;
        if self.guarded() && !planted("guard ignored") {
            return Err(Refusal::Guarded);
        }
        Ok(self.in_state(ACTIVATE.to))
    }

    /// Takes the guard of a Pending entity: the caller shows it as a `Pending` guard does.
    #[inline]
    pub(crate) fn claim_pending(self) -> Step {
        self.activate()?;
        Ok(self.with(GUARDED))
    }

    /// Pending → Dead, by handle: the caller takes the payload out.
    #[inline]
    pub(crate) fn cancel(self) -> Step {
        self.starts(CANCEL)?;
        if self.guarded() && !planted("guard ignored") {
            return Err(Refusal::Guarded);
        }
        Ok(self.in_state(CANCEL.to).with(EMPTIED))
    }

    /// Active → Dying: the caller is the one that must settle.
    #[inline]
    pub(crate) fn kill(self) -> Step {
        self.starts(KILL)?;
        Ok(self.in_state(KILL.to))
    }

    /// Active → Dying with a hold for the caller, so that it can settle whatever others do.
    #[inline]
    pub(crate) fn kill_and_hold(self) -> Step {
        let dying = self.kill()?;
        if self.holds() == MAX_HOLDS { Err(Refusal::TooManyHolds) } else { Ok(dying.plus_hold()) }
    }

    /// Dying → Active.
    #[inline]
    pub(crate) fn revive(self) -> Step {
        self.starts(REVIVE)?;
        if self.reap_requested() {
            Err(Refusal::ReapRequested)
        } else {
            Ok(self.in_state(REVIVE.to))
        }
    }

    /// Dying → Dead, or the request for it while there are holds.
    #[inline]
    pub(crate) fn reap(self) -> Step {
        self.starts(REAP)?;
        if self.reap_requested() {
            Err(Refusal::ReapRequested)
        } else if self.holds() > 0 && !planted("reap ignores holds") {
            Ok(self.with(REAP_REQUESTED))
        } else {
            Ok(self.in_state(REAP.to))
        }
    }

    /// Active → Dying with the reap requested in the same step, so that no revive comes between.
    #[inline]
    pub(crate) fn seal(self) -> Step {
        self.kill().map(|dying| dying.with(REAP_REQUESTED))
    }

    /// Dying → sealed, for a caller that has work to do before the entity is Dead. Never waits.
    #[inline]
    pub(crate) fn seal_dying(self) -> Step {
        let held = self.reap()?.state() != REAP.to && !planted("sweep ignores tickets");
        if held { Err(Refusal::Held) } else { Ok(self.with(REAP_REQUESTED)) }
    }

    /// Sealed Dying → Dead, by the call that sealed it.
    #[inline]
    pub(crate) const fn finish(self) -> SlotWord {
        debug_assert!(self.sealed(), "only what is sealed is finished");
        self.in_state(REAP.to).without(REAP_REQUESTED)
    }

    /// Active → Dead, Dying passed through, where nobody holds it and nobody is told.
    #[inline]
    pub(crate) fn end(self) -> Step {
        let sealed = self.seal()?;
        if self.holds() > 0 { Err(Refusal::Held) } else { Ok(sealed.finish()) }
    }

    /// Whether the call that sealed it is its only writer.
    #[inline]
    pub(crate) const fn sealed(self) -> bool {
        matches!(self.state(), State::Dying) && self.reap_requested() && self.holds() == 0
    }

    /// Ends an entity to make room: seals an Active one, reaps a Dying one, waits for nobody.
    #[inline]
    pub(crate) fn evict(self) -> Step {
        if self.reap_requested() {
            return Err(Refusal::ReapRequested);
        }
        let step = if self.state() == State::Active { self.seal() } else { self.reap() }?;
        if self.holds() > 0 && !planted("eviction ignores holds") {
            return Err(Refusal::Held);
        }
        Ok(step)
    }

    /// One more hold of an Active or Dying entity.
    #[inline]
    pub(crate) fn hold(self) -> Step {
        match self.state() {
            State::Active | State::Dying
                if self.reap_requested() && !planted("hold after a reap request") =>
            {
                Err(Refusal::ReapRequested)
            }
            State::Pending if !planted("hold of what is pending") => Err(Refusal::NotYet),
            State::None | State::Dead => Err(Refusal::Gone),
            State::Active | State::Dying | State::Pending => self.hold_again(),
        }
    }

    /// One more hold for somebody who has one: allowed after a reap request as well.
    #[inline]
    pub(crate) fn hold_again(self) -> Step {
        if self.holds() == MAX_HOLDS { Err(Refusal::TooManyHolds) } else { Ok(self.plus_hold()) }
    }

    /// One hold less, and Dead in the same step if it was the last after a reap request.
    #[inline]
    pub(crate) fn unhold(self) -> (SlotWord, Unhold) {
        let left = self.minus_hold();
        if left.holds() > 0 || !left.reap_requested() {
            return (left, Unhold::Released);
        }
        let dead = left.in_state(REAP.to).without(REAP_REQUESTED);
        if left.closed() { (dead.with(EMPTIED), Unhold::Ended) } else { (dead, Unhold::Buried) }
    }

    /// What the drop of the last store does to a slot that somebody holds: the last Hold ends it.
    #[inline]
    pub(crate) fn close_held(self) -> SlotWord {
        debug_assert!(self.holds() > 0);
        self.in_state(State::Dying).with(REAP_REQUESTED | CLOSED)
    }

    /// Active → in use, by the lease that has the object. A mark that is there already was left by
    /// this very lease.
    #[inline]
    pub(crate) fn mark(self) -> Step {
        self.starts(KILL)?;
        Ok(self.with(GUARDED))
    }

    /// Active → sealed, unless the lease is in use: the caller owns the object from here on.
    #[inline]
    pub(crate) fn revoke(self) -> Step {
        let sealed = self.seal()?;
        if self.guarded() && !planted("revoke of a lease in use") {
            return Err(Refusal::Guarded);
        }
        Ok(sealed)
    }

    /// Active → Dead, in use or not, by the lease itself: nobody has a say in between, so Dying is
    /// passed through.
    #[inline]
    pub(crate) fn end_lease(self) -> Step {
        self.starts(KILL)?;
        Ok(self.at_rest())
    }

    /// Active without a mark: leased, and not in use.
    #[inline]
    pub(crate) const fn leased(generation: u32) -> SlotWord {
        SlotWord::new(generation, State::Active)
    }

    /// Dead with its payload in place, by the owner of the slot: an object of a pool at rest.
    #[inline]
    pub(crate) const fn at_rest(self) -> SlotWord {
        SlotWord::new(self.generation(), REAP.to)
    }

    /// Dead, with its payload taken out or about to be, by the owner of the slot.
    #[inline]
    pub(crate) const fn buried_empty(self) -> SlotWord {
        SlotWord::new(self.generation(), State::Dead).with(EMPTIED)
    }

    /// None, by the owner of a Dead slot whose payload is gone.
    #[inline]
    pub(crate) const fn vacant(self) -> SlotWord {
        SlotWord::new(self.generation(), State::None)
    }

    /// Pending and guarded, under the next generation.
    #[inline]
    pub(crate) const fn reserved(generation: u32) -> SlotWord {
        SlotWord::new(generation, State::Pending).with(GUARDED)
    }

    /// Pending without its guard.
    #[inline]
    pub(crate) const fn detached(generation: u32) -> SlotWord {
        SlotWord::new(generation, State::Pending)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn word(state: State) -> SlotWord {
        SlotWord::new(7, state)
    }

    /// Every operation on every state: what moves, along which edge, and what is refused how.
    #[test]
    fn operation_on_each_state_follows_the_table() {
        type Operation = fn(SlotWord) -> Step;
        let operations: [(&str, Operation, State, State); 7] = [
            ("activate", SlotWord::activate, State::Pending, State::Active),
            ("cancel", SlotWord::cancel, State::Pending, State::Dead),
            ("kill", SlotWord::kill, State::Active, State::Dying),
            ("seal", SlotWord::seal, State::Active, State::Dying),
            ("revoke", SlotWord::revoke, State::Active, State::Dying),
            ("revive", SlotWord::revive, State::Dying, State::Active),
            ("reap", SlotWord::reap, State::Dying, State::Dead),
        ];
        for (name, operation, from, to) in operations {
            for found in State::ALL {
                let outcome = operation(word(found));
                let expected = match found {
                    _ if found == from => {
                        assert_eq!(outcome.map(SlotWord::state), Ok(to), "{name} from {found}");
                        continue;
                    }
                    State::None | State::Dead => Refusal::Gone,
                    _ if found.can_become(to) => Refusal::WrongState { found, needed: from },
                    _ => Refusal::Illegal(IllegalTransition { from: found, to }),
                };
                assert_eq!(outcome, Err(expected), "{name} from {found}");
            }
        }
    }

    /// What a lease does to its own word starts from Active alone, marked or not.
    #[test]
    fn lease_operations_on_each_state_start_from_active_alone() {
        let leased = SlotWord::leased(7);
        let in_use = leased.mark().unwrap();
        assert!(in_use.guarded() && in_use.state() == State::Active);
        assert_eq!((in_use.mark(), in_use.revoke()), (Ok(in_use), Err(Refusal::Guarded)));
        assert_eq!(leased.revoke(), leased.seal());
        for word in [leased, in_use] {
            assert_eq!(word.end_lease(), Ok(word.at_rest()));
        }
        assert_eq!((leased.at_rest().state(), leased.at_rest().emptied()), (State::Dead, false));
        for found in State::ALL.into_iter().filter(|state| *state != State::Active) {
            let word = word(found);
            assert!(word.mark().is_err() && word.end_lease().is_err(), "from {found}");
        }
        let sealed = leased.revoke().unwrap();
        assert!(sealed.mark().is_err() && sealed.end_lease().is_err() && sealed.revoke().is_err());
    }

    #[test]
    fn guarded_word_refuses_activate_and_cancel() {
        let guarded = SlotWord::reserved(7);
        assert_eq!(guarded.activate(), Err(Refusal::Guarded));
        assert_eq!(guarded.cancel(), Err(Refusal::Guarded));
    }

    #[test]
    fn reap_of_a_held_word_is_deferred_to_the_last_hold() {
        let held = word(State::Active).hold().unwrap().kill().unwrap().hold().unwrap();
        let asked = held.reap().unwrap();
        assert_eq!((asked.state(), asked.holds()), (State::Dying, 2));
        assert_eq!(asked.reap(), Err(Refusal::ReapRequested));
        assert_eq!(asked.revive(), Err(Refusal::ReapRequested));
        assert_eq!(asked.hold(), Err(Refusal::ReapRequested));
        let (one, first) = asked.unhold();
        assert_eq!((one.state(), first), (State::Dying, Unhold::Released));
        let (none, last) = one.unhold();
        assert_eq!((none, last), (word(State::Dead), Unhold::Buried));
    }

    #[test]
    fn evict_seals_the_active_ends_the_dying_and_passes_over_the_held() {
        let active = word(State::Active);
        let sealed = active.evict().unwrap();
        assert!(sealed.state() == State::Dying && sealed.reap_requested());
        assert_eq!(sealed.evict(), Err(Refusal::ReapRequested));
        assert_eq!(sealed.finish(), word(State::Dead));
        let dying = active.kill().unwrap();
        assert_eq!(dying.evict(), Ok(word(State::Dead)));
        let held = [active, dying].map(|word| word.hold().unwrap().evict());
        assert_eq!(held, [Err(Refusal::Held); 2]);
        let asked = dying.hold().unwrap().reap().unwrap();
        assert_eq!(asked.evict(), Err(Refusal::ReapRequested));
        assert_eq!([State::Dead, State::None].map(|s| word(s).evict()), [Err(Refusal::Gone); 2]);
        assert!(matches!(word(State::Pending).evict(), Err(Refusal::WrongState { .. })));
    }

    #[test]
    fn claim_of_a_pending_word_is_its_guard_and_has_one_winner() {
        let claimed = SlotWord::detached(7).claim_pending().unwrap();
        assert_eq!(claimed, SlotWord::reserved(7));
        assert_eq!(claimed.claim_pending(), Err(Refusal::Guarded));
        assert!(matches!(word(State::Active).claim_pending(), Err(Refusal::Illegal(_))));
    }

    #[test]
    fn hold_at_the_limit_is_refused_and_carries_nowhere() {
        let full = SlotWord::from(u64::from(word(State::Active)) | HOLDS_MASK);
        assert_eq!(full.holds(), MAX_HOLDS);
        assert_eq!(full.hold(), Err(Refusal::TooManyHolds));
        assert_eq!(full.hold_again(), Err(Refusal::TooManyHolds));
        assert_eq!(full.kill_and_hold(), Err(Refusal::TooManyHolds));
        assert_eq!((full.generation(), full.state()), (7, State::Active));
    }

    #[test]
    fn closed_word_is_ended_by_its_last_hold() {
        let held = word(State::Active).hold().unwrap().close_held();
        assert_eq!(held.hold(), Err(Refusal::ReapRequested));
        let (dead, outcome) = held.unhold();
        assert_eq!(outcome, Unhold::Ended);
        assert!(dead.emptied() && dead.state() == State::Dead);
    }
}
