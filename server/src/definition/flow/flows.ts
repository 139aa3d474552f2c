/** For each kind of task: what its expressions see, and what it yields before `output.as`. */
import { durationMs } from "../rules/durations.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Steps } from "../../fairness/slices.ts";
import { compileTemplate, expressionIn } from "../../expressions/template.ts";
import { valueAt } from "../text/problem.ts";
import { hasFixedHost } from "../tasks/http.ts";
import { variableName } from "../tasks/kind.ts";
import { KINDS, type KindName } from "../tasks/kinds.ts";
import { below, type Following, type Place } from "./following.ts";
import { ERROR, RESPONSE, shapeOfDecision, shapeOfForm, type Shape } from "./shape.ts";
import { fieldOf } from "./shape-of-expression.ts";

type Flow = (walk: Following, task: JsonObject, place: Place) => Steps<Shape>;

export const FLOWS: { readonly [Name in KindName]: Flow } = {
  *set(walk, task, place) {
    return yield* walk.value(task["set"], below(place, "set"));
  },
  *do(walk, task, place) {
    return yield* walk.list(task["do"]!, below(place, "do"));
  },
  *switch(walk, task, place) {
    for (const [index, item] of (task["switch"] as JsonObject[]).entries()) {
      const [name, one] = Object.entries(item)[0]!;
      yield* walk.condition((one as JsonObject)["when"], below(place, "switch", index, name, "when"));
    }
    return place.data;
  },
  *for(walk, task, place) {
    yield* walk.valueOr(valueAt(task, ["for", "in"]), below(place, "for", "in"));
    const inner = withOwn(task, "for", { ...place, data: "any" });
    yield* walk.condition(task["while"], below(inner, "while"));
    return walk.shapes.union(place.data, yield* walk.list(task["do"]!, below(inner, "do")));
  },
  *fork(walk, task, place) {
    const branches = below(place, "fork", "branches");
    for (const [index, branch] of (valueAt(task, ["fork", "branches"]) as JsonObject[]).entries()) {
      const [name, written] = Object.entries(branch)[0]!;
      yield* walk.task(written as JsonObject, below(branches, index, name));
    }
    return "any";
  },
  *try(walk, task, place) {
    const tried = yield* walk.list(task["try"]!, below(place, "try"));
    const rule = task["catch"] as JsonObject;
    const inner = below(withOwn(task, "try", place, ERROR), "catch");
    const ofError: Place = { ...inner, data: ERROR };
    yield* walk.value(valueAt(rule, ["errors", "with"]), below(ofError, "errors", "with"));
    yield* conditions(walk, rule, ofError);
    if (isObject(rule["retry"])) yield* conditions(walk, rule["retry"], below(ofError, "retry"));
    const caught = rule["do"] === undefined ? place.data : yield* walk.list(rule["do"], below(inner, "do"));
    return walk.shapes.union(tried, caught);
  },
  *raise(walk, task, place) {
    const error = valueAt(task, ["raise", "error"]);
    if (isObject(error)) yield* walk.value(error, below(place, "raise", "error"));
    return "never";
  },
  *wait(walk, task, place) {
    yield* walk.value(task["wait"], below(place, "wait"));
    return place.data;
  },
  *listen(walk, task, place) {
    const to = valueAt(task, ["listen", "to"]) as JsonObject;
    const at = below(place, "listen", "to");
    yield* listened(walk, to, at);
    if (isObject(to["until"])) yield* listened(walk, to["until"], below(at, "until"));
    else yield* walk.condition(to["until"], below({ ...at, data: "any" }, "until"));
    const inner = below(withOwn(task, "listen", { ...place, data: "any" }), "foreach");
    const outputs = valueAt(task, ["foreach", "do"]);
    const data = outputs === undefined ? "any" : yield* walk.list(outputs, below(inner, "do"));
    yield* walk.valueOr(valueAt(task, ["foreach", "output", "as"]), { ...below(inner, "output", "as"), data });
    return "any";
  },
  *emit(walk, task, place) {
    yield* walk.value(valueAt(task, ["emit", "event", "with"]), below(place, "emit", "event", "with"));
    return place.data;
  },
  *http(walk, task, place) {
    const given = task["with"] as JsonObject;
    yield* called(walk, given, below(place, "with"));
    const body = given["body"] ?? null;
    if (body !== null && BODILESS.test(String(given["method"])))
      walk.report(below(place, "with", "body").path, () => BODY_MAY_BE_IGNORED, "warning");
    warnOfLongTimeout(walk, task, place);
    return given["output"] === "response" ? RESPONSE : "any";
  },
  *openapi(walk, task, place) {
    const given = task["with"] as JsonObject;
    const { endpoint: written } = given["document"] as JsonObject;
    if (written !== undefined) {
      yield* called(walk, { endpoint: written }, below(place, "with", "document"));
      const text = (isObject(written) ? written["uri"] : written) as string;
      if (compileTemplate(text).expressions.some(({ altersSecrets }) => altersSecrets))
        walk.report(below(place, "with", "document", "endpoint").path, () => DOCUMENT_WITH_A_PART);
      const isTrusted = given["authentication"] !== undefined || namesSecret(given["parameters"] ?? null);
      if (isTrusted && !hasFixedHost(text))
        walk.report(below(place, "with", "document", "endpoint").path, () => DOCUMENT_FROM_ANYWHERE, "warning");
    }
    warnOfLongTimeout(walk, task, place);
    for (const key of ["operationId", "parameters", "authentication"])
      yield* walk.value(given[key], below(place, "with", key));
    return given["output"] === "response" ? RESPONSE : "any";
  },
  *mcp(walk, task, place) {
    const given = task["with"] as JsonObject;
    const { http, stdio } = given["transport"] as { http?: JsonObject; stdio?: JsonObject };
    if (http) {
      const inner = below(place, "with", "transport", "http");
      yield* called(walk, http, inner);
    }
    for (const key of ["arguments", "environment"])
      yield* walk.value(stdio?.[key], below(place, "with", "transport", "stdio", key));
    warnOfLongTimeout(walk, task, place);
    for (const key of ["parameters", "timeout", "client"]) yield* walk.value(given[key], below(place, "with", key));
    return "any";
  },
  *approval(walk, task, place) {
    yield* walk.value(task["with"], below(place, "with"));
    return shapeOfDecision(shapeOfForm(valueAt(task, ["with", "form"])));
  },
  *email(walk, task, place) {
    yield* walk.value(task["with"], below(place, "with"));
    return "any";
  },
  *llm(walk, task, place) {
    const given = task["with"] as JsonObject;
    yield* asked(walk, given, "system", below(place, "with"));
    warnOfLongTimeout(walk, task, place);
    return "any";
  },
  *assistant(walk, task, place) {
    const given = task["with"] as JsonObject;
    yield* asked(walk, given, "instructions", below(place, "with"));
    const inner = below(withOwn(task, "assistant", place), "with", "tools");
    for (const [index, tool] of ((given["tools"] ?? []) as JsonObject[]).entries()) {
      const [kind, written] = Object.entries(tool)[0] as [string, JsonObject];
      const at = below(inner, index, kind);
      const isHttp = kind === "http";
      const call = (isHttp ? written["call"] : written) as JsonObject;
      const inCall = isHttp ? below(at, "call") : at;
      if (call["endpoint"] !== undefined) yield* called(walk, call, inCall);
      const { approval } = written;
      if (typeof approval === "string") yield* walk.condition(approval, below(at, "approval"));
      if (!isObject(approval ?? null)) continue;
      const { when, ...people } = approval as JsonObject;
      yield* walk.condition(when, below(at, "approval", "when"));
      yield* walk.value(people, below(at, "approval"));
    }
    return "any";
  },
  *each(walk, task, place) {
    yield* walk.valueOr(valueAt(task, ["with", "in"]), below(place, "with", "in"));
    const inner = withOwn(task, "each", { ...place, data: "any" });
    yield* walk.list(valueAt(task, ["with", "do"])!, below(inner, "with", "do"));
    return "any";
  },
  *function(walk, task, place) {
    const given = task["with"] === undefined ? place.data : yield* walk.value(task["with"], below(place, "with"));
    return yield* walk.function(task["call"] as string, given, place.path);
  },
  *run(walk, task, place) {
    const at = ["run", "workflow"];
    for (const key of ["namespace", "name", "input"])
      yield* walk.value(valueAt(task, [...at, key]), below(place, ...at, key));
    if (expressionIn(valueAt(task, [...at, "namespace"]) as string) !== undefined)
      walk.report(below(place, ...at, "namespace").path, () => STARTS_ANYTHING, "warning");
    return valueAt(task, ["run", "await"]) === false ? place.data : "any";
  },
  *script(walk, task, place) {
    const at = ["run", "script", "arguments"];
    yield* walk.value(valueAt(task, at), below(place, ...at));
    warnOfLongTimeout(walk, task, place, LONGEST_SCRIPT);
    return "any";
  },
};

