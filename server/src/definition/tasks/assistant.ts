import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { compileExpression, compileTemplate, type Template } from "../../expressions/template.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { compileSchema, type SchemaCheck } from "../schema/schema-check.ts";
import { boolean, fixed, label, list, map, object, ref, text, type Properties } from "../schema/schema-words.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import { pointer, quote } from "../text/problem.ts";
import {
  compileAuthentication,
  compileHttp,
  ENDPOINT,
  HTTP_SECRETS,
  httpTask,
  sent,
  withoutAuthentication,
  type Authenticated,
  type Http,
  type Secretive,
} from "./http.ts";
import { ASKED as PEOPLE } from "./approval.ts";
import { EACH_ITEM, type Kind, type Named, type Variable } from "./kind.ts";
import { askedTemplate, MODEL_PROPERTIES } from "./llm.ts";
import { COMMAND, compileCommand } from "./mcp.ts";
import { compileArguments, include, type CallArguments } from "./program-parts.ts";

type AssistantTask = { call: string; with: JsonObject };

/** A tool that a definition names; `reference`: the JSON pointer to it. */
export type AssistantTool = { reference: string; approval?: Approval } & (
  | {
      is: "http";
      name: string;
      description: string;
      parameters: JsonObject;
      check: SchemaCheck;
      call: Http;
    }
  | { is: "agent"; name: string; handle: string; namespace?: string; description?: string }
  /** Its arguments: `{endpoint, headers}` or `{command, arguments}`. */
  | ({
      is: "mcp";
      /** A command's variables. */
      environment?: Secretive;
      /** The server's names by those that the model is given. */
      allowed: ReadonlyMap<string, string>;
    } & CallArguments &
      Authenticated)
);

/**
 * `when`: whether a person is asked before a call: always, or if this yields neither `false` nor `null`. `asked`: who, as a
 * `call: approval` has it.
 */
export type Approval = { when: "always" | Template; asked?: Template };

export type LimitName = keyof AssistantLimits;

export type AssistantLimits = {
  /** Calls of the model. */
  iterations: number;
  toolCalls: number;
  tokens: number;
  seconds: number | undefined;
  cost: number | undefined;
};

type OnLimit = "fail" | "answer" | "ask";

type Assistant = {
  /** `{instructions, prompt or messages, model, temperature, maxTokens, seed}`. */
  arguments: Template;
  connection?: string;
  answer?: { schema: JsonObject; check: SchemaCheck };
  tools: readonly AssistantTool[];
  limits: AssistantLimits;
  /** At a limit: the error; one more question without tools; or a person is asked for more. */
  onLimit: OnLimit;
};

const DEFAULTS: AssistantLimits = {
  iterations: 20,
  toolCalls: 50,
  tokens: 200_000,
  seconds: undefined,
  cost: undefined,
};

const whole = (most: number): SchemaObject => ({
  type: "integer",
  minimum: 1,
  maximum: most,
  "x-say": `write a whole number from 1 to ${most}`,
});

/** A name that all providers take for a function. */
const TOOL_NAME = text({
  pattern: `^[A-Za-z0-9_-]{1,${LIMITS.modelToolNameCharacters}}$`,
  "x-say": `write 1 to ${LIMITS.modelToolNameCharacters} letters, digits, underscores and hyphens`,
});
const DESCRIPTION = text({ minLength: 1, maxLength: LIMITS.descriptionCharacters });

/** A server's name of a tool, which PostgreSQL keeps. */
const REMOTE_NAME = text({
  minLength: 1,
  maxLength: LIMITS.mcpServerToolNameCharacters,
  allOf: [{ pattern: "^[^\\u0000\\p{Surrogate}]*$", "x-say": "write the name of a tool without NUL" }],
});

const CONDITION: SchemaObject = { type: "string", ...ref("expression") };
const APPROVAL: SchemaObject = {
  type: ["boolean", "string", "object"],
  "x-choose": "type",
  "x-say":
    "write true, an expression that says for which $arguments a person is asked, or an object that says who is asked",
  oneOf: [boolean, CONDITION, object("approval", { when: CONDITION, ...PEOPLE })],
};

