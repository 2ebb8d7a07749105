/** From which hosts sources may be fetched: what the person decided, as launch attributes, and what a refusal of a session asks for. Knows nothing
 * of VS Code. */

/** A source that was not fetched because its host has not been allowed yet. */
export interface RefusedSource {
  readonly host: string;
  readonly url: string;
  /** Rule that would allow it, as `sourceLinkOptions` has it. */
  readonly allow: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly type?: string;
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: { readonly error?: {
    readonly variables?: { readonly code?: unknown };
    readonly data?: { readonly host?: unknown; readonly url?: unknown; readonly allow?: unknown };
  } };
}

/** The permission that a response to `source` asks for; undefined when it asks for none. */
export function refusedSource(message: unknown): RefusedSource | undefined {
  const answer = message as Answer;
  const error = answer.type === "response" && answer.command === "source" && answer.success === false ? answer.body?.error : undefined;
  const { host, url, allow } = error?.data ?? {};
  if (error?.variables?.code !== "ACCESS_DENIED" || typeof host !== "string" || typeof url !== "string" || typeof allow !== "object" || allow === null) {
    return undefined;
  }
  return { host, url, allow: allow as Record<string, unknown> };
}

/** `sourceLinkOptions` for the hosts that the person decided about, besides those of a configuration, which win. */
export function withHosts(hosts: unknown, own: unknown): Record<string, unknown> {
  const decided = typeof hosts === "object" && hosts !== null ? Object.entries(hosts) : [];
  const options = decided
    .filter(([host, enabled]) => /^[\w.-]+(:\d+)?$/.test(host) && typeof enabled === "boolean")
    .map(([host, enabled]): [string, unknown] => [`https://${host}/*`, { enabled: enabled as boolean }]);
  return { ...Object.fromEntries(options), ...(typeof own === "object" && own !== null ? own : {}) };
}
