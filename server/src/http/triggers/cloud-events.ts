/** CloudEvents 1.0 over HTTP: what a request says, as events to publish (docs/triggers.md). */
import type { IncomingHttpHeaders } from "node:http";
import { isDateTime } from "../../lib/calendar.ts";
import { refuseAny, badInput, Refusal, shortened, type FieldProblem } from "../../lib/errors.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { isJson, readMediaType } from "../../lib/media-type.ts";
import { checkEvent, type EventKeys } from "../../events/check-event.ts";
import type { CheckedEvent } from "../../events/publish-event.ts";
import { checkContentType, type Taken, parseJsonBody } from "../body-format.ts";

type Mode = "binary" | "structured" | "batch";

const MODES = new Map<string, Mode>([
  ["application/cloudevents+json", "structured"],
  ["application/cloudevents-batch+json", "batch"],
]);

/** Any other JSON is the data of an event in binary mode. */
const BODY: Taken = {
  isTaken: isJson,
  wanted:
    "application/cloudevents+json, application/cloudevents-batch+json, or application/json with the event's attributes in ce- headers",
};

/** As the Content-Type says. Throws HttpRefusal, 415. */
export const modeOf = (headers: IncomingHttpHeaders): Mode => MODES.get(checkContentType(headers, BODY)) ?? "binary";

/** Throws BAD_REQUEST, and BAD_USER_INPUT with every attribute that is wrong. */
export function eventsIn(mode: Mode, headers: IncomingHttpHeaders, text: string): CheckedEvent[] {
  const body = parseJsonBody(text);
  const problems: FieldProblem[] = [];
  const events = mode === "batch" ? batchOf(body, problems) : [oneOf(mode, headers, body, problems)];
  refuseAny(problems);
  return events;
}

function batchOf(body: Json, problems: FieldProblem[]): CheckedEvent[] {
  if (!Array.isArray(body)) throw new Refusal("BAD_REQUEST", "a batch must be a JSON array of events");
  if (body.length > LIMITS.eventsPerBatch) {
    throw badInput("invalid_input", `a batch has at most ${LIMITS.eventsPerBatch} events`);
  }
  return body.map((one, index) => {
    if (!isObject(one)) throw new Refusal("BAD_REQUEST", `the event ${index} of the batch must be a JSON object`);
    return structured(one, `${index}.`, problems);
  });
}

function oneOf(
  mode: "binary" | "structured",
  headers: IncomingHttpHeaders,
  body: Json,
  problems: FieldProblem[],
): CheckedEvent {
  if (mode === "binary")
    return checked(
      { ...attributesIn(headers, problems), data: body },
      { path: "", prefix: "ce-", keys: IN_HEADERS },
      problems,
    );
  if (!isObject(body)) throw new Refusal("BAD_REQUEST", "the event must be a JSON object");
  return structured(body, "", problems);
}

const STRUCTURED: EventKeys = {
  source: "source",
  event: "type",
  id: "id",
  time: "time",
  data: "data",
  subject: "subject",
};
const IN_HEADERS: EventKeys = {
  source: "ce-source",
  event: "ce-type",
  id: "ce-id",
  time: "ce-time",
  data: "data",
  subject: "ce-subject",
};
/** Where the attributes are, and how they are called there. */
type Place = { path: string; prefix: string; keys: EventKeys };

function structured(given: JsonObject, path: string, problems: FieldProblem[]): CheckedEvent {
  if (Object.hasOwn(given, "data_base64"))
    problems.push({ path: `${path}data_base64`, code: "unknown", message: "is not supported: send JSON in `data`" });
  const type = given["datacontenttype"] ?? "application/json";
  const dataType = typeof type === "string" ? readMediaType(type) : undefined;
  if (!dataType || !isJson(dataType.essence))
    problems.push({ path: `${path}datacontenttype`, code: "not_a_choice", message: "must be application/json" });
  return checked(given, { path, prefix: "", keys: STRUCTURED }, problems);
}

/** Attributes as a structured event has them. Header values are percent-encoded. */
function attributesIn(headers: IncomingHttpHeaders, problems: FieldProblem[]): JsonObject {
  const attributes: JsonObject = {};
  for (const name of ["specversion", "id", "source", "type", "time", "subject"]) {
    const value = headers[`ce-${name}`];
    if (typeof value !== "string") continue;
    try {
      attributes[name] = decodeURIComponent(value);
    } catch {
      problems.push({ path: `ce-${name}`, code: "invalid", message: "must be percent-encoded UTF-8" });
      // Not missing.
      attributes[name] = "-";
    }
  }
  return attributes;
}

function checked(given: JsonObject, { path, prefix, keys }: Place, problems: FieldProblem[]): CheckedEvent {
  const add = (key: string, code: FieldProblem["code"], message: string): void =>
    void problems.push({ path: `${path}${prefix}${key}`, code, message });
  const before = problems.length;
  const textOf = (key: string): string => {
    const value = given[key] ?? null;
    if (value === null) add(key, "required", "is missing");
    else if (typeof value !== "string") add(key, "wrong_type", "must be text");
    return typeof value === "string" ? value : "";
  };
  const version = textOf("specversion");
  if (version !== "" && version !== "1.0") add("specversion", "not_a_choice", `must be 1.0, not ${shortened(version)}`);
  const [source, name, id] = [textOf("source"), textOf("type"), textOf("id")];
  const time = given["time"] ?? null;
  const isTime = typeof time === "string" && isDateTime(time);
  if (time !== null && !isTime)
    add("time", "invalid", "must be an RFC 3339 time with a zone, like 2026-11-21T08:30:00Z");
  const subject = given["subject"] ?? undefined;
  if (subject !== undefined && typeof subject !== "string") add("subject", "wrong_type", "must be text");
  const data = given["data"] ?? {};
  const event = {
    source,
    event: name,
    id,
    time: isTime ? new Date(time.toUpperCase()) : undefined,
    data,
    ...(typeof subject === "string" && { subject }),
  };
  const text = problems.length === before ? checkEvent(event, path, keys, problems) : "{}";
  return { ...event, data: isObject(data) ? data : {}, text };
}
