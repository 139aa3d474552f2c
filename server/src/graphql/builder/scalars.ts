import { valueFromASTUntyped } from "graphql";
import { isDateTime } from "../../lib/calendar.ts";
import { badInput } from "../../lib/errors.ts";
import type { Json } from "../../lib/json/json.ts";
import type { Builder } from "./builder.ts";
import { jsonOfLiteral } from "./json-literal.ts";

/** RFC 3339 with a zone. `Date` alone would read 30 February as 2 March. */
function parseDateTime(value: unknown): Date {
  const date = typeof value === "string" && isDateTime(value) ? new Date(value.toUpperCase()) : undefined;
  if (date && !Number.isNaN(date.getTime())) return date;
  throw badInput("invalid_input", "must be an RFC 3339 time with a zone, like 2026-11-21T08:30:00.000Z");
}

export function addScalars(builder: Builder): void {
  builder.scalarType("DateTime", {
    description:
      "A time as RFC 3339 text. Results are in UTC with milliseconds and `Z`; arguments may have any offset.",
    specifiedByURL: "https://www.rfc-editor.org/rfc/rfc3339",
    serialize: (value) => value.toISOString(),
    parseValue: parseDateTime,
    parseLiteral: (node) => parseDateTime(valueFromASTUntyped(node)),
  });
  builder.scalarType("JSON", {
    description:
      "Any JSON value, nested at most 64 levels deep. Numbers keep all their digits: use a parser that preserves them.",
    specifiedByURL: "https://www.rfc-editor.org/rfc/rfc8259",
    serialize: (value) => value,
    // A variable came through `parseJson` with the body.
    parseValue: (value) => value as Json,
    parseLiteral: (node, variables) => jsonOfLiteral(node, variables),
  });
}
