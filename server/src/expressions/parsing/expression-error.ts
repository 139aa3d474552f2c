/** An error in an author's expression. The message is jq's own sentence, if there is one, then the expression. */
export class ExpressionError extends Error {
  /** jq's sentence alone, e.g. `number (1) and string ("a") cannot be added`. */
  readonly reason: string;
  /** The expression without `${ }`, whole. */
  readonly expression: string;

  constructor(reason: string, expression: string) {
    super(`${reason} (in \${ ${shortened(expression)} })`);
    this.name = "ExpressionError";
    this.reason = reason;
    this.expression = expression;
  }
}

/** Where an expression is wrong: `offset` counts characters of the text, from 0. */
export type ExpressionProblem = { message: string; offset: number };

const SHOWN_CHARACTERS = 200;

const shortened = (text: string): string =>
  text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
