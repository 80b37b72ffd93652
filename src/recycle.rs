//! Payloads that can be cleared instead of dropped, so that what they own is used again.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};

/// A value that can go back to the state of its [`Default`].
///
/// [`Store::spawn_recycled`](crate::Store::spawn_recycled) hands out payloads that were used
/// before. After [`recycle`](Recycle::recycle) a payload must be indistinguishable from a new one,
/// except for the memory that it owns: the implementations for collections and strings clear them
/// and keep their capacity.
///
/// An implementation is run like a destructor: one at a time on a thread. A panic is contained, and
/// the value is then dropped and not used again.
///
/// # Examples
///
/// The provided method drops the old value and makes a new one. A type that owns heap memory should
/// recycle its fields instead. The example calls `Recycle::recycle` by its path, in case `Vec` gets
/// a method of the same name.
///
/// ```
/// use hatchery::Recycle;
///
/// #[derive(Default)]
/// struct Projectile {
///     speed: f32,
///     hits: Vec<u64>,
/// }
///
/// impl Recycle for Projectile {
///     fn recycle(&mut self) {
///         let Projectile { speed, hits } = self; // a new field is not forgotten
///         Recycle::recycle(speed);
///         Recycle::recycle(hits);
///     }
/// }
///
/// let mut arrow = Projectile { speed: 3.0, hits: Vec::with_capacity(100) };
/// arrow.hits.push(7);
/// arrow.recycle();
/// assert!(arrow.speed == 0.0 && arrow.hits.is_empty());
/// assert!(arrow.hits.capacity() >= 100);
/// ```
pub trait Recycle: Default {
    /// Resets the value to the state of its `Default`, and keeps heap memory where it can.
    ///
    /// What it releases itself is recycled when it has returned, so that a chain of any length
    /// needs no stack. So one that takes another object of the same pool or store each time, and
    /// releases it, never ends.
    fn recycle(&mut self) {
        *self = Self::default();
    }
}

/// Values that own nothing: a new one costs as little.
macro_rules! plain {
    ($($name:ty),*) => { $(impl Recycle for $name {})* };
}

plain!((), bool, char, f32, f64);
plain!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// Collections whose `clear` keeps their memory.
macro_rules! cleared {
    ($({$($parameters:tt)*} $name:ty),* $(,)?) => {
        $(
            impl<$($parameters)*> Recycle for $name {
                #[inline]
                fn recycle(&mut self) {
                    self.clear();
                }
            }
        )*
    };
}

// The hasher of a map or a set stays: it cannot be replaced without losing the memory.
cleared! {
    {} String,
    {T} Vec<T>,
    {T} VecDeque<T>,
    {T: Ord} BinaryHeap<T>,
    {K, V, S: Default} HashMap<K, V, S>,
    {T, S: Default} HashSet<T, S>,
    {K, V} BTreeMap<K, V>,
    {T} BTreeSet<T>,
}

/// `None`: what was in it is dropped.
impl<T> Recycle for Option<T> {}

/// Keeps the box, and recycles what is in it.
impl<T: Recycle> Recycle for Box<T> {
    #[inline]
    fn recycle(&mut self) {
        (**self).recycle();
    }
}

impl<T: Recycle, const N: usize> Recycle for [T; N]
where
    [T; N]: Default,
{
    #[inline]
    fn recycle(&mut self) {
        self.iter_mut().for_each(T::recycle);
    }
}

/// Each field by itself.
macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<$first: Recycle, $($rest: Recycle),*> Recycle for ($first, $($rest,)*) {
            #[inline]
            fn recycle(&mut self) {
                #[allow(non_snake_case, reason = "each field is named after its type")]
                let ($first, $($rest,)*) = self;
                $first.recycle();
                $($rest.recycle();)*
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}

tuples!(A B C D E F G H I J K L);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::fmt::Debug;

    /// Recycles, and compares with a fresh value.
    #[track_caller]
    fn recycled<T: Recycle + PartialEq + Debug>(mut value: T) -> T {
        assert_ne!(value, T::default(), "it is to have something to lose");
        value.recycle();
        assert_eq!(value, T::default());
        value
    }

    #[test]
    fn scalars_recycled_are_their_default() {
        ().recycle();
        recycled(true);
        recycled('x');
        recycled(1.5f32);
        recycled(1.5f64);
        macro_rules! integers {
            ($($name:ty),*) => { $(recycled(7 as $name);)* };
        }
        integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
    }

    #[test]
    fn strings_and_sequences_recycled_are_empty_and_keep_their_capacity() {
        let mut text = String::with_capacity(1000);
        text.push_str("orc");
        assert!(recycled(text).capacity() >= 1000);
        let mut list = Vec::with_capacity(1000);
        list.push("orc");
        assert!(recycled(list).capacity() >= 1000);
        let mut queue = VecDeque::with_capacity(1000);
        queue.push_front("orc");
        assert!(recycled(queue).capacity() >= 1000);
        let mut heap = BinaryHeap::with_capacity(1000);
        heap.push("orc");
        heap.recycle();
        assert!(heap.is_empty() && heap.capacity() >= 1000);
    }

    #[test]
    fn maps_and_sets_recycled_are_empty_and_keep_their_capacity() {
        let mut map = HashMap::with_capacity(1000);
        map.insert("orc", 1);
        assert!(recycled(map).capacity() >= 1000);
        let mut set = HashSet::with_capacity(1000);
        set.insert("orc");
        assert!(recycled(set).capacity() >= 1000);
        recycled(BTreeMap::from([("orc", 1)]));
        recycled(BTreeSet::from(["orc"]));
    }

    #[test]
    fn wrappers_recycled_recycle_what_they_hold() {
        recycled(Some("orc"));
        let mut boxed = Box::new(Vec::with_capacity(1000));
        boxed.push("orc");
        let place: *const Vec<&str> = &raw const *boxed;
        let boxed = recycled(boxed);
        assert!(boxed.capacity() >= 1000 && std::ptr::eq(place, &raw const *boxed));
        let mut array: [Vec<u8>; 3] = Default::default();
        array[1] = Vec::with_capacity(1000);
        array[1].push(1);
        assert!(recycled(array)[1].capacity() >= 1000);
    }

    #[test]
    fn tuples_recycled_recycle_each_field() {
        recycled((1,));
        let mut text = String::with_capacity(1000);
        text.push('x');
        let (number, text) = recycled((1, text));
        assert!(number == 0 && text.capacity() >= 1000);
        recycled((1, 2u8, '3', 4i64, 5.0, true, Some(7), vec![8], 9, 10, 11, String::from("12")));
    }
}
