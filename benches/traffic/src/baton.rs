//! Real threads that take turns: one runs, the others are parked, and the order is always the same.
//!
//! So the trace of all of them is one sequence, which the marks divide among the threads. A turn is
//! short, one life or a few look-ups, so that what threads share changes hands as often as it can
//! between whole operations.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Thread, park, scope, yield_now};

use crate::cores::stay_on;
use crate::marks::{Mark, say, speak};

/// How often a thread lets the others run before its turn begins: one of them is on its way to
/// sleep.
const YIELDS: usize = 3;

/// How many threads take how many turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Threads.
    pub threads: usize,
    /// Turns of each thread before it is measured.
    pub warm: usize,
    /// Turns of each that are measured.
    pub measured: usize,
}

/// Whose turn it is.
#[derive(Debug)]
struct Baton {
    turns: Turns,
    holder: AtomicUsize,
    threads: OnceLock<Vec<Thread>>,
}

impl Turns {
    /// Lets every thread `begin` in its first turn, and do `work` once in each that follows.
    pub fn take<S>(self, begin: impl Fn(usize) -> S + Sync, work: impl Fn(&mut S) + Sync) {
        let (holder, threads) = (AtomicUsize::new(usize::MAX), OnceLock::new());
        let baton = Baton { turns: self, holder, threads };
        scope(|scope| {
            let (baton, begin, work) = (&baton, &begin, &work);
            let run = |number| move || baton.take_turns(number, begin, work);
            let spawned: Vec<Thread> =
                (0..self.threads).map(|n| scope.spawn(run(n)).thread().clone()).collect();
            let first = spawned.first().cloned();
            baton.threads.get_or_init(|| spawned);
            // Release: publishes the list of threads.
            baton.holder.store(0, Ordering::Release);
            if let Some(first) = first {
                first.unpark();
            }
        });
    }
}

impl Baton {
    fn take_turns<S>(&self, number: usize, begin: impl Fn(usize) -> S, work: impl Fn(&mut S)) {
        let Turns { threads, warm, measured } = self.turns;
        stay_on(number);
        self.wait(number);
        let mut state = begin(number);
        self.hand_on(number);
        for turn in 0..warm + measured {
            self.wait(number);
            if number == 0 && turn == warm {
                say(Mark::Measure);
            }
            work(&mut state);
            if number + 1 == threads && turn + 1 == warm + measured {
                say(Mark::Done);
            }
            self.hand_on(number);
        }
        // A turn more to take down what is left: before that it would be in the way of those whose
        // turn it still is.
        self.wait(number);
        drop(state);
        self.hand_on(number);
    }

    fn wait(&self, number: usize) {
        // Acquire: receives all that the threads before this one have done.
        while self.holder.load(Ordering::Acquire) != number {
            park();
        }
        // Whoever handed on may not sleep yet, and what it still does would be in the trace between
        // what this thread does. Valgrind lets threads run in the order in which they ask to.
        (0..YIELDS).for_each(|_| yield_now());
        speak(true);
        say(Mark::Thread(number));
    }

    fn hand_on(&self, number: usize) {
        speak(false);
        let next = (number + 1) % self.turns.threads;
        // Release: publishes all that this thread has done.
        self.holder.store(next, Ordering::Release);
        if let Some(threads) = self.threads.get() {
            threads[next].unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn threads_run_one_after_the_other() {
        let order = Mutex::new(Vec::new());
        let turns = Turns { threads: 3, warm: 1, measured: 1 };
        let note = |number: usize| order.lock().unwrap().push(number);
        turns.take(
            |number| {
                note(number);
                number
            },
            |number| note(*number),
        );
        assert_eq!(*order.lock().unwrap(), [0, 1, 2].repeat(3));
    }

    #[test]
    fn one_thread_goes_on_by_itself() {
        let count = AtomicUsize::new(0);
        let turns = Turns { threads: 1, warm: 2, measured: 3 };
        turns.take(
            |_| (),
            |()| {
                let _ = count.fetch_add(1, Ordering::Relaxed);
            },
        );
        assert_eq!(count.into_inner(), 5);
    }
}
