import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { MCP_REVISIONS } from "../../lib/mcp/protocol.ts";
import { compileTemplate } from "../../expressions/template.ts";
import { isWhole, oneLineRule, templateRule } from "../rules/rules-expressions.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { fixed, list, map, object, ref, text, type Properties } from "../schema/schema-words.ts";
import { valueAt, pointer } from "../text/problem.ts";
import {
  compileAuthentication,
  ENDPOINT,
  headersRule,
  sent,
  withoutAuthentication,
  type Authenticated,
  type Secretive,
} from "./http.ts";
import { compileArguments, include, type CallArguments } from "./program-parts.ts";
import type { Kind, Named } from "./kind.ts";

type McpTask = { call: string; with: JsonObject };

/** Its arguments: `{method, parameters, protocolVersion, timeout, client}` with `{endpoint, headers}` or `{command, arguments}`. */
type Mcp = {
  /** A command's variables, kept apart because they may hold secrets and a step's input is stored and shown. */
  environment?: Secretive;
  /** A tool's own error is the output. */
  takesErrors: boolean;
} & CallArguments &
  Authenticated;

/** The parameter without which nothing can be asked for. */
const NEEDED = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

export const METHODS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", ...NEEDED.keys()];

/** The name that a request with this method gives. */
export const neededBy = (method: string): string | undefined => NEEDED.get(method);

const HTTP = object(
  "http",
  { endpoint: ENDPOINT, headers: { ...map(text({ "x-value": "template" })), "x-value": "mcpHeaders" } },
  ["endpoint"],
);

/** A command that is a server. */
export const COMMAND: Properties = {
  command: text({ "x-value": "mcpCommand" }),
  arguments: list(text({ "x-value": "template", "x-say": "write a text in quotes or an expression" })),
  environment: { ...map(text({ "x-value": "template" })), "x-value": "mcpEnvironment" },
};
const STDIO = object("stdio", COMMAND, ["command"]);

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
      "x-say": "write http with the endpoint of the server below it, or stdio with its command",
      oneOf: [object("transport", { http: HTTP }, ["http"]), object("transport", { stdio: STDIO }, ["stdio"])],
    },
    client: object("client", { name: text({ "x-value": "template" }), version: text({ "x-value": "template" }) }, [
      "name",
      "version",
    ]),
    onError: fixed(["fail", "continue"]),
  },
  required: ["method", "transport"],
  rules: {
    mcpHeaders: mcpHeadersRule,
    mcpMethod: methodRule,
    mcpParameters: parametersRule,
    mcpCommand: commandRule,
    mcpEnvironment: environmentRule,
  },
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  secretsIn: [
    ["with", "transport", "http", "endpoint"],
    ["with", "transport", "http", "headers"],
    ["with", "transport", "stdio", "environment"],
  ],
  compile: ({ with: { transport, onError, ...rest } }: McpTask, named: Named, reference: string): Mcp => {
    const { http, stdio } = transport as { http?: JsonObject; stdio?: JsonObject };
    const place = `${reference}/with/transport`;
    const way = stdio ? compileCommand(rest, stdio, `${place}/stdio`) : compileHttp(rest, http!, place, named);
    return { ...way, takesErrors: onError === "continue" };
  },
} satisfies Kind;

type Way = Omit<Mcp, "takesErrors">;

function compileHttp(rest: JsonObject, http: JsonObject, place: string, named: Named): Way {
  const { endpoint, authentication } = withoutAuthentication(http["endpoint"]!);
  const isSent = (key: unknown): boolean => key === "endpoint" || key === "headers";
  return {
    ...compileArguments({ ...rest, ...http, endpoint }, (path) =>
      isSent(path[0]) ? sent(`${place}/http${pointer(path)}`) : undefined,
    ),
    ...compileAuthentication(authentication, named, `${place}/http/endpoint/authentication`),
  };
}

/** `{command, arguments}` with `rest`; `place`: the JSON pointer to the command. */
export function compileCommand(rest: JsonObject, { environment, ...stdio }: JsonObject, place: string): Way {
  const of = `${place}/environment`;
  return {
    arguments: compileTemplate({ ...rest, ...stdio }, (path) =>
      path[0] === "arguments" ? sent(place + pointer(path), true) : undefined,
    ),
    ...include("environment", environment, (values) => ({
      template: compileTemplate(values, (path) => sent(of + pointer(path), true)),
      place: of,
    })),
  };
}

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

/** As it is written, it can be looked up among those that the operator allows. */
function commandRule({ path, value }: Found, lint: Lint): void {
  const report = (message: string): void => lint.report({ path, at: "value", message });
  if ((value as string).includes("${")) report("a command is a fixed text; write what changes into its arguments");
  else if ((value as string).trim() === "") report("the command is empty");
}

/** The name of an environment variable. */
const VARIABLE = /^[A-Za-z_]\w{0,99}$/;

function environmentRule({ path, value }: Found, lint: Lint): void {
  for (const name of Object.keys(value as JsonObject)) {
    if (!VARIABLE.test(name))
      lint.report({
        path: [...path, name],
        at: "key",
        message: "this is not the name of an environment variable; write letters, digits and underscores",
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
