/** What the rules of the linter are given (rules-*.ts, form-rules.ts; the table of them is in linter.ts). */
import type { Json } from "../lib/json.ts";
import type { Finding, Path } from "./problem.ts";

/** A value of the document with its meaning (`x-value` in the profile). */
export type Found = { path: Path; value: Json; means: string };

/** An expression and where it stands; `text` with or without `${ }`, as it was written. */
export type ExpressionPlace = { path: Path; text: string };

export type Lint = {
  root: Json;
  /** The names in each list of tasks that a `then` was looked up in. */
  names: Map<Json, Set<string>>;
  /** Names of all `for` and `catch` variables of the document. */
  variables: ReadonlySet<string>;
  /** Whether the schema has found nothing wrong at or below the path. */
  isSound(path: Path): boolean;
  report(finding: Finding): void;
  /** As many findings as are told: looking for more is of no use. */
  isFull(): boolean;
  /** Looked at next, as a step of its own: a value may hold thousands of expressions. */
  next(found: Found): void;
  expression(place: ExpressionPlace): void;
};

export type Rule = (found: Found, lint: Lint) => void;
