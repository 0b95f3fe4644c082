//! The request table: requests that we sent to a peer and that it has yet to answer. No I/O, any payload.

use std::collections::HashMap;

/// Outstanding requests to one peer, numbered with integers (the Java SDK reads ids as numbers), each
/// remembering what is to be done with its answer. Taking an entry out is what makes an answer count once.
#[derive(Debug)]
pub struct RequestTable<T> {
    next: u64,
    open: HashMap<u64, T>,
}

impl<T> Default for RequestTable<T> {
    fn default() -> Self {
        RequestTable { next: 1, open: HashMap::new() }
    }
}

impl<T> RequestTable<T> {
    /// Notes a request and gives it its number.
    pub fn open(&mut self, entry: T) -> u64 {
        let id = self.next;
        self.next += 1;
        self.open.insert(id, entry);
        id
    }

    /// Takes the entry that an answer belongs to; `None` for a stray or second answer.
    pub fn close(&mut self, id: u64) -> Option<T> {
        self.open.remove(&id)
    }

    /// An entry that is still open.
    pub fn get(&self, id: u64) -> Option<&T> {
        self.open.get(&id)
    }

    /// The number of the first open entry that fits.
    pub fn find(&self, fits: impl Fn(&T) -> bool) -> Option<u64> {
        self.open.iter().filter(|(_, e)| fits(e)).map(|(id, _)| *id).min()
    }

    /// Takes everything, oldest first: the peer is gone.
    pub fn drain(&mut self) -> Vec<(u64, T)> {
        let mut all: Vec<_> = self.open.drain().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_once() {
        let mut table = RequestTable::default();
        let (a, b) = (table.open("a"), table.open("b"));
        assert_eq!((table.close(a), table.close(a), table.close(99)), (Some("a"), None, None));
        assert_eq!(table.find(|e| *e == "b"), Some(b));
        assert_eq!(table.drain(), [(b, "b")]);
        assert!(table.is_empty());
    }
}
