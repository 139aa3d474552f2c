/** `POST /mcp`: the Model Context Protocol over Streamable HTTP, without sessions (docs/mcp.md). */
import type { OutgoingHttpHeaders } from "node:http";
import { notSignedIn, type Caller } from "../../auth/caller.ts";
import type { Needs } from "../../auth/needs.ts";
import { AnswerSize } from "../../graphql/context/answer-size.ts";
import { Ending } from "../../lib/ending.ts";
import { overloaded, Refusal, type Code } from "../../lib/errors.ts";
import { answerMethod } from "../../mcp/answer-method.ts";
import type { Call, Mcp } from "../../mcp/call.ts";
import { ERRORS } from "../../lib/mcp/protocol.ts";
import { ProtocolError } from "../../mcp/protocol.ts";
import { admit, type AdmitOptions } from "../admission/admit.ts";
import { checkContentType, type Taken } from "../body-format.ts";
import { leave } from "../connections/connections.ts";
import { readBody } from "../connections/read-body.ts";
import { corsHeaders } from "../cors.ts";
import type { GraphqlEdge } from "../graphql/graphql.ts";
import { HttpRefusal, STATUSES, type Statuses } from "../http-refusal.ts";
import { userAgentOf } from "../request.ts";
import { writeHead, type Exchange } from "../write-response.ts";
import { McpResponse } from "./mcp-response.ts";
import { isUrgent, readMessage, type Message, type MessageId } from "./message.ts";
import { challenge } from "./resource-metadata.ts";

export type McpEdge = GraphqlEdge &
  Mcp &
  Pick<AdmitOptions, "rates"> & {
    publicUrl: string | undefined;
    isOwnOrigin: (request: Exchange["request"]) => boolean;
  };

/** Any caller may ask which tools there are for them; each tool has its scope. */
const NEEDS: Needs = { signIn: true, scopes: new Map(), whole: undefined };

const JSON_ALONE: Taken = { isTaken: (essence) => essence === "application/json", wanted: "application/json" };

/** `holdBack`: the server is overloaded, so only what is urgent may begin; called when it is refused for that. */
export async function handleMcp(edge: McpEdge, exchange: Exchange, holdBack?: () => void): Promise<void> {
  const { request, response } = exchange;
  const headers = crossOrigin(edge, request);
  if (request.method === "OPTIONS" && headers) {
    writeHead(exchange, 204, undefined, undefined, headers);
    return void response.end();
  }
  const answer = new McpResponse({ writer: edge.writer, exchange, headers });
  let id: MessageId | undefined;
  try {
    checkHead(edge, exchange);
    const caller = await admit(edge, exchange, NEEDS);
    const { text, release } = await readBody(request, edge.arrivals, () => caller);
    let message: Message;
    try {
      message = readMessage(text, request.headers, (known) => (id = known));
      if (holdBack && !isUrgent(message)) throw overloaded();
    } catch (error) {
      release?.();
      throw error;
    }
    await answerMessage(edge, exchange, { caller, message, answer, release });
  } catch (error) {
    if (error instanceof Refusal && error.code === "UNAVAILABLE") holdBack?.();
    await refuse(edge, exchange, { answer, id }, error);
  }
}

/** Browsers of listed origins send these headers too. */
function crossOrigin({ cors }: McpEdge, request: Exchange["request"]): OutgoingHttpHeaders | undefined {
  const headers = corsHeaders(cors, request);
  const allowed = headers?.["access-control-allow-headers"];
  return (
    headers && {
      ...headers,
      "access-control-allow-headers": `${allowed}, mcp-protocol-version, mcp-method, mcp-name`,
      "access-control-expose-headers": `${headers["access-control-expose-headers"]}, www-authenticate`,
    }
  );
}

/** Throws FORBIDDEN for a page of another origin, and HttpRefusal. */
function checkHead({ isOwnOrigin }: McpEdge, { request }: Exchange): void {
  if (!isOwnOrigin(request)) throw new Refusal("FORBIDDEN", "pages of this origin may not call this server");
  if (request.method !== "POST") throw new HttpRefusal(405, "send messages by POST", { allow: "POST" });
  checkContentType(request.headers, JSON_ALONE);
}

