//! The messages in one direction of a debug session, one line each:
//! `cargo run -p tandem-wire --example summary < RECORDED`.
//!
//! A frame that is not a DAP message is reported and the next one is read; a stream that breaks the framing
//! ends it with the reason.

use futures::StreamExt;
use tandem_wire::Message;
use tandem_wire::codec::DapCodec;
use tokio_util::codec::FramedRead;

#[allow(clippy::print_stdout, reason = "the lines are what it is for")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut frames = FramedRead::new(tokio::io::stdin(), DapCodec::default());
    while let Some(frame) = frames.next().await {
        match frame? {
            Ok(Message::Request(request)) => {
                println!("{} request {} {}", request.seq, request.command, request.arguments);
            }
            Ok(Message::Response(response)) => {
                let outcome = if response.success { "succeeded" } else { "failed" };
                println!(
                    "{} {} of request {} {outcome}",
                    response.seq, response.command, response.request_seq
                );
            }
            Ok(Message::Event(event)) => println!("{} event {}", event.seq, event.event),
            Err(error) => println!("not a message: {error}"),
        }
    }
    Ok(())
}
