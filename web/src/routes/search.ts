/** What stands in an address may be anybody's: a value that does not fit is as good as none. */

export const someText = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } =>
  (typeof value === "string" && value !== "" ? { [name]: value } : {}) as { [Key in Name]?: string };

export const oneOf = <Name extends string, const Value extends string>(
  name: Name,
  values: readonly Value[],
  value: unknown,
): { [Key in Name]?: Value } => (values.includes(value as Value) ? { [name]: value } : {}) as { [Key in Name]?: Value };

export const someNumber = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: number } =>
  (Number.isSafeInteger(value) ? { [name]: value } : {}) as { [Key in Name]?: number };

/** A time in ISO 8601. */
export const someTime = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } =>
  someText(
    name,
    typeof value === "string" && !Number.isNaN(Date.parse(value)) ? new Date(value).toISOString() : undefined,
  );
