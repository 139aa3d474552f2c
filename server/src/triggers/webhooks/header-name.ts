/** A field name of HTTP (RFC 9110, 5.1). */
const HEADER = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

export const isHeaderName = (value: unknown): value is string => typeof value === "string" && HEADER.test(value);

/** They have credentials. Firings are shown, so nothing of these may get into them. */
export const SECRET_HEADERS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);
