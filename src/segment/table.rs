//! The table of segments: pointers that are set with Release and read with Acquire.

use std::alloc::{Layout, dealloc};
use std::ptr::{self, NonNull};

use super::sides::{allocate_segment, free_segment, layout_made};
use super::{
    DIRECTORIES, DIRECTORY_BITS, FULL_BITS, Index, NEAR, NEAR_FULL, NEAR_SLOTS, Near, Segment,
    Sides,
};
use crate::memory::{OutOfMemory, allocate_zeroed};
use crate::slot::{Header, Slot};
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Counter, Ordering};

/// The origins of 2^10 segments.
struct Directory<T, H: Header>([AtomicPtr<Slot<T, H>>; 1 << DIRECTORY_BITS]);

/// Every segment of a store.
pub(crate) struct Table<T, H: Header = ()> {
    /// The origins of the first segments by their places: an origin is where slot 0 would lie if
    /// the segment reached back to it, so that a slot is found from its index alone. Null while the
    /// segment does not exist.
    near: [AtomicPtr<Slot<T, H>>; NEAR],
    /// Those of the others.
    directories: [AtomicPtr<Directory<T, H>>; DIRECTORIES],
    pub(super) sides: Sides,
    pub(super) bytes: Counter,
}

/// The unit of offsets: slots are aligned to it.
type Unit = u64;

/// The mark in place of a segment whose memory was given back. Null says that there never was one;
/// with it, a late call would install a segment there with generations from zero. Origins are
/// aligned, so none equals the mark.
pub(super) const fn given_back<T, H: Header>() -> *mut Slot<T, H> {
    ptr::without_provenance_mut(GIVEN_BACK)
}

const GIVEN_BACK: usize = 1;

/// Whether there is a segment.
#[inline(always)]
fn is_there<T, H: Header>(origin: *mut Slot<T, H>) -> bool {
    // Both are below every origin: one comparison.
    origin.addr() > GIVEN_BACK
}

/// Marks a branch as unlikely, so that the likely one is laid out without a jump, which would be
/// noticeable in a look-up.
#[cold]
const fn cold_path() {}

/// The directory of a segment that the table does not point to directly, and its place there.
const fn in_directory(far: usize) -> (usize, usize) {
    (far >> DIRECTORY_BITS, far & ((1 << DIRECTORY_BITS) - 1))
}

impl<T, H: Header> Table<T, H> {
    pub(crate) fn new(sides: Sides) -> Table<T, H> {
        Table {
            sides,
            near: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            directories: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            bytes: Counter::new(0),
        }
    }

    /// The slot of a number whose segment has this place, if the segment exists. Defined for every
    /// number: guessed handles end here.
    ///
    /// The borrow is valid while the caller has a pin or a claim that looks (`free::claim`), or
    /// owns a slot of the segment or a hold of its entity, whichever is longer.
    #[inline(always)]
    pub(crate) fn find(&self, seq: u64, place: Near) -> Option<&Slot<T, H>> {
        // SAFETY: the caller has a pin, a claim that looks, or a slot of the segment in use, and
        // the segment stays while any of these lasts; slots are shared and only changed through
        // their cells. The place is that of the number (invariant 11, 12).
        self.address(seq, place).map(|slot| unsafe { slot.as_ref() })
    }

    /// As [`find`](Table::find), for what is known to be in range.
    #[inline]
    pub(crate) fn slot(&self, index: Index) -> Option<&Slot<T, H>> {
        let seq = index.0.into();
        self.find(seq, Near::of(seq))
    }

    /// Where the slot lies, if its segment exists.
    #[inline(always)]
    pub(super) fn address(&self, seq: u64, place: Near) -> Option<NonNull<Slot<T, H>>> {
        let origin = self.origin(seq, place);
        if !is_there(origin) {
            return None;
        }
        let slot = origin.cast::<Unit>().wrapping_add(Self::offset(seq)).cast();
        // SAFETY: a slot of a segment that exists lies there, and none at null (invariant 12).
        Some(unsafe { NonNull::new_unchecked(slot) })
    }

    /// How many units a slot lies behind its origin; of a far slot, the low 32 bits of that.
    ///
    /// In 32 bits, so that the multiplication by the unit stays in the addressing mode: in 64 bits,
    /// compilers merge it with that by the stride into a factor that no addressing mode has.
    #[inline(always)]
    const fn offset(seq: u64) -> usize {
        if Self::NEAR_FITS {
            (seq as u32).wrapping_mul(Self::STRIDE as u32) as usize
        } else {
            (seq as usize).wrapping_mul(Self::STRIDE)
        }
    }

    /// The size of a slot, in units.
    const STRIDE: usize = {
        assert!(size_of::<Slot<T, H>>().is_multiple_of(size_of::<Unit>()));
        size_of::<Slot<T, H>>() / size_of::<Unit>()
    };

    /// Whether the offsets of all near slots fit into 32 bits: true for payloads below some 2 KiB.
    const NEAR_FITS: bool = NEAR_SLOTS.saturating_mul(Self::STRIDE as u64) <= 1 << u32::BITS;

