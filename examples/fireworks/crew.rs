//! Who works with the hands: this thread alone, or two workers that take and give back at once.
//!
//! A task is over before the next begins: first all give back, then all take. Within a task the
//! workers race for the pool, and how many of them are served is the same whoever is faster. A hand
//! goes to the other worker in each frame, so that most objects are given back by another thread
//! than took them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use hatchery::pool::Pool;

use crate::hand::{Hand, Task};
use crate::particle::Particle;

const WORKERS: usize = 2;

/// The threads of a show; without any, the caller does it all.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    workers: Vec<Worker>,
}

/// A worker ended before its time: it panicked, and has said so itself.
#[derive(Debug)]
pub(crate) struct WorkerGone;

impl Crew {
    pub(crate) fn alone() -> Crew {
        Crew::default()
    }

    pub(crate) fn of_two() -> std::io::Result<Crew> {
        Ok(Crew { workers: (0..WORKERS).map(Worker::start).collect::<Result<_, _>>()? })
    }

    /// How many hands it works with.
    pub(crate) fn hands(&self) -> usize {
        self.workers.len().max(1)
    }

    /// Has each hand do its task, all at once, and waits for them.
    pub(crate) fn perform(
        &self,
        frame: u64,
        pool: &Pool<Particle>,
        hands: &mut [Hand],
        task: impl Fn(u32) -> Task,
    ) -> Result<(), WorkerGone> {
        let tasks = (0..).map(task);
        if self.workers.is_empty() {
            hands.iter_mut().zip(tasks).for_each(|(hand, task)| hand.perform(pool, &task));
            return Ok(());
        }
        let worker = |at: usize| &self.workers[(at + frame as usize) % self.workers.len()];
        for ((at, hand), task) in hands.iter_mut().enumerate().zip(tasks) {
            let job = Job { hand: std::mem::take(hand), pool: pool.clone(), task };
            worker(at).jobs.as_ref().ok_or(WorkerGone)?.send(job).map_err(|_| WorkerGone)?;
        }
        for (at, hand) in hands.iter_mut().enumerate() {
            *hand = worker(at).done.recv().map_err(|_| WorkerGone)?;
        }
        Ok(())
    }
}

struct Job {
    hand: Hand,
    pool: Pool<Particle>,
    task: Task,
}

#[derive(Debug)]
struct Worker {
    /// There until the end: dropping it is what ends the thread.
    jobs: Option<SyncSender<Job>>,
    done: Receiver<Hand>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(number: usize) -> std::io::Result<Worker> {
        // Bounded channels have their memory from the beginning.
        let (jobs, inbox) = sync_channel::<Job>(1);
        let (outbox, done) = sync_channel(1);
        let work = move || {
            for Job { mut hand, pool, task } in inbox {
                hand.perform(&pool, &task);
                if outbox.send(hand).is_err() {
                    return;
                }
            }
        };
        let name = format!("worker {number}");
        let thread = std::thread::Builder::new().name(name).spawn(work)?;
        Ok(Worker { jobs: Some(jobs), done, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed by itself.
            let _ = thread.join();
        }
    }
}
