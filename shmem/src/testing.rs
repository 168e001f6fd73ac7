//! Stop points for crash tests: what the `testing` feature is for. Without it they are nothing.

/// A point of the protocol at which a test stops a process, to kill it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The directory is locked; nothing was looked at.
    CreationLockTaken,
    /// The file of a new segment is there, empty and locked.
    FileCreated,
    /// The header of a new segment is there, but for the word that says that it is ready.
    HeaderHalfWritten,
    /// The new segment is ready, and the directory still locked.
    Ready,
    /// The place in the roster is taken; that it was ever taken is not noted yet.
    RosterByteTaken,
    /// A participant has marked its slot of a barrier, and is not counted yet.
    BarrierEntered,
    /// A participant is counted.
    BarrierArrived,
    /// The last one has decided; nobody is woken yet.
    BarrierReleased,
    /// The last one out has the segment for itself, and the file is still there.
    LastOneLeaving,
    /// The file is gone, the directory is still locked.
    SegmentRemoved,
}

impl Point {
    /// All of them, in the order of a life.
    pub const ALL: [Point; 10] = [
        Point::CreationLockTaken,
        Point::FileCreated,
        Point::HeaderHalfWritten,
        Point::Ready,
        Point::RosterByteTaken,
        Point::BarrierEntered,
        Point::BarrierArrived,
        Point::BarrierReleased,
        Point::LastOneLeaving,
        Point::SegmentRemoved,
    ];
}

#[cfg(feature = "testing")]
mod hook {
    use std::sync::OnceLock;

    use super::Point;

    type Hook = Box<dyn Fn(Point) + Send + Sync>;

    static HOOK: OnceLock<Hook> = OnceLock::new();

    /// Calls `hook` at every point that this process reaches from now on. Once in a process; later calls do nothing.
    pub fn set_hook(hook: impl Fn(Point) + Send + Sync + 'static) {
        let _ = HOOK.set(Box::new(hook));
    }

    pub(crate) fn reach(point: Point) {
        if let Some(hook) = HOOK.get() {
            hook(point);
        }
    }
}

#[cfg(feature = "testing")]
pub(crate) use hook::reach;
#[cfg(feature = "testing")]
pub use hook::set_hook;

#[cfg(not(feature = "testing"))]
pub(crate) fn reach(_point: Point) {}
