/** What people see of an endpoint's answer: its status and the beginning of its body, without what authenticated the call. */
import { StringDecoder } from "node:string_decoder";
import { valueAt } from "../definition/problem.ts";
import { isObject, type Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { OutboundResponse } from "../outbound/outbound.ts";
import type { SecretValues } from "../secrets/secret.ts";
import { base64Of, Concealer, HIDDEN } from "./conceal.ts";
import { beginsEncoded, credentialAt, ENOUGH_BYTES } from "./find-credential.ts";
import type { HttpResponse } from "./run.ts";
import { partsOf } from "./secret-fields.ts";

/** Media types whose bodies are text, whatever bytes they contain. */
const TEXT = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i;

/** What becomes of bytes that are not UTF-8, and what no text contains. */
const NO_TEXT = /[\0\ufffd]/;

/** Hides the credentials of one call, and the definition's secrets, in what comes from its endpoint, which may repeat them. */
export class Credentials {
  /** By their first characters: with twenty secrets in base64 too, most characters are one's. */
  readonly #secrets = new Map<string, string[]>();
  readonly #texts: string[];
  /** What outputs are searched for. */
  readonly #concealed: string[];
  #concealer: Concealer | undefined;

  constructor(policy: Json | undefined, secrets: SecretValues = new Map()) {
    const hidden = [...secrets.values()].flatMap(partsOf);
    // Without the user's name, which is data if the definition has it in plain text.
    this.#concealed = hidden.length > 0 ? [...hidden, ...sentOf(policy)] : [];
    this.#texts = [...new Set([...credentialsOf(policy), ...hidden])];
    for (const text of [...this.#texts, ...hidden.flatMap(base64Of)]) this.#add(text);
  }

  /** Undefined: no secret is in play, and outputs are data that nobody looks into. */
  get concealer(): Concealer | undefined {
    if (this.#concealed.length > 0) this.#concealer ??= new Concealer(this.#concealed);
    return this.#concealer;
  }

  /** A token that the call was given on the way. */
  hideToo(text: string): void {
    if (this.#texts.includes(text)) return;
    this.#texts.push(text);
    this.#concealed.push(text);
    this.#concealer = undefined;
    for (const form of [text, ...base64Of(text)]) this.#add(form);
  }

  #add(secret: string): void {
    const known = this.#secrets.get(secret[0]!);
    if (known) known.push(secret);
    else this.#secrets.set(secret[0]!, [secret]);
  }

  /** An error that nobody expected goes to the log with its stack. */
  hideIn(error: unknown): unknown {
    if (!(error instanceof Error) || this.#texts.length === 0) return error;
    const { message, stack = "" } = error;
    const shown = this.hide(message);
    if (shown !== message) Object.assign(error, { message: shown });
    if (this.hide(stack) !== stack) Object.assign(error, { stack: this.hide(stack) });
    return error;
  }

  hide(text: string): string {
    return this.#beginningOf(text, text.length);
  }

  /** The answer as it is kept with the attempt. */
  shown(response: OutboundResponse): HttpResponse {
    return { status: response.status, body: this.#bodyOf(response) };
  }

  /** Null if it is not text. */
  #bodyOf({ body, headers }: OutboundResponse): string | null {
    const most = LIMITS.responseBodyBytes;
    // Enough to recognise a credential that begins before the cut.
    const beginning = body.subarray(0, most + (this.#texts.length > 0 ? ENOUGH_BYTES : 0));
    const text = textOf(beginning, {
      isDeclared: TEXT.test(headers["content-type"] ?? ""),
      isCut: beginning.length < body.length,
    });
    if (text === null) return null;
    const shown = this.#beginningOf(text, cutAt(text, most));
    const cut = shown.slice(0, cutAt(shown, most));
    return cut.length < shown.length || body.length > most ? `${cut}…` : cut;
  }

  /** Up to a place in the text. What begins before it is hidden whole, even if it ends behind it. */
  #beginningOf(text: string, end: number): string {
    let shown = "";
    let from = 0;
    for (let at = 0; at < end && this.#texts.length > 0; at++) {
      const character = text[at]!;
      const known = beginsEncoded(character) ? this.#texts : this.#secrets.get(character);
      if (!known) continue;
      const length = Math.max(...known.map((secret) => credentialAt(text, at, secret)));
      if (length === 0) continue;
      shown += text.slice(from, at) + HIDDEN;
      from = at + length;
      at = from - 1;
    }
    return shown + text.slice(from, Math.max(from, end));
  }
}

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
