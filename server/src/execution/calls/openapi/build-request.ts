/** Makes the HTTP request of an operation from the author's parameters. */
import { assign, contentOf, type Target } from "../../../definition/openapi/assign.ts";
import type { ApiForm, ApiOperation } from "../../../definition/openapi/operation.ts";
import { HALF_OF_A_PAIR } from "../../../definition/tasks/http-body.ts";
import { pointer } from "../../../definition/text/problem.ts";
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { essenceOf, isForm, isJson } from "../../../lib/media-type.ts";
import { misreadingOf } from "../../../lib/misread-url.ts";
import { parseUrl } from "../../../lib/parse-url.ts";
import { formText, headerText, pathText, queryTexts, Room } from "./write-value.ts";

type Given = { name: string; target: Target; value: Json; place: string; isSecret: boolean };

/** Whether a parameter has `[secret NAME]` in the place of a secret: what its value decides is judged when it is sent. */
export type IsSecret = (name: string) => boolean;
const NO_SECRETS: IsSecret = () => false;

/**
 * `{method, endpoint, headers, body}`. A parameter of null counts as left out. `place`: the JSON pointer to the parameters. Throws
 * WorkflowError: nothing is sent while something is missing, or leads elsewhere.
 */
export function buildRequest(
  operation: ApiOperation,
  parameters: JsonObject,
  place: string,
  isSecret = NO_SECRETS,
): JsonObject {
  const { targets, problems } = assign(operation, parameters);
  const [problem] = problems;
  if (problem) {
    const at = problem.name === undefined ? place : place + pointer([problem.name]);
    throw WorkflowError.of("validation", `${at}: ${problem.message}, so nothing was sent`);
  }
  const given = [...targets].map(([name, target]) => ({
    name,
    target,
    value: parameters[name]!,
    place: place + pointer([name]),
    isSecret: isSecret(name),
  }));
  const body = bodyOf(operation, given, place);
  const headers: JsonObject = { ...acceptOf(operation, given), ...headersOf(given), ...body.headers };
  return {
    method: operation.method,
    endpoint: endpointOf(operation, given),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...("body" in body && { body: body.body! }),
  };
}

const unfit = (place: string, what: string): WorkflowError =>
  WorkflowError.of("validation", `${place} ${what}, so nothing was sent`);

function endpointOf(operation: ApiOperation, given: readonly Given[]): string {
  const room = new Room(LIMITS.outboundUrlCharacters, "a URL");
  const server = serverOf(operation, given);
  const inPath = new Map(in_("path", given).map((one) => [one.parameter.name, one]));
  const path = room.take(operation.path).replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const found = inPath.get(name);
    if (!found) return whole;
    const { value, place, parameter } = found;
    if (value === "" || (Array.isArray(value) && value.length === 0)) throw unfit(place, "is empty");
    const text = pathText(name, value, { form: parameter, room, place });
    // A server that decodes slashes before it looks at segments would be led elsewhere.
    if (
      decodeURIComponent(text)
        .split(/[/\\]/)
        .some((segment) => segment === "." || segment === "..")
    )
      throw unfit(place, "has the segment . or ..");
    return text;
  });
  const query = in_("query", given).flatMap(({ parameter, value, place }) =>
    queryTexts(parameter.name, value, { form: parameter, room, place }),
  );
  // A document tells operations apart by fragments, which are never sent.
  const whole = `${server}${path}`.split("#", 1)[0]!;
  const between = query.length === 0 ? "" : whole.includes("?") ? "&" : "?";
  const url = whole + between + query.join("&");
  // Only its secret decides which host it has.
  if (given.some(({ target, isSecret }) => isSecret && target.is === "variable")) return url;
  const misreading = misreadingOf(url);
  if (misreading)
    throw WorkflowError.of(
      "validation",
      `the ${misreading.part} of ${operation.method} ${operation.path} has ${misreading.what}, so nothing was sent`,
    );
  if (!parseUrl(url))
    throw WorkflowError.of(
      "validation",
      `${operation.method} ${operation.path} makes no valid URL, so nothing was sent`,
    );
  return url;
}

/** Letters, digits and signs that end neither a host nor a path's segment. */
const IN_SERVER = /^[\w~-](?:[\w.~-]{0,251}[\w~-])?$/;

