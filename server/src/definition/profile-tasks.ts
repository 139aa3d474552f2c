/** The tasks of the profile. A task is told by its keyword, a call by what it calls. */
import { LIMITS } from "../lib/limits.ts";
import { CALL } from "./profile-calls.ts";
import {
  boolean,
  label,
  list,
  object,
  ref,
  refused,
  refusedKey,
  task,
  text,
  variable,
  versionOrLatest,
  type Properties,
} from "./profile-words.ts";
import { REFUSED } from "./refusals.ts";
import type { SchemaObject } from "./schema-walk.ts";

/** Tasks under their names, one an item. */
function taskList(more: SchemaObject): SchemaObject {
  const item: SchemaObject = {
    type: "object",
    minProperties: 1,
    maxProperties: 1,
    propertyNames: ref("taskName"),
    additionalProperties: ref("task"),
    "x-say": "write one task a list item, as `- name:` with its keys indented below the name",
  };
  return list(item, { "x-value": "tasks", ...more });
}

const SET = task("set", {
  set: {
    type: ["object", "string"],
    minProperties: 1,
    "x-value": "set",
    "x-say": 'write the data to set, or one expression such as "${ . + {done: true} }"',
  },
});

const FOR = task(
  "for",
  {
    for: object("for", { each: variable, in: ref("expression"), at: variable }, ["in"]),
    while: ref("expression"),
    do: ref("tasks"),
  },
  ["for", "do"],
);

const SWITCH = task("switch", {
  switch: list(
    {
      type: "object",
      minProperties: 1,
      maxProperties: 1,
      propertyNames: ref("taskName"),
      additionalProperties: object("a case", { when: ref("expression"), then: ref("then") }, ["then"]),
      "x-say": "write one case a list item, with its name before it",
    },
    { minItems: 1, "x-value": "cases", "x-say": "write at least one case" },
  ),
});

const TRY = task(
  "try",
  {
    try: ref("tasks"),
    catch: object("catch", {
      errors: object("errors", { with: ref("errorFilter") }),
      as: variable,
      when: ref("expression"),
      exceptWhen: ref("expression"),
      retry: {
        type: ["string", "object"],
        "x-say": "write a retry policy, or the name of one under use.retries",
        "x-choose": "type",
        oneOf: [
          { type: "string", "x-value": "use.retries" },
          { type: "object", ...ref("retry") },
        ],
      },
      do: ref("tasks"),
    }),
  },
  ["try", "catch"],
);

const RAISE = task("raise", {
  raise: object(
    "raise",
    {
      error: {
        type: ["string", "object"],
        "x-say": "write an error with type and status, or the name of one under use.errors",
        "x-choose": "type",
        oneOf: [
          { type: "string", "x-value": "use.errors" },
          { type: "object", ...ref("error") },
        ],
      },
    },
    ["error"],
  ),
});

const FORK = task("fork", {
  fork: object(
    "fork",
    {
      branches: taskList({
        minItems: 2,
        maxItems: LIMITS.forkBranches,
        "x-say": `write 2 to ${LIMITS.forkBranches} branches, each as \`- name:\` with its task below`,
      }),
      compete: boolean,
    },
    ["branches"],
  ),
});

/** Of `run: workflow`. The DSL's own schema wants the version, and an object as input. */
const SUBFLOW: Properties = {
  namespace: label("billing"),
  name: label("order-intake"),
  version: versionOrLatest,
  input: {
    type: "object",
    "x-value": "template",
    "x-say": "write its fields, or leave it out and make the task's own input by input.from",
  },
};

const RUN = task("run", {
  run: {
    type: "object",
    "x-choose": "key",
    "x-say": "write workflow with namespace, name and version below it",
    oneOf: [
      object(
        "run",
        {
          workflow: object("the workflow to run", SUBFLOW, ["namespace", "name", "version"]),
          await: boolean,
          return: refused(REFUSED.runReturn),
        },
        ["workflow"],
      ),
      refusedKey("script", REFUSED.runScript),
      refusedKey("container", REFUSED.runContainer),
      refusedKey("shell", REFUSED.runShell),
    ],
  },
});

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
    "x-say": "write what to do: set, do, switch, for, fork, try, raise, wait, call or run",
    oneOf: [
      SET,
      FOR,
      SWITCH,
      TRY,
      RAISE,
      task("wait", { wait: ref("duration") }),
      FORK,
      CALL,
      RUN,
      task("do", { do: ref("tasks") }),
      refusedKey("listen", REFUSED.listen),
      refusedKey("emit", REFUSED.emit),
    ],
  },
};