/** The filters of a strategy: what the task's data says of them, and what is asked of an event. */
function* listened(walk: Following, to: JsonObject, place: Place): Steps<void> {
  for (const key of ["one", "any", "all"]) {
    const written = to[key];
    for (const [index, filter] of (Array.isArray(written) ? written : written ? [written] : []).entries()) {
      const at = Array.isArray(written) ? below(place, key, index) : below(place, key);
      const { with: attributes, correlate } = filter as { with: JsonObject; correlate?: JsonObject };
      for (const [name, value] of Object.entries(attributes)) {
        const isOfEvent = name === "data" && typeof value === "string";
        yield* walk.value(value, below(isOfEvent ? { ...at, data: "any" } : at, "with", name));
      }
      for (const [name, one] of Object.entries(correlate ?? {})) {
        const { from, expect } = one as { from: string; expect?: string };
        yield* walk.expression(from, below({ ...at, data: "any" }, "correlate", name, "from"));
        yield* walk.value(expect, below(at, "correlate", name, "expect"));
      }
    }
  }
}

/** A question to a model; `told`: the key of what it is told before the messages. */
function* asked(walk: Following, given: JsonObject, told: string, place: Place): Steps<void> {
  for (const key of ["model", told, "prompt", "files"]) yield* walk.value(given[key], below(place, key));
  const messages = below(place, "messages");
  if (typeof given["messages"] === "string") yield* walk.expression(given["messages"], messages);
  else yield* walk.value(given["messages"], messages);
}

