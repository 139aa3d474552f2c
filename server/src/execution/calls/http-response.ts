/** An endpoint's answer as people see it: its status and the beginning of its body, without what authenticated the call. */
import { domainToASCII } from "node:url";
import { valueAt } from "../../definition/text/problem.ts";
import { WorkflowError, type ErrorResponse } from "../../definition/workflow-error.ts";
import { charsetIn, essenceOf, isJson, isText } from "../../lib/media-type.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";
import { parseUrl } from "../../lib/parse-url.ts";
import { LIMITS } from "../../lib/limits.ts";
import { charactersIn } from "../../lib/text.ts";
import { decodeText, encodingOf } from "../../outbound/body-text.ts";
import type { OutboundResponse } from "../../outbound/outbound.ts";
import type { SecretValues } from "../../secrets/secret.ts";
import type { Steps } from "../../fairness/slices.ts";
import { Concealer, ENOUGH_BYTES, LEAST_CHARACTERS } from "./conceal.ts";
import type { HttpResponse } from "../run/run.ts";
import { partsOf } from "../../secrets/secret-fields.ts";

/** Stands for bytes that mean nothing, and for characters that no text contains. */
const NO_TEXT = /[\0\ufffd]/;

/** Hides the credentials of one call, and the definition's secrets, in what comes from its endpoint, which may repeat them. */
export class Credentials {
  readonly #texts: Set<string>;
  /** The secrets that outputs are searched for. */
  readonly #concealed: string[];
  readonly #hosts: readonly string[];
  #hider: Concealer | undefined;
  #concealer: Concealer | undefined;

  /** `made`: the texts that the call's arguments make of secrets. */
  constructor(policy: Json | undefined, secrets: SecretValues = new Map(), made: readonly string[] = []) {
    const hidden = [...[...secrets.values()].flatMap(partsOf), ...made.filter(isLong)];
    // Without the user's name, which is data if the definition has it in plain text.
    this.#concealed = hidden.length > 0 ? [...hidden, ...sentOf(policy)] : [];
    this.#texts = new Set([...credentialsOf(policy), ...hidden]);
    this.#hosts = [...secrets.values()].flatMap(hostOf);
  }

