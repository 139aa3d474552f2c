/** What people see of an endpoint's answer: its status and the beginning of its body, without what authenticated the call. */
import { StringDecoder } from "node:string_decoder";
import { domainToASCII } from "node:url";
import { valueAt } from "../../definition/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { OutboundResponse } from "../../outbound/outbound.ts";
import type { SecretValues } from "../../secrets/secret.ts";
import type { Steps } from "../../lib/sharing/slices.ts";
import { Concealer, ENOUGH_BYTES } from "./conceal.ts";
import type { HttpResponse } from "../run.ts";
import { partsOf } from "../../lib/secret-fields.ts";

/** Media types whose bodies are text, whatever bytes they contain. */
const TEXT = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i;

/** What becomes of bytes that are not UTF-8, and what no text contains. */
const NO_TEXT = /[\0\ufffd]/;

/** Hides the credentials of one call, and the definition's secrets, in what comes from its endpoint, which may repeat them. */
export class Credentials {
  readonly #texts: Set<string>;
  /** What outputs are searched for. */
  readonly #concealed: string[];
  #hider: Concealer | undefined;
  #concealer: Concealer | undefined;

  constructor(policy: Json | undefined, secrets: SecretValues = new Map()) {
    const hidden = [...secrets.values()].flatMap(partsOf);
    // Without the user's name, which is data if the definition has it in plain text.
    this.#concealed = hidden.length > 0 ? [...hidden, ...sentOf(policy)] : [];
    this.#texts = new Set([...credentialsOf(policy), ...hidden]);
  }

  /** Undefined: no secret is in play, and outputs are data that nobody looks into. */
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

  /** What searches has up to 30 MB, and is made again when it is needed again. */
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
    const hosts = new Concealer([...this.#texts].flatMap(hostFormsOf));
    const shown = new Map<string, string>();
    for (const text of [type, title, detail]) if (text) shown.set(text, yield* hosts.text(yield* this.hide(text)));
    return error.withTexts((text) => shown.get(text) ?? text);
  }

  *hide(text: string): Steps<string> {
    return yield* this.#beginningOf(text, text.length);
  }

  /** The answer as it is kept with the attempt. */
  *shown(response: OutboundResponse): Steps<HttpResponse> {
    return { status: response.status, body: yield* this.#bodyOf(response) };
  }

  /** Null if it is not text. */
  *#bodyOf({ body, headers }: OutboundResponse): Steps<string | null> {
    const most = LIMITS.responseBodyBytes;
    // Enough to recognise a credential that begins before the cut.
    const beginning = body.subarray(0, most + (this.isEmpty ? 0 : ENOUGH_BYTES));
    const text = textOf(beginning, {
      isDeclared: TEXT.test(headers["content-type"] ?? ""),
      isCut: beginning.length < body.length,
    });
    if (text === null) return null;
    const shown = yield* this.#beginningOf(text, cutAt(text, most));
    const cut = shown.slice(0, cutAt(shown, most));
    return cut.length < shown.length || body.length > most ? `${cut}…` : cut;
  }

  *#beginningOf(text: string, end: number): Steps<string> {
    if (this.isEmpty) return text.slice(0, end);
    this.#hider ??= new Concealer(this.#texts, 1);
    return yield* this.#hider.beginning(text, end);
  }
}

/** Of a name in the DNS. */
const HOST_CHARACTERS = 253;

/** Errors name the host of a URL, which may hold a credential: in small letters, and in ASCII. That takes quadratic time. */
const hostFormsOf = (secret: string): string[] =>
  secret.length > HOST_CHARACTERS ? [] : [secret.toLowerCase(), domainToASCII(secret)];

/** What goes over the wire as one text. */
function sentOf(policy: Json | undefined): string[] {
  if (!isObject(policy)) return [];
  const { basic, bearer } = policy;
  if (isObject(basic))
    return [Buffer.from(`${String(basic["username"])}:${String(basic["password"])}`).toString("base64")];
  return isObject(bearer) ? [bearer["token"]].filter(isText) : [];
}

/** Anybody can send any of them: a service may take its key as the user name. */
function credentialsOf(policy: Json | undefined): string[] {
  if (!isObject(policy)) return [];
  const fields = policy["basic"] ?? policy["digest"];
  const own = isObject(fields)
    ? [fields["username"], fields["password"]]
    : [valueAt(policy, ["oauth2", "client", "secret"])];
  return [...own.filter(isText), ...sentOf(policy)];
}

const isText = (value: Json | undefined): value is string => typeof value === "string" && value !== "";

/** Null if the bytes are not text. Without the last character if that is cut. */
function textOf(bytes: Uint8Array, { isDeclared, isCut }: { isDeclared: boolean; isCut: boolean }): string | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = isCut ? new StringDecoder("utf8").write(buffer) : buffer.toString("utf8");
  return isDeclared || !NO_TEXT.test(text) ? text : null;
}

/** How many characters of a text fit into so many bytes. */
function cutAt(text: string, bytes: number): number {
  return new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read;
}
