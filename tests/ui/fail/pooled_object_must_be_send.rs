use std::rc::Rc;

use hatchery::{Limits, Recycle, pool::Pool};

#[derive(Default)]
struct Shared(Rc<u64>);

impl Recycle for Shared {}

fn main() {
    let _ = Pool::<Shared>::new(Limits::reject(1));
}
