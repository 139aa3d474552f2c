import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { RESERVED_HEADERS } from "../../lib/reserved-headers.ts";
import type { Demand } from "../../expressions/parsing/given.ts";
import { compileTemplate, type Template } from "../../expressions/template.ts";
import type { Found, Lint } from "../rules/lint.ts";
import { compileArguments, include, type CallArguments } from "./program-parts.ts";
import { misreadingOf } from "../../lib/misread-url.ts";
import { pointer, valueAt } from "../text/problem.ts";
import { boolean, fixed, object, ref, text } from "../schema/schema-words.ts";
import { isWhole, oneLineRule, templateRule, URI } from "../rules/rules-expressions.ts";
import type { SchemaObject } from "../schema/schema-walk.ts";
import { writtenBodyProblem } from "./http-body.ts";
import type { Kind, Named } from "./kind.ts";

type HttpTask = { call: string; with: JsonObject };

export type Http = CallArguments & Authenticated;

/** Kept apart from the arguments, because it holds secrets and a step's input is stored and shown. */
export type Authenticated = { authentication?: Secretive };

/** Evaluated for each attempt. `place`: the JSON pointer to it. */
export type Secretive = { template: Template; place: string };

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** The DSL's schema requires texts as header and query values. */
const texts = (what: string): SchemaObject => ({
  type: ["object", "string"],
  additionalProperties: text({ "x-value": "template", "x-say": "write a text in quotes or an expression" }),
  "x-value": what,
  "x-say": "write names with texts, or one expression",
});

/** Where a call goes, and how it authenticates there. */
export const ENDPOINT: SchemaObject = {
  type: ["string", "object"],
  "x-say": "write a URL, or an object with uri and authentication",
  "x-choose": "type",
  oneOf: [
    { type: "string", "x-value": "endpoint" },
    object("endpoint", { uri: text({ "x-value": "endpoint" }), authentication: ref("authenticationOrName") }, ["uri"]),
  ],
};

/** The parts of an HTTP request that may name secrets. */
export const HTTP_SECRETS = ["endpoint", "headers", "query", "body"] as const;

export const httpTask = {
  call: "http",
  properties: {
    method: {
      type: "string",
      enum: [...METHODS, ...METHODS.map((method) => method.toLowerCase())],
      "x-say": `write one of ${METHODS.join(", ")}`,
    },
    endpoint: ENDPOINT,
    headers: texts("headers"),
    query: texts("query"),
    body: { "x-value": "body" },
    output: fixed(["content", "response", "raw"]),
    redirect: boolean,
  },
  required: ["method", "endpoint"],
  rules: { endpoint: endpointRule, headers: headersRule, query: queryRule, body: bodyRule },
  waitsFor: "nothing",
  blocks: {},
  isEffect: true,
  secretsIn: HTTP_SECRETS.map((key) => ["with", key]),
  compile: ({ with: values }: HttpTask, named: Named, reference: string): Http =>
    compileHttp(values, named, `${reference}/with`),
} satisfies Kind;

/** `place`: the JSON pointer to the arguments of the call. */
export function compileHttp(values: JsonObject, named: Named, place: string): Http {
  const { endpoint, authentication } = withoutAuthentication(values["endpoint"]!);
  return {
    ...compileArguments({ ...values, endpoint }, ofArguments(place)),
    ...compileAuthentication(authentication, named, `${place}/endpoint/authentication`),
  };
}

export function withoutAuthentication(endpoint: Json): { endpoint: Json; authentication?: Json | undefined } {
  if (!isObject(endpoint)) return { endpoint };
  const { authentication, ...rest } = endpoint;
  return { endpoint: rest, authentication };
}

/** `place`: the JSON pointer to it, where it is written in the task. */
export function compileAuthentication(written: Json | undefined, named: Named, place: string): Authenticated {
  const use = isObject(written) ? written["use"] : written;
  const isNamed = typeof use === "string";
  const of = isNamed ? `/use/authentications/${use}` : place;
  return include("authentication", isNamed ? named<JsonObject>("authentications", use) : written, (policy) => ({
    template: compileTemplate(policy, (path) => sent(of + pointer(path))),
    place: of,
  }));
}

