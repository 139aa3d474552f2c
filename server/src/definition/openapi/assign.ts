/** Says where each of an author's `parameters` goes in a request of an operation. */
import { hint } from "../../lib/did-you-mean.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { ApiContent, ApiOperation, ApiParameter } from "./operation.ts";

export type Target =
  | { is: "parameter"; parameter: ApiParameter }
  /** A variable of the server's URL. */
  | { is: "variable"; name: string }
  | { is: "body" }
  /** A field of the body's object. */
  | { is: "field"; name: string }
  /** Chooses one of the body's media types, or of the answer's. */
  | { is: "content-type" | "accept" };

/** `name`: of what is wrong among the parameters; undefined if something is missing. */
export type ParameterProblem = { name?: string; message: string };

export type Assigned = { targets: ReadonlyMap<string, Target>; problems: readonly ParameterProblem[] };

export const BODY = "body";

/** A parameter of null counts as left out, but for a field of the body. Stops at the first `definitionProblems` problems. */
export function assign(operation: ApiOperation, parameters: JsonObject): Assigned {
  const known = knownTo(operation);
  const targets = new Map<string, Target>();
  const problems: ParameterProblem[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (problems.length === LIMITS.definitionProblems) return { targets, problems };
    const target = known.get(name) ?? restOf(operation, name);
    if (target === undefined) problems.push({ name, message: unknown(operation, name, known) });
    else if (target === "many") problems.push({ name, message: ambiguous(operation, name) });
    else if (value !== null || target.is === "field") targets.set(name, target);
  }
  const all = [...targets.values()];
  const given = new Set(all.map((target) => (target.is === "parameter" ? target.parameter : undefined)));
  const variables = new Set(all.map((target) => (target.is === "variable" ? target.name : undefined)));
  const field = all.find(({ is }) => is === "field");
  const body = [...targets].find(([, { is }]) => is === "body");
  if (field && body)
    problems.push({ name: body[0], message: `${body[0]} is the whole body; leave it out, or the body's fields` });
  for (const parameter of operation.parameters)
    if (parameter.required && !given.has(parameter))
      problems.push({ message: `${parameter.name} is missing, which the operation needs in ${parameter.in}` });
  for (const { name, default: value } of operation.server.variables)
    if (value === null && !variables.has(name))
      problems.push({ message: `${name} is missing, which the server's URL needs` });
  if (operation.body?.required && !field && !body)
    problems.push({ message: "the operation needs a body; write its fields, or the whole as body" });
  return { targets, problems };
}

/** `many`: the name stands in several places. */
function knownTo({ parameters, server, body }: ApiOperation): Map<string, Target | "many"> {
  const known = new Map<string, Target | "many">();
  const isDeclared = (name: string): boolean => parameters.some((parameter) => parameter.name === name);
  for (const { name } of server.variables) if (!isDeclared(name)) known.set(name, { is: "variable", name });
  for (const parameter of parameters) {
    const target: Target = { is: "parameter", parameter };
    known.set(parameter.name, known.has(parameter.name) ? "many" : target);
    const qualified = `${parameter.in}.${parameter.name}`;
    if (!isDeclared(qualified)) known.set(qualified, target);
  }
  if (!body) return known;
  for (const { properties } of body.contents)
    for (const name of properties ?? []) if (!known.has(name)) known.set(name, { is: "field", name });
  for (const name of [body.name, BODY]) if (name !== null && !known.has(name)) known.set(name, { is: "body" });
  return known;
}

/** A name that is no parameter's is a field's, if the body may have any. */
function restOf({ body, accepts }: ApiOperation, name: string): Target | undefined {
  if (name === "Content-Type" && body) return { is: "content-type" };
  if (name === "Accept" && accepts.length > 0) return { is: "accept" };
  const isOpen = body?.contents.some(({ properties }) => properties === null);
  return isOpen ? { is: "field", name } : undefined;
}

function unknown({ method, path }: ApiOperation, name: string, known: ReadonlyMap<string, unknown>): string {
  const names = [...known.keys()].filter((one) => !/^(?:path|query|header|cookie)\./.test(one));
  const has = names.length === 0 ? "; it takes none" : hint(name, names);
  return `${method} ${path} has no parameter ${JSON.stringify(name.slice(0, 100))}${has}`;
}

function ambiguous({ parameters }: ApiOperation, name: string): string {
  const places = parameters.filter((one) => one.name === name).map((one) => `${one.in}.${name}`);
  return `${JSON.stringify(name)} stands in several places; write ${places.join(" or ")}`;
}

/** The media type that is sent. Undefined: the operation has no such. */
export function contentOf({ body }: ApiOperation, chosen: string | undefined): ApiContent | undefined {
  const [first] = body?.contents ?? [];
  if (chosen === undefined) return first;
  const wanted = chosen.toLowerCase();
  return body?.contents.find(({ type }) => type.toLowerCase() === wanted);
}