    /// The origin of a number's segment, if it exists. Compared as a u64 before it is narrowed:
    /// what is out of range must not alias. One comparison for a store of up to fifteen million
    /// slots.
    #[inline(always)]
    fn origin(&self, seq: u64, place: Near) -> *mut Slot<T, H> {
        if seq >= NEAR_SLOTS {
            cold_path();
            return self.far_origin(seq);
        }
        debug_assert_eq!(place, Near::of(seq), "a place is made of its number");
        // Acquire G1: receives the segment's first words; pairs with the Release G1 in `install`
        // and in `restore`.
        self.near[place.0 as usize].load(ord!(Acquire: G1))
    }

    /// As `origin`, for a segment that a directory leads to, moved by what `offset` leaves out.
    /// Inlined, and short: a call would cost the look-ups around it registers, whether or not it is
    /// made.
    #[inline(always)]
    fn far_origin(&self, seq: u64) -> *mut Slot<T, H> {
        let (directory, number) = in_directory((seq >> FULL_BITS) as usize - (NEAR_FULL + 1));
        let Some(directory) = self.directory(directory) else { return ptr::null_mut() };
        // Acquire G1: as in `origin`.
        let origin = directory.0[number].load(ord!(Acquire: G1));
        if is_there(origin) {
            origin.cast::<Unit>().wrapping_add(Self::left_out(seq)).cast()
        } else {
            ptr::null_mut()
        }
    }

    /// What `offset` leaves out.
    const fn left_out(seq: u64) -> usize {
        (seq as usize).wrapping_mul(Self::STRIDE).wrapping_sub(Self::offset(seq))
    }

    /// Where the origin of a segment is stored.
    #[inline]
    pub(super) fn place(&self, segment: Segment) -> Option<&AtomicPtr<Slot<T, H>>> {
        match segment.far() {
            None => self.near.get(segment.place()),
            Some(far) => {
                let (directory, number) = in_directory(far);
                self.directory(directory)?.0.get(number)
            }
        }
    }

    /// The slot of an index that came out of a box: its segment exists.
    #[inline]
    pub(crate) fn known(&self, index: Index) -> &Slot<T, H> {
        self.known_at(index, Near::of(index.0.into()))
    }

    /// As [`known`](Table::known), with the place of the index.
    #[inline]
    pub(crate) fn known_at(&self, index: Index, place: Near) -> &Slot<T, H> {
        match self.find(index.0.into(), place) {
            Some(slot) => slot,
            None => unreachable!("an index is given out after its segment exists, which it keeps"),
        }
    }

    /// The link of a slot in the dead stack of a shard.
    pub(crate) fn link(&self, index: Index) -> &AtomicU32 {
        debug_assert!(self.sides.links);
        // SAFETY: the links lie behind the slots, one for each; they are shared and only changed as
        // atomics (invariant 11, 12).
        unsafe { &*self.side(index, |slots| self.sides.links_offset::<T, H>(slots)) }
    }

    /// The stamp of a slot's entity: when it was activated.
    pub(crate) fn stamp(&self, index: Index) -> &AtomicU64 {
        debug_assert!(self.sides.stamps);
        // SAFETY: the stamps lie behind the slots, one for each; they are shared and only changed
        // as atomics (invariant 11, 12).
        unsafe { &*self.side(index, |slots| self.sides.stamps_offset::<T, H>(slots)) }
    }

    /// The item of a slot in a side array. The caller received the index with Acquire; `offset_of`
    /// tells where the array is in a segment of so many slots.
    fn side<V>(&self, index: Index, offset_of: impl FnOnce(usize) -> usize) -> *const V {
        let segment = Segment::of(index);
        let Some(origin) = self.place(segment) else {
            unreachable!("a slot that was given out has a segment")
        };
        // Relaxed: a caller that has a slot's index, or has seen its entity under its open session,
        // has received its segment, which stays.
        let first = origin.load(Ordering::Relaxed).wrapping_add(segment.begin());
        let array = first.wrapping_byte_add(offset_of(segment.slots())).cast::<V>();
        array.wrapping_add(index.0 as usize - segment.begin())
    }

    /// Allocates the segments of `first..end` that are missing.
    pub(crate) fn ensure(&self, first: u64, end: u64) -> Result<(), OutOfMemory> {
        let mut index = first;
        while index < end {
            let segment = Segment::of(Index(index as u32));
            match segment.far() {
                None => self.install(&self.near[segment.place()], segment)?,
                Some(far) => {
                    let (directory, number) = in_directory(far);
                    self.install(&self.ensure_directory(directory)?.0[number], segment)?;
                }
            }
            index = (segment.begin() + segment.slots()) as u64;
        }
        Ok(())
    }

