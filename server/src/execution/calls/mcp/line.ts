/** The way to an MCP server over HTTP: how each message is authenticated and sent. */
import { inTurns } from "../../../fairness/slices.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { WITH_INITIALIZE } from "../../../lib/mcp/protocol.ts";
import type { IsEnough } from "../../../outbound/answer.ts";
import type { OutboundRequest, OutboundResponse } from "../../../outbound/outbound.ts";
import { createAuthorizer } from "../authorizer.ts";
import { headersOf, send } from "../send.ts";
import type { Line } from "./conversation.ts";
import type { Message } from "./message.ts";
import { readerOf, type Way } from "./reader.ts";
import { repliedTo, replyIn } from "./reply.ts";

/** How long a server may take to end a session. */
const GOODBYE_MS = 2_000;

export function lineTo(request: JsonObject, way: Way): Line {
  const { calling, context, credentials } = way;
  const { organizationId, turn } = context;
  const hide = (text: string): void => credentials.hideToo(text);
  const { policy } = context.authentication;
  const reader = readerOf(way, (shown) => context.answered(shown));
  return {
    ...reader,
    revisions: WITH_INITIALIZE,
    async post(message, taken) {
      const sent = outgoing(request, message, context);
      const { method, url, signal } = sent;
      const authorizer =
        policy && createAuthorizer(policy, { tokens: calling.tokens, organizationId, signal, method, url, hide });
      const answer = async (response: OutboundResponse) => ({
        from: new URL(response.url).host,
        response,
        reply: message.id === undefined ? {} : await inTurns(replyIn(response, message.id), turn),
      });
      const answered = (response: OutboundResponse): Promise<void> => reader.read(() => answer(response), taken);
      const isEnough = (): IsEnough => repliedTo(message, turn);
      await send(calling.outbound, { ...sent, isEnough, taken: answered }, authorizer);
    },
  };
}

/** The author's headers override ours; those of the protocol they can't name. A session is ended even if the run was cancelled. */
function outgoing(request: JsonObject, { headers, body }: Message, context: Way["context"]): OutboundRequest {
  return {
    organizationId: context.organizationId,
    method: body ? "POST" : "DELETE",
    url: request["endpoint"] as string,
    headers: {
      accept: "application/json, text/event-stream",
      ...(body && { "content-type": "application/json" }),
      ...headers,
      ...headersOf(request["headers"]),
    },
    body: body && JSON.stringify(body),
    redirect: false,
    confidential: context.filled?.confidential,
    signal: body ? context.signal : new AbortController().signal,
    turn: context.turn,
    timeoutMs: body ? context.leftMs() : GOODBYE_MS,
    limitMs: context.limitMs,
  };
}
