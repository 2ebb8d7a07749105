/** Reads JSON values of unknown types. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the value if it is an object, otherwise an empty object. */
export function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null ? (value as JsonObject) : {};
}

/** Returns the value if it is an array, otherwise an empty array. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value if it is a string, otherwise an empty string. */
export function asString(value: unknown): string {
  return typeof value === "string" ? value : "";
}