const OF_SERVER: Properties = {
  allow: list(REMOTE_NAME, {
    minItems: 1,
    maxItems: LIMITS.assistantTools,
    uniqueItems: true,
    "x-say": `write a list of 1 to ${LIMITS.assistantTools} names of the server's tools, each once`,
  }),
  approval: APPROVAL,
};
const OVER_HTTP: Properties = {
  endpoint: ENDPOINT,
  authentication: text({ "x-value": "use.authentications" }),
  headers: { ...map(text({ "x-value": "template" })), "x-value": "mcpHeaders" },
};
const MCP_TOOLS: SchemaObject = {
  type: "object",
  "x-choose": "key",
  "x-say": "write the endpoint of a server, or the command that is one",
  oneOf: [
    object("mcp", { ...OVER_HTTP, ...OF_SERVER }, ["endpoint", "allow"]),
    object("mcp", { ...COMMAND, ...OF_SERVER }, ["command", "allow"]),
  ],
};

const AGENT_TOOL = object(
  "agent",
  { handle: label("order-intake"), namespace: label("billing"), description: DESCRIPTION, approval: APPROVAL },
  ["handle"],
);

const HTTP_TOOL = object(
  "http",
  {
    name: TOOL_NAME,
    description: DESCRIPTION,
    parameters: { ...ref("schema"), type: "object", "x-say": "write the JSON Schema of the arguments" },
    call: object("call", httpTask.properties, httpTask.required),
    approval: APPROVAL,
  },
  ["name", "description", "parameters", "call"],
);

const TOOLS = list(
  {
    type: "object",
    "x-choose": "key",
    "x-say": "write mcp, agent or http with its keys below it",
    oneOf: [
      object("a tool", { mcp: MCP_TOOLS }, ["mcp"]),
      object("a tool", { agent: AGENT_TOOL }, ["agent"]),
      object("a tool", { http: HTTP_TOOL }, ["http"]),
    ],
  },
  { maxItems: LIMITS.assistantTools, "x-value": "assistantTools" },
);

/** The maximum that an author may write. */
export const MAX_LIMITS: Readonly<Record<LimitName, number>> = {
  iterations: LIMITS.assistantIterations,
  toolCalls: LIMITS.assistantToolCalls,
  tokens: LIMITS.assistantTokens,
  seconds: LIMITS.assistantSeconds,
  cost: Infinity,
};

const LIMIT_PROPERTIES: Properties = {
  iterations: whole(MAX_LIMITS.iterations),
  toolCalls: whole(MAX_LIMITS.toolCalls),
  tokens: whole(MAX_LIMITS.tokens),
  seconds: whole(MAX_LIMITS.seconds),
  cost: { type: "number", exclusiveMinimum: 0, "x-say": "write a number above 0, in the currency of the connection" },
};

const { system: _, ...ASKED } = MODEL_PROPERTIES;

/** `$arguments`: what the model calls a tool with. */
const ARGUMENTS: Variable = { otherwise: "arguments", knownIn: [["with", "tools"]] };
const TOOL = ["with", "tools", EACH_ITEM];

/** A language model that calls tools until it has an answer. */
export const assistantTask = {
  call: "assistant:1.0.0@default",
  properties: {
    instructions: text({ "x-value": "template" }),
    ...ASKED,
    tools: TOOLS,
    limits: object("limits", LIMIT_PROPERTIES),
    onLimit: fixed(["fail", "answer", "ask"]),
  },
  required: [],
  oneOfKeys: ["prompt", "messages"],
  rules: { assistantTools: toolsRule },
  variables: [ARGUMENTS],
  secretsIn: [
    ...HTTP_SECRETS.map((key) => [...TOOL, "http", "call", key]),
    [...TOOL, "mcp", "endpoint"],
    [...TOOL, "mcp", "headers"],
    [...TOOL, "mcp", "environment"],
  ],
  waitsFor: "nothing",
  blocks: {},
  compile: ({ with: values }: AssistantTask, named: Named, reference: string): Assistant => {
    const { schema, tools, limits, onLimit, ...asked } = values;
    const place = `${reference}/with`;
    return {
      arguments: askedTemplate(asked, "instructions", place),
      ...include("connection", asked["connection"] as string | undefined, (name) => name),
      ...include("answer", isObject(schema) ? schema : undefined, (given) => ({
        schema: given,
        check: compileSchema(given),
      })),
      tools: ((tools ?? []) as JsonObject[]).map((tool, index) => compileTool(tool, named, `${place}/tools/${index}`)),
      limits: { ...DEFAULTS, ...(limits as Partial<AssistantLimits> | undefined) },
      onLimit: (onLimit as OnLimit | undefined) ?? "fail",
    };
  },
} satisfies Kind;

