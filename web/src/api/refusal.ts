/** The server's refusals and failures, in words for people. */
import type { CombinedError } from "@urql/core";
import { clockText } from "../lib/times.ts";

export type FieldProblem = { path: string; code: string; message: string };

type Extensions = {
  code?: string;
  reason?: string;
  requestId?: string;
  retryAfter?: number;
  fields?: FieldProblem[];
};

type Given = { [Key in "code" | "reason" | "requestId"]?: string | undefined } & { fields?: readonly FieldProblem[] };

/** As `errors` has it in every answer of the server (docs/errors.md). */
export type GivenError = { message: string; extensions?: Extensions };

export class Refusal extends Error {
  readonly code: string;
  readonly reason: string | undefined;
  readonly requestId: string | undefined;
  readonly fields: readonly FieldProblem[];

  constructor(message: string, { code = "UNREACHABLE", reason, requestId, fields = [] }: Given = {}) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.requestId = requestId;
    this.fields = fields;
  }
}

/** The field of the input that a problem is about: `agentIds`, of `input.agentIds.0`. */
export const fieldOf = (path: string): string => path.replace(/^input\./, "").split(".")[0]!;

/** The notice above a form's fields: nothing if each problem stands at a field, else those that have none. */
export function restOf(refusal: Refusal | undefined, hasField: (path: string) => boolean): Refusal | undefined {
  if (!refusal || refusal.fields.length === 0) return refusal;
  const rest = refusal.fields.filter(({ path }) => !hasField(path));
  if (rest.length === 0) return undefined;
  const said = rest.map(({ path, message }) => `${path.split(".").slice(1).join(".") || path} ${message}`);
  return new Refusal(said.join("; "), refusal);
}

const UNREACHABLE = "The server does not answer. Is it still running?";

export const unreachable = (): Refusal => new Refusal(UNREACHABLE);

export const refusalOf = ({ message, extensions }: GivenError): Refusal =>
  new Refusal(withTime(sentence(message), extensions?.retryAfter), extensions);

/** A text that stands for a while says when, not in how many seconds. */
const withTime = (message: string, retryAfterS: number | undefined): string =>
  retryAfterS === undefined || retryAfterS < LEAST_S
    ? message
    : message.replace(/ in \d+ s\b/, ` at ${clockText(Date.now() + retryAfterS * 1_000)}`);
const LEAST_S = 10;

/** The first of an answer's errors. */
export function refusalIn(error: CombinedError): Refusal {
  const [first] = error.graphQLErrors;
  if (first) return refusalOf(first);
  return error.networkError instanceof Refusal ? error.networkError : unreachable();
}

/** The API begins in lower case, as part of a line; on a page it stands alone. */
const sentence = (message: string): string => message.replace(/^\p{Ll}/u, (first) => first.toUpperCase());
