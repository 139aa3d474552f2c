/**
 * A workflow made ready to run: expressions compiled, names resolved, one object a task. Made once a version and kept;
 * the interpreter (runs/) walks it and never looks at the document again.
 */
import type { Json, JsonObject } from "../lib/json.ts";
import { isObject } from "../lib/json.ts";
import { compileExpression, compileTemplate, type Template } from "./expressions/template.ts";
import { compileSchema, type SchemaCheck } from "./schema-check.ts";
import type {
  CallTask,
  Duration,
  EachCall,
  Export,
  ForkTask,
  Input,
  Output,
  RetryPolicy,
  RunTask,
  Task,
  TaskList,
  Timeout,
  TryTask,
  Use,
  Workflow,
} from "./workflow.ts";

export type Plan = {
  /** The document, as `$workflow.definition` shows it. */
  definition: JsonObject;
  inputFrom?: Template;
  outputAs?: Template;
  outputCheck?: SchemaCheck;
  timeout?: Template;
  block: Block;
};

/** A list of tasks and where each name stands in it, for `then`. */
export type Block = { tasks: PlanTask[]; position: Map<string, number> };

export type PlanTask = {
  name: string;
  /** What the API shows: `set`, `do`, `http`, `approval`, … */
  kind: string;
  /** JSON pointer into the definition. */
  reference: string;
  condition?: Template;
  inputFrom?: Template;
  inputCheck?: SchemaCheck;
  outputAs?: Template;
  outputCheck?: SchemaCheck;
  exportAs?: Template;
  exportCheck?: SchemaCheck;
  timeout?: Template;
  then: string;
  body: Body;
};

export type Body =
  | { is: "set"; value: Template }
  | { is: "do"; block: Block }
  | { is: "switch"; cases: { name: string; when?: Template; then: string }[] }
  | { is: "for"; each: string; at: string; in: Template; while?: Template; block: Block }
  | { is: "try"; block: Block; catch: Catch }
  | { is: "raise"; error: Template }
  | { is: "wait"; duration: Template }
  | { is: "fork"; branches: PlanTask[]; compete: boolean }
  | { is: "each"; in: Template; item: string; concurrency: number; collects: boolean; block: Block }
  | { is: "run"; namespace: string; name: string; version?: string; input: Template; awaits: boolean }
  | { is: "call"; call: string; arguments: Template; authentication?: Template };

export type Catch = {
  /** Only errors that have these fields; `type` is compared by its last segment. */
  with?: Template;
  as: string;
  when?: Template;
  exceptWhen?: Template;
  retry?: Retry;
  block?: Block;
};

export type Retry = {
  when?: Template;
  exceptWhen?: Template;
  delay?: Template;
  backoff:
    | { is: "constant" }
    | { is: "linear"; increment?: Template }
    | { is: "exponential"; factor: number; maxDelay?: Template };
  attempts?: number;
  attemptDuration?: Template;
  duration?: Template;
  jitter?: { from: Template; to: Template };
};

/** `workflow` has passed `parseDefinition`. */
export function compileWorkflow(workflow: Workflow): Plan {
  const compiler = new Compiler(workflow.use ?? {});
  return {
    definition: workflow,
    ...given("inputFrom", workflow.input?.from, compileTemplateOrExpression),
    ...compiler.output(workflow.output),
    ...given("timeout", workflow.timeout, (timeout) => compiler.timeout(timeout)),
    block: compiler.block(workflow.do, "/do"),
  };
}

class Compiler {
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  block(list: TaskList, pointer: string): Block {
    const tasks = list.map((item, index) => {
      const [name, task] = Object.entries(item)[0]!;
      return this.task(name, task, `${pointer}/${index}/${name}`);
    });
    return { tasks, position: new Map(tasks.map((task, index) => [task.name, index])) };
  }

  task(name: string, task: Task, reference: string): PlanTask {
    return {
      name,
      kind: kindOf(task),
      reference,
      ...given("condition", task.if, compileExpression),
      ...this.input(task.input),
      ...this.output(task.output),
      ...this.export(task.export),
      ...given("timeout", task.timeout, (timeout) => this.timeout(timeout)),
      then: task.then ?? "continue",
      body: this.body(task, reference),
    };
  }

