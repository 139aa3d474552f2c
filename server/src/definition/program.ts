/**
 * A workflow made ready to run: expressions compiled, names resolved, one object per task. Made once per version and kept;
 * the interpreter (execution/) walks it and never reads the document again.
 */
import type { JsonObject } from "../lib/json/json.ts";
import { compileExpression, compileTemplate, type Template } from "../expressions/template.ts";
import { compileTemplateOrExpression, include } from "./tasks/program-parts.ts";
import { valueAt } from "./text/problem.ts";
import { compileSchema, type SchemaCheck } from "./schema/schema-check.ts";
import type { Inner, Named, Way } from "./tasks/kind.ts";
import { KINDS, kindOf, type KindName, type CompiledBody } from "./tasks/kinds.ts";
import type { Export, Input, Output, Task, TaskList, Timeout, Use, Workflow } from "./profile/workflow.ts";

export type Program = {
  /** The document, as `$workflow.definition` shows it. */
  definition: JsonObject;
  inputFrom?: Template;
  outputAs?: Template;
  outputCheck?: SchemaCheck;
  timeout?: Template;
  /** The names under `use.secrets`. */
  secrets: readonly string[];
  /** The functions, by name: each a list of one task, which all its calls share. */
  functions: ReadonlyMap<string, Block>;
  block: Block;
};

/** A list of tasks, and the position of each name in it for `then`. */
export type Block = {
  tasks: ProgramTask[];
  position: Map<string, number>;
  way: Way;
  /** The only task of a `try`, if it is a single effect: it runs in the step of the `try`. */
  single?: ProgramTask;
};

export type ProgramTask = {
  name: string;
  /** The kind that the API shows: that of the body; for a `try` around a single effect, that of the effect. */
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

/** A task's body, by its kind. */
export type Body = CompiledBody<Block>;
export type BodyOf<Name extends KindName> = Extract<Body, { is: Name }>;

/** The lists of tasks inside a task, each with the way in which it is run. */
export const blocksOf = ({ blocks }: Body): Block[] => Object.values(blocks);

/** `workflow` has passed `parseDefinition`. */
export function compileWorkflow(workflow: Workflow): Program {
  const compiler = new Compiler(workflow.use ?? {});
  return {
    definition: workflow,
    ...include("inputFrom", workflow.input?.from, compileTemplateOrExpression),
    ...compiler.output(workflow.output),
    ...include("timeout", workflow.timeout, (timeout) => compiler.timeout(timeout)),
    secrets: workflow.use?.secrets ?? [],
    functions: compiler.functions(),
    block: compiler.block(workflow.do, "once", "/do"),
  };
}

const NO_BLOCKS = {};

class Compiler {
  readonly #use: Use;
  readonly #functions = new Map<string, Block>();

  constructor(use: Use) {
    this.#use = use;
  }

  functions(): ReadonlyMap<string, Block> {
    for (const name of Object.keys(this.#use.functions ?? {})) this.#function(name);
    return this.#functions;
  }

  /** Ends, because the linter has refused functions that lead back to themselves. */
  #function(name: string): Block {
    let block = this.#functions.get(name);
    if (!block) {
      const task = this.task(name, this.#use.functions![name]!, `/use/functions/${name}`);
      this.#functions.set(name, (block = { tasks: [task], position: new Map([[name, 0]]), way: "once" }));
    }
    return block;
  }

  block(list: TaskList, way: Way, pointer: string): Block {
    const tasks = list.map((item, index) => {
      const [name, task] = Object.entries(item)[0]!;
      return this.task(name, task, `${pointer}/${index}/${name}`);
    });
    const position = new Map(tasks.map((task, index) => [task.name, index]));
    return { tasks, position, way, ...(way === "tries" && include("single", singleEffect(tasks), (task) => task)) };
  }

  task(name: string, task: Task, reference: string): ProgramTask {
    const body = this.body(task, reference);
    return {
      name,
      kind: blocksOf(body).find(({ single }) => single)?.single!.kind ?? body.is,
      reference,
      ...include("condition", task.if, compileExpression),
      ...this.input(task.input),
      ...this.output(task.output),
      ...this.export(task.export),
      ...include("timeout", task.timeout, (timeout) => this.timeout(timeout)),
      then: task.then ?? "continue",
      body,
    };
  }

  body(task: Task, reference: string): Body {
    const is = kindOf(task)!;
    const { compile, blocks } = KINDS[is];
    return {
      is,
      ...compile(task as never, this.#named, reference),
      blocks: this.#blocks(blocks, task, reference),
    } as Body;
  }

  #blocks(inner: Record<string, Inner>, task: Task, reference: string): Record<string, Block> {
    const names = Object.keys(inner);
    if (names.length === 0) return NO_BLOCKS;
    const made: Record<string, Block> = {};
    for (const [name, { at, way }] of Object.entries(inner)) {
      if (!at) {
        made[name] = this.#function((task as { call: string }).call);
        continue;
      }
      const list = valueAt(task, at) as TaskList | undefined;
      if (list) made[name] = this.block(list, way, [reference, ...at].join("/"));
    }
    return made;
  }

  input(input: Input | undefined): Pick<ProgramTask, "inputFrom" | "inputCheck"> {
    return {
      ...include("inputFrom", input?.from, compileTemplateOrExpression),
      ...include("inputCheck", input?.schema?.document, compileSchema),
    };
  }

  output(output: Output | undefined): Pick<ProgramTask, "outputAs" | "outputCheck"> {
    return {
      ...include("outputAs", output?.as, compileTemplateOrExpression),
      ...include("outputCheck", output?.schema?.document, compileSchema),
    };
  }

  export(value: Export | undefined): Pick<ProgramTask, "exportAs" | "exportCheck"> {
    return {
      ...include("exportAs", value?.as, compileTemplateOrExpression),
      ...include("exportCheck", value?.schema?.document, compileSchema),
    };
  }

  timeout(timeout: Timeout | string): Template {
    return compileTemplate(this.#named("timeouts", timeout).after);
  }

  /** The linter has made sure that the name exists. */
  readonly #named: Named = <Value>(of: Parameters<Named>[0], value: Value | string): Value =>
    typeof value === "string" ? (this.#use[of]![value] as Value) : value;
}

/** The only task, if it is an effect without conditions or input of its own that does not jump back to itself. */
function singleEffect([task, ...others]: ProgramTask[]): ProgramTask | undefined {
  if (!task || others.length > 0 || !KINDS[task.body.is].isEffect) return undefined;
  const { condition, timeout, inputFrom, inputCheck, then } = task;
  return condition || timeout || inputFrom || inputCheck || then === task.name ? undefined : task;
}
