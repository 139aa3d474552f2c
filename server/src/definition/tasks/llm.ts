import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { compileTemplate, expressionIn, type Template } from "../../expressions/template.ts";
import { compileSchema, type SchemaCheck } from "../schema/schema-check.ts";
import { fixed, list, object, ref, text } from "../schema/schema-words.ts";
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

/** The maximum that all providers take. */
const MAX_SEED = 2 ** 31 - 1;

const template = text({ "x-value": "template" });

/** A text in this place is an expression, with or without `${ }`. */
const asExpression = (messages: Json): Json =>
  typeof messages === "string" ? `\${ ${expressionIn(messages) ?? messages} }` : messages;

/** Asks a language model one question. */
export const llmTask = {
  call: "llm:1.0.0@default",
  properties: {
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
        list(object("a message", { role: fixed(["user", "assistant"]), content: template }, ["role", "content"]), {
          minItems: 1,
          maxItems: LIMITS.modelMessages,
        }),
      ],
    },
    schema: { ...ref("schema"), type: "object", "x-say": "write the JSON Schema of the answer" },
    temperature: { type: "number", minimum: 0, maximum: 2, "x-say": "write a number from 0 to 2" },
    maxTokens: {
      type: "integer",
      minimum: 1,
      maximum: LIMITS.modelAnswerTokens,
      "x-say": `write a whole number from 1 to ${LIMITS.modelAnswerTokens}`,
    },
    seed: { type: "integer", minimum: 0, maximum: MAX_SEED, "x-say": `write a whole number from 0 to ${MAX_SEED}` },
  },
  required: [],
  oneOfKeys: ["prompt", "messages"],
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  compile: ({ with: { schema, ...values } }: LlmTask, _: Named, reference: string): LlmBody => ({
    arguments: compileTemplate({ ...values, ...include("messages", values["messages"], asExpression) }, ([key]) =>
      key === "system" || key === "prompt" || key === "messages"
        ? { place: `${reference}/with/${key}`, so: "so nothing was asked", allowsEmpty: true }
        : undefined,
    ),
    ...include("connection", values["connection"] as string | undefined, (name) => name),
    ...include("answer", isObject(schema) ? schema : undefined, (given) => ({
      schema: given,
      check: compileSchema(given),
    })),
  }),
} satisfies Kind;