function compileTool(tool: JsonObject, named: Named, place: string): AssistantTool {
  const [kind, written] = Object.entries(tool)[0] as [AssistantTool["is"], JsonObject];
  const reference = `${place}/${kind}`;
  const approval = approvalOf(written["approval"]);
  const own = { reference, ...(approval && { approval }) };
  if (kind === "mcp") return { ...own, ...mcpTools(written, named, reference) };
  if (kind === "agent") {
    const { approval: _approval, ...agent } = written as { handle: string } & JsonObject;
    return { ...own, is: "agent", name: agent.handle, ...agent };
  }
  const { name, description, parameters, call } = written as { name: string; description: string } & JsonObject;
  const schema = parameters as JsonObject;
  return {
    ...own,
    is: "http",
    name,
    description,
    parameters: schema,
    check: compileSchema(schema),
    call: compileHttp(call as JsonObject, named, `${reference}/call`),
  };
}

function mcpTools(
  { allow, approval: _approval, ...way }: JsonObject,
  named: Named,
  reference: string,
): Extract<AssistantTool, { is: "mcp" }> {
  const allowed = new Map((allow as string[]).map((tool) => [offeredName(tool), tool]));
  const own = { reference, is: "mcp", allowed } as const;
  if (way["command"] !== undefined) return { ...own, ...compileCommand({}, way, reference) };
  const { endpoint, authentication: inner } = withoutAuthentication(way["endpoint"]!);
  const { headers = {}, authentication: name } = way;
  return {
    ...own,
    ...compileArguments({ endpoint, headers }, (path) => sent(reference + pointer(path))),
    ...compileAuthentication(inner ?? name, named, `${reference}/endpoint/authentication`),
  };
}

function approvalOf(written: Json | undefined): Approval | undefined {
  if (written === undefined || written === false) return undefined;
  const { when, ...asked } = isObject(written) ? written : { when: written };
  return {
    when: typeof when === "string" ? compileExpression(when) : "always",
    ...(isObject(written) && { asked: compileTemplate(asked) }),
  };
}

/** Servers may name a tool with other characters and more of them than providers take. */
const offeredName = (tool: string): string =>
  tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, LIMITS.modelToolNameCharacters);

/** The model tells tools apart by their names alone. */
function toolsRule({ path, value }: Found, lint: Lint): void {
  const seen = new Set<string>();
  const add = (name: string, at: (string | number)[]): void => {
    if (seen.has(name))
      lint.report({
        path: [...path, ...at],
        at: "value",
        message: `there is another tool ${quote(name)}; the model tells tools apart by their names alone`,
      });
    seen.add(name);
    if (seen.size === LIMITS.assistantTools + 1)
      lint.report({ path, at: "key", message: `an assistant has at most ${LIMITS.assistantTools} tools` });
  };
  for (const [index, tool] of (value as Json[]).entries()) {
    const [kind, written] = isObject(tool) ? (Object.entries(tool)[0] ?? []) : [];
    if (!isObject(written)) continue;
    const { name, handle, allow } = written;
    if (kind === "http" && typeof name === "string") add(name, [index, kind, "name"]);
    if (kind === "agent" && typeof handle === "string") add(handle, [index, kind, "handle"]);
    if (kind !== "mcp" || !Array.isArray(allow)) continue;
    for (const [at, one] of allow.entries())
      if (typeof one === "string") add(offeredName(one), [index, kind, "allow", at]);
  }
}
