//! Whether Node's inspector listens at the address that an attach names. The adapter itself tries for ten
//! seconds, and then answers with its own stack. Not here: connections to the inspector, which are the
//! adapter's.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde_json::Value;
use tandem_wire::{ErrorCode, Failure};

use super::POLL_INTERVAL;
use crate::target::Target;

/// How long a connection may take to be accepted or refused.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Waits for a listener at the address of the attributes: at most as long as `timeout` says in milliseconds,
/// else it must listen already. Blocks.
///
/// # Errors
/// `INVALID_PARAMETER` without an address, `PROCESS_NOT_FOUND` when nothing accepts connections there.
pub(in super::super) fn await_listener(target: &Target) -> Result<(), Failure> {
    if !target.names_any(&["port", "websocketAddress"]) {
        return Err(Failure::invalid("name the target: `processId`, or the `port` of node's inspector"));
    }
    // The adapter reports a port that it cannot read.
    let Some((host, port)) = address(target) else { return Ok(()) };
    let limit = Duration::from_millis(target.attribute("timeout").as_u64().unwrap_or(0));
    let until = Instant::now() + limit;
    loop {
        let Err(reason) = connect(&host, port) else { return Ok(()) };
        if Instant::now() >= until {
            let message = format!(
                "cannot attach to Node at `{host}:{port}`: no inspector accepts connections there: {reason}"
            );
            return Err(Failure::new(ErrorCode::ProcessNotFound, message).hint(format!(
                "start the program with `node --inspect={host}:{port}`, or correct the port; to wait for a \
                 program that starts later, set `timeout` to milliseconds"
            )));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Host and port of the attributes.
fn address(target: &Target) -> Option<(String, u16)> {
    if let Some(url) = target.attribute("websocketAddress").as_str() {
        let authority = url.split_once("://")?.1.split('/').next()?;
        let (host, port) = authority.rsplit_once(':')?;
        return Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?));
    }
    let port = target.attribute("port");
    let port = port.as_u64().or_else(|| port.as_str()?.trim().parse().ok())?;
    let host = match target.attribute("address") {
        Value::String(host) if !host.is_empty() => host.as_str(),
        _ => "localhost",
    };
    Some((host.to_owned(), u16::try_from(port).ok()?))
}

/// Connects to one of the host's addresses and hangs up again, which an inspector does not mind.
fn connect(host: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::other("the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use serde_json::json;
    use tokio::net::TcpSocket;

    use super::*;

    /// A port of this machine that no other process gets, and where nothing listens yet.
    fn reserved_port() -> (TcpSocket, u16) {
        for _ in 0..100 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            let port = socket.local_addr().unwrap().port();
            // `localhost` is both. Without IPv6 nothing listens there.
            if std::net::TcpStream::connect((Ipv6Addr::LOCALHOST, port)).is_err() {
                return (socket, port);
            }
        }
        panic!("something listens at each port of `::1`");
    }

    fn forms(port: u16) -> [Value; 3] {
        [
            json!({ "port": port }),
            json!({ "port": port.to_string(), "address": "127.0.0.1" }),
            json!({ "websocketAddress": format!("ws://127.0.0.1:{port}/id") }),
        ]
    }

    #[test]
    fn an_address_where_nothing_listens_is_refused_at_once() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for form in forms(listener.local_addr().unwrap().port()) {
            await_listener(&Target::parse(&form).unwrap()).unwrap();
        }
        let (_reserved, port) = reserved_port();
        for form in forms(port) {
            let failure = await_listener(&Target::parse(&form).unwrap()).unwrap_err();
            assert_eq!(failure.code, ErrorCode::ProcessNotFound);
            assert!(failure.message.contains(&format!(":{port}`")), "{failure}");
        }
        assert!(await_listener(&Target::parse(&json!({ "port": "x" })).unwrap()).is_ok());
        let none = await_listener(&Target::parse(&json!({})).unwrap()).unwrap_err();
        assert_eq!(none.code, ErrorCode::InvalidParameter);
    }

    #[test]
    fn a_listener_is_waited_for_as_long_as_the_client_says() {
        let (reserved, port) = reserved_port();
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            rustix::net::listen(&reserved, 1).map(|()| reserved)
        });
        let attributes = json!({ "port": port, "address": "127.0.0.1", "timeout": 20_000 });
        await_listener(&Target::parse(&attributes).unwrap()).unwrap();
        later.join().unwrap().unwrap();
    }
}