/** Where a call goes, how it authenticates there, and what it sends. */
function* called(walk: Following, call: JsonObject, place: Place): Steps<void> {
  const written = call["endpoint"]!;
  const whole = below(place, "endpoint");
  const [text, at] = isObject(written) ? [written["uri"] as string, below(whole, "uri")] : [written as string, whole];
  yield* endpoint(walk, text, at);
  const authentication = isObject(written) ? written["authentication"] : undefined;
  yield* walk.value(authentication, below(whole, "authentication"));
  const sent = ["headers", "query", "body"].map((key) => [key, call[key]] as const);
  for (const [key, value] of sent) yield* walk.value(value, below(place, key));
  if (hasFixedHost(text)) return;
  const isTrusted = authentication !== undefined || [text, ...sent.map(([, value]) => value ?? null)].some(namesSecret);
  if (isTrusted) walk.report(at.path, () => GOES_ANYWHERE, "warning");
}

const namesSecret = (value: Json): boolean => compileTemplate(value).secrets.length > 0;

const BODILESS = /^(?:get|head)$/i;
const BODY_MAY_BE_IGNORED =
  "the body is sent, but many services ignore the body of a GET or HEAD; leave it out unless this one asks for it";

/** The longest that something takes, whatever its timeout says, and the warning about a longer timeout. */
type Longest = { ms: number; warning: string };
const LONGEST_CALL: Longest = {
  ms: LIMITS.callSeconds * 1_000,
  warning: `a call is given up after ${LIMITS.callSeconds} s, whatever its timeout says; write PT1H or less`,
};
const LONGEST_SCRIPT: Longest = {
  ms: LIMITS.scriptMaxMs,
  warning: `a script is stopped after ${LIMITS.scriptMaxMs / 1_000} s of processor time, whatever its timeout says; write PT${LIMITS.scriptMaxMs / 1_000}S or less`,
};

function warnOfLongTimeout(walk: Following, task: JsonObject, place: Place, longest = LONGEST_CALL): void {
  const after = valueAt(task, ["timeout", "after"]);
  if (after !== undefined && (durationMs(after) ?? 0) > longest.ms)
    walk.report(below(place, "timeout", "after").path, () => longest.warning, "warning");
}

const DOCUMENT_FROM_ANYWHERE =
  "data decides which document says where the credential of this call goes; write the host, such as https://example.com/{path}";

const DOCUMENT_WITH_A_PART =
  "operations are pinned by the document's address as it is shown; write $secrets.NAME alone, or within a text";

const STARTS_ANYTHING =
  "data decides in which project an agent is started, and can so start each agent of the organization; write the project's handle";

const GOES_ANYWHERE =
  "data decides which host gets the credential of this call; write the host, such as https://example.com/{path}";

/** With the variables that the task gives to its parts. */
function withOwn(task: JsonObject, kind: KindName, place: Place, shape: Shape = "any"): Place {
  const variables = new Map(place.variables);
  for (const variable of KINDS[kind].variables ?? []) variables.set(variableName(task, variable), shape);
  return { ...place, variables };
}

function* conditions(walk: Following, { when, exceptWhen }: JsonObject, place: Place): Steps<void> {
  yield* walk.condition(when, below(place, "when"));
  yield* walk.condition(exceptWhen, below(place, "exceptWhen"));
}

function* endpoint(walk: Following, text: string, place: Place): Steps<void> {
  if (expressionIn(text) !== undefined) return void (yield* walk.expression(text, place));
  for (const [whole, name] of text.matchAll(/\{([\w.]+)\}/g)) {
    fieldOf(
      place.data,
      name!,
      (message) => walk.report(place.path, message),
      () => whole,
    );
    yield;
  }
}
