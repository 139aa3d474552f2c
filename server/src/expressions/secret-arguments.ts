/**
 * Arguments of a call that name secrets, in two: as they are kept and shown, and the expressions that are evaluated again for each
 * attempt. A secret's place is shown as `[secret NAME]`, with all that stands around it if the expression only passes the secret on.
 */
import type { Json, JsonObject } from "../lib/json/json.ts";
import type { CompiledExpression, Path, Template } from "./template.ts";

export type SecretArguments = {
  /** Evaluated with `placeholders` as `$secrets`. */
  readonly shown: Template;
  readonly placeholders: JsonObject;
  /** Yields a list: the results of the expressions that name secrets. */
  readonly secretive: Template;
  /** Whether an expression at the path or below it names a secret. */
  names(path: Path): boolean;
  /** Whether one expression yields all of what is at the path, and names a secret. */
  isOne(path: Path): boolean;
  /** Whether it also does more than pass it on, so that its result can't be shown. */
  alters(path: Path): boolean;
  /** The arguments with their secrets. `kept`: finds the result of an expression that names none. */
  assemble(results: readonly Json[], kept: (path: Path) => Json): Json;
};

/** Undefined if no expression names a secret. */
export function secretArgumentsOf(template: Template): SecretArguments | undefined {
  if (template.secrets.length === 0) return undefined;
  const { expressions } = template;
  const secretive = expressions.filter(isSecretive);
  return {
    shown: shownOf(template),
    placeholders: Object.fromEntries(template.secrets.map((name) => [name, placeholderOf([name])])),
    secretive: { ...template, expressions: secretive, assemble: (results) => [...results] },
    names: (path) => secretive.some((one) => isBelow(one, path)),
    isOne: (path) => secretive.some((one) => isAt(one, path)),
    alters: (path) => secretive.some((one) => one.altersSecrets && isAt(one, path)),
    assemble(results, kept) {
      const rest = results.values();
      return template.assemble(expressions.map((one) => (isSecretive(one) ? rest.next().value! : kept(one.path))));
    },
  };
}

const isSecretive = ({ secrets }: CompiledExpression): boolean => secrets !== undefined;

const isBelow = (one: CompiledExpression, path: Path): boolean => path.every((key, at) => one.path[at] === key);
const isAt = (one: CompiledExpression, path: Path): boolean => one.path.length === path.length && isBelow(one, path);

function shownOf(template: Template): Template {
  const { expressions } = template;
  const isShown = ({ altersSecrets }: CompiledExpression): boolean => !altersSecrets;
  return {
    ...template,
    // A text in the place of the expressions that are left out is a result, too.
    isLiteral: false,
    expressions: expressions.filter(isShown),
    assemble(results) {
      const rest = results.values();
      return template.assemble(
        expressions.map((one) => (isShown(one) ? rest.next().value! : placeholderOf([...one.secrets!]))),
      );
    },
  };
}

const placeholderOf = (names: readonly string[]): string => names.map((name) => `[secret ${name}]`).join(" ");
