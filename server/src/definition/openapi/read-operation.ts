/**
 * Reads one operation of an OpenAPI 3.0 or 3.1 or a Swagger 2.0 document. Only what leads to the operation is looked at, and each
 * part once: documents have megabytes, circles, and faults elsewhere that matter to nobody.
 */
import { hint } from "../../lib/did-you-mean.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { isJson } from "../../lib/media-type.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { DocumentProblem, type ApiOperation, type ApiServer } from "./operation.ts";
import { readBody, readFormBody } from "./read-body.ts";
import { readParameters } from "./read-parameters.ts";
import { entriesAt, listAt, own, References, textAt, type Found } from "./references.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"];

/**
 * `wanted`: its `operationId`, or its method and path as `GET /pets/{id}`. `base`: the document's URL, from which relative servers
 * are meant. Throws DocumentProblem.
 */
export function readOperation(document: Json, wanted: string, base?: string): ApiOperation {
  const found = find(document, wanted);
  const operation: ApiOperation = {
    method: found.method.toUpperCase(),
    path: found.path,
    server: serverOf(found, base),
    parameters: readParameters(found),
    body: found.isSwagger ? readFormBody(found) : readBody(found),
    accepts: acceptsOf(found),
  };
  if (JSON.stringify(operation).length > LIMITS.openapiOperationCharacters)
    throw new DocumentProblem(
      `says more of ${shown(wanted)} than the ${LIMITS.openapiOperationCharacters} characters that are kept of an operation`,
    );
  return operation;
}

const SHOWN_CHARACTERS = 100;
const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARACTERS));

function find(document: Json, wanted: string): Found {
  if (!isObject(document)) throw new DocumentProblem("is not an OpenAPI document, but something else");
  const version = own(document, "openapi") ?? own(document, "swagger");
  // YAML without quotes makes 2 of 2.0.
  if (!/^(?:2|2\.0|3|3\.[01](?:\.\d+)?)$/.test(String(version)))
    throw new DocumentProblem(
      version === undefined
        ? "is not an OpenAPI document: it has neither openapi nor swagger"
        : `has the version ${shown(String(version))}; 2.0, 3.0 and 3.1 can be read`,
    );
  const references = new References(document);
  const names = new Set<string>();
  const found: Found[] = [];
  for (const [path, written] of entriesAt(document, "paths")) {
    if (!path.startsWith("/")) continue;
    const item = isObject(written) && own(written, "$ref") === undefined ? written : references.resolve(written);
    for (const method of METHODS) {
      const operation = own(item, method);
      if (!item || !isObject(operation)) continue;
      const name = textAt(operation, "operationId");
      const place = `${method.toUpperCase()} ${path}`;
      names.add(name ?? place);
      if (name !== wanted && place !== wanted) continue;
      found.push({ method, path, item, operation, references, isSwagger: own(document, "openapi") === undefined });
    }
  }
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new DocumentProblem(`has no operation ${shown(wanted)}${hint(wanted, names) || countOf(names)}`);
  const places = found.map(({ method, path }) => `${method.toUpperCase()} ${path}`).slice(0, 3);
  throw new DocumentProblem(`has more than one operation ${shown(wanted)}; write one of ${places.join(", ")}`);
}

const LISTED = 5;
const countOf = (names: ReadonlySet<string>): string =>
  names.size === 0
    ? "; it has none at all"
    : `; it has ${names.size}, such as ${[...names]
        .slice(0, LISTED)
        .join(", ")
        .slice(0, 5 * SHOWN_CHARACTERS)}`;

/** The first of the nearest list, as the standard has it. */
function serverOf({ operation, item, references, isSwagger }: Found, base: string | undefined): ApiServer {
  const { root } = references;
  if (isSwagger) return { url: absolute(swaggerServer(root, base), base), variables: [] };
  const [server] = [operation, item, root].map((one) => listAt(one, "servers")).find((list) => list.length > 0) ?? [];
  const variables = entriesAt(server, "variables")
    .filter(([name]) => (textAt(server, "url") ?? "").includes(`{${name}}`))
    .map(([name, variable]) => {
      const choices = listAt(variable, "enum").filter((one) => typeof one === "string");
      return { name, default: textAt(variable, "default") ?? null, enum: choices.length > 0 ? choices : null };
    });
  return { url: absolute(textAt(server, "url") ?? "/", base), variables };
}

function swaggerServer(root: JsonObject, base: string | undefined): string {
  const schemes = listAt(root, "schemes");
  const host = textAt(root, "host");
  const own = base === undefined ? undefined : parseUrl(base)?.protocol.slice(0, -1);
  const scheme = ["https", "http"].find((one) => schemes.includes(one)) ?? own ?? "https";
  const path = textAt(root, "basePath") ?? "/";
  return host === undefined ? path : `${scheme}://${host}${path.startsWith("/") ? "" : "/"}${path}`;
}

/** Without a slash at the end: the operation's path begins with one. */
function absolute(url: string, base: string | undefined): string {
  if (/^(?:https?:\/\/|\{)/i.test(url)) return url.replace(/\/$/, "");
  if (/^[a-z][a-z0-9+.-]*:/i.test(url))
    throw new DocumentProblem(`has the server ${shown(url)}, and only http and https can be called`);
  if (base === undefined)
    throw new DocumentProblem(
      `has ${url === "/" ? "no server" : `the server ${shown(url)}`}; in a definition it needs one with a whole URL`,
    );
  // By hand: the parser would encode the braces of variables.
  const { origin, pathname } = new URL(base);
  const whole = url.startsWith("//")
    ? new URL(base).protocol + url
    : origin +
      (url.startsWith("/") ? url : pathname.slice(0, pathname.lastIndexOf("/") + 1) + url.replace(/^\.\//, ""));
  return whole.replace(/\/$/, "");
}

const MAX_ACCEPTED = 8;

/** JSON first. */
function acceptsOf({ operation, references, isSwagger }: Found): readonly string[] {
  const types = new Set<string>();
  if (isSwagger) {
    const own = listAt(operation, "produces");
    for (const type of own.length > 0 ? own : listAt(references.root, "produces")) types.add(String(type));
  } else {
    for (const [status, response] of entriesAt(operation, "responses"))
      if (status.startsWith("2"))
        for (const [type] of entriesAt(references.resolve(response), "content")) types.add(type);
  }
  const fit = [...types].filter((type) => /^[\w!#$&^.+*/-]{1,100}$/.test(type)).slice(0, MAX_ACCEPTED);
  return [...fit.filter(isJson), ...fit.filter((type) => !isJson(type))];
}
