/** What the linter gives to its rules (rules-*.ts, form-rules.ts, tasks/; the table of them is in linter.ts). */
import type { Json } from "../../lib/json/json.ts";
import type { Finding, Path } from "../text/problem.ts";

/** A value of the document with its meaning (`x-value` in the profile). */
export type Found = { path: Path; value: Json; means: string };

/** An expression and its place; `text` is as written, with or without `${ }`. */
export type ExpressionPlace = { path: Path; text: string };

export type Lint = {
  root: Json;
  /** The names in each list of tasks in which a `then` was looked up. */
  names: Map<Json, Set<string>>;
  /** The names under `use.secrets`. */
  secrets: ReadonlySet<string>;
  /** The variables that an expression at the path may refer to. */
  known(path: Path): ReadonlySet<string>;
  /** Whether the schema found nothing wrong at or below the path. */
  isSound(path: Path): boolean;
  report(finding: Finding): void;
  /** There are as many findings as are reported; looking for more is pointless. */
  isFull(): boolean;
  /** Is visited next, as a separate step: a value may contain thousands of expressions. */
  next(found: Found): void;
  expression(place: ExpressionPlace): void;
};

export type Rule = (found: Found, lint: Lint) => void;
