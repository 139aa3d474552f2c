/** The `fetch` of a provider's package: our guarded sockets. */
import { follow } from "../lib/abort.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { hasMoreValues } from "../lib/json/json-steps.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Beats } from "../fairness/pace.ts";
import { essenceOf } from "../lib/media-type.ts";
import { textIn } from "../outbound/body-text.ts";
import { tooLarge } from "../outbound/errors.ts";
import type { Outbound, OutboundRequest, OutboundResponse, ResponseHead } from "../outbound/outbound.ts";
import { EventStream } from "./event-stream.ts";

type Options = {
  outbound: Outbound;
  organizationId: OrganizationId;
  host: string;
  timeoutMs: number;
  /** The maximum of an answer that comes whole. */
  mostBytes: number;
  /** Awaited before an answer, or a part of a stream, is parsed. */
  turn?: (() => Promise<void> | undefined) | undefined;
  beats: Beats;
  /** Called when the request is about to be written. */
  onSent: () => void;
  /** Called when a response begins: some ask for a pause. */
  onResponse: (head: ResponseHead) => void;
};

/** Thrown where a stream was asked for and the whole answer came: the next request of the same `fetch` returns it. */
export class CameWhole extends Error {}

/** `streams`: the answer is asked for as a stream of events. `stream` is the one that came. */
export class GuardedFetch {
  readonly #options: Options;
  readonly #streams: boolean;
  #whole: Response | undefined;
  stream: EventStream | undefined;

  constructor(options: Options, streams: boolean) {
    this.#options = options;
    this.#streams = streams;
  }

  readonly fetch: typeof globalThis.fetch = async (url, init) => {
    const whole = this.#whole;
    this.#whole = undefined;
    if (whole) return whole;
    const request = this.#requestOf(String(url), init!);
    if (!this.#streams) return this.#read(await this.#options.outbound.request(request));
    const response = await this.#streamed(request);
    if (this.stream || !response.ok) return response;
    this.#whole = response;
    throw new CameWhole();
  };

  #requestOf(url: string, { headers, body, signal }: RequestInit): OutboundRequest {
    const { organizationId, timeoutMs, turn, onSent } = this.#options;
    return {
      organizationId,
      method: "POST",
      url,
      headers: Object.fromEntries(new Headers(headers)),
      body: body as string,
      redirect: false,
      signal: signal!,
      timeoutMs,
      sent: onSent,
      ...(turn && { turn }),
    };
  }

  /** Resolves with the beginning of a stream, or with a whole answer. */
  #streamed(request: OutboundRequest): Promise<Response> {
    const { host, turn, beats, outbound } = this.#options;
    return new Promise((resolve, reject) => {
      const over = follow(request.signal);
      const begin = (head: ResponseHead): EventStream | undefined => {
        if (!isStream(head)) return undefined;
        this.#options.onResponse(head);
        this.stream = new EventStream({
          host,
          turn,
          beats,
          left: () => over.abort(new Error("the rest is not needed")),
        });
        resolve(new Response(this.stream.body, head));
        return this.stream;
      };
      // A packed stream can't be read as it comes.
      const headers = { ...request.headers, "accept-encoding": "identity" };
      outbound
        .request({ ...request, headers, signal: over.signal, stream: begin })
        .then((answer) => (this.stream ? this.stream.end() : resolve(this.#read(answer))))
        .catch((error: unknown) => (this.stream ? this.stream.fail(error) : reject(error)))
        .finally(() => over[Symbol.dispose]());
    });
  }

  #read({ status, headers, body }: OutboundResponse): Response {
    const { host, mostBytes, onResponse } = this.#options;
    if (body.length > mostBytes) throw tooLarge(host, mostBytes);
    onResponse({ status, headers });
    const text = WITHOUT_BODY.has(status) ? null : textIn({ headers, body });
    // A package checks each value: a megabyte of `{}` takes it two seconds. It finds an answer without a body unusable.
    const isRead = text !== null && !hasMoreValues(text, LIMITS.modelAnswerValues);
    return new Response(isRead ? text : null, { status, headers });
  }
}

const WITHOUT_BODY = new Set([204, 205, 304]);

const isStream = ({ status, headers }: ResponseHead): boolean =>
  status === 200 && essenceOf(headers["content-type"]) === "text/event-stream";
