use hatchery::{EntityId, Handle};

fn main() {
    let _ = Handle::new(EntityId::from_bits(1), 0);
}
