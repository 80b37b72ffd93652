//! Who somebody is, and on whose side.

/// What an actor is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    Boss,
    Monster,
    Raider,
    Healer,
    #[default]
    Loot,
}

/// Who fights whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Horde,
    Raid,
    Nobody,
}

impl Role {
    pub(crate) const ALL: [Role; 5] =
        [Role::Boss, Role::Monster, Role::Raider, Role::Healer, Role::Loot];

    pub(crate) const fn side(self) -> Side {
        match self {
            Role::Boss | Role::Monster => Side::Horde,
            Role::Raider | Role::Healer => Side::Raid,
            Role::Loot => Side::Nobody,
        }
    }

    /// Of many.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Role::Boss => "boss",
            Role::Monster => "monsters",
            Role::Raider => "raiders",
            Role::Healer => "healers",
            Role::Loot => "loot",
        }
    }
}
