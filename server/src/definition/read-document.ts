/** Reads the head of a draft: `document`, even if the rest is broken. */
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { atOnce, inSlices, type Steps } from "../fairness/slices.ts";
import type { Finding, Problem } from "./text/problem.ts";
import { PROFILE } from "./profile/profile.ts";
import { readingText } from "./text/read-text.ts";
import { SchemaWalk } from "./schema/schema-walk.ts";
import { findingsOf } from "./profile/sentences.ts";
import type { Workflow } from "./profile/workflow.ts";

/** A version, title or summary that would prevent publishing is left out. */
export type DocumentHead = Pick<Workflow["document"], "namespace" | "name" | "title" | "summary"> & {
  version?: string;
};

type ReadDocument = { document?: DocumentHead; problems: Problem[] };

/** `document` if the text can be read and has a namespace and a name; otherwise the reasons. */
export const readDocument = (text: string): ReadDocument => atOnce(reading(text));

/** The same, for callers that can wait. */
export const readDocumentInSlices = (text: string): Promise<ReadDocument> => inSlices(reading(text));

/** Finds the places of findings in a readable text. */
export const placeInSlices = (text: string, findings: readonly Finding[]): Promise<Problem[]> =>
  inSlices(placing(text, findings));

function* placing(text: string, findings: readonly Finding[]): Steps<Problem[]> {
  const { place } = yield* readingText(text);
  return findings.map(place);
}

function* reading(text: string): Steps<ReadDocument> {
  const { value, problems, place } = yield* readingText(text);
  if (value === undefined) return { problems };
  yield;
  const findings = findingsIn(identityOf(value));
  if (findings.length > 0) return { problems: findings.map(place) };
  const { namespace, name, ...rest } = (value as JsonObject)["document"] as JsonObject;
  const fitting = ["version", "title", "summary"].flatMap((key) => {
    const part = Object.hasOwn(rest, key) ? { [key]: rest[key]! } : undefined;
    return part && findingsIn(definitionWith({ ...NAMED, ...part })).length === 0 ? [part] : [];
  });
  return { document: Object.assign({ namespace, name }, ...fitting) as DocumentHead, problems: [] };
}

/** Valid values for what is not being checked. */
const NAMED: JsonObject = { dsl: "1.0.3", namespace: "a", name: "a", version: "1.0.0" };
const definitionWith = (document: Json): JsonObject => ({ document, do: [{ a: { set: { b: 1 } } }] });

/** The value reduced to the author's namespace and name. */
function identityOf(value: Json): Json {
  if (!isObject(value) || !Object.hasOwn(value, "document")) return isObject(value) ? { do: [] } : value;
  const document = value["document"]!;
  if (!isObject(document)) return definitionWith(document);
  const { dsl, version } = NAMED;
  const own = Object.entries(document).filter(([key]) => key === "namespace" || key === "name");
  return definitionWith({ dsl: dsl!, version: version!, ...Object.fromEntries(own) });
}

const findingsIn = (value: Json) =>
  findingsOf(new SchemaWalk(PROFILE).check(value).violations).filter(({ path }) => path[0] !== "do");
