/** Permissions to fetch sources: converts the user's decisions to launch attributes, and reads the responses that need a decision. Independent
 * of VS Code. */

/** A source that Tandem did not fetch because the user has not allowed its host. */
export interface RefusedSource {
  readonly host: string;
  readonly url: string;
  /** Element of `sourceLinkOptions` that would allow it. */
  readonly allow: Readonly<Record<string, unknown>>;
}

interface ProtocolMessage {
  readonly type?: string;
  readonly command?: string;
  readonly success?: boolean;
  readonly body?: { readonly error?: {
    readonly variables?: { readonly code?: unknown };
    readonly data?: { readonly host?: unknown; readonly url?: unknown; readonly allow?: unknown };
  } };
}

/** Reads the refused source from a response to `source`; undefined for other messages. */
export function readRefusedSource(message: unknown): RefusedSource | undefined {
  const response = message as ProtocolMessage;
  const error = response.type === "response" && response.command === "source" && response.success === false ? response.body?.error : undefined;
  const { host, url, allow } = error?.data ?? {};
  if (error?.variables?.code !== "ACCESS_DENIED" || typeof host !== "string" || typeof url !== "string" || typeof allow !== "object" || allow === null) {
    return undefined;
  }
  return { host, url, allow: allow as Record<string, unknown> };
}

/** Creates `sourceLinkOptions` from the user's decisions. The options of the configuration take precedence. */
export function createSourceLinkOptions(hosts: unknown, configured: unknown): Record<string, unknown> {
  const entries = typeof hosts === "object" && hosts !== null ? Object.entries(hosts) : [];
  const options = entries
    .filter(([host, enabled]) => /^[\w.-]+(:\d+)?$/.test(host) && typeof enabled === "boolean")
    .map(([host, enabled]): [string, unknown] => [`https://${host}/*`, { enabled: enabled as boolean }]);
  return { ...Object.fromEntries(options), ...(typeof configured === "object" && configured !== null ? configured : {}) };
}
