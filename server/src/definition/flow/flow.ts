/**
 * Follows the data of a workflow from task to task, without a run, and reports names that can have no value there: fields
 * that neither the form nor an earlier task provides. Reports nothing if the input is unknown.
 */
import { LIMITS } from "../../lib/limits.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import type { Steps } from "../../fairness/slices.ts";
import { parseExpression } from "../../expressions/parsing/parse.ts";
import { SyntaxProblem } from "../../expressions/parsing/lexer.ts";
import { expressionIn } from "../../expressions/template.ts";
import type { Node } from "../../expressions/parsing/syntax.ts";
import { pointer, valueAt, type Finding, type Path, type Severity } from "../text/problem.ts";
import { kindOf } from "../tasks/kinds.ts";
import type { Task, Workflow } from "../profile/workflow.ts";
import { sameResult, unmeantText } from "./conditions.ts";
import { FLOWS } from "./flows.ts";
import { below, type Following, type Place } from "./following.ts";
import { RUNTIME, shapeOfForm, shapeOfWorkflow, Shapes, TASK, type Shape } from "./shape.ts";
import { shapeOfExpression, type Variables } from "./shape-of-expression.ts";

/** `workflow` has passed the schema of the profile. */
export function* checkFlow(workflow: Workflow): Steps<Finding[]> {
  const shapes = new Shapes();
  const silent = new Walk(shapes, "context");
  if (exportsSomething(workflow)) yield* silent.workflow(workflow);
  const walk = new Walk(shapes, silent.exported);
  yield* walk.workflow(workflow);
  return walk.findings;
}

const exportsSomething = (workflow: Workflow): boolean => JSON.stringify(workflow).includes('"export":');

/**
 * Each call of a function is followed with the shape of its arguments, up to so many characters of functions in all. Functions that
 * call each other twice would be followed twice as often at each level.
 */
const MAX_FOLLOWED_CHARACTERS = LIMITS.definitionBytes;

class Walk implements Following {
  readonly findings: Finding[] = [];
  readonly shapes: Shapes;
  /** The context as all tasks together export it. */
  exported: Shape;
  /** How many tasks so far can end the run. */
  #ends = 0;
  readonly #context: Shape;
  #functions: Record<string, Task> = {};
  /** The variables that the tasks of a function see besides their own. */
  #outermost: Variables = new Map();
  /** The calls that lead to the task at hand. */
  readonly #calls: Path[] = [];
  readonly #followed = new Set<string>();
  #charactersLeft = MAX_FOLLOWED_CHARACTERS;
  readonly #characters = new Map<string, number>();
  /** Problems of functions that have been reported for a call. */
  readonly #reported = new Set<string>();

  /** If `context` is "context", reports nothing and only collects what is exported. */
  constructor(shapes: Shapes, context: Shape) {
    this.shapes = shapes;
    this.#context = context;
    this.exported = shapes.object(new Map());
  }

