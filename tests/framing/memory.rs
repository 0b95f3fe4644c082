//! What a header promises costs nothing until the bytes are there.

use crate::support::frame::frame;
use crate::support::world::World;
use crate::{Bystander, expect_refused};

const MIB: u64 = 1024 * 1024;

/// Everything that the daemon allocates once has been allocated after this.
fn warmed_up() -> (World, Bystander) {
    let world = World::start(3);
    let mut bystander = Bystander::new(&world);
    for _ in 0..20 {
        let mut abuser = world.daemon.dial("warm-up");
        abuser.send_bytes(b"Content-Length: -1\r\n\r\n");
        expect_refused(&mut abuser);
        drop(world.open("warm-up"));
        bystander.is_served();
    }
    (world, bystander)
}

/// Runs `abuse` and returns by how much the daemon's resident memory grew at its highest.
fn growth(world: &World, abuse: impl FnOnce()) -> u64 {
    world.daemon.forget_peak();
    let before = world.daemon.resident();
    abuse();
    world.daemon.peak().saturating_sub(before)
}

#[test]
fn a_promise_of_a_hundred_terabytes_costs_less_than_a_mebibyte() {
    let (world, mut bystander) = warmed_up();
    let grown = growth(&world, || {
        let mut abuser = world.daemon.dial("a");
        abuser.send_bytes(b"Content-Length: 99999999999999\r\n\r\n");
        bystander.is_served();
        expect_refused(&mut abuser);
        bystander.is_served();
    });
    assert!(grown < MIB, "the daemon grew by {grown} bytes");
}

#[test]
fn a_header_of_64_megabytes_costs_less_than_a_mebibyte() {
    let (world, mut bystander) = warmed_up();
    let grown = growth(&world, || {
        let mut abuser = world.daemon.dial("a");
        abuser.send_bytes(b"X-Long: ");
        let chunk = vec![b'a'; 64 * 1024];
        // Sending fails as soon as the daemon has closed, which may be after the first few bytes.
        for _ in 0..1024 {
            if abuser.try_send_bytes(&chunk).is_err() {
                break;
            }
        }
        bystander.is_served();
        expect_refused(&mut abuser);
        bystander.is_served();
    });
    assert!(grown < MIB, "the daemon grew by {grown} bytes");
}

#[test]
fn an_allowed_promise_that_is_not_kept_reserves_nothing() {
    let (world, mut bystander) = warmed_up();
    // Memory that was reserved but never written to is not resident, so this looks at what is mapped writable.
    let before = world.daemon.memory("VmData");
    let abusers: Vec<_> = (0..4)
        .map(|number| {
            let (abuser, lane) = world.open(&number.to_string());
            abuser.send_bytes(b"Content-Length: 67108864\r\n\r\n{\"jsonrpc\":");
            (abuser, lane)
        })
        .collect();
    bystander.is_served();
    let grown = world.daemon.memory("VmData").saturating_sub(before);
    assert!(grown < 16 * MIB, "four promises of 64 MiB made the daemon map {grown} bytes more");
    drop(abusers);
    bystander.is_served();
}

#[test]
fn many_abusers_in_a_row_leave_nothing_behind() {
    let (world, mut bystander) = warmed_up();
    let before = world.daemon.resident();
    for round in 0..200 {
        let mut abuser = world.daemon.dial("a");
        match round % 3 {
            0 => abuser.send_bytes(b"Content-Length: 99999999999999\r\n\r\n"),
            1 => abuser.send_bytes(b"POST / HTTP/1.1\r\n"),
            _ => abuser.send_bytes(b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n"),
        }
        expect_refused(&mut abuser);
    }
    bystander.is_served();
    let grown = world.daemon.resident().saturating_sub(before);
    assert!(grown < MIB, "after 200 refused connections the daemon holds {grown} bytes more");
}

#[test]
fn a_client_that_sends_nonsense_without_end_is_served_no_worse_than_its_neighbour() {
    let (world, mut bystander) = warmed_up();
    let (mut abuser, _lane) = world.open("a");
    for _ in 0..200 {
        abuser.send_bytes(&frame(b"nonsense"));
        bystander.is_served();
        crate::expect_nobodys_error(&mut abuser, -32700);
    }
}
