/** Launch configurations of other debuggers that Tandem can run. `tandem-dap` converts their attributes; this module only finds them.
 * Independent of VS Code. */

/** The `type` of configurations that `tandem-dap` understands. */
export const CONVERTIBLE_TYPES: readonly string[] = ["coreclr", "dotnet", "debugpy", "python", "lldb", "lldb-dap", "cppdbg", "go", "node", "pwa-node", "rdbg"];

/** Attribute with the original `type` of a converted configuration, for `tandem-dap`. */
export const ORIGINAL_TYPE = "__configurationType";

export interface ConvertibleConfiguration {
  readonly type: string;
  readonly request: string;
  readonly name: string;
  readonly [attribute: string]: unknown;
}

/** Finds the convertible configurations of a launch.json's `configurations`, in their order. Ignores invalid elements. */
export function findConvertibleConfigurations(configurations: unknown): ConvertibleConfiguration[] {
  const all: readonly unknown[] = Array.isArray(configurations) ? configurations : [];
  return all.filter((one): one is ConvertibleConfiguration => {
    const { type, request, name } = (one ?? {}) as Partial<Record<string, unknown>>;
    return typeof type === "string" && CONVERTIBLE_TYPES.includes(type) && (request === "launch" || request === "attach") && typeof name === "string";
  });
}

/** Converts a configuration to Tandem's type. */
export function convertToTandem(configuration: ConvertibleConfiguration): ConvertibleConfiguration & { readonly type: "tandem" } {
  return configuration.type === "tandem" ? { ...configuration, type: "tandem" } : { ...configuration, type: "tandem", [ORIGINAL_TYPE]: configuration.type };
}

/** A compound of a launch.json that Tandem can run. */
export interface ConvertibleCompound {
  readonly name: string;
  /** Configurations of Tandem and of other debuggers. */
  readonly members: readonly ConvertibleConfiguration[];
}

/** Finds the compounds of a launch.json's `compounds` whose members Tandem can all run, and of which at least one is for another debugger.
 * Members in other folders are not supported. */
export function findConvertibleCompounds(compounds: unknown, configurations: unknown): ConvertibleCompound[] {
  const others = findConvertibleConfigurations(configurations);
  const all: readonly unknown[] = Array.isArray(configurations) ? configurations : [];
  const own = all.filter((one): one is ConvertibleConfiguration => (one as Partial<ConvertibleConfiguration> | null)?.type === "tandem" && typeof (one as Partial<ConvertibleConfiguration>).name === "string");
  const known = new Map([...own, ...others].map((one) => [one.name, one]));
  const listed: readonly unknown[] = Array.isArray(compounds) ? compounds : [];
  return listed.flatMap((one) => {
    const { name, configurations: names } = (one ?? {}) as Partial<Record<string, unknown>>;
    if (typeof name !== "string" || !Array.isArray(names)) {
      return [];
    }
    const members = names.map((member) => (typeof member === "string" ? known.get(member) : undefined));
    const found = members.filter((member): member is ConvertibleConfiguration => member !== undefined);
    return found.length === names.length && found.some((member) => member.type !== "tandem") ? [{ name, members: found }] : [];
  });
}