function serverOf({ server }: ApiOperation, given: readonly Given[]): string {
  const variables = new Map(server.variables.map((one) => [one.name, one]));
  const values = new Map(given.flatMap((one) => (one.target.is === "variable" ? [[one.target.name, one]] : [])));
  return server.url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = variables.get(name);
    const found = values.get(name);
    if (!variable)
      throw WorkflowError.of(
        "configuration",
        `the OpenAPI document has no variable for ${whole} of its server, so nothing was sent`,
      );
    if (!found) return variable.default ?? "";
    const text = isScalar(found.value) ? String(found.value) : "";
    if (found.isSecret) return text;
    if (variable.enum ? !variable.enum.includes(text) : !IN_SERVER.test(text))
      throw unfit(
        found.place,
        variable.enum ? `is none of ${variable.enum.slice(0, 20).join(", ")}` : "can't stand in the server's URL",
      );
    return text;
  });
}

type InPlace = Given & { parameter: (Target & { is: "parameter" })["parameter"] };

const in_ = (where: string, given: readonly Given[]): InPlace[] =>
  given.flatMap((one) =>
    one.target.is === "parameter" && one.target.parameter.in === where
      ? [{ ...one, parameter: one.target.parameter }]
      : [],
  );

function headersOf(given: readonly Given[]): JsonObject {
  const room = new Room(LIMITS.outboundHeaderBytes, "the headers of a call");
  const headers = in_("header", given).map(({ parameter, value, place }): [string, string] => [
    parameter.name,
    headerText(value, { form: parameter, room, place }),
  ]);
  const cookies = in_("cookie", given).map(({ parameter, value, place, isSecret }) => {
    const text = headerText(value, { form: parameter, room, place });
    // A semicolon would begin another cookie.
    if (!isSecret && !COOKIE.test(text)) throw unfit(place, "has characters that no cookie has");
    return `${parameter.name}=${text}`;
  });
  if (cookies.length > 0) headers.push(["Cookie", cookies.join("; ")]);
  for (const [name, value] of headers)
    if (/[\r\n\0]/.test(value))
      throw WorkflowError.of("validation", `the header ${name} has a line break, so nothing was sent`);
  return Object.fromEntries(headers);
}

const COOKIE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

function acceptOf({ accepts }: ApiOperation, given: readonly Given[]): JsonObject {
  const chosen = given.find(({ target }) => target.is === "accept");
  if (!chosen) return accepts.length > 0 ? { Accept: accepts.join(", ") } : {};
  if (!accepts.includes(chosen.value as string)) throw unfit(chosen.place, `is none of ${accepts.join(", ")}`);
  return { Accept: chosen.value };
}

type Body = { headers?: JsonObject; body?: Json };

const USUAL: ApiForm = { style: "form", explode: true, isReserved: false };

function bodyOf(operation: ApiOperation, given: readonly Given[], place: string): Body {
  const chosen = given.find(({ target }) => target.is === "content-type");
  const content = contentOf(operation, chosen && String(chosen.value));
  if (!content) {
    if (!chosen) return {};
    const types = operation.body!.contents.map(({ type }) => type).join(", ");
    throw unfit(chosen.place, `is none of ${types}`);
  }
  const whole = given.find(({ target }) => target.is === "body");
  const fields = given.filter(({ target }) => target.is === "field");
  if (!whole && fields.length === 0) return {};
  // By `fromEntries`: a field named __proto__ would otherwise be lost.
  const value = whole ? whole.value : Object.fromEntries(fields.map(({ name, value: one }) => [name, one]));
  const type = content.type === "*/*" ? "application/json" : content.type;
  const headers = { "Content-Type": type };
  const essence = essenceOf(type);
  if (isForm(essence) && isObject(value)) {
    const room = new Room(LIMITS.outputBytes, "a form");
    const forms = new Map(content.encoding.map((one) => [one.name, one]));
    const formOf = (name: string): ApiForm => forms.get(name) ?? USUAL;
    return { headers, body: formText(value, formOf, { room, place: whole?.place ?? place }) };
  }
  // A text is JSON, too: it gets its quotes here, as a call sends texts as they are.
  if (isJson(essence)) return { headers, body: typeof value === "string" ? jsonOf(value, whole!.place) : value };
  if (typeof value !== "string") throw unfit(whole?.place ?? place, `is sent as ${type}, so it must be a text`);
  return { headers, body: value };
}

function jsonOf(text: string, place: string): string {
  if (!text.isWellFormed()) throw unfit(place, HALF_OF_A_PAIR);
  return JSON.stringify(text);
}
