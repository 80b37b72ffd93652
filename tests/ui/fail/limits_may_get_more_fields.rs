use hatchery::{Exhaustion, Limits};

fn main() {
    let _ = Limits { capacity: 1, max_capacity: 1, policy: Exhaustion::Reject };
}
