/** `POST /webhook/<agent>/<token>`: the URL of a trigger starts a run with the request's body as its input (docs/triggers.md). */
import type { IncomingMessage } from "node:http";
import type { Graphql } from "../../graphql/graphql.ts";
import { every } from "../../lib/clock.ts";
import { Ending } from "../../lib/ending.ts";
import { notFound, Refusal, type Code } from "../../lib/errors.ts";
import { encodeId } from "../../lib/ids.ts";
import { stringify } from "../../lib/json/json-text.ts";
import type { Rates } from "../../rates/rates.ts";
import { fire, outputOf, type Fired } from "../../triggers/firings/fire.ts";
import type { Trigger } from "../../triggers/store/trigger.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { challengeOf, isBare } from "../../triggers/kinds/webhook/signature.ts";
import { NotSigned } from "../../triggers/kinds/webhook/unsigned.ts";
import type { Admission } from "../admission/admission.ts";
import { countRequest } from "../admission/admit.ts";
import { sendText, type Exchange } from "../write-response.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { leave, type Connections } from "../connections/connections.ts";
import { readBody } from "../connections/read-body.ts";
import { STATUS } from "../graphql/graphql.ts";
import { Misfit } from "../http-refusal.ts";
import { sendRefusal } from "../send-refusal.ts";
import { isBearer, pathOf, prove, readCall, type Called } from "./webhook-call.ts";

export type Webhooks = {
  isFor(path: string): boolean;
  /** In whose line a call waits, when its webhook was called before. */
  organizationOf(path: string): string | undefined;
  handle(exchange: Exchange): Promise<void>;
};

type WebhooksOptions = {
  triggers: Triggers;
  rates: Rates;
  graphql: Graphql;
  admission: Admission;
  arrivals: Arrivals;
  connections: Connections;
  clientAddress: (request: IncomingMessage) => string;
};

/** A wait ends within 10 s of its URL: what is known of a URL is at most 5 s old. */
const LOOK_EVERY_MS = 4_000;

const STATUSES: Partial<Record<Code, number>> = {
  ...STATUS,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  BAD_USER_INPUT: 422,
};

type Done = { status: number; body: object | undefined };
const BARE: Done = { status: 200, body: undefined };

export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { triggers, rates, graphql, admission, arrivals, connections, clientAddress } = options;

  const triggerAt = async ({ request, path }: Exchange): Promise<Trigger> => {
    const asked = pathOf(path)!;
    const trigger = await triggers.webhooks.find(asked, clientAddress(request));
    if (!trigger || !isBearer(request, asked.token)) throw notFound("Webhook");
    return trigger;
  };

  /** Throws NOT_FOUND, in the same words whatever is wrong. From then on the connection is the organization's. */
  const admit = async (exchange: Exchange): Promise<Trigger> => {
    const trigger = await triggerAt(exchange);
    admission.assign(exchange.request.socket, trigger.organizationId);
    return trigger;
  };

  /** Ends the wait when the URL is not good any more, or the client has gone away. */
  const beginWait = (exchange: Exchange, { organizationId }: Trigger): Disposable & { ending: Ending } => {
    using begun = new DisposableStack();
    begun.use(graphql.lasting.begin(organizationId));
    const ending = new Ending();
    const { endings } = connections.of(exchange.request.socket);
    endings.push(ending);
    begun.defer(() => leave(endings, ending));
    const look = async (): Promise<void> => {
      try {
        await triggerAt(exchange);
      } catch (error) {
        // Without the database nobody can know.
        if (error instanceof Refusal && error.code === "NOT_FOUND") ending.end(error);
      }
    };
    begun.use(every(triggers.clock, LOOK_EVERY_MS, () => void look()));
    const lasting = begun.move();
    return { ending, [Symbol.dispose]: () => lasting.dispose() };
  };

  const answer = async (exchange: Exchange): Promise<Done> => {
    const { request } = exchange;
    if (request.method !== "POST") throw new Misfit(405, "call a webhook with POST", { allow: "POST" });
    const trigger = await admit(exchange);
    using held = new DisposableStack();
    const readText = async (): Promise<string> => {
      const { text, release } = await readBody(request, arrivals, () => trigger);
      if (release) held.defer(release);
      return text;
    };
    const called: Called = { request, path: exchange.path, address: clientAddress(request), trigger, readText };
    const proof = await prove(triggers, called);
    if (proof?.isPing) return { status: 200, body: {} };
    await countRequest(rates, exchange, { organizationId: trigger.organizationId });
    const occasion = await readCall(triggers, called, proof);
    const challenge = challengeOf(trigger.policy, occasion.payload ?? null);
    const { policy } = trigger;
    if (challenge) return isBare(policy) ? BARE : { status: 200, body: challenge };
    const wait = occasion.waitSeconds === undefined ? undefined : held.use(beginWait(exchange, trigger));
    const fired = await fire(triggers, trigger, { ...occasion, ending: wait?.ending });
    if (!fired) throw notFound("Webhook");
    wait?.ending.throwIfOver();
    const done = await doneOf(triggers, fired, wait !== undefined);
    return isBare(policy) ? BARE : done;
  };

  return {
    isFor: (path) => pathOf(path) !== undefined,
    organizationOf: (path) => {
      const asked = pathOf(path);
      return asked && triggers.webhooks.recall(asked);
    },
    handle: async (exchange) => {
      try {
        const { status, body } = await answer(exchange);
        sendText(exchange, status, body === undefined ? "" : stringify(body));
      } catch (error) {
        const own = error instanceof NotSigned ? { ...STATUSES, FORBIDDEN: error.status } : STATUSES;
        await sendRefusal(graphql, exchange, error, own);
      }
    },
  };
}

/** What refused it is thrown: it has been written down. */
async function doneOf(triggers: Triggers, { firing, run, refusal }: Fired, waits: boolean): Promise<Done> {
  if (refusal) throw refusal;
  if (firing.outcome === "skipped") return { status: 200, body: { runId: null, status: "skipped" } };
  const body = { runId: run ? encodeId("run", run.id) : null, status: run?.status ?? null };
  const output = waits && run ? await outputOf(triggers, run) : undefined;
  return output === undefined ? { status: 202, body } : { status: 200, body: { ...body, output } };
}
