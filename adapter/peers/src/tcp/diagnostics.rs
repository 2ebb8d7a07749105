//! The kernel's socket diagnostics (sock_diag(7)), which list all TCP sockets in a tenth of a millisecond.
//! Not here: what to do on a machine without them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::TcpSocket;

/// How long the kernel may take for a piece of the list.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The kernel returns pieces of at most 32 KiB.
const MAX_PIECE_LEN: usize = 64 * 1024;
/// `NLMSG_ERROR` and `NLMSG_DONE` (netlink(7)), `SOCK_DIAG_BY_FAMILY` (sock_diag(7)).
const ERROR: u16 = 2;
const DONE: u16 = 3;
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const LIST: u16 = 0x1 | 0x300;
const TCP: u8 = 6;
/// A mask of all states.
const ALL_STATES: u32 = u32::MAX;
/// Length of `struct nlmsghdr`, of `struct inet_diag_req_v2`, and the alignment of messages.
const HEADER_LEN: usize = 16;
const REQUEST_LEN: usize = 56;
const ALIGNMENT: usize = 4;

/// The sockets that the kernel lists, also those without a process.
///
/// # Errors
/// Where the kernel, or a sandbox, lacks the diagnostics.
pub(super) fn list() -> rustix::io::Result<Vec<TcpSocket>> {
    let flags = SocketFlags::CLOEXEC;
    let kernel =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    // Afterwards only the kernel can answer.
    rustix::net::connect(&kernel, &SocketAddrNetlink::new(0, 0))?;
    set_socket_timeout(&kernel, Timeout::Recv, Some(TIMEOUT))?;
    let mut found = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        rustix::net::send(&kernel, &create_request(family), SendFlags::empty())?;
        receive(&kernel, &mut found)?;
    }
    Ok(found)
}

/// A header, then family, protocol, two bytes and the states; then the address of one socket, which the
/// request for a list leaves empty.
fn create_request(family: AddressFamily) -> Vec<u8> {
    let length = HEADER_LEN + REQUEST_LEN;
    let mut request = (length as u32).to_ne_bytes().to_vec();
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(LIST.to_ne_bytes());
    // Number and port of the sender: nothing else is received on this socket.
    request.extend([0; 8]);
    request.extend([family.as_raw() as u8, TCP, 0, 0]);
    request.extend(ALL_STATES.to_ne_bytes());
    request.resize(length, 0);
    request
}

fn receive(kernel: &OwnedFd, found: &mut Vec<TcpSocket>) -> rustix::io::Result<()> {
    let mut piece = vec![0; MAX_PIECE_LEN];
    loop {
        let (length, _) = rustix::io::retry_on_intr(|| {
            rustix::net::recv(kernel, piece.as_mut_slice(), RecvFlags::empty())
        })?;
        if read_piece(piece.get(..length).unwrap_or_default(), found)? {
            return Ok(());
        }
    }
}

/// Reads the messages of a piece. Returns whether it is the last one.
fn read_piece(piece: &[u8], found: &mut Vec<TcpSocket>) -> rustix::io::Result<bool> {
    let mut rest = piece;
    if rest.is_empty() {
        return Err(Errno::BADMSG);
    }
    while !rest.is_empty() {
        let length = word_at(rest, 0).ok_or(Errno::BADMSG)? as usize;
        let kind = rest.get(4..6).and_then(|kind| Some(u16::from_ne_bytes(kind.try_into().ok()?)));
        let body = rest.get(HEADER_LEN..length).ok_or(Errno::BADMSG)?;
        match kind {
            Some(kind @ (ERROR | DONE)) => {
                let code = word_at(body, 0).unwrap_or_default().cast_signed();
                return match code {
                    0.. if kind == DONE => Ok(true),
                    0.. => Err(Errno::BADMSG),
                    _ => Err(Errno::from_raw_os_error(code.saturating_neg())),
                };
            }
            Some(BY_FAMILY) => found.push(parse(body).ok_or(Errno::BADMSG)?),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    }
    Ok(false)
}

/// Parses `struct inet_diag_msg`: family, state, two bytes; ports and addresses in network byte order,
/// interface and cookie; expiry and two queues; user and inode.
fn parse(body: &[u8]) -> Option<TcpSocket> {
    let is_v4 = u16::from(*body.first()?) == AddressFamily::INET.as_raw();
    let address = |port: usize, ip: usize| {
        let port = u16::from_be_bytes(body.get(port..port + 2)?.try_into().ok()?);
        let bytes: [u8; 16] = body.get(ip..ip + 16)?.try_into().ok()?;
        let [a, b, c, d, ..] = bytes;
        let v4 = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
        Some(super::plain(if is_v4 { v4 } else { IpAddr::V6(Ipv6Addr::from(bytes)) }, port))
    };
    Some(TcpSocket {
        local: address(4, 8)?,
        remote: address(6, 24)?,
        state: *body.get(1)?,
        user: word_at(body, 64)?,
        inode: u64::from(word_at(body, 68)?),
    })
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_LEN + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER_LEN, 0);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_piece_that_is_cut_off_or_an_error_is_not_a_list() {
        let mut body = vec![AddressFamily::INET.as_raw() as u8, super::super::LISTENING, 0, 0, 0x1F, 0x90];
        body.resize(72, 0);
        let listed = [message(BY_FAMILY, &body), message(DONE, &[0; 4])].concat();
        let mut found = Vec::new();
        assert_eq!(read_piece(&listed, &mut found), Ok(true));
        assert_eq!(found.first().map(|socket| (socket.local.port(), socket.listens())), Some((8080, true)));
        let first = HEADER_LEN + body.len();
        for length in (0..listed.len()).filter(|length| *length != first) {
            assert_eq!(read_piece(&listed[..length], &mut found), Err(Errno::BADMSG), "{length}");
        }
        assert_eq!(read_piece(&listed[..first], &mut found), Ok(false));
        let missing = (-2_i32).to_ne_bytes();
        for kind in [ERROR, DONE] {
            assert_eq!(read_piece(&message(kind, &missing), &mut found), Err(Errno::NOENT));
        }
        assert_eq!(read_piece(&message(BY_FAMILY, &[0; 8]), &mut found), Err(Errno::BADMSG));
    }
}
