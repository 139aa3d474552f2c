/**
 * The request of a `call: http`, from its evaluated arguments. What yields null, nothing or an empty text where a URL or a
 * header needs a value ends the task before anything is sent: `DELETE /orders/{id}` without an id is another request.
 */
import { hint } from "../../lib/did-you-mean.ts";
import type { CallArguments } from "../../definition/tasks/program-parts.ts";
import { pointer, valueAt, type Path } from "../../definition/text/problem.ts";
import type { Template } from "../../expressions/template.ts";
import { misreadingOf } from "../../lib/misread-url.ts";
import { bodyProblem, contentTypeOf, HALF_OF_A_PAIR } from "../../definition/tasks/http-body.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isNumber, isObject, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";

/**
 * `{method, endpoint, headers, query, body, output, redirect}`. The `{names}` in a literal endpoint are filled in from
 * the input; an endpoint that an expression yielded is used unchanged. `template` holds the arguments as the author wrote
 * them, `place` is the JSON pointer to them. Throws WorkflowError.
 */
export function prepareRequest(values: JsonObject, input: Json, template: Template, place: string): JsonObject {
  const at = (path: Path): string => place + pointer(path);
  const written = template.source as JsonObject;
  const method = values["method"];
  if (typeof method !== "string") throw unfit(written["method"], at(["method"]), method);
  checkHeaders(values["headers"], written["headers"], at);
  const uriPlace = at(uriPath(values));
  const endpoint = endpointOf(values, input, template, uriPlace);
  if (!endpoint.isWellFormed()) throw halved(uriPlace);
  const url = withQuery(endpoint, values["query"], written["query"], at);
  const misreading = misreadingOf(url);
  if (misreading) throw elsewhere(misreading.part, uriPlace, misreading.what);
  checkBody(values, at);
  return { ...values, method: method.toUpperCase(), endpoint: url };
}

/** Stands where a secret's value decides what the URL is. */
const STAND_IN = "secret";

/**
 * The request as it is kept and shown, from arguments in which secrets have others in their place. All that is wrong whatever the
 * secrets are is refused here. If there are any, the URL is without its query.
 */
export function prepareKept(
  values: JsonObject,
  input: Json,
  { arguments: template, secretive }: CallArguments,
  place: string,
): JsonObject {
  if (!secretive) return prepareRequest(values, input, template, place);
  const standIns: JsonObject = { ...values };
  const isSecretUrl = secretive.names(["endpoint"]);
  if (isSecretUrl) standIns["endpoint"] = STAND_IN;
  for (const key of ["headers", "query"]) if (secretive.alters([key])) standIns[key] = {};
  const request = prepareRequest(standIns, input, template, place);
  const endpoint = isSecretUrl
    ? textOf(values, template, place)
    : prepareRequest({ ...standIns, query: null }, input, template, place)["endpoint"]!;
  return { ...values, method: request["method"]!, endpoint };
}

function textOf(values: JsonObject, { source }: Template, place: string): string {
  const url = uriOf(values);
  if (typeof url === "string" && url !== "") return url;
  throw unfit(uriOf(source as JsonObject), place + pointer(uriPath(values)), url);
}

/** The kept result of an expression of a call's arguments that names no secret. */
export const keptIn =
  (request: JsonObject) =>
  (path: Path): Json =>
    valueAt(request, path[0] === "endpoint" ? ["endpoint"] : path)!;

