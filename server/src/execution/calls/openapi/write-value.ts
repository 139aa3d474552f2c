/** Writes the values of parameters as OpenAPI's styles have it (3.1, "Style Values"). */
import type { ApiForm } from "../../../definition/openapi/operation.ts";
import { HALF_OF_A_PAIR } from "../../../definition/tasks/http-body.ts";
import { WorkflowError } from "../../../definition/workflow-error.ts";
import { isObject, isScalar, type Json, type JsonObject } from "../../../lib/json/json.ts";

/** Counts while it grows: a thousand fields that each repeat a long name would be gigabytes before a check at the end. */
export class Room {
  #left: number;
  readonly #what: string;

  constructor(most: number, what: string) {
    this.#left = most;
    this.#what = `${what} has at most ${most} characters`;
  }

  take(text: string): string {
    this.#left -= text.length;
    if (this.#left < 0) throw WorkflowError.of("validation", `${this.#what}, so nothing was sent`);
    return text;
  }
}

/** `place`: the JSON pointer to the value. Throws WorkflowError. */
export type Writing = { form: ApiForm; room: Room; place: string };

type Pair = [name: string, value: string];

/** The value in a path. */
export function pathText(name: string, value: Json, writing: Writing): string {
  const { style, explode } = writing.form;
  const text = (one: Json): string => encoded(textOf(one, writing), writing);
  if (style === "json") return text(JSON.stringify(value));
  const [before, between] = style === "label" ? [".", "."] : style === "matrix" ? [";", ";"] : ["", ","];
  const named = (key: string, one: string): string => (one === "" ? key : `${key}=${one}`);
  if (isScalar(value)) return before + (style === "matrix" ? named(name, text(value)) : text(value));
  if (Array.isArray(value)) {
    const items = value.map(text);
    if (style === "matrix")
      return before + (explode ? items.map((one) => named(name, one)).join(";") : `${name}=${items.join(",")}`);
    return before + items.join(explode || style === "simple" ? between : ",");
  }
  const pairs = Object.entries(value).map(([key, one]) => [text(key), text(one)] as const);
  if (explode) return before + pairs.map((pair) => pair.join("=")).join(between);
  return before + (style === "matrix" ? `${name}=` : "") + pairs.flat().join(",");
}

/** The value of a header or a cookie, which no URL encodes. */
export function headerText(value: Json, writing: Writing): string {
  const text = (one: Json): string => writing.room.take(textOf(one, writing));
  if (writing.form.style === "json") return text(JSON.stringify(value));
  if (isScalar(value)) return text(value);
  if (Array.isArray(value)) return value.map(text).join(",");
  const pairs = Object.entries(value).map(([key, one]) => [text(key), text(one)] as const);
  return (writing.form.explode ? pairs.map((pair) => pair.join("=")) : pairs.flat()).join(",");
}

const SEPARATORS = { spaceDelimited: "%20", pipeDelimited: "%7C" } as const;

/** `name=value`, of which there may be several or none, as a query and a form have it. */
export function queryTexts(name: string, value: Json, writing: Writing): string[] {
  const { style, explode } = writing.form;
  const text = (one: Json): string => encoded(textOf(one, writing), writing);
  const written = (pairs: readonly Pair[]): string[] => pairs.map((pair) => pair.join("="));
  const key = encoded(name, writing);
  if (style === "json") return written([[key, text(JSON.stringify(value))]]);
  if (isScalar(value)) return written([[key, text(value)]]);
  if (style === "deepObject") return deepTexts(key, value, writing);
  const between = style === "spaceDelimited" || style === "pipeDelimited" ? SEPARATORS[style] : ",";
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return explode ? written(value.map((one) => [key, text(one)])) : written([[key, value.map(text).join(between)]]);
  }
  const pairs = Object.entries(value).map(([own, one]): Pair => [text(own), text(one)]);
  if (pairs.length === 0) return [];
  return explode ? written(pairs) : written([[key, pairs.flat().join(between)]]);
}

/** `name[key]=value`; what is deeper as most services read it, with another pair of brackets. */
function deepTexts(key: string, value: Json, writing: Writing): string[] {
  if (isScalar(value))
    return value === null ? [] : [`${writing.room.take(key)}=${encoded(textOf(value, writing), writing)}`];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([own, one]) => deepTexts(`${key}[${encodeText(String(own), writing)}]`, one, writing));
}

/** Signs of URLs that mean nothing within a query or a form: they may stay. */
const KEPT = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/g;

function encoded(text: string, writing: Writing): string {
  const written = encodeText(text, writing);
  return writing.room.take(writing.form.isReserved ? written.replaceAll(KEPT, decodeURIComponent) : written);
}

function encodeText(text: string, { place }: Writing): string {
  if (!text.isWellFormed()) throw WorkflowError.of("validation", `${place} ${HALF_OF_A_PAIR}, so nothing was sent`);
  return encodeURIComponent(text);
}

function textOf(value: Json, { place }: Writing): string {
  if (isScalar(value)) return value === null ? "" : String(value);
  const what = Array.isArray(value) ? "a list" : "an object";
  throw WorkflowError.of("validation", `${place} has ${what} within, which its style can't write, so nothing was sent`);
}

/** Whether there is something to send. */
export const isGiven = (value: Json | undefined): value is Exclude<Json, null> => value !== undefined && value !== null;

/** The fields of a form that are no text of one: in the way that their `encoding` says. */
export function formText(
  fields: JsonObject,
  formOf: (name: string) => ApiForm,
  { room, place }: Omit<Writing, "form">,
): string {
  return Object.entries(fields)
    .filter(([, value]) => isGiven(value))
    .flatMap(([name, value]) => {
      const form = formOf(name);
      // As most services write it: a list or an object within an object has no other form.
      const isDeep = isObject(value) && form.style === "form";
      return queryTexts(name, value, {
        form: isDeep ? { ...form, style: "json" } : form,
        room,
        place: `${place}/${name}`,
      });
    })
    .join("&");
}
