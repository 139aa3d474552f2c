import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { compileTemplate, expressionIn, type Template } from "../../expressions/template.ts";
import { compileSchema, type SchemaCheck } from "../schema/schema-check.ts";
import { isWhole, oneLineRule } from "../rules/rules-expressions.ts";
import type { Found, Lint } from "../rules/lint.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import { fixed, list, object, ref, text, type Properties } from "../schema/schema-words.ts";
import { valueAt } from "../text/problem.ts";
import { include } from "./program-parts.ts";
import type { Kind, Named } from "./kind.ts";

type LlmTask = { call: string; with: JsonObject };

type LlmBody = {
  /** All but the schema. */
  arguments: Template;
  /** The connection's name, if the author wrote one. */
  connection?: string;
  /** The schema of the answer, and whether a value fits it. */
  answer?: { schema: JsonObject; check: SchemaCheck };
};

/** The keys whose texts the model is shown, besides the one that tells it what to do. */
const TEXTS = new Set(["prompt", "messages", "files"]);

/** The maximum that all providers take. */
const MAX_SEED = 2 ** 31 - 1;

const template = text({ "x-value": "template" });

const FILES: SchemaObject = {
  type: ["array", "string"],
  items: text({ minLength: 1, "x-value": "modelFile" }),
  minItems: 1,
  maxItems: LIMITS.modelFiles,
  "x-value": "modelFiles",
  "x-say": "write a list of URLs, or one expression that yields them",
};

/** A text in this place is an expression, with or without `${ }`. */
const asExpression = (messages: Json): Json =>
  typeof messages === "string" ? `\${ ${expressionIn(messages) ?? messages} }` : messages;

/** The keys by which a task asks a model. */
export const MODEL_PROPERTIES = {
  connection: ref("name"),
  model: text({ minLength: 1, "x-value": "template" }),
  system: template,
  prompt: { "x-value": "template" },
  messages: {
    type: ["array", "string"],
    "x-choose": "type",
    "x-say": "write a list of messages, each with role and content, or an expression that yields one",
    oneOf: [
      { type: "string", ...ref("expression") },
      list(
        object("a message", { role: fixed(["user", "assistant"]), content: template, files: FILES }, [
          "role",
          "content",
        ]),
        {
          minItems: 1,
          maxItems: LIMITS.modelMessages,
        },
      ),
    ],
  },
  files: FILES,
  schema: { ...ref("schema"), type: "object", "x-say": "write the JSON Schema of the answer" },
  temperature: { type: "number", minimum: 0, maximum: 2, "x-say": "write a number from 0 to 2" },
  maxTokens: {
    type: "integer",
    minimum: 1,
    maximum: LIMITS.modelAnswerTokens,
    "x-say": `write a whole number from 1 to ${LIMITS.modelAnswerTokens}`,
  },
  seed: { type: "integer", minimum: 0, maximum: MAX_SEED, "x-say": `write a whole number from 0 to ${MAX_SEED}` },
} satisfies Properties;

/** Asks a language model one question. */
export const llmTask = {
  call: "llm:1.0.0@default",
  properties: MODEL_PROPERTIES,
  required: [],
  oneOfKeys: ["prompt", "messages"],
  rules: { modelFile: fileRule, modelFiles: filesRule },
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  compile: ({ with: { schema, ...values } }: LlmTask, _: Named, reference: string): LlmBody => ({
    arguments: askedTemplate(values, "system", `${reference}/with`),
    ...include("connection", values["connection"] as string | undefined, (name) => name),
    ...include("answer", isObject(schema) ? schema : undefined, (given) => ({
      schema: given,
      check: compileSchema(given),
    })),
  }),
} satisfies Kind;

function filesRule({ path, value, means }: Found, lint: Lint): void {
  const report = (at: "key" | "value", message: string): void => lint.report({ path, at, message });
  const beside: Json | undefined = valueAt(lint.root, [...path.slice(0, -1), "messages"]);
  if (beside !== undefined)
    report("key", "files stand beside prompt; with messages, write them in the message that they belong to");
  if (typeof value !== "string") return;
  if (isWhole(value)) oneLineRule({ path, value, means }, lint);
  else report("value", "write a list of URLs here, or one expression that yields them");
}

function fileRule({ path, value, means }: Found, lint: Lint): void {
  const url = value as string;
  const report = (message: string): void => lint.report({ path, at: "value", message });
  if (isWhole(url)) return oneLineRule({ path, value, means }, lint);
  if (url.includes("${"))
    return report('text and ${ } are mixed; write one expression, such as ${ "https://example.com/\\(.id)" }');
  if (!/^(?:https?:\/\/|data:)/i.test(url)) report("a file's URL must begin with https://, http:// or data:");
}

/** `told`: the key of what the model is told before the messages. `place`: the JSON pointer to the values. */
export const askedTemplate = (values: JsonObject, told: string, place: string): Template =>
  compileTemplate({ ...values, ...include("messages", values["messages"], asExpression) }, (path) =>
    path[0] === told || TEXTS.has(path[0] as string)
      ? { place: `${place}/${path[0]}`, so: "so nothing was asked", allowsEmpty: !path.includes("files") }
      : undefined,
  );
