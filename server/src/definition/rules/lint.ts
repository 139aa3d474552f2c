/** The input of the linter's rules (rules-*.ts, form-rules.ts, tasks/). linter.ts has the table of rules. */
import type { Json } from "../../lib/json/json.ts";
import type { Finding, Path } from "../text/problem.ts";

/** A value of the document with its meaning (`x-value` in the profile). */
export type Found = { path: Path; value: Json; means: string };

/** An expression and its place; `text` is as written, with or without `${ }`. */
export type ExpressionPlace = { path: Path; text: string };

/** The code of a script and its place; `names`: its variables. */
export type ScriptPlace = { path: Path; code: string; names: readonly string[] };

export type Lint = {
  root: Json;
  /** The names in each list of tasks in which a `then` was looked up. */
  names: Map<Json, Set<string>>;
  /** The names under `use.secrets`. */
  secrets: ReadonlySet<string>;
  /** How many expressions so far do more with a secret than pass it on. */
  altersSecrets: number;
  /** The variables that an expression at the path may refer to. */
  known(path: Path): ReadonlySet<string>;
  /** Whether the schema found nothing wrong at or below the path. */
  isSound(path: Path): boolean;
  report(finding: Finding): void;
  /** No further finding would be reported. */
  isFull(): boolean;
  /** Visits this next, as a separate step: a value may contain thousands of expressions. */
  next(found: Found): void;
  expression(place: ExpressionPlace): void;
  script(place: ScriptPlace): void;
};

export type Rule = (found: Found, lint: Lint) => void;
