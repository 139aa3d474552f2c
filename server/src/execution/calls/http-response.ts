/** What people see of an endpoint's answer: its status and the beginning of its body, without what authenticated the call. */
import { StringDecoder } from "node:string_decoder";
import { domainToASCII } from "node:url";
import { valueAt } from "../../definition/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { OutboundResponse } from "../../outbound/outbound.ts";
import type { SecretValues } from "../../secrets/secret.ts";
import { atOnce } from "../../lib/sharing/slices.ts";
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
    this.#concealer = this.#hider = undefined;
  }

  /** The error without the credentials: in a run's error, and in the log, which also has the stack of an unexpected one. */
  hideIn(error: unknown): unknown {
    if (!(error instanceof Error) || this.#texts.size === 0) return error;
    if (error instanceof WorkflowError) return error.withTexts((text) => this.#hideHost(this.hide(text)));
    const { message, stack = "" } = error;
    const shown = this.hide(message);
    if (shown !== message) Object.assign(error, { message: shown });
    if (this.hide(stack) !== stack) Object.assign(error, { stack: this.hide(stack) });
    return error;
  }

  /** Errors name the host of a URL, which may hold a credential: in small letters, and in ASCII. */
  #hideHost(text: string): string {
    const forms = [...this.#texts].flatMap((secret) => [secret.toLowerCase(), domainToASCII(secret)]);
    return atOnce(new Concealer(forms).text(text));
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
    const beginning = body.subarray(0, most + (this.#texts.size > 0 ? ENOUGH_BYTES : 0));
    const text = textOf(beginning, {
      isDeclared: TEXT.test(headers["content-type"] ?? ""),
      isCut: beginning.length < body.length,
    });
    if (text === null) return null;
    const shown = this.#beginningOf(text, cutAt(text, most));
    const cut = shown.slice(0, cutAt(shown, most));
    return cut.length < shown.length || body.length > most ? `${cut}…` : cut;
  }

  #beginningOf(text: string, end: number): string {
    if (this.#texts.size === 0) return text.slice(0, end);
    this.#hider ??= new Concealer(this.#texts, 1);
    return atOnce(this.#hider.beginning(text, end));
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
