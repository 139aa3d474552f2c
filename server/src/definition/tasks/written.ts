/** Types shared by the parts of a document (workflow.ts, tasks/). */
import type { Json, JsonObject } from "../../lib/json/json.ts";

/** A jq expression, with or without the enclosing `${ … }`. */
export type ExpressionText = string;
/** Any JSON value in which a string is a jq expression if all of it is `${ … }`. */
export type TemplateJson = Json;
/** An ISO 8601 text or `{days, hours, minutes, seconds, milliseconds}`, or an expression that yields one. */
export type Duration = string | JsonObject;
/** `continue`, `exit`, `end`, or the name of a task in the same list. */
export type FlowDirective = string;
/** A list of tasks inside a task. Its kind does not read it: the program is made from it as `Kind.blocks` says. */
export type InnerList = JsonObject[];

/** The language's own error (RFC 7807): `type` is compared by its last path segment. */
export type ErrorDefinition = {
  type: string;
  status: number | string;
  title?: string;
  detail?: string;
  instance?: string;
};
