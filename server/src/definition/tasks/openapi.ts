import { expressionIn } from "../../expressions/template.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { assign } from "../openapi/assign.ts";
import { DocumentProblem, type ApiOperation } from "../openapi/operation.ts";
import { readOperation } from "../openapi/read-operation.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { isWhole, oneLineRule, templateRule } from "../rules/rules-expressions.ts";
import { boolean, fixed, object, ref, text } from "../schema/schema-words.ts";
import { pointer, valueAt, type Path } from "../text/problem.ts";
import { compileAuthentication, compileHttp, ENDPOINT, sent, type Authenticated, type Http } from "./http.ts";
import type { Kind, Named } from "./kind.ts";
import { compileArguments, include, type CallArguments } from "./program-parts.ts";

type OpenapiTask = { call: string; with: JsonObject };

/** Its arguments: `{operationId, parameters, output, redirect}`. */
type Openapi = {
  /** Where the document is fetched: the arguments of a GET, and how it authenticates there. */
  document?: Http;
  /** The document, if the definition has it. */
  inline?: JsonObject;
} & CallArguments &
  Authenticated;

export const openapiTask = {
  call: "openapi",
  properties: {
    document: {
      type: "object",
      "x-choose": "key",
      "x-say": "write endpoint with the URL of the OpenAPI document, or inline with the document below it",
      oneOf: [
        object("document", { name: text(), endpoint: ENDPOINT }, ["endpoint"]),
        object("document", { name: text(), inline: { type: "object", "x-value": "openapiDocument" } }, ["inline"]),
      ],
    },
    operationId: text({ "x-value": "openapiOperation" }),
    parameters: {
      type: ["object", "string"],
      "x-value": "openapiParameters",
      "x-say": "write names with values, or one expression that yields an object of them",
    },
    authentication: ref("authenticationOrName"),
    output: fixed(["content", "response", "raw"]),
    redirect: boolean,
  },
  required: ["document", "operationId"],
  rules: { openapiDocument: documentRule, openapiOperation: operationRule, openapiParameters: parametersRule },
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  secretsIn: [
    ["with", "document", "endpoint"],
    ["with", "parameters"],
    ["with", "authentication"],
  ],
  compile: ({ with: { document, authentication, ...rest } }: OpenapiTask, named: Named, reference: string): Openapi => {
    const place = `${reference}/with`;
    const { endpoint, inline } = document as { endpoint?: JsonObject; inline?: JsonObject };
    return {
      ...compileArguments(rest, (path) => (path[0] === "operationId" ? sent(place + pointer(path)) : undefined)),
      ...include("document", endpoint, (written) =>
        compileHttp({ method: "GET", endpoint: written }, named, `${place}/document`),
      ),
      ...include("inline", inline, (written) => written),
      ...compileAuthentication(authentication, named, `${place}/authentication`),
    };
  },
} satisfies Kind;

function operationRule(found: Found, lint: Lint): void {
  const text = found.value as string;
  if (isWhole(text)) return oneLineRule(found, lint);
  const message = text.trim() === "" ? "write the operationId of one of the document's operations" : undefined;
  if (message) lint.report({ path: found.path, at: "value", message });
}

function parametersRule(found: Found, lint: Lint): void {
  if (isObject(found.value)) return templateRule(found, lint);
  if (isWhole(found.value as string)) return oneLineRule(found, lint);
  const message = "write names with values here, or one expression that yields them";
  lint.report({ path: found.path, at: "value", message });
}

/** Checks the operation and the names of its parameters against a document that the definition has. */
function documentRule({ path, value }: Found, lint: Lint): void {
  const call = path.slice(0, -2);
  const operationId = valueAt(lint.root, [...call, "operationId"]);
  if (typeof operationId !== "string" || expressionIn(operationId) !== undefined) return;
  let operation: ApiOperation;
  try {
    operation = readOperation(value, operationId);
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    return lint.report({ path: [...call, "operationId"], at: "value", message: `the document ${error.message}` });
  }
  const parameters = valueAt(lint.root, [...call, "parameters"]) ?? {};
  if (!isObject(parameters)) return;
  for (const { name, message } of assign(operation, parameters).problems) {
    const [at, place]: ["key" | "value", Path] =
      name === undefined ? ["value", [...call, "operationId"]] : ["key", [...call, "parameters", name]];
    lint.report({ path: place, at, message });
  }
}
