import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { MCP_REVISIONS } from "../../lib/mcp/protocol.ts";
import { compileTemplate, type Template } from "../../expressions/template.ts";
import { isWhole, oneLineRule, templateRule } from "../rules/rules-expressions.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { REFUSED } from "../schema/refusals.ts";
import { fixed, map, object, ref, refusedKey, text } from "../schema/schema-words.ts";
import { valueAt, pointer } from "../text/problem.ts";
import {
  compileAuthentication,
  ENDPOINT,
  headersRule,
  sent,
  withoutAuthentication,
  type Authenticated,
} from "./http.ts";
import type { Kind, Named } from "./kind.ts";

type McpTask = { call: string; with: JsonObject };

type Mcp = {
  /** `{method, parameters, endpoint, headers, protocolVersion, timeout, client}`. */
  arguments: Template;
  /** A tool's own error is the output. */
  takesErrors: boolean;
} & Authenticated;

/** The parameter without which nothing can be asked for. */
const NEEDED = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

const METHODS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", ...NEEDED.keys()];

/** The name that a request with this method gives. */
export const neededBy = (method: string): string | undefined => NEEDED.get(method);

const HTTP = object(
  "http",
  { endpoint: ENDPOINT, headers: { ...map(text({ "x-value": "template" })), "x-value": "mcpHeaders" } },
  ["endpoint"],
);

export const mcpTask = {
  call: "mcp",
  properties: {
    protocolVersion: fixed([...MCP_REVISIONS]),
    method: { ...fixed(METHODS), "x-value": "mcpMethod" },
    parameters: {
      type: ["object", "string"],
      "x-value": "mcpParameters",
      "x-say": "write names with values, or one expression that yields an object of them",
    },
    timeout: ref("duration"),
    transport: {
      type: "object",
      "x-choose": "key",
      "x-say": "write http with the endpoint of the server below it",
      oneOf: [object("transport", { http: HTTP }, ["http"]), refusedKey("stdio", REFUSED.mcpStdio)],
    },
    client: object("client", { name: text({ "x-value": "template" }), version: text({ "x-value": "template" }) }, [
      "name",
      "version",
    ]),
    onError: fixed(["fail", "continue"]),
  },
  required: ["method", "transport"],
  rules: { mcpHeaders: mcpHeadersRule, mcpMethod: methodRule, mcpParameters: parametersRule },
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  secretsIn: ["with", "transport", "http", "endpoint", "authentication"],
  compile: ({ with: values }: McpTask, named: Named, reference: string): Mcp => {
    const { transport, onError, ...rest } = values;
    const http = valueAt(transport!, ["http"]) as JsonObject;
    const place = `${reference}/with/transport/http`;
    const { endpoint, authentication } = withoutAuthentication(http["endpoint"]!);
    const isSent = (key: unknown): boolean => key === "endpoint" || key === "headers";
    return {
      arguments: compileTemplate({ ...rest, ...http, endpoint }, (path) =>
        isSent(path[0]) ? sent(place + pointer(path)) : undefined,
      ),
      takesErrors: onError === "continue",
      ...compileAuthentication(authentication, named, `${place}/endpoint/authentication`),
    };
  },
} satisfies Kind;

/** Set by the protocol itself, each with the message that it belongs to. */
const OWN_HEADERS = /^(?:accept|content-type|last-event-id|mcp-.*)$/i;

function mcpHeadersRule(found: Found, lint: Lint): void {
  headersRule(found, lint);
  for (const name of Object.keys(found.value as JsonObject)) {
    if (OWN_HEADERS.test(name))
      lint.report({
        path: [...found.path, name],
        at: "key",
        message: `the header ${name} is set by the call itself; leave it out`,
      });
  }
}

function methodRule({ path, value }: Found, lint: Lint): void {
  const needed = neededBy(value as string);
  if (needed === undefined || valueAt(lint.root, [...path.slice(0, -1), "parameters"]) !== undefined) return;
  lint.report({ path, at: "value", message: `${value as string} needs parameters with ${needed}` });
}

function parametersRule(found: Found, lint: Lint): void {
  const { path, value } = found;
  const report = (message: string): void => lint.report({ path, at: "value", message });
  if (!isObject(value)) {
    if (isWhole(value as string)) return oneLineRule(found, lint);
    return report("write names with values here, or one expression that yields them");
  }
  templateRule(found, lint);
  const method: Json | undefined = valueAt(lint.root, [...path.slice(0, -1), "method"]);
  const needed = typeof method === "string" ? neededBy(method) : undefined;
  if (needed !== undefined && !Object.hasOwn(value, needed)) report(`${method as string} needs ${needed} here`);
}
