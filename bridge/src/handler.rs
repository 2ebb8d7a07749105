//! MCP's requests, one by one: tools, resources, prompts, completions, log level. Converts requests and
//! results from and to MCP's types; other modules carry them out. Not here: transports ([`crate::stdio`],
//! [`crate::http`]).

#![allow(deprecated, reason = "what the newest MCP gives up, every client there is still uses")]

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt,
    PromptArgument, PromptMessage, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParam, Role,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tandem_wire::{ErrorCode, Failure, types};
use tandem_workspace::answer_error::shorten;

use crate::arguments::ToolArguments;
use crate::call::{SharedArguments, StartedSessions, ToolCall};
use crate::call_order::{CallOrder, CallTurn};
use crate::progress::ProgressReporter;
use crate::refusal::{RefusalError, refusal};
use crate::resources::{self, ResourceUri};
use crate::server::Bridge;
use crate::{completion, json_rpc, prompts, trigger_action};

const JSON: &str = "application/json";
/// Unknown arguments that an answer names.
const MAX_IGNORED: usize = 20;

/// A failure where MCP wants a protocol error: the model cannot act on those, the client can.
fn protocol(failure: &Failure) -> ErrorData {
    let data = Some(types::body(&RefusalError::from(failure)));
    let message = shorten(&failure.message).into_owned();
    match failure.code {
        ErrorCode::InvalidParameter | ErrorCode::NoSession => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        // Deprecated in the newest MCP, used by every client there is.
        capabilities.logging = Some(serde_json::Map::new());
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("tandem-mcp", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Debug programs, alone or in one session with a person's editor. Start with debug_launch, \
                    or join with \
                 debug_sessions. Run calls answer with the program's next stop; no polling needed.",
            )
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.set_client_name(&request.client_info.name);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.options.with_sessions {
            true => Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25)),
            false => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.log_to(context.peer);
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.options.offer.list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.options.offer.find(&request.name) else {
            return Err(ErrorData::invalid_params(
                shorten(&format!("there is no tool `{}`", request.name)).into_owned(),
                None,
            ));
        };
        let tool = match tool {
            Ok(tool) => tool,
            Err(failure) => return Ok(CallToolResult::structured_error(refusal(&failure)).into()),
        };
        let schema = (tool.input)();
        let arguments = match schema.normalize(ToolArguments::new(request.arguments)) {
            Ok(arguments) => arguments,
            Err(failure) => return Ok(CallToolResult::structured_error(refusal(&failure)).into()),
        };
        let shared = match arguments.read_as::<SharedArguments>() {
            Ok(shared) => shared,
            Err(failure) => return Ok(CallToolResult::structured_error(refusal(&failure)).into()),
        };
        let waits_for_stop = tool.stop.waits_for_stop();
        let trigger = if waits_for_stop { trigger_action::prepare(self, &shared) } else { Ok(None) };
        let trigger = match trigger {
            Ok(trigger) => trigger,
            Err(failure) => return Ok(CallToolResult::structured_error(refusal(&failure)).into()),
        };
        // A call without a mark is alone on its transport.
        let turn = CallTurn::of(&context.extensions);
        let turn = turn.unwrap_or_else(|| CallOrder::default().begin(tool.name, None, None));
        let cancel = context.ct.child_token();
        let started = StartedSessions::default();
        let call = ToolCall {
            started: started.clone(),
            bridge: self.clone(),
            arguments: arguments.clone(),
            shared,
            trigger: trigger.clone(),
            cancel: cancel.clone(),
            progress: ProgressReporter::new(context.peer.clone(), context.meta.get_progress_token()),
        };
        let outcome = tokio::select! {
            outcome = async { turn.wait().await; (tool.run)(call).await } => outcome,
            // A tool that waits passes the cancellation on; it gets a moment to do so.
            () = async {
                tokio::select! {
                    () = context.ct.cancelled() => {}
                    () = turn.overtaken() => cancel.cancel(),
                }
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            } => Err(Failure::cancelled()),
        };
        let outcome = outcome.map_err(|failure| turn.explain(failure));
        if context.ct.is_cancelled() {
            started.take().into_iter().for_each(|session| self.abandon(session));
        }
        Ok(match outcome {
            Ok(mut answer) => {
                if waits_for_stop {
                    self.triggers.report(trigger.as_ref(), &mut answer).await;
                }
                // A field without a value is left out: the schema defines the type of each field that is
                // present.
                if let Some(fields) = answer.as_object_mut() {
                    fields.retain(|_, value| !value.is_null());
                }
                // A tool that did its work and has bad news (a build that fails) says all it says otherwise,
                // and `error`.
                let good = answer.get("error").is_none();
                let unknown = schema.unknown_names(&arguments, tool.shared_names());
                let unknown = unknown.iter().take(MAX_IGNORED).map(|name| shorten(name).into_owned());
                let mut unknown: Vec<Value> = unknown.map(Value::from).collect();
                // A name that only this engine does not know is reported by the tool itself.
                unknown.extend(answer["ignored"].as_array().cloned().unwrap_or_default());
                if !unknown.is_empty() {
                    answer["ignored"] = unknown.into();
                }
                answer["success"] = good.into();
                if good {
                    CallToolResult::structured(answer)
                } else {
                    CallToolResult::structured_error(answer)
                }
            }
            Err(failure) => {
                self.triggers.forget(trigger.as_ref());
                CallToolResult::structured_error(refusal(&failure))
            }
        }
        .into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = resources::list(self)
            .into_iter()
            .map(|(uri, name, about)| Resource::new(uri, name).with_description(about).with_mime_type(JSON));
        Ok(ListResourcesResult::with_all_items(list.collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let views: Vec<&str> = resources::views().collect();
        let about = format!("A side of a debug session; view is one of {}.", views.join(", "));
        let template = ResourceTemplate::new(resources::TEMPLATE, "session").with_description(about);
        Ok(ListResourceTemplatesResult::with_all_items(vec![template.with_mime_type(JSON)]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let address = ResourceUri::parse(&request.uri).map_err(|failure| protocol(&failure))?;
        let shown = resources::read(self, &address).await.map_err(|failure| protocol(&failure))?;
        let contents = ResourceContents::text(shown.to_string(), request.uri).with_mime_type(JSON);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let address = ResourceUri::parse(&request.uri).map_err(|failure| protocol(&failure))?;
        let peer = context.peer;
        let tell = move |uri: String| {
            let peer = peer.clone();
            let updated = ResourceUpdatedNotificationParam::new(uri);
            async move { peer.notify_resource_updated(updated).await.is_ok() }
        };
        let watching = resources::watch(self, address, tell).await.map_err(|failure| protocol(&failure))?;
        self.add_subscription(request.uri, watching);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.remove_subscription(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    /// The newest MCP's way to subscribe: one request that lasts.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let mut watching = tokio::task::JoinSet::new();
        for uri in uris {
            let address = ResourceUri::parse(&uri).map_err(|failure| protocol(&failure))?;
            let sink = context.sink().clone();
            let tell = move |uri: String| {
                let sink = sink.clone();
                async move { sink.notify_resource_updated(uri).await.is_ok() }
            };
            watching
                .spawn(resources::watch(self, address, tell).await.map_err(|failure| protocol(&failure))?);
        }
        // Dropping the set ends what still watches.
        context.cancelled().await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = prompts::PROMPTS.iter().map(|prompt| {
            let arguments = prompt.arguments.iter().map(|(name, meaning, required)| {
                PromptArgument::new(*name).with_description(*meaning).with_required(*required)
            });
            Prompt::new(prompt.name, Some(prompt.description), Some(arguments.collect()))
        });
        Ok(ListPromptsResult::with_all_items(list.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = prompts::find(&request.name).ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None)
        })?;
        let text =
            prompt.fill(&request.arguments.unwrap_or_default()).map_err(|failure| protocol(&failure))?;
        let messages = vec![PromptMessage::new_text(Role::User, text)];
        Ok(GetPromptResult::new(messages).with_description(prompt.description).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (values, more) = completion::complete(self, &request.argument.name, &request.argument.value);
        let mut found =
            CompletionInfo::new(values).map_err(|reason| ErrorData::internal_error(reason, None))?;
        found.has_more = Some(more);
        Ok(CompleteResult::new(found))
    }

    /// Answers a request that rmcp does not know.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if !json_rpc::METHODS.contains(&method.as_str()) {
            return Err(ErrorData::new(
                rmcp::model::ErrorCode::METHOD_NOT_FOUND,
                format!("there is no method `{method}`"),
                None,
            ));
        }
        let params = params.unwrap_or_default();
        let why = match method.as_str() {
            "tools/call" if !params["name"].is_string() => "`name` must be the name of a tool",
            "tools/call" if !params["arguments"].is_object() => "`arguments` must be an object",
            _ => "they do not match MCP's schema",
        };
        Err(ErrorData::invalid_params(format!("the `params` of `{method}` do not fit: {why}"), None))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log_to(context.peer);
        self.set_log_level(request.level);
        Ok(())
    }
}
