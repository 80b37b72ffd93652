//! The figures of the game, in one table: a service, which the spawners have as well, and what
//! actors are made from.

use std::sync::Arc;

use super::Role;
use crate::books::Books;

/// What makes one role differ from another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) role: Role,
    pub(crate) health: i32,
    /// In a second.
    pub(crate) speed: f32,
    /// From how far it acts.
    pub(crate) reach: f32,
    /// The least that an act does; at most it is half as much again.
    pub(crate) power: i32,
    /// Frames between two acts.
    pub(crate) rest: u32,
    /// What its shield takes before its health suffers; 0 is no shield.
    pub(crate) shield: i32,
    /// Frames that it lies dead before it is gone.
    pub(crate) lies: u32,
    /// What whoever fells it learns.
    pub(crate) experience: u32,
}

/// What an actor is made from: its figures, and the books that it is entered in.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(crate) figures: Figures,
    pub(crate) books: Arc<Books>,
}

/// A blueprint for each role.
#[derive(Debug)]
pub(crate) struct Balance([Arc<Blueprint>; Role::ALL.len()]);

impl Balance {
    /// The boss is as strong as the crowd around it is large.
    pub(crate) fn for_crowd(actors: u32, books: &Arc<Books>) -> Balance {
        let crowd = actors as i32;
        Balance(Role::ALL.map(|role| {
            let figures = match role {
                Role::Boss => Figures {
                    role,
                    health: crowd,
                    speed: 1.5,
                    reach: 5.0,
                    power: 30,
                    rest: 60,
                    shield: crowd / 10,
                    lies: 30,
                    experience: 100,
                },
                Role::Monster => Figures {
                    role,
                    health: 35,
                    speed: 6.5,
                    reach: 1.3,
                    power: 6,
                    rest: 25,
                    shield: 0,
                    lies: 10,
                    experience: 3,
                },
                Role::Raider => Figures {
                    role,
                    health: 60,
                    speed: 5.0,
                    reach: 10.0,
                    power: 5,
                    rest: 40,
                    shield: 0,
                    lies: 150,
                    experience: 0,
                },
                Role::Healer => Figures {
                    role,
                    health: 45,
                    speed: 6.0,
                    reach: 6.0,
                    power: 12,
                    rest: 20,
                    shield: 20,
                    lies: 150,
                    experience: 0,
                },
                Role::Loot => Figures {
                    role,
                    health: 1,
                    speed: 0.0,
                    reach: 1.5,
                    power: 1,
                    rest: 0,
                    shield: 0,
                    lies: 0,
                    experience: 0,
                },
            };
            Arc::new(Blueprint { figures, books: Arc::clone(books) })
        }))
    }

    pub(crate) fn blueprint(&self, role: Role) -> &Arc<Blueprint> {
        &self.0[role as usize]
    }
}
