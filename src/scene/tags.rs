//! Hierarchical tags: an actor's status in the game, apart from whether it exists.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

/// A set of hierarchical tags, such as `Actor.Life.Dead`.
///
/// The parts of a name are separated by dots, and a tag is *within* each of its prefixes of whole
/// parts: `Actor.Life.Dead` is within `Actor.Life` and within `Actor`, but not within `Act`. Every
/// text is a valid name, and a part may be empty.
///
/// A set without tags takes one word and has allocated nothing. A set keeps what it has allocated,
/// so tags that come and go cost no further allocation.
///
/// Death in the sense of the game is only such a tag: to revive an actor, remove it. The idea is
/// from Unreal's gameplay tags.
///
/// # Examples
///
/// ```
/// use hatchery::scene::TagSet;
///
/// let mut tags = TagSet::default();
/// assert!(tags.insert("Actor.Life.Dead"));
/// assert!(tags.contains("Actor.Life.Dead") && tags.contains("Actor.Life"));
/// assert!(!tags.contains("Act"));
///
/// assert!(tags.remove("Actor.Life.Dead")); // revived
/// assert!(!tags.contains("Actor.Life"));
/// ```
#[derive(Clone, Default)]
pub struct TagSet {
    /// `None` before the first tag: most actors have none.
    tags: Option<Box<Tags>>,
}

/// The names one after the other, in order: so what is within a name lies side by side.
#[derive(Clone, Default)]
struct Tags {
    text: String,
    /// Where each name ends in `text`.
    ends: Vec<usize>,
}

impl Tags {
    fn name(&self, at: usize) -> &str {
        &self.text[self.span(at)]
    }

    fn span(&self, at: usize) -> Range<usize> {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        begin..self.ends[at]
    }

    /// Where `name` is, or where it belongs.
    fn find(&self, name: &str) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match by_parts(self.name(middle), name) {
                Ordering::Equal => return Ok(middle),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Which names are `prefix` or within it: they follow each other.
    fn within(&self, prefix: &str) -> Range<usize> {
        let first = match self.find(prefix) {
            Ok(found) | Err(found) => found,
        };
        let many = (first..self.ends.len()).take_while(|at| is_within(self.name(*at), prefix));
        first..first + many.count()
    }

    fn insert(&mut self, at: usize, name: &str) {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        self.text.insert_str(begin, name);
        self.ends.insert(at, begin);
        for end in &mut self.ends[at..] {
            *end += name.len();
        }
    }

    fn remove(&mut self, at: usize) {
        let span = self.span(at);
        let length = span.len();
        self.text.replace_range(span, "");
        self.ends.remove(at);
        for end in &mut self.ends[at..] {
            *end -= length;
        }
    }
}

/// Part by part, so that nothing comes between a name and what is within it: as texts,
/// `A`, `A-B`, `A.C` would be in this order.
fn by_parts(a: &str, b: &str) -> Ordering {
    a.split('.').cmp(b.split('.'))
}

fn is_within(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl TagSet {
    /// Adds a tag, and returns whether it is new to the set.
    ///
    /// # Complexity
    /// Linear in the length of all names; allocates if the set needs more memory than ever before.
    pub fn insert(&mut self, tag: &str) -> bool {
        let tags = self.tags.get_or_insert_default();
        match tags.find(tag) {
            Ok(_) => false,
            Err(at) => {
                tags.insert(at, tag);
                true
            }
        }
    }

    /// Removes exactly this tag, not those within it, and returns whether it was in the set.
    ///
    /// # Complexity
    /// Linear in the length of all names; no allocation.
    pub fn remove(&mut self, tag: &str) -> bool {
        let Some(tags) = &mut self.tags else { return false };
        tags.find(tag).map(|at| tags.remove(at)).is_ok()
    }

    /// Returns whether the set has `tag` or a tag within it.
    ///
    /// # Complexity
    /// Logarithmic in the number of tags; no allocation.
    #[must_use]
    pub fn contains(&self, tag: &str) -> bool {
        self.tags.as_ref().is_some_and(|tags| match tags.find(tag) {
            Ok(_) => true,
            Err(at) => at < tags.ends.len() && is_within(tags.name(at), tag),
        })
    }

    /// Returns how many tags are `prefix` or within it.
    ///
    /// # Complexity
    /// Logarithmic in the number of tags, and linear in the result; no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::scene::TagSet;
    ///
    /// let mut tags = TagSet::default();
    /// tags.insert("Actor.Burning");
    /// tags.insert("Actor.Life.Dead");
    /// assert_eq!(tags.count("Actor"), 2);
    /// assert_eq!(tags.count("Actor.Life"), 1);
    /// ```
    #[must_use]
    pub fn count(&self, prefix: &str) -> usize {
        self.tags.as_ref().map_or(0, |tags| tags.within(prefix).len())
    }

    /// Iterates over the tags in the order of their names, part by part: a tag comes before those
    /// within it.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().flat_map(|tags| (0..tags.ends.len()).map(|at| tags.name(at)))
    }

    /// Returns whether there is no tag.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.as_ref().is_none_or(|tags| tags.ends.is_empty())
    }
}

impl PartialEq for TagSet {
    fn eq(&self, other: &TagSet) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for TagSet {}

impl fmt::Debug for TagSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(names: &[&str]) -> TagSet {
        let mut tags = TagSet::default();
        names.iter().for_each(|name| assert!(tags.insert(name), "{name} twice"));
        tags
    }

