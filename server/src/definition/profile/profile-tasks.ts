/** The tasks of the profile, assembled from their kinds. A task is recognized by its keyword, a call by what it calls. */
import { LIMITS } from "../../lib/limits.ts";
import { enumerate } from "../text/problem.ts";
import { COMMON, object, taskList, text } from "../schema/schema-words.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import { CALL_NAMES, KEYWORDS, KINDS } from "../tasks/kinds.ts";
import { FUNCTION_NAME } from "../tasks/function.ts";
import type { Kind } from "../tasks/kind.ts";

/** A task does one thing: these keys exclude each other (sentences.ts). */
const ALONE = { "x-alone": KEYWORDS };

const taskOf = (keyword: string, { properties, required }: Kind): SchemaObject => ({
  ...object(`a ${keyword} task`, { ...properties, ...COMMON }, required),
  ...ALONE,
});

function callOf(call: string, kind: Kind): SchemaObject {
  const word = call.split(":")[0]!;
  const given = argumentsOf(word, kind);
  return {
    ...object(`a call of ${word}`, { call: { const: call }, with: given, ...COMMON }, ["call", "with"]),
    ...ALONE,
  };
}

/** The keys below `with`. Where one of several is asked for, the one that is written decides what else may be. */
function argumentsOf(word: string, { properties, required, oneOfKeys: keys }: Kind): SchemaObject {
  const what = `the arguments of ${word}`;
  if (!keys) return object(what, properties, required);
  const having = (key: string): SchemaObject => {
    const others = keys.filter((other) => other !== key);
    const own = Object.entries(properties).filter(([name]) => !others.includes(name));
    return { ...object(what, Object.fromEntries(own), [key, ...required]), "x-alone": others, "x-because": say };
  };
  const say = `write ${enumerate(keys, "or")}`;
  return { type: "object", "x-choose": "key", "x-say": say, oneOf: keys.map(having) };
}

const CALL: SchemaObject = {
  type: "object",
  required: ["call"],
  properties: { call: text({ "x-say": `write ${enumerate(CALL_NAMES, "or")}, or the name of a function` }) },
  "x-choose": { property: "call" },
  oneOf: [
    ...Object.values(KINDS).flatMap((kind) => (kind.call === undefined ? [] : [callOf(kind.call, kind)])),
    {
      ...object(
        "a call of a function",
        {
          call: { type: "string", pattern: FUNCTION_NAME, "x-value": "call" },
          ...KINDS.function.properties,
          ...COMMON,
        },
        ["call"],
      ),
      ...ALONE,
    },
  ],
};

const TASKS = new Map(Object.entries(KINDS).map(([name, kind]) => [name, taskOf(name, kind)]));

const NAME = `^[^\\p{Cc}\\p{Surrogate}/#~]{1,${LIMITS.taskNameCharacters}}$`;

export const TASK_SCHEMAS: Record<string, SchemaObject> = {
  tasks: taskList({
    minItems: 1,
    "x-say": "write a list of tasks, each as `- name:` with its keys below",
  }),
  taskName: {
    type: "string",
    pattern: NAME,
    "x-say": `write 1 to ${LIMITS.taskNameCharacters} characters, none of them / # ~`,
  },
  then: text({
    minLength: 1,
    "x-value": "then",
    "x-say": "write continue, exit, end or the name of a task in the same list",
  }),
  task: {
    type: "object",
    "x-choose": "key",
    "x-say": `write what to do: ${enumerate(KEYWORDS, "or")}`,
    oneOf: KEYWORDS.map((keyword) => (keyword === "call" ? CALL : TASKS.get(keyword)!)),
  },
};
