use hatchery::{Recycle, pool::Lease};

#[derive(Default)]
struct Name<'a>(&'a str);

impl Recycle for Name<'_> {}

fn shorten<'a>(lease: Lease<Name<'static>>) -> Lease<Name<'a>> {
    lease
}

fn main() {
    let _ = shorten;
}
