//! The body of a request, checked before rmcp reads it: bounded, and valid JSON. Any other body is answered
//! with JSON-RPC's own error, with the id of the request where that can be read. A call gets its place among
//! the others when its body is complete: each request has its own connection and task.
//!
//! Not here: which JSON-RPC is valid ([`crate::json_rpc`]), who may send a request ([`super::token`]).

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::MAX_BODY_BYTES;
use crate::call_order::CallOrder;
use crate::json_rpc;

/// Header with the MCP session.
const SESSION_HEADER: &str = "mcp-session-id";

/// Lets pass what can be read, and marks calls with their place.
pub(super) async fn readable(State(order): State<CallOrder>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        let limit = MAX_BODY_BYTES >> 20;
        return (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {limit} MiB, or was not sent whole\n"),
        )
            .into_response();
    };
    match json_rpc::text(&body) {
        Ok(text) => {
            let client = parts.headers.get(SESSION_HEADER).and_then(|client| client.to_str().ok());
            let turn = order.mark_body(client, &text);
            let mut request = Request::from_parts(parts, Body::from(text.into_owned()));
            if let Some(turn) = turn {
                request.extensions_mut().insert(turn);
            }
            // It may have become longer.
            request.headers_mut().remove(header::CONTENT_LENGTH);
            next.run(request).await
        }
        Err(refusal) => {
            let headers = [(header::CONTENT_TYPE, "application/json")];
            let answer = refusal.map(|refusal| refusal.to_string()).unwrap_or_default();
            (StatusCode::BAD_REQUEST, headers, answer).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use futures::FutureExt;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use tokio::sync::mpsc;

    use super::*;
    use crate::call_order::CallTurn;

    #[tokio::test]
    async fn calls_have_the_order_of_their_bodies_and_each_mcp_session_its_own() {
        let (sender, mut turns) = mpsc::unbounded_channel();
        let keep = move |request: Request| {
            let (parts, _) = request.into_parts();
            let mut extensions = rmcp::model::Extensions::new();
            extensions.insert(parts);
            sender.send(CallTurn::of(&extensions)).unwrap_or_default();
            async {}
        };
        let router = Router::new().route("/", post(keep));
        let router = router.layer(from_fn_with_state(CallOrder::default(), readable));
        let service = TowerToHyperService::new(router);
        let mut send = async |client: &str, tool: &str| {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#);
            let request = Request::post("/").header(SESSION_HEADER, client).body(Body::from(body));
            service.call(request.expect("it is a request")).await.expect("it is served");
            turns.recv().await.flatten().expect("the call has a place")
        };
        let evaluation = send("a", "debug_evaluate").await;
        let step = send("a", "debug_step").await;
        let elsewhere = send("b", "debug_step").await;
        assert!(elsewhere.wait().now_or_never().is_some());
        assert!(step.wait().now_or_never().is_none());
        drop(evaluation);
        assert!(step.wait().now_or_never().is_some());
    }
}