  get #isSilent(): boolean {
    return this.#context === "context";
  }

  report(path: Path, message: () => string, severity: Severity = "error"): void {
    if (this.#isSilent || this.findings.length >= LIMITS.definitionProblems) return;
    const found = message();
    if (path[0] !== "use") return void this.findings.push({ path, at: "value", message: found, severity });
    const before = this.#reported.size;
    if (this.#reported.add(`${pointer(path)} ${found}`).size === before) return;
    const call = this.#calls.at(-1);
    const called = call ? `${found} (when ${pointer(call)} calls it)` : found;
    this.findings.push({ path, at: "value", message: called, severity });
  }

  *workflow({ input, output, timeout, use, do: tasks }: Workflow): Steps<void> {
    const given = shapeOfForm(input?.schema?.document);
    const variables: Variables = new Map<string, Shape>([
      ["workflow", shapeOfWorkflow(given)],
      ["runtime", RUNTIME],
    ]);
    const first = yield* this.valueOr(input?.from, { path: ["input", "from"], data: given, variables });
    const known = new Map(variables).set("context", this.#context);
    this.#functions = use?.functions ?? {};
    this.#outermost = known;
    yield* this.value(timeout, { path: ["timeout"], data: first, variables: known });
    const data = yield* this.list(tasks, { path: ["do"], data: first, variables: known });
    yield* this.valueOr(output?.as, { path: ["output", "as"], data, variables: known });
    for (const [name, task] of Object.entries(this.#functions))
      if (!this.#followed.has(name))
        yield* this.task(task, {
          path: ["use", "functions", name],
          data: "any",
          variables: known,
        });
  }

  *function(name: string, given: Shape, path: Path): Steps<Shape> {
    const task = Object.hasOwn(this.#functions, name) ? this.#functions[name] : undefined;
    // Calls that lead deeper, or back, are refused by a rule (functions.ts); the definition is walked all the same.
    if (!task || this.#calls.length >= LIMITS.definitionNesting) return "any";
    const characters = this.#characters.get(name) ?? JSON.stringify(task).length;
    this.#characters.set(name, characters);
    this.#charactersLeft -= characters;
    if (this.#charactersLeft < 0) return "any";
    this.#followed.add(name);
    this.#calls.push(path);
    const place: Place = { path: ["use", "functions", name], data: given, variables: this.#outermost };
    const output = yield* this.task(task, place);
    this.#calls.pop();
    return output;
  }

  /** The tasks of a list, from the first one, following `then`. */
  *list(list: Json, { path, data, variables }: Place): Steps<Shape> {
    const tasks = (Array.isArray(list) ? list : []).map((item) => Object.entries(item as JsonObject)[0]!);
    const position = new Map(tasks.map(([name], index) => [name, index]));
    const targets = tasks.map(([, task]) => targetsOf(task as JsonObject));
    // A task that a later one jumps back to: its input is not known yet.
    const isLoop = new Set(targets.flatMap((names, index) => names.filter((name) => position.get(name)! <= index)));
    const jumped = new Map<string, Shape>();
    let next = data;
    let left: Shape = "never";
    for (const [index, [name, written]] of tasks.entries()) {
      const task = written as JsonObject;
      const data = isLoop.has(name) ? "any" : this.shapes.union(next, jumped.get(name) ?? "never");
      const ends = this.#ends;
      const output = yield* this.task(task, { path: [...path, index, name], data, variables });
      // `then: end` leaves each enclosing task with that task's own output.
      if (this.#ends > ends) left = this.shapes.union(left, output);
      next = task["if"] === undefined ? "never" : data;
      for (const target of targets[index]!) {
        if (target === "continue") next = this.shapes.union(next, output);
        else if (target === "exit") left = this.shapes.union(left, output);
        else if (target !== "end") jumped.set(target, this.shapes.union(jumped.get(target) ?? "never", output));
      }
    }
    return this.shapes.union(next, left);
  }

  *task(task: JsonObject, { path, data, variables }: Place): Steps<Shape> {
    const kind = kindOf(task);
    if (kind === undefined) return "any";
    if (targetsOf(task).includes("end")) this.#ends++;
    const outer = new Map(variables).set("task", TASK);
    const before = new Map(outer).set("input", data);
    yield* this.condition(task["if"], { path: [...path, "if"], data, variables: before });
    const from = valueAt(task, ["input", "from"]);
    const input = yield* this.valueOr(from, { path: [...path, "input", "from"], data, variables: outer });
    const inner = new Map(outer).set("input", input);
    const here: Place = { path, data: input, variables: inner };
    yield* this.value(task["timeout"], below(here, "timeout"));
    const raw = yield* FLOWS[kind](this, task, here);
    const output = yield* this.valueOr(valueAt(task, ["output", "as"]), { ...below(here, "output", "as"), data: raw });
    const exported = valueAt(task, ["export", "as"]);
    if (exported !== undefined) {
      const context = yield* this.valueOr(exported, {
        path: [...path, "export", "as"],
        data: output,
        variables: new Map(inner).set("output", output),
      });
      this.exported = this.shapes.union(this.exported, context);
    }
    return output;
  }

  /** `from` and `as`, in which a text is an expression; without them the data stays as it is. */
  *valueOr(value: Json | undefined, place: Place): Steps<Shape> {
    if (value === undefined) return place.data;
    return yield* typeof value === "string" ? this.expression(value, place) : this.value(value, place);
  }

  /** Any value with expressions in it. */
  *value(value: Json | undefined, place: Place): Steps<Shape> {
    if (typeof value === "string") {
      if (expressionIn(value) !== undefined) return yield* this.expression(value, place);
      const unmeant = this.#isSilent ? undefined : unmeantText(value, place.data, place.variables);
      if (unmeant) this.report(place.path, () => unmeant, "warning");
      return "any";
    }
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) yield* this.value(item, below(place, index));
      return "any";
    }
    if (!isObject(value)) return "any";
    const fields = new Map<string, Shape>();
    for (const [name, child] of Object.entries(value)) fields.set(name, yield* this.value(child, below(place, name)));
    return this.shapes.object(fields);
  }

  *condition(text: Json | undefined, place: Place): Steps<void> {
    if (typeof text !== "string") return;
    const node = parsed(text);
    if (!node) return;
    this.#shapeOf(node, place);
    const same = sameResult(node);
    if (same) this.report(place.path, () => same, "warning");
    yield;
  }

  *expression(text: string, place: Place): Steps<Shape> {
    const node = parsed(text);
    if (!node) return "any";
    const shape = this.#shapeOf(node, place);
    yield;
    return shape;
  }

  #shapeOf(node: Node, { path, data, variables }: Place): Shape {
    const report = this.#isSilent ? undefined : (message: () => string) => this.report(path, message);
    return shapeOfExpression(node, data, variables, this.shapes, report);
  }
}

/** Undefined for an expression that does not compile, which the linter reports. */
function parsed(text: string): Node | undefined {
  try {
    return parseExpression(expressionIn(text) ?? text.trim());
  } catch (error) {
    if (error instanceof SyntaxProblem) return undefined;
    throw error;
  }
}

/** Where a task can continue. */
function targetsOf(task: JsonObject): string[] {
  const own = typeof task["then"] === "string" ? task["then"] : "continue";
  if (!Array.isArray(task["switch"])) return [own];
  const cases = task["switch"].map((item) => Object.values(item as JsonObject)[0] as JsonObject);
  const isAlwaysTaken = cases.some((one) => one["when"] === undefined);
  return [...new Set([...cases.map((one) => String(one["then"])), ...(isAlwaysTaken ? [] : [own])])];
}