    /// Memory of the segments and directories.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get() as usize
    }

    #[inline]
    fn directory(&self, number: usize) -> Option<&Directory<T, H>> {
        // Acquire G2: receives the directory's null pointers; pairs with the Release G2 in
        // `ensure_directory`.
        let directory = self.directories.get(number)?.load(ord!(Acquire: G2));
        // SAFETY: a directory that exists stays until the table is dropped (invariant 11).
        unsafe { directory.as_ref() }
    }

    fn ensure_directory(&self, number: usize) -> Result<&Directory<T, H>, OutOfMemory> {
        if let Some(directory) = self.directory(number) {
            return Ok(directory);
        }
        let layout = Layout::new::<Directory<T, H>>();
        let fresh = allocate_zeroed(layout)?.cast::<Directory<T, H>>().as_ptr();
        #[cfg(all(loom, test))]
        // SAFETY: the allocation is exclusive and has the directory's layout (invariant 11).
        unsafe {
            fresh.write(Directory(std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()))));
        }
        // Release G2: publishes the null pointers. Relaxed on failure: `directory` reads again.
        match self.directories[number].compare_exchange(
            ptr::null_mut(),
            fresh,
            ord!(Release: G2),
            Ordering::Relaxed,
        ) {
            Ok(_) => {
                self.bytes.add_shared(layout.size() as u64);
            }
            // SAFETY: this thread allocated it with this layout and nobody else has seen it
            // (invariant 11).
            Err(_) => unsafe { dealloc(fresh.cast(), layout) },
        }
        match self.directory(number) {
            Some(directory) => Ok(directory),
            None => unreachable!("a directory that exists stays"),
        }
    }

    fn install(&self, at: &AtomicPtr<Slot<T, H>>, segment: Segment) -> Result<(), OutOfMemory> {
        // Relaxed: only whether there is or was one; whoever touches the slots loads it with
        // Acquire. A call that finds that there was one will find its indices given out, too.
        if !at.load(Ordering::Relaxed).is_null() {
            return Ok(());
        }
        let (begin, slots) = (segment.begin(), segment.slots());
        let first = allocate_segment::<T, H>(slots, self.sides)?;
        let origin = first.wrapping_sub(begin);
        // Release G1: publishes the zeroed words to `slot`, forged handles included.
        match at.compare_exchange(ptr::null_mut(), origin, ord!(Release: G1), Ordering::Relaxed) {
            Ok(_) => {
                assert!(is_there(origin), "no segment lies so low that its origin is null");
                self.bytes.add_shared(layout_made::<T, H>(slots, self.sides).size() as u64);
            }
            // SAFETY: this thread allocated it and nobody else has seen it (invariant 11).
            Err(_) => unsafe { free_segment(first, slots, self.sides) },
        }
        Ok(())
    }

    /// Frees the segment of an origin, if there is one.
    ///
    /// # Safety
    /// * The table is dropped, so nobody refers to its segments.
    unsafe fn free(&self, origin: &AtomicPtr<Slot<T, H>>, segment: Segment) {
        // Relaxed: the drop is exclusive, and comes after every publication.
        let origin = origin.load(Ordering::Relaxed);
        if is_there(origin) {
            let first = origin.wrapping_add(segment.begin());
            // SAFETY: the caller's duty; `install` allocated it so (invariant 6, 11).
            unsafe { free_segment(first, segment.slots(), self.sides) };
        }
    }
}

impl<T, H: Header> Drop for Table<T, H> {
    fn drop(&mut self) {
        for (place, origin) in self.near.iter().enumerate() {
            // SAFETY: the table is dropped (invariant 6).
            unsafe { self.free(origin, Segment(place)) };
        }
        for (number, at) in self.directories.iter().enumerate() {
            // Relaxed: the drop is exclusive, and comes after every publication.
            let directory = at.load(Ordering::Relaxed);
            // SAFETY: a directory that exists stays until here (invariant 11).
            let Some(segments) = (unsafe { directory.as_ref() }) else { continue };
            for (at, origin) in segments.0.iter().enumerate() {
                let segment = Segment::of_far((number << DIRECTORY_BITS) + at);
                // SAFETY: the table is dropped (invariant 6).
                unsafe { self.free(origin, segment) };
            }
            // SAFETY: it was allocated with this layout, in `ensure_directory`; model builds drop
            // the atomics that they constructed there (invariant 11).
            unsafe { ptr::drop_in_place(directory) };
            // SAFETY: as above, and nobody refers to it any more (invariant 11).
            unsafe { dealloc(directory.cast(), Layout::new::<Directory<T, H>>()) };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Slots of far numbers are where they would be without the 32 bits.
    #[test]
    fn offset_and_what_it_leaves_out_are_the_whole_of_any_slot() {
        fn check<T>() {
            let stride = size_of::<Slot<T>>();
            for seq in (0..64).map(|bits| (1_u64 << bits) - 1).chain(NEAR_SLOTS - 2..NEAR_SLOTS + 2)
            {
                let near = seq < NEAR_SLOTS;
                let (offset, rest) = (Table::<T>::offset(seq), Table::<T>::left_out(seq));
                let bytes = offset.wrapping_add(rest).wrapping_mul(size_of::<Unit>());
                assert_eq!(bytes, (seq as usize).wrapping_mul(stride), "slot {seq}");
                assert!(!near || rest == 0, "slot {seq} is near");
            }
        }
        check::<()>();
        check::<[u64; 8]>();
        check::<[u8; 3000]>();
        check::<[u64; 1 << 20]>();
    }
}
