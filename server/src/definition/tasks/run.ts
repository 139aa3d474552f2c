import { compileExpression, compileTemplate, type Template } from "../../expressions/template.ts";
import { compileTemplateOrExpression, include } from "./program-parts.ts";
import {
  boolean,
  fixed,
  ignored,
  labelOrExpression,
  object,
  refused,
  refusedKey,
  versionOrLatest,
  type Properties,
} from "../schema/schema-words.ts";
import { REFUSED } from "../schema/refusals.ts";
import { SCRIPT } from "./script.ts";
import type { TemplateJson } from "./written.ts";
import type { Kind } from "./kind.ts";

/** A run of another agent of the organization, named by its project's handle and its own, each written or an expression. */
type RunTask = {
  run: {
    /** `version`: `latest` or none is the published one. */
    workflow: { namespace: string; name: string; version?: string; input?: TemplateJson };
    /** false: the task ends at once, with its own input as output. */
    await?: boolean;
  };
};

/** `agent`: of `namespace` and `name`. */
type Run = { agent: Template; version?: string; input: Template; awaits: boolean };

/** The body of `run: workflow`. The DSL's own schema requires the version and an object as input. */
const SUBFLOW: Properties = {
  namespace: labelOrExpression("billing"),
  name: labelOrExpression("order-intake"),
  version: versionOrLatest,
  input: {
    type: "object",
    "x-value": "template",
    "x-say": "write its fields, or leave it out and make the task's input with input.from",
  },
};

const RETURN = ignored("runReturn", fixed(["stdout", "stderr", "code", "all", "none"]));

export const runTask = {
  properties: {
    run: {
      type: "object",
      "x-choose": "key",
      "x-say": "write workflow with namespace, name and version below it, or script with language and code",
      oneOf: [
        object(
          "run",
          {
            workflow: object("the workflow to run", SUBFLOW, ["namespace", "name", "version"]),
            await: boolean,
            return: RETURN,
          },
          ["workflow"],
        ),
        object("run", { script: SCRIPT, await: refused(REFUSED.scriptAwait), return: RETURN }, ["script"]),
        refusedKey("container", REFUSED.runContainer),
        refusedKey("shell", REFUSED.runShell),
      ],
    },
  },
  required: ["run"],
  waitsFor: "child",
  blocks: {},
  compile: ({ run }: RunTask): Run => {
    const { namespace, name, version, input } = run.workflow;
    return {
      agent: compileTemplate({ namespace, name }),
      ...include("version", version === "latest" ? undefined : version, (text) => text),
      // By default the child gets the task's input.
      input: input === undefined ? compileExpression(".") : compileTemplateOrExpression(input),
      awaits: run.await ?? true,
    };
  },
} satisfies Kind;
