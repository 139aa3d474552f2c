/**
 * The document as its author writes it: the profile of the CNCF workflow DSL 1.0.3 that Autograph runs
 * (docs/definitions.md). `parseDefinition` answers this type only when the text has no problem.
 * A `Template` is any JSON value in which a string that is wholly `${ … }` is a jq expression.
 * An `ExpressionText` is a jq expression, with or without the enclosing `${ … }`.
 */
import type { Json, JsonObject } from "../lib/json.ts";

export type ExpressionText = string;
export type TemplateJson = Json;
/** An ISO 8601 text or `{days, hours, minutes, seconds, milliseconds}`, or an expression that yields one. */
export type Duration = string | JsonObject;

export type Workflow = {
  document: {
    dsl: string;
    namespace: string;
    name: string;
    version: string;
    title?: string;
    summary?: string;
    tags?: JsonObject;
    metadata?: JsonObject;
  };
  input?: Input;
  output?: Output;
  use?: Use;
  timeout?: Timeout | string;
  do: TaskList;
};

export type Use = {
  secrets?: string[];
  authentications?: Record<string, Authentication>;
  errors?: Record<string, ErrorDefinition>;
  retries?: Record<string, RetryPolicy>;
  timeouts?: Record<string, Timeout>;
  functions?: Record<string, Task>;
};

export type Schema = { format?: string; document: JsonObject };
export type Input = { schema?: Schema; from?: TemplateJson };
export type Output = { schema?: Schema; as?: TemplateJson };
export type Export = { schema?: Schema; as?: TemplateJson };
export type Timeout = { after: Duration };

/** Each item has exactly one key, the task's name (its reference). */
export type TaskList = Record<string, Task>[];
/** `continue`, `exit`, `end`, or the name of a task in the same list. */
export type FlowDirective = string;

type Common = {
  if?: ExpressionText;
  input?: Input;
  output?: Output;
  export?: Export;
  timeout?: Timeout | string;
  then?: FlowDirective;
  metadata?: JsonObject;
};

export type SetTask = Common & { set: TemplateJson };
export type DoTask = Common & { do: TaskList };
export type SwitchTask = Common & { switch: Record<string, { when?: ExpressionText; then: FlowDirective }>[] };
export type ForTask = Common & {
  for: { each?: string; in: ExpressionText; at?: string };
  while?: ExpressionText;
  do: TaskList;
};
export type TryTask = Common & {
  try: TaskList;
  catch: {
    errors?: { with?: Partial<ErrorDefinition> };
    as?: string;
    when?: ExpressionText;
    exceptWhen?: ExpressionText;
    retry?: RetryPolicy | string;
    do?: TaskList;
  };
};
export type RaiseTask = Common & { raise: { error: ErrorDefinition | string } };
export type WaitTask = Common & { wait: Duration };
export type CallTask = Common & { call: string; with?: JsonObject };
/** Branches run at the same time; with `compete` the first to end wins and the others are cancelled. */
export type ForkTask = Common & { fork: { branches: TaskList; compete?: boolean } };
/** A run of another agent of the organization, named by its project's handle and its own. */
export type RunTask = Common & {
  run: {
    /** `version`: `latest` or none is the published one. */
    workflow: { namespace: string; name: string; version?: string; input?: TemplateJson };
    /** false: the task goes on at once with its own input. */
    await?: boolean;
  };
};
/** Kinds of the profile that a later release runs; the linter refuses them until then. */
export type LaterTask = Common & ({ listen: JsonObject } | { emit: JsonObject });

export type Task =
  | SetTask
  | DoTask
  | SwitchTask
  | ForTask
  | TryTask
  | RaiseTask
  | WaitTask
  | CallTask
  | ForkTask
  | RunTask
  | LaterTask;

export type RetryPolicy = {
  when?: ExpressionText;
  exceptWhen?: ExpressionText;
  delay?: Duration;
  backoff?:
    | { constant: JsonObject }
    | { linear: { increment?: Duration } }
    | { exponential: { factor?: number; maxDelay?: Duration } };
  limit?: { attempt?: { count?: number; duration?: Duration }; duration?: Duration };
  jitter?: { from: Duration; to: Duration };
};

/** The language's own error (RFC 7807): `type` is compared by its last path segment. */
export type ErrorDefinition = {
  type: string;
  status: number | string;
  title?: string;
  detail?: string;
  instance?: string;
};

export type Authentication = JsonObject;

/** `with` of `call: each:1.0.0@default`: the tasks of `do` for every item, some at the same time, results in order. */
export type EachCall = {
  in: ExpressionText;
  /** Name of the variable with the item; `item` by default. Its place from 0 is in `index`. */
  item?: string;
  /** Items at the same time, 1 to 100; 10 by default. */
  concurrency?: number;
  /** `stop` (default): the first error ends the task; `collect`: each result is `{output}` or `{error}`. */
  onError?: "stop" | "collect";
  do: TaskList;
};
