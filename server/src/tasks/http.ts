/** `call: http` (DSL reference "HTTP Call"): one request behind the outbound guard. */
import { WorkflowError } from "../definition/workflow-error.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { OutboundError } from "../outbound/errors.ts";
import type { Outbound, OutboundRequest, OutboundResponse } from "../outbound/outbound.ts";
import type { Call, CallContext } from "./task.ts";

/** A call without a timeout of its own is given up after this. */
const TIMEOUT_MS = 60_000;
const NO_BODY = new Set(["GET", "HEAD"]);

export const createHttpCall = (outbound: Outbound): Call => ({
  prepare,
  async perform(request, context) {
    let output: Json = null;
    await send(outbound, request, context, async (response) => {
      if (response.status < 200 || response.status > 299) throw refusedBy(response);
      output = outputOf(request, response);
      const saved = context.hold(output);
      if (saved) output = null;
      await saved;
    });
    return output;
  },
});

/**
 * `{method, endpoint, headers, query, body, output, redirect}`. The `{names}` of an endpoint that its author wrote out are
 * filled in from the input; one that an expression yielded is taken as it is.
 */
function prepare(values: JsonObject, input: Json, written: JsonObject): JsonObject {
  const template = uriOf(values);
  const method = values["method"];
  if (typeof template !== "string") throw WorkflowError.of("validation", "`endpoint` must be a URL");
  if (typeof method !== "string") throw WorkflowError.of("validation", "`method` must be a text");
  const endpoint = template === uriOf(written) ? expand(template, input) : template;
  return { ...values, method: method.toUpperCase(), endpoint: withQuery(endpoint, values["query"]) };
}

function uriOf({ endpoint }: JsonObject): Json | undefined {
  return isObject(endpoint) ? endpoint["uri"] : endpoint;
}

/** Simple expansion of RFC 6570; a name that the input does not have is an empty text, as the DSL has it. */
function expand(template: string, input: Json): string {
  const length = new UrlLength(template.length);
  return template.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = isObject(input) && Object.hasOwn(input, name) ? input[name]! : null;
    if (value === null) return "";
    if (typeof value === "object") {
      throw WorkflowError.of("validation", `the endpoint's {${name}} is a list or an object of the task's input`);
    }
    const text = String(value);
    length.add(text.length);
    if (!text.isWellFormed()) {
      throw WorkflowError.of(
        "validation",
        `the endpoint's {${name}} has half of a surrogate pair, which no URL can have`,
      );
    }
    return encodeURIComponent(text);
  });
}

/** Counted as it grows: 80,000 times the same large field of the input would be gigabytes before anybody looked at it. */
class UrlLength {
  #characters = 0;

  constructor(characters = 0) {
    this.add(characters);
  }

  /** Throws a `validation` error. */
  add(characters: number): void {
    this.#characters += characters;
    if (this.#characters > LIMITS.outboundUrlCharacters) {
      throw WorkflowError.of("validation", `a URL has at most ${LIMITS.outboundUrlCharacters} characters`);
    }
  }
}

function withQuery(endpoint: string, query: Json | undefined): string {
  const length = new UrlLength(endpoint.length);
  if (!isObject(query)) return endpoint;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null) continue;
    const text = textOf(value);
    length.add(name.length + text.length);
    parameters.append(name, text);
  }
  if (parameters.size === 0) return endpoint;
  // A fragment is never sent.
  const whole = endpoint.split("#", 1)[0]!;
  return `${whole}${whole.includes("?") ? "&" : "?"}${parameters.toString()}`;
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

async function send(
  outbound: Outbound,
  request: JsonObject,
  context: CallContext,
  taken: NonNullable<OutboundRequest["taken"]>,
): Promise<void> {
  const method = request["method"] as string;
  const { headers, body } = withBody(request["headers"], NO_BODY.has(method) ? undefined : request["body"]);
  headers["idempotency-key"] ??= context.idempotencyKey;
  authenticate(headers, context.authentication);
  try {
    await outbound.request({
      organizationId: context.organizationId,
      method,
      url: request["endpoint"] as string,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: request["redirect"] === true,
      signal: context.signal,
      turn: context.turn,
      timeoutMs: TIMEOUT_MS,
      taken,
    });
  } catch (error) {
    throw error instanceof OutboundError ? asWorkflowError(error) : error;
  }
}

/** Names in lower case, so that the author's win over ours. An object goes as JSON. */
function withBody(given: Json | undefined, body: Json | undefined): { headers: Record<string, string>; body?: string } {
  const entries = isObject(given) ? Object.entries(given) : [];
  // By `fromEntries`: a header named __proto__ would otherwise be lost.
  const headers: Record<string, string> = Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), textOf(value)]),
  );
  if (body === undefined || body === null) return { headers };
  headers["content-type"] ??= typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
  return { headers, body: textOf(body) };
}

function authenticate(headers: Record<string, string>, authentication: Json | undefined): void {
  if (!isObject(authentication)) return;
  const { basic, bearer } = authentication;
  if (isObject(basic)) {
    headers["authorization"] =
      `Basic ${Buffer.from(`${credential(basic, "username")}:${credential(basic, "password")}`).toString("base64")}`;
  } else if (isObject(bearer)) headers["authorization"] = `Bearer ${credential(bearer, "token")}`;
}

/** What is wrong is named, never shown. */
function credential(of: JsonObject, name: string): string {
  const value = of[name];
  if (typeof value !== "string") throw WorkflowError.of("authentication", `the authentication's ${name} is not a text`);
  return value;
}

function asWorkflowError(error: OutboundError): WorkflowError {
  if (error.kind === "timeout") return WorkflowError.of("timeout", error.message);
  if (error.kind === "bad_request") return WorkflowError.of("validation", error.message);
  if (error.kind === "refused") return WorkflowError.of("authorization", error.message);
  return WorkflowError.of("communication", error.message);
}

/** The standard's error of an HTTP answer outside 200 to 299: `communication` with the answer's status. */
function refusedBy(response: OutboundResponse): WorkflowError {
  const { host } = new URL(response.url);
  const body = Buffer.from(response.body).toString("utf8").slice(0, 500);
  const answered = `${host} answered ${response.status} ${response.statusText}`.trim();
  return WorkflowError.of("communication", body ? `${answered}: ${body}` : answered, response.status);
}

function outputOf(request: JsonObject, response: OutboundResponse): Json {
  if (request["output"] === "raw") return Buffer.from(response.body).toString("base64");
  const content = contentOf(response);
  if (request["output"] !== "response") return content;
  const { method, endpoint, headers } = request;
  return {
    request: { method: method!, uri: endpoint!, headers: headers ?? {} },
    statusCode: response.status,
    headers: response.headers,
    content,
  };
}

/** JSON by its media type, text otherwise, null when there is none. */
function contentOf(response: OutboundResponse): Json {
  if (response.body.byteLength === 0) return null;
  const text = Buffer.from(response.body).toString("utf8");
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers["content-type"] ?? "")) return text;
  try {
    return parseJson(text, "the answer");
  } catch (error) {
    throw WorkflowError.of("communication", (error as Error).message);
  }
}
