import type { JsonObject } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { REFUSED } from "../schema/refusals.ts";
import { fixed, object, refused, text, type Properties } from "../schema/schema-words.ts";
import { valueAt } from "../text/problem.ts";
import type { Kind } from "./kind.ts";
import { compileArguments, type CallArguments } from "./program-parts.ts";

type ScriptTask = { run: { script: { language: string; code: string; arguments?: JsonObject } } };

/** `names`: its variables, in the order of the values that `arguments` yields. */
type ScriptBody = { code: string; names: readonly string[] } & CallArguments;

const PROPERTIES: Properties = {
  language: { ...fixed(["js"]), "x-say": "write js" },
  code: text({
    minLength: 1,
    maxLength: LIMITS.scriptCharacters,
    "x-value": "script",
    "x-say": `write 1 to ${LIMITS.scriptCharacters} characters of JavaScript`,
  }),
  arguments: {
    type: "object",
    maxProperties: LIMITS.scriptArguments,
    propertyNames: {
      pattern: `^[A-Za-z_$][A-Za-z0-9_$]{0,${LIMITS.identifierCharacters - 1}}$`,
      "x-say": `write a variable's name: 1 to ${LIMITS.identifierCharacters} letters, digits, _ and $`,
    },
    additionalProperties: { "x-value": "template" },
    "x-say": `write at most ${LIMITS.scriptArguments} variables of the script, each as \`name: value\``,
  },
  source: refused(REFUSED.scriptSource),
  stdin: refused(REFUSED.scriptStdin),
  environment: refused(REFUSED.scriptEnvironment),
};

/** The part of `run` that makes a task one of this kind; run.ts has the others. */
export const SCRIPT = object("the script to run", PROPERTIES, ["language", "code"]);

/** JavaScript that computes, in a sandbox: it has no effect outside. */
export const scriptTask = {
  below: { keyword: "run", key: "script" },
  properties: {},
  required: [],
  rules: { script: scriptRule },
  secretsIn: [["run", "script", "arguments"]],
  waitsFor: "nothing",
  blocks: {},
  compile: ({ run: { script } }: ScriptTask): ScriptBody => ({
    code: script.code,
    names: Object.keys(script.arguments ?? {}),
    ...compileArguments(script.arguments ?? {}, () => undefined),
  }),
} satisfies Kind;

/** Names that a strict function's parameter can't have. */
const WORDS = new Set(
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for
  function if implements import in instanceof interface let new null package private protected public return static super switch this
  throw true try typeof var void while with yield`.split(/\s+/),
);

function scriptRule({ path, value }: Found, lint: Lint): void {
  const beside = valueAt(lint.root, [...path.slice(0, -1), "arguments"]);
  const names = isObject(beside) ? Object.keys(beside) : [];
  const taken = names.filter((name) => WORDS.has(name));
  for (const name of taken) {
    const message = `${name} is a word of JavaScript; choose another name`;
    lint.report({ path: [...path.slice(0, -1), "arguments", name], at: "key", message });
  }
  if (taken.length === 0) lint.script({ path, code: value as string, names });
}
