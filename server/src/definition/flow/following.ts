/** The questions of a kind of task (flows.ts) to the walk (flow.ts). */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { Steps } from "../../fairness/slices.ts";
import type { Path, Severity } from "../text/problem.ts";
import type { Shape, Shapes } from "./shape.ts";
import type { Variables } from "./shape-of-expression.ts";

/** A value of the document, and what an expression in it sees. */
export type Place = { path: Path; data: Shape; variables: Variables };

export const below = ({ path, ...rest }: Place, ...parts: Path): Place => ({ path: [...path, ...parts], ...rest });

export type Following = {
  readonly shapes: Shapes;
  /** The tasks of a list, from the first one, following `then`. */
  list(list: Json, place: Place): Steps<Shape>;
  task(task: JsonObject, place: Place): Steps<Shape>;
  /** A function on these arguments; `path`: of the call. */
  function(name: string, given: Shape, path: Path): Steps<Shape>;
  /** Any value with expressions in it. */
  value(value: Json | undefined, place: Place): Steps<Shape>;
  /** Like `value`, but a text is an expression; without a value, the data. */
  valueOr(value: Json | undefined, place: Place): Steps<Shape>;
  expression(text: string, place: Place): Steps<Shape>;
  condition(text: Json | undefined, place: Place): Steps<void>;
  report(path: Path, message: () => string, severity?: Severity): void;
};
