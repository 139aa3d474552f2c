/**
 * The language's own error (RFC 7807, DSL reference "Error"): what a task raises, a `catch` sees and a failed run shows.
 * Types are compared by their last path segment: the standard changed its host without a new version.
 */
import type { Json, JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { shortenedTo } from "../lib/text.ts";

const STANDARD = "https://serverlessworkflow.io/spec/1.0.0/errors/";

/** The standard's types with their status and title, and ours (`limit`, `script`, `tool`, `model-answer`, `model-refused`, `approval-rejected`, `crashed`, `internal`). */
export const ERROR_KINDS = {
  configuration: { status: 400, title: "Something that the definition needs is not configured." },
  validation: { status: 400, title: "A value does not have the required form." },
  expression: { status: 400, title: "An expression could not be evaluated." },
  authentication: { status: 401, title: "A credential is missing or malformed." },
  authorization: { status: 403, title: "The outgoing call is not allowed." },
  timeout: { status: 408, title: "The time allowed was exceeded." },
  communication: { status: 500, title: "An outgoing call failed." },
  limit: { status: 429, title: "A limit of what may be used was reached." },
  "model-answer": { status: 502, title: "A language model's answer is not what was asked for." },
  "model-refused": { status: 403, title: "A language model refused to answer." },
  runtime: { status: 500, title: "The run could not continue." },
  script: { status: 500, title: "A script ended with an error." },
  tool: { status: 500, title: "A tool answered with an error." },
  "approval-rejected": { status: 403, title: "A person rejected the approval." },
  crashed: { status: 500, title: "The server's process ended again and again during this run." },
  internal: { status: 500, title: "The server failed unexpectedly." },
} as const satisfies Record<string, { status: number; title: string }>;
export type ErrorKind = keyof typeof ERROR_KINDS;

export type ErrorFields = {
  type: string;
  status: number;
  title: string | null;
  detail: string | null;
  /** A JSON pointer to the task in the definition, e.g. `/do/2/fetch`. */
  instance: string | null;
  /** The endpoint's answer, if that is the error. */
  response?: ErrorResponse;
};

/** Without credentials. `body`: parsed if it is JSON, text otherwise; null if it is empty or no text. */
export type ErrorResponse = { status: number; headers: JsonObject; body: Json };

export class WorkflowError extends Error {
  readonly fields: ErrorFields;
  /** The number of the step that raised it, once that is known. */
  readonly stepNumber: number | null;
  /** No `catch` sees it. */
  readonly endsRun: boolean;

  constructor(
    fields: ErrorFields,
    { stepNumber = null, endsRun = false }: { stepNumber?: number | null; endsRun?: boolean } = {},
  ) {
    const { type, title, detail, instance } = fields;
    super(cut(detail ?? title ?? type));
    this.name = "WorkflowError";
    // Each enclosing task, each attempt and the run keep a copy.
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
    this.stepNumber = stepNumber;
    this.endsRun = endsRun;
  }

  /** An error of a standard kind; `status` replaces the kind's own (an HTTP answer's, say). */
  static of(kind: ErrorKind, detail: string, status: number = ERROR_KINDS[kind].status): WorkflowError {
    const { title } = ERROR_KINDS[kind];
    return new WorkflowError({ type: STANDARD + kind, status, title, detail, instance: null });
  }

  /** The same error with the answer that it is about. */
  answeredBy(response: ErrorResponse): WorkflowError {
    return new WorkflowError({ ...this.fields, response }, this);
  }

  /** The run as a whole has exceeded one of its limits. */
  static overLimit(detail: string): WorkflowError {
    return new WorkflowError(WorkflowError.of("runtime", detail).fields, { endsRun: true });
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

  /** The same error, with each text but its place replaced by what `shown` returns for it. */
  withTexts(shown: (text: string) => string): WorkflowError {
    const { fields, stepNumber, endsRun } = this;
    const [title, detail] = [fields.title, fields.detail].map((text) => text && shown(text)) as [
      string | null,
      string | null,
    ];
    return new WorkflowError({ ...fields, type: shown(fields.type), title, detail }, { stepNumber, endsRun });
  }

  /** The same error with its place, and the number of the step that raised it, unless it has them. */
  at(instance: string, number: number | null = null): WorkflowError {
    const { fields, endsRun } = this;
    const stepNumber = this.stepNumber ?? number;
    if (fields.instance !== null && stepNumber === this.stepNumber) return this;
    return new WorkflowError(fields.instance === null ? { ...fields, instance } : fields, { stepNumber, endsRun });
  }
}

const cut = (text: string): string => shortenedTo(text, LIMITS.errorCharacters);

/** Anything but an HTTP status becomes 500. */
function statusOf(value: Json | undefined): number {
  const status = typeof value === "string" || typeof value === "number" ? Number(value) : NaN;
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : 500;
}

/** For lists of many errors: an answer may have 32 kB. */
export function withoutResponse<Fields extends ErrorFields>({
  response: _response,
  ...fields
}: Fields): Omit<Fields, "response"> {
  return fields;
}

export const lastSegment = (type: string): string => type.slice(type.lastIndexOf("/") + 1);
