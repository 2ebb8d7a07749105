//! The body of a request, checked before rmcp reads it: bounded, and valid JSON. Any other body is answered
//! with JSON-RPC's own error, with the id of the request where that can be read.
//!
//! Not here: which JSON-RPC is valid ([`crate::json_rpc`]), who may send a request ([`super::token`]).

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::MAX_BODY_BYTES;
use crate::json_rpc;

/// Lets pass what can be read.
pub(super) async fn readable(request: Request, next: Next) -> Response {
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
            let mut request = Request::from_parts(parts, Body::from(text.into_owned()));
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
