/**
 * An address may come from anybody: a value that does not fit is as good as none. It has to be said to be
 * undefined, as the router lays what a route answers over what the address says.
 */
const some = <Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } =>
  ({ [name]: value }) as { [Key in Name]?: Value };

export const someText = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } =>
  some(name, typeof value === "string" && value !== "" ? value : undefined);

export const oneOf = <Name extends string, const Value extends string>(
  name: Name,
  values: readonly Value[],
  value: unknown,
): { [Key in Name]?: Value } =>
  some(
    name,
    values.find((one) => one === value),
  );

export const someNumber = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: number } =>
  some(name, Number.isSafeInteger(value) ? (value as number) : undefined);

export const onlyTrue = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: true } =>
  some(name, value === true ? true : undefined);

/** A time in ISO 8601. */
export const someTime = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } =>
  someText(
    name,
    typeof value === "string" && !Number.isNaN(Date.parse(value)) ? new Date(value).toISOString() : undefined,
  );

/** An address within this UI. */
export const somePath = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } =>
  someText(name, typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined);