  body(task: Task, reference: string): Body {
    if ("set" in task) return { is: "set", value: compileTemplate(task.set) };
    if ("switch" in task) return { is: "switch", cases: task.switch.map(switchCase) };
    if ("for" in task) {
      return {
        is: "for",
        each: task.for.each ?? "item",
        at: task.for.at ?? "index",
        in: compileExpression(task.for.in),
        ...given("while", task.while, compileExpression),
        block: this.block(task.do, `${reference}/do`),
      };
    }
    if ("try" in task)
      return { is: "try", block: this.block(task.try, `${reference}/try`), catch: this.catch(task, reference) };
    if ("do" in task) return { is: "do", block: this.block(task.do, `${reference}/do`) };
    if ("raise" in task) return { is: "raise", error: compileTemplate(this.#named("errors", task.raise.error)) };
    if ("wait" in task) return { is: "wait", duration: compileTemplate(task.wait) };
    if ("fork" in task) return this.fork(task, reference);
    if ("run" in task) return runOf(task);
    if ("call" in task && kindOf(task) === "each") return this.each(task, reference);
    if ("call" in task) return { is: "call", call: kindOf(task), ...this.#callArguments(task) };
    throw new Error(`no plan for ${Object.keys(task).join(", ")}`);
  }

  fork({ fork }: ForkTask, reference: string): Body {
    const { tasks } = this.block(fork.branches, `${reference}/fork/branches`);
    return { is: "fork", branches: tasks, compete: fork.compete ?? false };
  }

  each(task: CallTask, reference: string): Body {
    const { in: list, item, concurrency, onError, do: tasks } = task.with as unknown as EachCall;
    return {
      is: "each",
      in: compileExpression(list),
      item: item ?? "item",
      concurrency: concurrency ?? 10,
      collects: onError === "collect",
      block: this.block(tasks, `${reference}/with/do`),
    };
  }

  catch(task: TryTask, reference: string): Catch {
    const { errors, as, when, exceptWhen, retry, do: list } = task.catch;
    return {
      ...given("with", errors?.with as Json | undefined, compileTemplate),
      as: as ?? "error",
      ...given("when", when, compileExpression),
      ...given("exceptWhen", exceptWhen, compileExpression),
      ...given("retry", retry, (policy) => retryOf(this.#named("retries", policy))),
      ...given("block", list, (tasks) => this.block(tasks, `${reference}/catch/do`)),
    };
  }

  input(input: Input | undefined): Pick<PlanTask, "inputFrom" | "inputCheck"> {
    return {
      ...given("inputFrom", input?.from, compileTemplateOrExpression),
      ...given("inputCheck", input?.schema?.document, compileSchema),
    };
  }

  output(output: Output | undefined): Pick<PlanTask, "outputAs" | "outputCheck"> {
    return {
      ...given("outputAs", output?.as, compileTemplateOrExpression),
      ...given("outputCheck", output?.schema?.document, compileSchema),
    };
  }

  export(value: Export | undefined): Pick<PlanTask, "exportAs" | "exportCheck"> {
    return {
      ...given("exportAs", value?.as, compileTemplateOrExpression),
      ...given("exportCheck", value?.schema?.document, compileSchema),
    };
  }

  timeout(timeout: Timeout | string): Template {
    return compileTemplate(this.#named("timeouts", timeout).after);
  }

  /** A definition in place, or the one of that name under `use`. The linter has made sure that it is there. */
  #named<Value>(of: "errors" | "retries" | "timeouts" | "authentications", value: Value | string): Value {
    return typeof value === "string" ? (this.#use[of]![value] as Value) : value;
  }

  /** The endpoint's authentication stands apart: it holds secrets, and a step's input is shown and kept. */
  #callArguments(task: CallTask): { arguments: Template; authentication?: Template } {
    const values = task.with ?? {};
    const endpoint = values["endpoint"];
    if (!isObject(endpoint)) return { arguments: compileTemplate(values) };
    const { authentication, ...rest } = endpoint;
    const use = isObject(authentication) ? authentication["use"] : authentication;
    return {
      arguments: compileTemplate({ ...values, endpoint: rest }),
      ...given(
        "authentication",
        typeof use === "string" ? this.#named("authentications", use) : authentication,
        compileTemplate,
      ),
    };
  }
}

function switchCase(item: Record<string, { when?: string; then: string }>): {
  name: string;
  when?: Template;
  then: string;
} {
  const [name, value] = Object.entries(item)[0]!;
  return { name, ...given("when", value.when, compileExpression), then: value.then };
}

function runOf({ run }: RunTask): Body {
  const { namespace, name, version, input } = run.workflow;
  return {
    is: "run",
    namespace,
    name,
    ...given("version", version === "latest" ? undefined : version, (text) => text),
    // Without an input of its own the child gets the task's.
    input: input === undefined ? compileExpression(".") : compileTemplateOrExpression(input),
    awaits: run.await ?? true,
  };
}

function retryOf(policy: RetryPolicy): Retry {
  const { backoff, limit, jitter } = policy;
  return {
    ...given("when", policy.when, compileExpression),
    ...given("exceptWhen", policy.exceptWhen, compileExpression),
    ...given("delay", policy.delay, compileDuration),
    backoff: backoffOf(backoff),
    ...given("attempts", limit?.attempt?.count, (count) => count),
    ...given("attemptDuration", limit?.attempt?.duration, compileDuration),
    ...given("duration", limit?.duration, compileDuration),
    ...given("jitter", jitter, ({ from, to }) => ({ from: compileTemplate(from), to: compileTemplate(to) })),
  };
}

function backoffOf(backoff: RetryPolicy["backoff"]): Retry["backoff"] {
  if (backoff && "exponential" in backoff) {
    const { factor, maxDelay } = backoff.exponential;
    return { is: "exponential", factor: factor ?? 2, ...given("maxDelay", maxDelay, compileDuration) };
  }
  if (backoff && "linear" in backoff)
    return { is: "linear", ...given("increment", backoff.linear.increment, compileDuration) };
  return { is: "constant" };
}

/** `call: http` is `http`, `call: approval:1.0.0@default` is `approval`, any other keyword is itself. */
export function kindOf(task: Task): string {
  if ("call" in task) return task.call.split(":")[0]!;
  if ("for" in task) return "for";
  if ("try" in task) return "try";
  return ["set", "switch", "raise", "wait", "do", "fork", "listen", "emit", "run"].find((keyword) =>
    Object.hasOwn(task, keyword),
  )!;
}

const compileDuration = (value: Duration): Template => compileTemplate(value);

/** `from` and `as` take an expression text, or an object with expressions in it. */
const compileTemplateOrExpression = (value: Json): Template =>
  typeof value === "string" ? compileExpression(value) : compileTemplate(value);

/** `{[key]: make(value)}`, or nothing when there is no value: exactOptionalPropertyTypes refuses undefined. */
function given<Key extends string, Value, Made>(
  key: Key,
  value: Value | undefined,
  make: (value: Value) => Made,
): { [K in Key]?: Made } {
  return value === undefined ? {} : ({ [key]: make(value) } as { [K in Key]?: Made });
}
