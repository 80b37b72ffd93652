//! Hierarchical tags: what is so about an actor, apart from whether it exists.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

/// A set of hierarchical tags, such as `Actor.Life.Dead`.
///
/// The parts of a name are separated by dots, and a tag is *within* each of its beginnings:
/// `Actor.Life.Dead` is within `Actor.Life` and within `Actor`, but not within `Act`. Every text is
/// a name; so an empty one is a part like any other.
///
/// A set without tags takes one word and no memory besides. What a set has allocated it keeps, so
/// tags that come and go cost nothing.
///
/// Business death is such a tag and no more: a revival is the tag coming off. Taken from Unreal's
/// gameplay tags.
///
/// # Examples
///
/// ```
/// use hatchery::scene::TagSet;
///
/// let mut tags = TagSet::default();
/// assert!(tags.insert("Actor.Life.Dead"));
/// assert!(tags.contains("Actor.Life.Dead") && tags.contains("Actor.Life") && !tags.contains("Act"));
///
/// assert!(tags.remove("Actor.Life.Dead")); // revived
/// assert!(!tags.contains("Actor.Life"));
/// ```
#[derive(Clone, Default)]
pub struct TagSet {
    /// Nothing before the first tag: most actors have none.
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
    /// Adds a tag; whether it was not there before.
    ///
    /// # Complexity
    /// Linear in the length of all names; allocates when the set needs more memory than ever.
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

    /// Takes this very tag away, and nothing within it; whether it was there.
    pub fn remove(&mut self, tag: &str) -> bool {
        let Some(tags) = &mut self.tags else { return false };
        tags.find(tag).map(|at| tags.remove(at)).is_ok()
    }

    /// Whether the set has `tag` or a tag within it.
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

    /// How many tags are `prefix` or within it.
    #[must_use]
    pub fn count(&self, prefix: &str) -> usize {
        self.tags.as_ref().map_or(0, |tags| tags.within(prefix).len())
    }

    /// Every tag, in the order of names, what is within another after it.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().flat_map(|tags| (0..tags.ends.len()).map(|at| tags.name(at)))
    }

    /// Whether there is no tag.
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
