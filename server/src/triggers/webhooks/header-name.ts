/** A field name of HTTP (RFC 9110, 5.1). */
const HEADER = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

export const isHeaderName = (value: unknown): value is string => typeof value === "string" && HEADER.test(value);
