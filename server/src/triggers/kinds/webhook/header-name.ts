/** A field name of HTTP (RFC 9110, 5.1). */
const HEADER = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

export const isHeaderName = (value: unknown): value is string => typeof value === "string" && HEADER.test(value);

/** Headers with credentials, which must not get into firings, as these are shown. */
export const SECRET_HEADERS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);
