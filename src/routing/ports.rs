//! The connections on both sides as routing sees them: a queue of what waits to be written, and a role.

use crate::rpc::OutQueue;
use slab::Slab;

/// Names a connection; never used again for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PortId {
    index: usize,
    serial: u64,
}

impl PortId {
    /// The connection's place; another one takes it when this one is gone.
    pub fn index(self) -> usize {
        self.index
    }

    /// Names no connection.
    pub const NOWHERE: PortId = PortId { index: usize::MAX, serial: 0 };
}

/// One connection.
#[derive(Debug)]
pub struct Port<R> {
    /// What it is.
    pub role: R,
    /// What waits to be written.
    pub out: OutQueue,
    /// To be closed once everything queued is written.
    pub closing: bool,
    serial: u64,
    dirty: bool,
}

/// All connections.
#[derive(Debug)]
pub struct Ports<R> {
    slab: Slab<Port<R>>,
    serial: u64,
    dirty: Vec<PortId>,
}

impl<R> Default for Ports<R> {
    fn default() -> Self {
        Ports { slab: Slab::new(), serial: 0, dirty: Vec::new() }
    }
}

impl<R> Ports<R> {
    /// A new connection.
    pub fn open(&mut self, role: R) -> PortId {
        self.serial += 1;
        let serial = self.serial;
        let index = self.slab.insert(Port { role, out: OutQueue::default(), closing: false, serial, dirty: false });
        PortId { index, serial }
    }

    /// A connection that is still there.
    pub fn get(&self, id: PortId) -> Option<&Port<R>> {
        self.slab.get(id.index).filter(|p| p.serial == id.serial)
    }

    /// A connection that is still there, to change.
    pub fn get_mut(&mut self, id: PortId) -> Option<&mut Port<R>> {
        self.slab.get_mut(id.index).filter(|p| p.serial == id.serial)
    }

    /// The queue of a connection, noted as having something to write; `None` when it is gone or closing.
    pub fn out(&mut self, id: PortId) -> Option<&mut OutQueue> {
        let port = self.slab.get_mut(id.index).filter(|p| p.serial == id.serial && !p.closing)?;
        if !port.dirty {
            port.dirty = true;
            self.dirty.push(id);
        }
        Some(&mut port.out)
    }

    /// Closes a connection after what is queued.
    pub fn close_after_flush(&mut self, id: PortId) {
        if self.out(id).is_some()
            && let Some(port) = self.get_mut(id)
        {
            port.closing = true;
        }
    }

    /// Takes a connection out.
    pub fn remove(&mut self, id: PortId) -> Option<R> {
        self.get(id)?;
        Some(self.slab.remove(id.index).role)
    }

    /// The connections that have something to write since the last call, moved into `into`.
    pub fn take_dirty(&mut self, into: &mut Vec<PortId>) {
        into.append(&mut self.dirty);
        for id in into.iter() {
            if let Some(port) = self.slab.get_mut(id.index).filter(|p| p.serial == id.serial) {
                port.dirty = false;
            }
        }
    }

    /// All connections.
    pub fn iter(&self) -> impl Iterator<Item = (PortId, &Port<R>)> {
        self.slab.iter().map(|(index, port)| (PortId { index, serial: port.serial }, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_gone_stays_gone_when_its_place_is_taken() {
        let mut ports = Ports::default();
        let first = ports.open("first");
        assert_eq!(ports.remove(first), Some("first"));
        let second = ports.open("second");
        assert!(ports.get(first).is_none() && ports.out(first).is_none());
        assert_eq!(ports.get(second).map(|p| p.role), Some("second"));
    }

    #[test]
    fn nothing_is_queued_behind_a_close() {
        let mut ports = Ports::default();
        let port = ports.open(());
        ports.out(port).unwrap().frame(b"last");
        ports.close_after_flush(port);
        assert!(ports.out(port).is_none());
        assert!(!ports.get(port).unwrap().out.is_empty());
    }
}