    #[test]
    fn tag_is_within_each_of_its_beginnings_and_no_other() {
        let tags = set(&["Actor.Life.Dead"]);
        for within in ["Actor", "Actor.Life", "Actor.Life.Dead"] {
            assert!(tags.contains(within), "{within}");
        }
        let others = [
            "Act",
            "Actor.",
            "Actor.Lif",
            "Actor.Life.",
            "Actor.Life.Dead.Long",
            "Life",
            "actor",
            "",
        ];
        for other in others {
            assert!(!tags.contains(other), "{other}");
        }
    }

    #[test]
    fn prefix_that_is_no_whole_part_is_no_prefix() {
        let tags = set(&["A-B", "A", "A.C", "AB", "A.B", "A.B-C", "A.B.C"]);
        assert_eq!(
            tags.iter().collect::<Vec<_>>(),
            ["A", "A.B", "A.B.C", "A.B-C", "A.C", "A-B", "AB"]
        );
        let counts =
            [("A", 5), ("A.B", 2), ("A.B-C", 1), ("A-B", 1), ("AB", 1), ("B", 0), ("A.", 0)];
        for (prefix, count) in counts {
            assert_eq!(tags.count(prefix), count, "{prefix}");
            assert_eq!(tags.contains(prefix), count > 0, "{prefix}");
        }
    }

    #[test]
    fn tag_that_is_there_is_not_added_and_one_that_is_not_is_not_removed() {
        let mut tags = set(&["A.B"]);
        assert!(!tags.insert("A.B") && !tags.remove("A") && !tags.remove("A.B.C"));
        assert!(tags.insert("A"), "within it is not the same");
        assert!(tags.remove("A") && tags.contains("A"), "A.B stays");
        assert!(tags.remove("A.B") && !tags.remove("A.B") && tags.is_empty());
        assert!(!TagSet::default().remove("A"));
    }

    #[test]
    fn empty_texts_are_names_like_any_other() {
        let mut tags = set(&["", ".", ".A", "A.", "A"]);
        assert_eq!(tags.iter().collect::<Vec<_>>(), ["", ".", ".A", "A", "A."]);
        assert_eq!(["", ".", "A", "A.", ".A"].map(|prefix| tags.count(prefix)), [3, 1, 2, 1, 1]);
        assert!(tags.remove("") && tags.contains(""), "what is within it stays");
        assert!(!set(&["A"]).contains(""), "an empty name holds not everything");
    }

    #[test]
    fn names_of_any_script_are_whole() {
        let tags = set(&["Дух.Жив", "Дух", "火.水", "a\u{301}.b", "🔥"]);
        assert_eq!(
            ["Дух", "Д", "火", "水", "a", "a\u{301}", "🔥"].map(|name| tags.count(name)),
            [2, 0, 1, 0, 0, 1, 1]
        );
        assert!(tags.iter().all(|name| tags.contains(name)));
    }

    #[test]
    fn many_tags_are_found_counted_and_removed() {
        let mut tags = TagSet::default();
        for n in (0..1000).rev() {
            assert!(tags.insert(&format!("Group{}.Member{n}", n % 10)));
        }
        assert_eq!(
            (tags.iter().count(), tags.count("Group3"), tags.count("Group")),
            (1000, 100, 0)
        );
        for n in (0..1000).step_by(2) {
            assert!(tags.remove(&format!("Group{}.Member{n}", n % 10)));
        }
        assert_eq!((tags.count("Group3"), tags.count("Group4")), (100, 0));
        assert!(tags.contains("Group9.Member999") && !tags.contains("Group8.Member998"));
    }

    #[test]
    fn sets_of_the_same_tags_are_equal_whatever_they_were() {
        let (mut one, other) = (set(&["B", "A"]), set(&["A", "B"]));
        assert_eq!(one, other);
        assert_eq!(one.clone(), other);
        one.remove("A");
        assert_ne!(one, other);
        one.remove("B");
        assert_eq!(one, TagSet::default(), "empty, and never used");
        assert_eq!(format!("{other:?}"), r#"{"A", "B"}"#);
    }

    /// What a set is to be: texts, compared part by part.
    fn within(name: &str, prefix: &str) -> bool {
        let (name, prefix): (Vec<_>, Vec<_>) =
            (name.split('.').collect(), prefix.split('.').collect());
        name.starts_with(&prefix)
    }

    proptest! {
        #[test]
        fn set_is_as_its_model(
            deeds in prop::collection::vec((any::<bool>(), "[ab.-]{0,5}"), 0..40),
            asked in prop::collection::vec("[ab.-]{0,4}", 1..8),
        ) {
            let (mut tags, mut model) = (TagSet::default(), BTreeSet::new());
            for (adds, name) in deeds {
                if adds {
                    prop_assert_eq!(tags.insert(&name), model.insert(name));
                } else {
                    prop_assert_eq!(tags.remove(&name), model.remove(&name));
                }
                prop_assert_eq!(tags.is_empty(), model.is_empty());
            }
            let listed: BTreeSet<String> = tags.iter().map(str::to_owned).collect();
            prop_assert_eq!(&listed, &model);
            prop_assert_eq!(tags.iter().count(), model.len());
            for prefix in asked.iter().chain(&model) {
                let count = model.iter().filter(|name| within(name, prefix)).count();
                prop_assert_eq!(tags.count(prefix), count, "{}", prefix);
                prop_assert_eq!(tags.contains(prefix), count > 0, "{}", prefix);
            }
        }
    }
}
