/** The calls of the profile, each told by its name. */
import { LIMITS } from "../lib/limits.ts";
import { boolean, COMMON, fixed, object, ref, text, variable, type Properties } from "./profile-words.ts";
import type { SchemaObject } from "./schema-walk.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** The DSL's schema wants header and query values as texts. */
const texts = (what: string): SchemaObject => ({
  type: ["object", "string"],
  additionalProperties: text({ "x-value": "template", "x-say": "write a text in quotes or an expression" }),
  "x-value": what,
  "x-say": "write names with texts, or one expression",
});

const HTTP: Properties = {
  method: {
    type: "string",
    enum: [...METHODS, ...METHODS.map((method) => method.toLowerCase())],
    "x-say": `write one of ${METHODS.join(", ")}`,
  },
  endpoint: {
    type: ["string", "object"],
    "x-say": "write a URL, or an object with uri and authentication",
    "x-choose": "type",
    oneOf: [
      { type: "string", "x-value": "endpoint" },
      object("endpoint", { uri: text({ "x-value": "endpoint" }), authentication: ref("authenticationOrName") }, [
        "uri",
      ]),
    ],
  },
  headers: texts("headers"),
  query: texts("query"),
  body: { "x-value": "template" },
  output: fixed(["content", "response", "raw"]),
  redirect: boolean,
};

const APPROVAL: Properties = {
  question: text({ minLength: 1, "x-value": "template", "x-say": "write the question to the person who decides" }),
  context: { "x-value": "template" },
  assignee: text({ "x-value": "template" }),
  form: { ...ref("form"), "x-value": "approvalForm" },
  timeout: ref("duration"),
  onReject: fixed(["fail", "continue"]),
};

const EACH: Properties = {
  in: ref("expression"),
  item: variable,
  concurrency: {
    type: "integer",
    minimum: 1,
    maximum: LIMITS.eachConcurrency,
    "x-say": `write a whole number from 1 to ${LIMITS.eachConcurrency}`,
  },
  onError: fixed(["stop", "collect"]),
  do: ref("tasks"),
};

const call = (name: string, properties: Properties, required: string[]): SchemaObject =>
  object(
    `a call of ${name.split(":")[0]}`,
    { call: { const: name }, with: object(`the arguments of ${name.split(":")[0]}`, properties, required), ...COMMON },
    ["call", "with"],
  );

export const CALL: SchemaObject = {
  type: "object",
  required: ["call"],
  properties: { call: text({ "x-say": "write http, approval:1.0.0@default or each:1.0.0@default" }) },
  "x-choose": { property: "call" },
  oneOf: [
    call("http", HTTP, ["method", "endpoint"]),
    call("approval:1.0.0@default", APPROVAL, ["question"]),
    call("each:1.0.0@default", EACH, ["in", "do"]),
  ],
};
