//! `/proc/net/tcp` and `/proc/net/tcp6` (proc(5)). For each of these files the kernel searches a table of all
//! network namespaces, which takes milliseconds. Not here: the choice between both lists.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::TcpSocket;

/// The sockets of both files, also those without a process.
pub(super) fn list() -> Vec<TcpSocket> {
    let mut found = Vec::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // A machine without IPv6 has only one of them.
        let text = std::fs::read_to_string(file).unwrap_or_default();
        found.extend(text.lines().filter_map(parse_line));
    }
    found
}

fn parse_line(line: &str) -> Option<TcpSocket> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (parse_address(words.next()?)?, parse_address(words.next()?)?);
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    // Queues, timer and retransmissions are before the user; a time-out is between user and inode.
    let (user, inode) = (words.nth(3)?.parse().ok()?, words.nth(1)?.parse().ok()?);
    Some(TcpSocket { local, remote, state, user, inode })
}

/// Parses an address in hexadecimal, each word in the byte order of the machine, and a port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let (words, rest) = address.as_bytes().as_chunks::<8>();
    let word = |text: &[u8; 8]| {
        let word = u32::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let words: Vec<[u8; 4]> = words.iter().map(word).collect::<Option<_>>()?;
    let ip = match (words.as_slice(), rest) {
        ([word], []) => IpAddr::V4(Ipv4Addr::from(*word)),
        (words, []) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?)),
        _ => return None,
    };
    Some(super::plain(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_a_heading_is_not() {
        let line =
            "   1: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  4321        0 77 1";
        let socket = parse_line(line).unwrap();
        assert_eq!((socket.user, socket.inode, socket.is_connected()), (4321, 77, true));
        assert_eq!(parse_line("  sl  local_address rem_address   st tx_queue rx_queue"), None);
        assert_eq!(parse_line(&line.replace("0100007F:1F90", "0100007:1F90")), None);
        if cfg!(target_endian = "little") {
            assert!(socket.is("127.0.0.1:41394".parse().unwrap(), "127.0.0.1:8080".parse().unwrap()));
            assert!(!socket.is("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:41394".parse().unwrap()));
            for (text, address) in [
                ("0000000000000000FFFF00000100007F:1F90", "127.0.0.1:8080"),
                ("00000000000000000000000001000000:1F90", "[::1]:8080"),
            ] {
                assert_eq!(parse_address(text), Some(address.parse().unwrap()));
            }
        }
    }
}
