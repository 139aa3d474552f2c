/**
 * The document as its author writes it: the profile of the CNCF workflow DSL 1.0.3 that Autograph runs
 * (docs/definitions.md). `parseDefinition` returns this type only if the text has no problems.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import type { WrittenTask } from "../tasks/kinds.ts";
import type { RetryPolicy } from "../tasks/try.ts";
import type { Duration, ErrorDefinition, ExpressionText, FlowDirective, TemplateJson } from "../tasks/written.ts";

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
  authentications?: Record<string, JsonObject>;
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

type Common = {
  if?: ExpressionText;
  input?: Input;
  output?: Output;
  export?: Export;
  timeout?: Timeout | string;
  then?: FlowDirective;
  metadata?: JsonObject;
};

export type Task = Common & WrittenTask;
