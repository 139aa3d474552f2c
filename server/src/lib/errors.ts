/** The closed list of codes a refusal can carry in `extensions.code` (docs/errors.md). */
export const CODES = [
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "NOT_FOUND",
  "BAD_USER_INPUT",
  "CONFLICT",
  "RATE_LIMITED",
  "UNAVAILABLE",
  "QUERY_TOO_COMPLEX",
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "BAD_REQUEST",
  "REQUEST_ENTITY_TOO_LARGE",
  "INTERNAL_SERVER_ERROR",
] as const;
export type Code = (typeof CODES)[number];

/** One refused field of an input: `path` in dots from the argument (`input.input.when`), a stable `code`, a sentence. */
export type FieldProblem = { path: string; code: string; message: string };

/**
 * Something the caller did or meets that we refuse on purpose. Its message is shown to the caller.
 * Anything else that is thrown is a bug: it is logged and masked.
 */
export class Refusal extends Error {
  readonly code: Code;
  readonly details: { fields?: FieldProblem[]; retryAfter?: number };

  constructor(code: Code, message: string, details: { fields?: FieldProblem[]; retryAfter?: number } = {}) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.details = details;
  }
}

const NAME_CHARACTERS = 100;

/** A name that a caller sent, where a sentence or a path repeats it. */
export const shortened = (name: string): string =>
  name.length > NAME_CHARACTERS ? `${name.slice(0, NAME_CHARACTERS - 1)}…` : name;

/** What belongs to another organization is refused word for word as what does not exist. */
export const notFound = (what: string): Refusal => new Refusal("NOT_FOUND", `${what} not found`);

export const badInput = (message: string, fields: FieldProblem[] = []): Refusal =>
  new Refusal("BAD_USER_INPUT", message, { fields });

export const conflict = (message: string): Refusal => new Refusal("CONFLICT", message);

/** A mistake of whoever runs the program: printed as one line, exit code 1, no stack. */
export class OperatorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "OperatorError";
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