/** `release`: called when nothing holds the message any longer. */
type Asked = { caller: Caller; message: Message; answer: McpResponse; release: (() => void) | undefined };

async function answerMessage(edge: McpEdge, exchange: Exchange, asked: Asked): Promise<void> {
  const { caller, message, answer, release } = asked;
  const { id, method, params, isStateless, capabilities, progressToken } = message;
  if (id === undefined) {
    release?.();
    // There is nothing to be told: a client that gives a request up closes its connection.
    return answer.accept();
  }
  const { request } = exchange;
  const ending = new Ending();
  const { endings } = edge.connections.of(request.socket);
  endings.push(ending);
  const size = new AnswerSize(edge.graphql.figures.answersBudget, caller.organizationId);
  ending.onEnd(() => size[Symbol.dispose]());
  const { "idempotency-key": key } = request.headers;
  const call: Call = {
    caller: { ...caller, from: { address: edge.clientAddress(request), userAgent: userAgentOf(request) } },
    isStateless,
    capabilities,
    idempotencyKey: typeof key === "string" ? key : undefined,
    ending,
    charge: (bytes) => size.charge(bytes),
    beginWait: () => beginWait(edge, caller, ending),
    tellProgress:
      progressToken === undefined || !answer.takesEvents
        ? undefined
        : (percent, text) => answer.tellProgress(progressToken, percent, text),
  };
  try {
    const result = await edge.graphql.inTime(ending, answerMethod(edge, call, method, params), release);
    await answer.send(200, { jsonrpc: "2.0", id, result }, size);
  } catch (error) {
    size[Symbol.dispose]();
    throw error;
  } finally {
    leave(endings, ending);
  }
}

/** A wait ends with its credential. */
function beginWait({ graphql, admission }: McpEdge, caller: Caller, ending: Ending): Disposable {
  using begun = new DisposableStack();
  begun.use(graphql.lasting.begin(caller.organizationId));
  const lapsed = "the credential has expired or was revoked during the wait: the run goes on";
  begun.use(admission.watch(caller, () => ending.end(new Refusal("UNAUTHENTICATED", lapsed))));
  return begun.move();
}

const MCP_STATUSES: Statuses = { ...STATUSES, FORBIDDEN: 403 };

/** The protocol's codes of refusals; any other is the HTTP status, which no code of JSON-RPC is. */
const CODES: Partial<Record<Code, number>> = {
  BAD_REQUEST: ERRORS.invalidRequest,
  BAD_USER_INPUT: ERRORS.invalidParams,
  NOT_FOUND: ERRORS.invalidParams,
  CONFLICT: ERRORS.invalidParams,
  QUERY_TOO_COMPLEX: ERRORS.invalidParams,
  INTERNAL_SERVER_ERROR: ERRORS.internal,
};

type Refused = { answer: McpResponse; id: MessageId | undefined };

async function refuse(edge: McpEdge, exchange: Exchange, { answer, id }: Refused, error: unknown): Promise<void> {
  const send = (status: number, shown: object, headers?: OutgoingHttpHeaders): Promise<void> =>
    answer.send(status, { jsonrpc: "2.0", ...(id !== undefined && { id }), error: shown }, undefined, headers);
  if (error instanceof ProtocolError) {
    const { code, message, data, status } = error;
    return send(status, { code, message, ...(data && { data }) });
  }
  const { code, result } = await edge.graphql.refuse(error, { caller: () => undefined }, exchange.requestId);
  const { message, extensions: data } = result.errors![0]!;
  const status = error instanceof HttpRefusal ? error.status : (MCP_STATUSES[code] ?? 200);
  await send(status, { code: CODES[code] ?? status, message, data }, headersOf(edge, exchange, error, status));
}

function headersOf(edge: McpEdge, { request }: Exchange, error: unknown, status: number): OutgoingHttpHeaders {
  if (error instanceof HttpRefusal) return error.headers;
  const refusal = error instanceof Refusal ? error : notSignedIn();
  if (status === 401 || (status === 403 && refusal.details.scope !== undefined))
    return { "www-authenticate": challenge(edge, request, refusal) };
  if (status === 429 || status === 503) return { "retry-after": String(refusal.details.retryAfter ?? 1) };
  return {};
}
