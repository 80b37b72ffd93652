//! Which cache lines hatchery's operations move: see the package's README.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hatchery_traffic::allocator::Telling;
use hatchery_traffic::drive::Drive;
use hatchery_traffic::run;

#[global_allocator]
static ALLOCATOR: Telling = Telling;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Drive(Drive),
    One(Drive),
}

fn main() -> ExitCode {
    match Arguments::parse().task {
        Task::Drive(drive) => drive.run().unwrap(),
        Task::One(drive) => {
            let t = std::time::Instant::now();
            let o = run::traced(&run::this_program().unwrap(), drive).unwrap();
            let ops = (drive.threads * drive.measured * drive.work.each_turn()) as f64;
            println!("{drive} {:.1}s: instr {:.1} fetched {:.3} owned {:.3} upgraded {:.3}; batch: {:.1}; busiest {:.4}", t.elapsed().as_secs_f64(), o.instructions as f64/ops,
            o.total.fetched as f64/ops, o.total.owned as f64/ops, o.total.upgraded as f64/ops, o.total.all() as f64/ops*256.0, o.busiest.all() as f64/ops);
            let mut by = std::collections::BTreeMap::new();
            for (p,c) in &o.places { *by.entry(hatchery_traffic::names::Owner::of(*p)).or_insert(hatchery_traffic::simulation::Count::default()) += *c; }
            for (p, c) in by { println!("   {p:?} batch: f {:.2} o {:.2} u {:.2}", c.fetched as f64/ops*256., c.owned as f64/ops*256., c.upgraded as f64/ops*256.); }
            let mut v: Vec<_> = o.places.iter().collect();
            v.sort_by_key(|x| std::cmp::Reverse(x.1.all()));
            for (p, c) in v.iter().filter(|x| hatchery_traffic::names::Owner::of(*x.0)==hatchery_traffic::names::Owner::Others).take(8) { println!("  {p:?} f {:.2} o {:.2} u {:.2} /1000", c.fetched as f64/ops*1e3, c.owned as f64/ops*1e3, c.upgraded as f64/ops*1e3); }
        }
    }
    ExitCode::SUCCESS
}