  /** Undefined: no secret is in play, so outputs are not searched. */
  get concealer(): Concealer | undefined {
    if (this.#concealed.length > 0) this.#concealer ??= new Concealer(this.#concealed);
    return this.#concealer;
  }

  /** A token that the call was given on the way. */
  hideToo(text: string): void {
    if (this.#texts.has(text)) return;
    this.#texts.add(text);
    this.#concealed.push(text);
    this.rest();
  }

  /** There is nothing to hide. */
  get isEmpty(): boolean {
    return this.#texts.size === 0;
  }

  /** The search structure takes up to 30 MB, so it is dropped and built again when needed. */
  rest(): void {
    this.#concealer = this.#hider = undefined;
  }

  /** The error without the credentials: in a run's error, and in the log, which also has the stack of an unexpected one. */
  *hideIn(error: unknown): Steps<unknown> {
    if (!(error instanceof Error) || this.isEmpty) return error;
    if (error instanceof WorkflowError) return yield* this.#hideInTexts(error);
    const { message, stack = "" } = error;
    const shown = { message: yield* this.hide(message), stack: yield* this.hide(stack) };
    if (shown.message !== message) Object.assign(error, { message: shown.message });
    if (shown.stack !== stack) Object.assign(error, { stack: shown.stack });
    return error;
  }

  *#hideInTexts(error: WorkflowError): Steps<WorkflowError> {
    const { type, title, detail } = error.fields;
    const hosts = new Concealer([...[...this.#texts].flatMap(hostFormsOf), ...this.#hosts]);
    const shown = new Map<string, string>();
    for (const text of [type, title, detail]) if (text) shown.set(text, yield* hosts.text(yield* this.hide(text)));
    return error.withTexts((text) => shown.get(text) ?? text);
  }

  *hide(text: string): Steps<string> {
    return yield* this.beginning(text, text.length);
  }

  /** The answer as it is kept with the attempt. */
  *shown(response: OutboundResponse): Steps<HttpResponse> {
    return { status: response.status, body: yield* this.#bodyOf(response, LIMITS.responseBodyBytes) };
  }

  /** The answer as `$error.response` has it. */
  *inError(response: OutboundResponse): Steps<ErrorResponse> {
    const { status, body } = response;
    const headers = (yield* this.#hideInJson(headersIn(response))) as JsonObject;
    if (body.length === 0) return { status, headers, body: null };
    if (body.length > LIMITS.errorBodyBytes)
      return { status, headers, body: yield* this.#bodyOf(response, LIMITS.errorBodyBytes) };
    const text = beginningOf(response, LIMITS.errorBodyBytes);
    return { status, headers, body: yield* this.#hideInJson(text && parsedIfJson(text, response)) };
  }

  /** At most `most` bytes. Null if it is not text. */
  *#bodyOf(response: OutboundResponse, most: number): Steps<string | null> {
    // Enough to recognise a credential that begins before the cut.
    const text = beginningOf(response, most + (this.isEmpty ? 0 : ENOUGH_BYTES));
    if (text === null) return null;
    const shown = yield* this.beginning(text, charactersIn(text, most));
    const cut = shown.slice(0, charactersIn(shown, most));
    return cut.length < shown.length || response.body.length > most ? `${cut}…` : cut;
  }

  /** Up to a place in the text; a credential that begins before it and ends behind it is hidden, too. */
  *beginning(text: string, end: number): Steps<string> {
    return this.isEmpty ? text.slice(0, end) : yield* this.#all.beginning(text, end);
  }

  *#hideInJson(value: Json): Steps<Json> {
    return this.isEmpty ? value : yield* this.#all.json(value);
  }

  get #all(): Concealer {
    return (this.#hider ??= new Concealer(this.#texts, 1));
  }
}

/** `Credentials.shown` if there are none, as in most calls: no search, so no steps. */
export function unhidden(response: OutboundResponse): HttpResponse {
  const text = beginningOf(response, LIMITS.responseBodyBytes);
  if (text === null) return { status: response.status, body: null };
  const cut = text.slice(0, charactersIn(text, LIMITS.responseBodyBytes));
  return { status: response.status, body: response.body.length > LIMITS.responseBodyBytes ? `${cut}…` : cut };
}

/** The longest DNS name. */
const HOST_CHARACTERS = 253;

/** Errors name the host of a URL, which may hold a credential: in small letters, and in ASCII. That takes quadratic time. */
const hostFormsOf = (secret: string): string[] =>
  secret.length > HOST_CHARACTERS ? [] : [secret.toLowerCase(), domainToASCII(secret)];

/** The host of a secret that is a URL, or one without its scheme. */
function hostOf(secret: string): string[] {
  const [, ofUrl, first] = /^(?:https?:\/\/([^/?#]+)|([\w.:-]+)\/)/i.exec(secret) ?? [];
  return [parseUrl(`http://${ofUrl ?? first ?? ""}`)?.hostname ?? ""];
}

/** The parts that go over the wire as one text. */
function sentOf(policy: Json | undefined): string[] {
  if (!isObject(policy)) return [];
  const { basic, bearer } = policy;
  if (isObject(basic))
    return [Buffer.from(`${String(basic["username"])}:${String(basic["password"])}`).toString("base64")];
  return isObject(bearer) ? [bearer["token"]].filter(isFilled) : [];
}

/** Anybody can send any of them: a service may take its key as the user name. */
function credentialsOf(policy: Json | undefined): string[] {
  if (!isObject(policy)) return [];
  const fields = policy["basic"] ?? policy["digest"];
  const own = isObject(fields)
    ? [fields["username"], fields["password"]]
    : FIELDS_OF_TOKENS.map((path) => valueAt(policy["oauth2"] ?? policy["oidc"] ?? null, path));
  return [...own.filter(isFilled), ...sentOf(policy)];
}

/** The credentials in a policy of OAuth 2 and OpenID Connect. */
const FIELDS_OF_TOKENS = [
  ["client", "secret"],
  ["client", "assertion"],
  ["username"],
  ["password"],
  ["subject", "token"],
  ["actor", "token"],
];

/** A part of a secret may be a word of two letters, which answers have for reasons of their own. */
const isLong = (text: string): boolean => text.length >= LEAST_CHARACTERS;

const isFilled = (value: Json | undefined): value is string => typeof value === "string" && value !== "";

/** The headers of an answer, `set-cookie` as a list: a cookie may contain a comma. */
export const headersIn = ({ headers, setCookies }: OutboundResponse): Record<string, string | string[]> =>
  setCookies.length === 0 ? headers : { ...headers, "set-cookie": [...setCookies] };

/** The text of the first bytes, without a last character that is cut. Null if they are not text. */
function beginningOf({ body, headers }: OutboundResponse, bytes: number): string | null {
  const contentType = headers["content-type"];
  const encoding = encodingOf(body, contentType);
  if (encoding === undefined) return null;
  const text = decodeText(body.subarray(0, bytes), encoding, bytes < body.length);
  const isDeclared = isText(essenceOf(contentType)) || charsetIn(contentType) !== undefined;
  return isDeclared || !NO_TEXT.test(text) ? text : null;
}

function parsedIfJson(text: string, { headers }: OutboundResponse): Json {
  if (!isJson(essenceOf(headers["content-type"]))) return text;
  try {
    return parseJson(text, "the answer");
  } catch {
    return text;
  }
}
