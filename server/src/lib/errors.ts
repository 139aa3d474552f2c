import { shortenedTo } from "./text.ts";

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
  "PERSISTED_QUERY_NOT_SUPPORTED",
  "BAD_REQUEST",
  "REQUEST_ENTITY_TOO_LARGE",
  "INTERNAL_SERVER_ERROR",
] as const;
export type Code = (typeof CODES)[number];

/** Why, in a word that a program can branch on: `extensions.reason` of every refusal with one of these codes. */
export const REASONS = {
  BAD_USER_INPUT: ["invalid_input", "invalid_variables", "invalid_definition", "invalid_cursor", "wrong_credential"],
  CONFLICT: [
    "already_decided",
    "already_member",
    "changed_meanwhile",
    "does_not_fit",
    "draft_changed",
    "email_taken",
    "handle_taken",
    "key_reused",
    "last_owner",
    "limit_reached",
    "mail_not_configured",
    "name_taken",
    "version_exists",
    "wrong_state",
  ],
} as const satisfies Partial<Record<Code, readonly string[]>>;
/** `extensions.reason` of some refusals with one of these codes. */
export const RARE_REASONS = { FORBIDDEN: ["not_assigned"] } as const satisfies Partial<Record<Code, readonly string[]>>;
type RareReason = (typeof RARE_REASONS)[keyof typeof RARE_REASONS][number];
type CodeWithReason = keyof typeof REASONS;
export type Reason<Of extends CodeWithReason = CodeWithReason> = (typeof REASONS)[Of][number];

/** The problems of one field of an input, in `extensions.fields`, in any room. */
export const FIELD_CODES = [
  "required",
  "wrong_type",
  "unknown",
  "invalid",
  "not_a_choice",
  "out_of_range",
  "not_a_multiple",
  "too_short",
  "too_long",
  "too_few",
  "too_many",
  "too_large",
  "too_common",
  "repeated",
  "differs",
] as const;
export type FieldCode = (typeof FIELD_CODES)[number];

/** One refused field of an input: `path` in dots from the argument (`input.input.when`), and a sentence. */
export type FieldProblem = {
  path: string;
  code: FieldCode;
  message: string;
  /** Where it is in the text of a definition, from 1. */
  line?: number;
  column?: number;
};

export type Details = {
  fields?: FieldProblem[];
  retryAfter?: number;
  /** The scopes that the credential lacks, with spaces in between, as in OAuth 2 (RFC 6750). */
  scope?: string;
  /** The draft that was saved meanwhile; null: there is none. */
  draft?: { definition: string; revision: number; savedAt: string } | null;
};

/**
 * Something that we refuse on purpose. Its message is shown to the caller.
 * Anything else that is thrown is a bug: it is logged and masked.
 */
export class Refusal extends Error {
  readonly code: Code;
  readonly details: Details & { reason?: Reason | RareReason };

  constructor(code: CodeWithReason, message: string, details: Details & { reason: Reason });
  constructor(code: keyof typeof RARE_REASONS, message: string, details?: Details & { reason?: RareReason });
  constructor(code: Exclude<Code, CodeWithReason>, message: string, details?: Details);
  constructor(code: Code, message: string, details: Details & { reason?: Reason | RareReason } = {}) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.details = details;
  }
}

const NAME_CHARACTERS = 100;

/** A name from the caller, shortened for use in a sentence or a path. */
export const shortened = (name: string): string => shortenedTo(name, NAME_CHARACTERS);

/** Refuses another organization's object in the same words as one that does not exist. */
export const notFound = (what: string): Refusal => new Refusal("NOT_FOUND", `${what} not found`);

export const badInput = (reason: Reason<"BAD_USER_INPUT">, message: string, fields: FieldProblem[] = []): Refusal =>
  new Refusal("BAD_USER_INPUT", message, { reason, fields });

export const conflict = (reason: Reason<"CONFLICT">, message: string): Refusal =>
  new Refusal("CONFLICT", message, { reason });

/** Refuses what reaches a server that is stopping. Another server, or this one once restarted, answers. */
export const stopping = (): Refusal => new Refusal("UNAVAILABLE", "the server is stopping", { retryAfter: 1 });

/** Too much waits to begin. Nothing was done, so anything may be sent again. */
export const overloaded = (): Refusal =>
  new Refusal(
    "UNAVAILABLE",
    "the server has more to do than it can: nothing of this was begun, try again in a moment",
    {
      retryAfter: 1,
    },
  );

/** The operator's mistake: printed as one line, exit code 1, no stack. */
export class OperatorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "OperatorError";
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The largest filter can have 1,400 wrong values. */
const PROBLEMS_NAMED = 20;

/** Throws BAD_USER_INPUT with the first of the problems, if there is one. */
export function refuseAny(problems: FieldProblem[]): void {
  if (problems.length === 0) return;
  const named = problems.slice(0, PROBLEMS_NAMED);
  const sentence = named.map(({ path, message }) => `${path.replace(/^input\./, "")} ${message}`).join("; ");
  const others = problems.length - named.length;
  throw badInput("invalid_input", others > 0 ? `${sentence}; and ${others} more` : sentence, named);
}
