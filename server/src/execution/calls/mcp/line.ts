/** The way to one MCP server: how each message is authenticated and sent, and what becomes of its answer. */
import { inTurns } from "../../../fairness/slices.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { IsEnough } from "../../../outbound/answer.ts";
import type { OutboundRequest, OutboundResponse } from "../../../outbound/outbound.ts";
import type { EffectContext } from "../../effect.ts";
import type { HttpResponse } from "../../run/run.ts";
import type { Authentication } from "../authentication.ts";
import { createAuthorizer } from "../authorizer.ts";
import type { Calling } from "../calling.ts";
import { unhidden, type Credentials } from "../http-response.ts";
import { headersOf, send } from "../send.ts";
import type { Line } from "./conversation.ts";
import type { Message } from "./message.ts";
import { refusalIn, shownWord } from "./outcome.ts";
import { repliedTo, replyIn } from "./reply.ts";

/** How long the whole conversation may take, and how long it still may. */
export type Limited = { limitMs: number; leftMs(): number };

type Way = {
  calling: Calling;
  context: EffectContext & Limited & { authentication: Authentication };
  credentials: Credentials;
  searching: <Result>(work: () => Promise<Result>) => Promise<Result>;
  conclude: Line["conclude"];
  /** Called once the output is there, before the answer is released. */
  keep(): Promise<void>;
};

/** How long a server may take to end a session. */
const GOODBYE_MS = 2_000;

export function lineTo(request: JsonObject, way: Way): Line {
  const { calling, context, credentials, searching, keep } = way;
  const { organizationId, turn } = context;
  const hide = (text: string): void => credentials.hideToo(text);
  const { policy } = context.authentication;
  const show = async (response: OutboundResponse): Promise<HttpResponse> => {
    const shown = credentials.isEmpty ? unhidden(response) : await inTurns(credentials.shown(response), turn);
    context.answered(shown);
    return shown;
  };
  let isConcluded = false;
  return {
    async post(message, taken) {
      const sent = outgoing(request, message, context);
      const { method, url, signal } = sent;
      const authorizer =
        policy && createAuthorizer(policy, { tokens: calling.tokens, organizationId, signal, method, url, hide });
      const answered = async (response: OutboundResponse): Promise<void> => {
        await searching(async () => {
          const reply = message.id === undefined ? {} : await inTurns(replyIn(response, message.id), turn);
          await taken({ response, reply });
        });
        if (!isConcluded) return;
        isConcluded = false;
        await keep();
      };
      const isEnough = (): IsEnough => repliedTo(message, turn);
      await send(calling.outbound, { ...sent, isEnough, taken: answered }, authorizer);
    },
    async conclude(answer, result) {
      await show(answer.response);
      await way.conclude(answer, result);
      isConcluded = true;
    },
    async refusal(answer) {
      return refusalIn(answer, { shown: await show(answer.response), credentials, turn });
    },
    shownWord: (value) => shownWord(value, { credentials, turn }),
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
    signal: body ? context.signal : new AbortController().signal,
    turn: context.turn,
    timeoutMs: body ? context.leftMs() : GOODBYE_MS,
    limitMs: context.limitMs,
  };
}
