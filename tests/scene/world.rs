//! A small game that writes down what is called, for the tests of the scene.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hatchery::scene::{
    Actor, Commands, Component, Core, Frame, Phase, Scene, SceneBuilder, System, Teardown,
    TickComponent, TickContext, TickSystem,
};

/// What was called, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    pub fn note(&self, line: impl Into<String>) {
        self.lines().push(line.into());
    }

    /// What was called since this was asked for last.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines())
    }

    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|noted| *noted == line).count()
    }
}

/// What a created or pending-destroy hook does beside writing itself down.
pub type Deed = Arc<dyn Fn(&Actor<Unit>, &mut Commands<'_, Unit>) + Send + Sync>;
/// What a tick does beside that.
pub type TickDeed = Arc<dyn Fn(&Actor<Unit>, &TickContext<'_, Unit>) + Send + Sync>;
/// What a cleanup does beside that.
pub type LastDeed = Arc<dyn Fn(&Actor<Unit>) + Send + Sync>;

/// An actor with a name, that notes what is called of it in the scene's log.
pub struct Unit {
    pub name: &'static str,
    pub ticks: u32,
    pub log: Log,
    deeds: Deeds,
}

#[derive(Clone, Default)]
struct Deeds {
    created: Option<Deed>,
    mourned: Option<Deed>,
    ticked: Option<TickDeed>,
    cleaned: Option<LastDeed>,
}

/// What a unit is made from.
#[derive(Clone, Default)]
pub struct Plan {
    name: &'static str,
    log: Log,
    deeds: Deeds,
}

impl Plan {
    pub fn new(log: &Log, name: &'static str) -> Plan {
        Plan { name, log: log.clone(), deeds: Deeds::default() }
    }

    pub fn created(
        mut self,
        deed: impl Fn(&Actor<Unit>, &mut Commands<'_, Unit>) + Send + Sync + 'static,
    ) -> Plan {
        self.deeds.created = Some(Arc::new(deed));
        self
    }

    pub fn mourned(
        mut self,
        deed: impl Fn(&Actor<Unit>, &mut Commands<'_, Unit>) + Send + Sync + 'static,
    ) -> Plan {
        self.deeds.mourned = Some(Arc::new(deed));
        self
    }

    pub fn ticked(
        mut self,
        deed: impl Fn(&Actor<Unit>, &TickContext<'_, Unit>) + Send + Sync + 'static,
    ) -> Plan {
        self.deeds.ticked = Some(Arc::new(deed));
        self
    }

    pub fn cleaned(mut self, deed: impl Fn(&Actor<Unit>) + Send + Sync + 'static) -> Plan {
        self.deeds.cleaned = Some(Arc::new(deed));
        self
    }
}

impl Core for Unit {
    type Definition = Plan;
    type Position = [f32; 2];
    type Public = u32;

    fn construct(_: [f32; 2]) -> Unit {
        Unit { name: "", ticks: 0, log: Log::default(), deeds: Deeds::default() }
    }

    fn init(actor: &mut Actor<Unit>, plan: &Plan) {
        plan.log.note(format!("init {}", plan.name));
        let (log, deeds) = (plan.log.clone(), plan.deeds.clone());
        actor.core = Unit { name: plan.name, ticks: 0, log, deeds };
    }

    fn publish(actor: &Actor<Unit>) -> u32 {
        actor.core.ticks
    }

    fn tick(actor: &mut Actor<Unit>, cx: &TickContext<'_, Unit>, _: f32) {
        actor.core.ticks += 1;
        actor.core.log.note(format!("tick {}", actor.core.name));
        if let Some(deed) = &actor.core.deeds.ticked {
            deed(actor, cx);
        }
    }

    fn on_created(actor: &mut Actor<Unit>, cx: &mut Commands<'_, Unit>) {
        actor.core.log.note(format!("created {}", actor.core.name));
        if let Some(deed) = &actor.core.deeds.created {
            deed(actor, cx);
        }
    }

    fn on_pending_destroy(actor: &Actor<Unit>, cx: &mut Commands<'_, Unit>) {
        actor.core.log.note(format!("pending destroy {}", actor.core.name));
        if let Some(deed) = &actor.core.deeds.mourned {
            deed(actor, cx);
        }
    }

    fn cleanup(actor: &mut Actor<Unit>, end: &Teardown<'_>) {
        actor.core.log.note(format!("cleanup {} {:?}", actor.core.name, end.reason()));
        if let Some(deed) = &actor.core.deeds.cleaned {
            deed(actor);
        }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            self.log.note(format!("drop {}", self.name));
        }
    }
}

/// Counts how many there are.
pub struct Counted(pub Arc<AtomicUsize>);

impl Counted {
    pub fn new(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A component that notes its hooks under a name.
pub struct Noting(pub &'static str);

impl Component<Unit> for Noting {
    fn on_created(&mut self, owner: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
        assert!(owner.component::<Noting>().is_none(), "it is out of its place");
        owner.core.log.note(format!("  {} created", self.0));
    }

    fn on_pending_destroy(&mut self, owner: &Actor<Unit>, _: &mut Commands<'_, Unit>) {
        owner.core.log.note(format!("  {} pending destroy", self.0));
    }

    fn on_destroyed(&mut self, owner: &mut Actor<Unit>, _: &Teardown<'_>) {
        owner.core.log.note(format!("  {} destroyed", self.0));
    }
}

/// Another component, which ticks.
pub struct Ticking(pub u32);

impl Component<Unit> for Ticking {
    fn on_created(&mut self, owner: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
        owner.core.log.note("  ticking created");
    }

    fn on_destroyed(&mut self, owner: &mut Actor<Unit>, _: &Teardown<'_>) {
        owner.core.log.note("  ticking destroyed");
    }
}

impl TickComponent<Unit> for Ticking {
    fn tick(&mut self, owner: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
        self.0 += 1;
        owner.core.log.note("  ticking tick");
    }
}

/// A system that notes what it hears.
pub struct Hearing(pub Log, pub &'static str);

impl System<Unit> for Hearing {
    fn on_actor_created(&mut self, actor: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
        self.0.note(format!("{} hears created {}", self.1, actor.core.name));
    }

    fn on_actor_pending_destroy(&mut self, actor: &Actor<Unit>, _: &mut Commands<'_, Unit>) {
        self.0.note(format!("{} hears pending destroy {}", self.1, actor.core.name));
    }

    fn on_actor_destroyed(&mut self, actor: &mut Actor<Unit>, end: &Teardown<'_>) {
        let name = actor.core.name;
        self.0.note(format!("{} hears destroyed {name} {:?}", self.1, end.reason()));
    }

    fn on_scene_shutdown(&mut self, _: &Teardown<'_>) {
        self.0.note(format!("{} hears shutdown", self.1));
    }
}

/// A system that does something in its phase.
pub struct Doing<F>(Phase, F);

impl<F: Send + 'static> System<Unit> for Doing<F> {}

impl<F: FnMut(&mut Frame<'_, Unit>, f32) + Send + 'static> TickSystem<Unit> for Doing<F> {
    fn phase(&self) -> Phase {
        self.0
    }

    fn tick(&mut self, frame: &mut Frame<'_, Unit>, dt: f32) {
        (self.1)(frame, dt);
    }
}

/// A system of a closure: the bound is here, so that it is taken for every frame.
pub fn doing<F>(phase: Phase, deed: F) -> Doing<F>
where
    F: FnMut(&mut Frame<'_, Unit>, f32) + Send + 'static,
{
    Doing(phase, deed)
}

pub fn scene() -> SceneBuilder<Unit> {
    Scene::builder().threads(1)
}