/** The URL of a kept request as an output shows it. */
export function shownUrl({ endpoint, query }: JsonObject): string {
  const parameters = isObject(query) ? Object.entries(query).filter(([, value]) => value !== null) : [];
  const text = new URLSearchParams(
    parameters.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  const url = withParameters(endpoint as string, text);
  return url.replaceAll(/%5Bsecret\+([\w.-]+)%5D/g, "[secret $1]");
}

type Place = (path: Path) => string;

const uriOf = ({ endpoint }: JsonObject): Json | undefined => (isObject(endpoint) ? endpoint["uri"] : endpoint);
const uriPath = ({ endpoint }: JsonObject): Path => (isObject(endpoint) ? ["endpoint", "uri"] : ["endpoint"]);

function endpointOf(values: JsonObject, input: Json, { source, expressions }: Template, place: string): string {
  const [written, url] = [uriOf(source as JsonObject), uriOf(values)];
  if (typeof url !== "string" || url === "") throw unfit(written, place, url);
  if (url === written) return expand(url, input, place);
  // A fragment is fine if the author wrote it or a whole URL of the data has it. In a value it would cut off what follows.
  const isPutTogether = expressions.some(({ path, isPath }) => path[0] === "endpoint" && !isPath);
  if (isPutTogether && url.includes("#")) throw elsewhere("URL", place, "a #, after which nothing is sent");
  return url;
}

const elsewhere = (part: string, place: string, what: string): WorkflowError =>
  WorkflowError.of("expression", `the ${part} in ${place} has ${what}, so nothing was sent`);

/** Simple expansion of RFC 6570, in which each name must have a value. */
function expand(template: string, input: Json, place: string): string {
  const length = new UrlLength(template.length);
  return template.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const fields = isObject(input) ? input : {};
    if (!Object.hasOwn(fields, name)) {
      const near = hint(name, Object.keys(fields));
      throw WorkflowError.of(
        "expression",
        `the task's input has no ${JSON.stringify(name)} for ${whole} in ${place}, so nothing was sent${near}`,
      );
    }
    const value = fields[name]!;
    if (!isFilled(value)) throw unfit(whole, place, value);
    const text = String(value);
    length.add(text.length);
    if (!text.isWellFormed()) throw halved(`${whole} in ${place}`);
    return encodeURIComponent(text);
  });
}

/** Counted while it grows: 80,000 times the same large field of the input would be gigabytes before any check at the end. */
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

/** A parameter without a value is left out, as most clients do. */
function withQuery(endpoint: string, query: Json | undefined, written: Json | undefined, at: Place): string {
  const length = new UrlLength(endpoint.length);
  if (query === undefined || query === null) return endpoint;
  if (!isObject(query)) throw unfit(written, at(["query"]), query);
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null) continue;
    if (!isScalar(value)) throw unfitAt("query", name, value, written, at);
    const text = String(value);
    length.add(name.length + text.length);
    if (!name.isWellFormed() || !text.isWellFormed()) throw halved(at(isObject(written) ? ["query", name] : ["query"]));
    parameters.append(name, text);
  }
  return withParameters(endpoint, parameters.toString());
}

function withParameters(endpoint: string, parameters: string): string {
  if (parameters === "") return endpoint;
  // A fragment is never sent.
  const whole = endpoint.split("#", 1)[0]!;
  return `${whole}${whole.includes("?") ? "&" : "?"}${parameters}`;
}

function checkBody({ body, headers }: JsonObject, at: Place): void {
  const problem = bodyProblem(body, contentTypeOf(headers));
  if (!problem) return;
  const place = at(["body", ...problem.path]);
  throw WorkflowError.of("validation", `${place} ${problem.message}, so nothing was sent`);
}

/** UTF-8 has no half of a surrogate pair: it would be replaced. */
const halved = (place: string): WorkflowError =>
  WorkflowError.of("validation", `${place} ${HALF_OF_A_PAIR}, so nothing was sent`);

function checkHeaders(headers: Json | undefined, written: Json | undefined, at: Place): void {
  if (headers === undefined) return;
  if (!isObject(headers)) throw unfit(written, at(["headers"]), headers);
  for (const [name, value] of Object.entries(headers)) {
    // The author may write an empty text; an expression that yields one has not found what it was to send.
    const isWritten = isObject(written) && written[name] === value;
    if (!isWritten && !isFilled(value)) throw unfitAt("headers", name, value, written, at);
  }
}

/** A number, true, false or a text with something in it. */
const isFilled = (value: Json | undefined): boolean =>
  value !== undefined && value !== "" && value !== null && isScalar(value);

function unfitAt(of: string, name: string, value: Json, written: Json | undefined, at: Place): WorkflowError {
  return isObject(written) ? unfit(written[name], at([of, name]), value) : unfit(name, at([of]), value);
}

const SHOWN_CHARACTERS = 60;

function unfit(what: Json | undefined, place: string, value: Json | undefined): WorkflowError {
  const text = String(what);
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 3)}...` : text;
  return WorkflowError.of("expression", `${shown} in ${place} is ${described(value)}, so nothing was sent`);
}

function described(value: Json | undefined): string {
  if (value === undefined || value === null) return "null";
  if (value === "") return "an empty text";
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  return `the ${isNumber(value) ? "number" : typeof value} ${String(value).slice(0, SHOWN_CHARACTERS)}`;
}
