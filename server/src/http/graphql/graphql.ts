/**
 * POST /graphql straight on node:http: the hot path. Measured with a resolver that answers at once, bare node:http
 * costs 14 µs of CPU a request, this 33, Yoga's pipeline behind it 45, Yoga's own handler 150 to 190.
 */
import type { OutgoingHttpHeaders } from "node:http";
import type { Graphql } from "../../graphql/graphql.ts";
import type { Answer, Asking } from "../../graphql/requests/request.ts";
import type { Origin } from "../../graphql/context/context.ts";
import { Ending } from "../../lib/ending.ts";
import { stringify } from "../../lib/json/json-text.ts";
import type { Admission } from "../admission/admission.ts";
import { sendHeld } from "../send-held.ts";
import { sendJson, writeHead, type Exchange } from "../write-response.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { readBody } from "../connections/read-body.ts";
import { leave, type Connections } from "../connections/connections.ts";
import { corsHeaders, type Cors } from "../cors.ts";
import type { PieceWriter } from "../write-pieces.ts";
import { checkHead, mediaTypeOf, parseBody, type MediaType } from "./graphql-request.ts";
import { HttpRefusal, STATUSES } from "../http-refusal.ts";
import { userAgentOf } from "../request.ts";
import type { EventStreams } from "./sse.ts";

export type GraphqlEdge = {
  graphql: Graphql;
  admission: Admission;
  cors: Cors;
  streams: EventStreams;
  clientAddress: (request: Exchange["request"]) => string;
  arrivals: Arrivals;
  connections: Connections;
  writer: PieceWriter;
};

/** `holdBack`: the server is overloaded, so only what is urgent may begin; called when it is refused for that. */
export async function handleGraphql(edge: GraphqlEdge, exchange: Exchange, holdBack?: () => void): Promise<void> {
  const { request, response } = exchange;
  const headers = corsHeaders(edge.cors, request);
  if (request.method === "OPTIONS" && headers) {
    writeHead(exchange, 204, undefined, undefined, headers);
    return void response.end();
  }
  const mediaType = mediaTypeOf(request);
  const asking = askingOf(edge, exchange);
  const answer = await answerOf(edge, exchange, asking, { mediaType, urgentOnly: holdBack !== undefined });
  if (answer.kind === "refused" && answer.code === "UNAVAILABLE") holdBack?.();
  if (answer.kind === "refused" && answer.cause instanceof HttpRefusal) {
    const { status, headers: own } = answer.cause;
    return sendJson(exchange, status, answer.result, { ...own, ...headers });
  }
  if (answer.kind === "stream") return edge.streams.send(exchange, answer, headers);
  if (mediaType === "text/event-stream" && answer.kind === "result")
    return edge.streams.sendOne(exchange, answer, headers);
  sendAnswer(edge, exchange, answer, mediaType, headers);
}

function askingOf({ admission, clientAddress }: GraphqlEdge, exchange: Exchange): Asking {
  const { request } = exchange;
  let known: ReturnType<Asking["caller"]>;
  return {
    caller: () =>
      (known ??= admission.identify(request.socket, request.headers.authorization, () => clientAddress(request))),
    counted: (standing) => {
      exchange.standing = standing;
    },
  };
}

async function answerOf(
  edge: GraphqlEdge,
  exchange: Exchange,
  asking: Asking,
  { mediaType, urgentOnly }: { mediaType: MediaType; urgentOnly: boolean },
): Promise<Answer> {
  const { graphql, arrivals, connections } = edge;
  const { request, requestId } = exchange;
  const ending = new Ending();
  const { endings } = connections.of(request.socket);
  endings.push(ending);
  let release: (() => void) | undefined;
  try {
    checkHead(request);
    const body = await readBody(request, arrivals, asking.caller);
    release = body.release;
    const { query, operationName, variables } = parseBody(body.text);
    return await graphql.answer({
      query,
      operationName,
      variables,
      release,
      origin: new RequestOrigin(edge, exchange),
      canStream: mediaType === "text/event-stream",
      urgentOnly,
      ending,
      caller: asking.caller,
      counted: asking.counted,
      watch: edge.admission.watch,
    });
  } catch (error) {
    release?.();
    return await graphql.refuse(error, asking, requestId);
  } finally {
    leave(endings, ending);
  }
}

/** Most is read by few. */
class RequestOrigin implements Origin {
  readonly requestId: string;
  readonly #request: Exchange["request"];
  readonly #clientAddress: GraphqlEdge["clientAddress"];

  constructor({ clientAddress }: GraphqlEdge, { request, requestId }: Exchange) {
    this.requestId = requestId;
    this.#request = request;
    this.#clientAddress = clientAddress;
  }

  get address(): string {
    return this.#clientAddress(this.#request);
  }

  get userAgent(): string | undefined {
    return userAgentOf(this.#request);
  }

  get idempotencyKey(): string | undefined {
    const { "idempotency-key": key } = this.#request.headers;
    return typeof key === "string" ? key : undefined;
  }
}

function sendAnswer(
  edge: GraphqlEdge,
  exchange: Exchange,
  answer: Exclude<Answer, { kind: "stream" }>,
  mediaType: MediaType,
  cors?: OutgoingHttpHeaders,
): void {
  const status = statusOf(answer, mediaType);
  const text = stringify(answer.result);
  if (answer.kind === "result") answer.size.settle(text.length);
  sendHeld(edge.writer, exchange, { status, text, headers: headersOf(answer, status, mediaType, cors) }, () => {
    if (answer.kind === "result") answer.size.clear();
  });
}

function headersOf(
  { result }: Exclude<Answer, { kind: "stream" }>,
  status: number,
  mediaType: MediaType,
  cors?: OutgoingHttpHeaders,
): OutgoingHttpHeaders | undefined {
  if (status === 200 && mediaType === "application/json") return cors;
  const headers: OutgoingHttpHeaders = { ...cors };
  if (mediaType === "application/graphql-response+json") headers["content-type"] = `${mediaType}; charset=utf-8`;
  if (status === 401) headers["www-authenticate"] = "Bearer";
  if (status === 503 || status === 429)
    headers["retry-after"] = String(result.errors?.[0]?.extensions["retryAfter"] ?? 1);
  return headers;
}

function statusOf(answer: Exclude<Answer, { kind: "stream" }>, mediaType: MediaType): number {
  if (answer.kind === "refused") return STATUSES[answer.code] ?? (mediaType === "application/json" ? 200 : 400);
  const { data, errors } = answer.result;
  return errors?.every(({ extensions }) => extensions.code === "UNAVAILABLE") && isNothing(data) ? 503 : 200;
}

/** No field was answered. */
const isNothing = (data: unknown): boolean => data == null || Object.values(data).every((value) => value === null);
