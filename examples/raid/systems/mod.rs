//! What happens to all actors, by phase.
//!
//! | phase | system | what |
//! | --- | --- | --- |
//! | Pre | [`Director`] | musters the raid, calls adds, sends the next boss |
//! | Pre | [`Targeting`] | says who is near to whom |
//! | (actors) | | make up their minds, and go |
//! | Main | [`Blows`] | strikes, slams, heals and raises |
//! | Main | [`Missiles`] | launched, flown, hit: objects of a pool |
//! | Post | [`Mortality`] | who has no health is dead; who was dead for long goes |
//! | Post | [`Harvest`] | loot is collected |
//! | Post | [`Experience`] | what a hook has noted is paid out |
//! | Presentation | [`Watch`] | counts, and the picture for the screen |

mod blows;
mod director;
mod experience;
mod grid;
mod harvest;
mod missiles;
mod mortality;
mod targeting;
mod watch;

use hatchery::Handle;
use hatchery::scene::Actor;

pub(crate) use self::blows::Blows;
pub(crate) use self::director::{Director, HEALER_OF};
pub(crate) use self::experience::Experience;
pub(crate) use self::harvest::Harvest;
pub(crate) use self::missiles::{Missile, Missiles};
pub(crate) use self::mortality::Mortality;
pub(crate) use self::targeting::Targeting;
pub(crate) use self::watch::{Census, Dot, Glyph, Picture, Watch};
use crate::components::Shield;
use crate::world::{Fighter, is_down};

/// A blow, from whatever it comes. Health may fall below nothing: what that means is said in Post.
fn hurt(victim: &mut Actor<Fighter>, force: i32, by: Handle) {
    if is_down(victim) {
        return;
    }
    let through = victim.component_mut::<Shield>().map_or(force, |shield| shield.absorb(force));
    victim.core.health -= through;
    victim.core.bane = Some(by);
}
