/** Launch configurations for other debuggers, to be debugged with Tandem. `tandem-dap` converts their
 * attributes (docs/launch-configuration.md); this module only recognizes them. Independent of VS Code. */

/** The `type` of configurations that `tandem-dap` understands. */
export const OTHER_TYPES: readonly string[] = ["coreclr", "dotnet", "debugpy", "python", "lldb", "lldb-dap", "cppdbg", "go", "node", "pwa-node", "rdbg"];

/** Tells `tandem-dap` what a configuration was before it was made one of Tandem's. */
export const ORIGINAL_TYPE = "__configurationType";

export interface Other {
  readonly type: string;
  readonly request: string;
  readonly name: string;
  readonly [attribute: string]: unknown;
}

/** Those of a launch.json's `configurations`, in its order; what is none is passed over. */
export function otherConfigurations(configurations: unknown): Other[] {
  const all: readonly unknown[] = Array.isArray(configurations) ? configurations : [];
  return all.filter((one): one is Other => {
    const { type, request, name } = (one ?? {}) as Partial<Record<string, unknown>>;
    return typeof type === "string" && OTHER_TYPES.includes(type) && (request === "launch" || request === "attach") && typeof name === "string";
  });
}

/** The same configuration, debugged by Tandem. */
export function withTandem(other: Other): Other & { readonly type: "tandem" } {
  return other.type === "tandem" ? { ...other, type: "tandem" } : { ...other, type: "tandem", [ORIGINAL_TYPE]: other.type };
}

/** A compound of a launch.json, to be debugged with Tandem. */
export interface OtherCompound {
  readonly name: string;
  /** Configurations of Tandem, and of other debuggers. */
  readonly members: readonly Other[];
}

/** Those of a launch.json's `compounds` that Tandem can start completely, and that another debugger would start otherwise. Members of other
 * folders are not looked up. */
export function otherCompounds(compounds: unknown, configurations: unknown): OtherCompound[] {
  const others = otherConfigurations(configurations);
  const all: readonly unknown[] = Array.isArray(configurations) ? configurations : [];
  const own = all.filter((one): one is Other => (one as Partial<Other> | null)?.type === "tandem" && typeof (one as Partial<Other>).name === "string");
  const known = new Map([...own, ...others].map((one) => [one.name, one]));
  const listed: readonly unknown[] = Array.isArray(compounds) ? compounds : [];
  return listed.flatMap((one) => {
    const { name, configurations: names } = (one ?? {}) as Partial<Record<string, unknown>>;
    if (typeof name !== "string" || !Array.isArray(names)) {
      return [];
    }
    const members = names.map((member) => (typeof member === "string" ? known.get(member) : undefined));
    const whole = members.filter((member): member is Other => member !== undefined);
    return whole.length === names.length && whole.some((member) => member.type !== "tandem") ? [{ name, members: whole }] : [];
  });
}
