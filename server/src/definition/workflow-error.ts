/**
 * The language's own error (RFC 7807, DSL reference "Error"): what a task raises, a `catch` sees and a failed run shows.
 * Types are compared by their last path segment: the standard moved its host without a version.
 */
import type { Json, JsonObject } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";

const STANDARD = "https://serverlessworkflow.io/spec/1.0.0/errors/";

/** The standard's types with their status, and ours (`approval-rejected`, `crashed`, `internal`). */
const ERROR_STATUS = {
  configuration: 400,
  validation: 400,
  expression: 400,
  authentication: 401,
  authorization: 403,
  timeout: 408,
  communication: 500,
  runtime: 500,
  "approval-rejected": 403,
  crashed: 500,
  internal: 500,
} as const;
export type ErrorKind = keyof typeof ERROR_STATUS;

export type ErrorFields = {
  type: string;
  status: number;
  title: string | null;
  detail: string | null;
  /** A JSON pointer to the task in the definition, e.g. `/do/2/fetch`. */
  instance: string | null;
};

export class WorkflowError extends Error {
  readonly fields: ErrorFields;
  /** No `catch` sees it. */
  readonly endsRun: boolean;

  constructor(fields: ErrorFields, endsRun = false) {
    const { type, title, detail, instance } = fields;
    super(cut(detail ?? title ?? type));
    this.name = "WorkflowError";
    // Each task around, each attempt and the run keep a copy.
    const isLong = [type, title, detail, instance].some(
      (text) => text !== null && text.length > LIMITS.errorCharacters,
    );
    this.fields = isLong
      ? {
          ...fields,
          type: cut(type),
          title: title && cut(title),
          detail: detail && cut(detail),
          instance: instance && cut(instance),
        }
      : fields;
    this.endsRun = endsRun;
  }

  /** An error of a standard kind; `status` replaces the kind's own (an HTTP answer's, say). */
  static of(kind: ErrorKind, detail: string, status: number = ERROR_STATUS[kind]): WorkflowError {
    return new WorkflowError({ type: STANDARD + kind, status, title: kind, detail, instance: null });
  }

  /** The run as a whole is over one of its limits. */
  static overLimit(detail: string): WorkflowError {
    return new WorkflowError(WorkflowError.of("runtime", detail).fields, true);
  }

  static fromJson(json: Json): WorkflowError {
    const { type, status, title, detail, instance } = json as JsonObject;
    const text = (value: Json | undefined): string | null => (typeof value === "string" ? value : null);
    return new WorkflowError({
      type: text(type) ?? `${STANDARD}runtime`,
      status: statusOf(status),
      title: text(title),
      detail: text(detail),
      instance: text(instance),
    });
  }

  /** The same error with its place, unless it has one. */
  at(instance: string): WorkflowError {
    return this.fields.instance === null ? new WorkflowError({ ...this.fields, instance }, this.endsRun) : this;
  }
}

const cut = (text: string): string =>
  text.length > LIMITS.errorCharacters ? `${text.slice(0, LIMITS.errorCharacters - 1)}…` : text;

/** What is no HTTP status would be none in the API either. */
function statusOf(value: Json | undefined): number {
  const status = typeof value === "string" || typeof value === "number" ? Number(value) : NaN;
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : 500;
}

export const lastSegment = (type: string): string => type.slice(type.lastIndexOf("/") + 1);