export const sent = (place: string, allowsEmpty = false): ReturnType<Demand> => ({
  place,
  so: "so nothing was sent",
  allowsEmpty,
});

/** A body is JSON, which has null. */
const ofArguments =
  (place: string): Demand =>
  (path) => {
    if (path[0] === "query") return sent(place + pointer(path), true);
    return path[0] === "endpoint" || path[0] === "headers" ? sent(place + pointer(path)) : undefined;
  };

function endpointRule(found: Found, lint: Lint): void {
  const text = found.value as string;
  const report = (message: string): void => lint.report({ path: found.path, at: "value", message });
  if (isWhole(text)) return oneLineRule(found, lint);
  if (text.includes("${"))
    return report(
      'text and ${ } are mixed; write {name} for a value of the input, or one expression such as ${ "https://example.com/\\(.id)" }',
    );
  if (!/^https?:\/\//i.test(text)) return report("the endpoint must begin with https:// or http://");
  if (!URI.test(text) || !parseUrl(text.replaceAll(/\{[\w.]+\}/g, "x")))
    return report("this is not a URL; write one such as https://example.com/orders/{id}");
  const misreading = misreadingOf(text.replaceAll(/\{[\w.]+\}/g, "x"));
  if (misreading) {
    const { part, what } = misreading;
    report(`the ${part} must not have ${what}, which leads elsewhere; write the ${part} that is meant`);
  }
  if (/^\w+:\/\/[^/?#]*@/.test(text)) report("a URL must not hold a password; write it under endpoint.authentication");
}

/** Whether the text of an endpoint, or a secret at its beginning, says which host is called, whatever the data is. */
export const hasFixedHost = (endpoint: string): boolean =>
  isWhole(endpoint)
    ? /^\s*\$\{\s*"https?:\/\/[^/?#{}"\\]+[/?#]/i.test(endpoint) || BEGINS_WITH_SECRET.test(endpoint)
    : /^https?:\/\/[^/?#{}]+(?:[/?#]|$)/i.test(endpoint);

/** `$secrets.a`, `$secrets.a + "/b"` and `"\($secrets.a)/b"`. */
const BEGINS_WITH_SECRET = /^\s*\$\{\s*(?:"\\\(\s*)?\$secrets(?:\.\w+|\["[\w.-]+"\])\s*(?:\}\s*$|\+\s*"[/?#]|\)["/?#])/;

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;

export function headersRule(found: Found, lint: Lint): void {
  if (!isObject(found.value)) return queryRule(found, lint);
  const report = (name: string, at: "key" | "value", message: string): void =>
    lint.report({ path: [...found.path, name], at, message });
  for (const [name, value] of Object.entries(found.value)) {
    if (!TOKEN.test(name)) report(name, "key", "this is not the name of a header; write letters, digits and hyphens");
    else if (RESERVED_HEADERS.has(name.toLowerCase()))
      report(name, "key", `the header ${name} is set by the call itself; leave it out`);
    if (typeof value === "string" && !isWhole(value) && /[\r\n\0]/.test(value))
      report(name, "value", "the value of a header must be on one line");
  }
}

function queryRule({ path, value, means }: Found, lint: Lint): void {
  if (typeof value !== "string") return;
  if (isWhole(value)) oneLineRule({ path, value, means }, lint);
  else lint.report({ path, at: "value", message: "write names with texts here, or one expression that yields them" });
}

function bodyRule(found: Found, lint: Lint): void {
  const { path, value } = found;
  templateRule(found, lint);
  const problem = writtenBodyProblem(value, valueAt(lint.root, [...path.slice(0, -1), "headers"]));
  if (problem) lint.report({ path: [...path, ...problem.path], at: "value", message: `this ${problem.message}` });
}
