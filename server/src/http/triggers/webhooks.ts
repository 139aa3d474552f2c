/** `POST /webhook/<agent>/<token>`: the URL of a trigger starts a run with the request's body as its input (docs/triggers.md). */
import type { IncomingMessage } from "node:http";
import type { Graphql } from "../../graphql/graphql.ts";
import { every } from "../../lib/clock.ts";
import { Ending } from "../../lib/ending.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { encodeId, type OrganizationId } from "../../lib/ids.ts";
import { countRequest, type Rates } from "../../rates/rates.ts";
import { fire, outputOf, type Fired } from "../../triggers/firings/fire.ts";
import type { Trigger } from "../../triggers/store/trigger.ts";
import type { Triggers } from "../../triggers/triggers.ts";
import { challengeOf, isBare } from "../../triggers/kinds/webhook/signature.ts";
import { NotSigned } from "../../triggers/kinds/webhook/unsigned.ts";
import type { Admission } from "../admission/admission.ts";
import type { Exchange, Reply } from "../write-response.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { leave, type Connections } from "../connections/connections.ts";
import { readBody } from "../connections/read-body.ts";
import { ROUTE_STATUSES, type Statuses } from "../http-refusal.ts";
import { isBearer, webhookPathOf, prove, readCall, type Called } from "./webhook-call.ts";

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

const WEBHOOK_STATUSES: Statuses = { ...ROUTE_STATUSES, BAD_USER_INPUT: 422 };

/** Some senders expect another status for a call that is not signed. */
export const webhookStatuses = (error: unknown): Statuses =>
  error instanceof NotSigned ? { ...WEBHOOK_STATUSES, FORBIDDEN: error.status } : WEBHOOK_STATUSES;

const BARE: Reply = { status: 200 };

/** Throws NOT_FOUND, in the same words whatever is wrong. From here on the connection counts as the organization's. */
export async function admitByUrl(options: WebhooksOptions, exchange: Exchange): Promise<Trigger> {
  const trigger = await triggerAt(options, exchange);
  options.admission.assign(exchange.request.socket, trigger.organizationId);
  return trigger;
}

async function triggerAt({ triggers, clientAddress }: WebhooksOptions, { request, path }: Exchange): Promise<Trigger> {
  const asked = webhookPathOf(path)!;
  const trigger = await triggers.webhooks.find(asked, clientAddress(request));
  if (!trigger || !isBearer(request, asked.token)) throw notFound("Webhook");
  return trigger;
}

export async function callWebhook(options: WebhooksOptions, exchange: Exchange, trigger: Trigger): Promise<Reply> {
  const { triggers, rates, arrivals, clientAddress } = options;
  const { request, path } = exchange;
  const { organizationId, policy } = trigger;
  using held = new DisposableStack();
  const readText = async (): Promise<string> => {
    const { text, release } = await readBody(request, arrivals, () => trigger);
    if (release) held.defer(release);
    return text;
  };
  const called: Called = { request, path, address: clientAddress(request), trigger, readText };
  const proof = await prove(triggers, called);
  if (proof?.isPing) return { status: 200, body: {} };
  await countRequest(rates, { organizationId }, (standing) => void (exchange.standing = standing));
  const occasion = await readCall(triggers, called, proof);
  const challenge = challengeOf(policy, occasion.payload ?? null);
  if (challenge) return isBare(policy) ? BARE : { status: 200, body: challenge };
  const wait = occasion.waitSeconds === undefined ? undefined : held.use(beginWait(options, exchange, organizationId));
  const fired = await fire(triggers, trigger, { ...occasion, ending: wait?.ending });
  if (!fired) throw notFound("Webhook");
  wait?.ending.throwIfOver();
  const reply = await replyOf(triggers, fired, wait !== undefined);
  return isBare(policy) ? BARE : reply;
}

/** Ends the wait when the URL is no longer good or the client has gone away. */
function beginWait(
  options: WebhooksOptions,
  exchange: Exchange,
  organizationId: OrganizationId,
): Disposable & { ending: Ending } {
  const { triggers, graphql, connections } = options;
  using begun = new DisposableStack();
  begun.use(graphql.lasting.begin(organizationId));
  const ending = new Ending();
  const { endings } = connections.of(exchange.request.socket);
  endings.push(ending);
  begun.defer(() => leave(endings, ending));
  const look = async (): Promise<void> => {
    try {
      await triggerAt(options, exchange);
    } catch (error) {
      // If the database is unavailable, the URL may still be good.
      if (error instanceof Refusal && error.code === "NOT_FOUND") ending.end(error);
    }
  };
  begun.use(every(triggers.clock, LOOK_EVERY_MS, () => void look()));
  const lasting = begun.move();
  return { ending, [Symbol.dispose]: () => lasting.dispose() };
}

/** Throws the refusal that the firing records. */
async function replyOf(triggers: Triggers, { firing, run, refusal }: Fired, waits: boolean): Promise<Reply> {
  if (refusal) throw refusal;
  if (firing.outcome === "skipped") return { status: 200, body: { runId: null, status: "skipped" } };
  const body = { runId: run ? encodeId("run", run.id) : null, status: run?.status ?? null };
  const output = waits && run ? await outputOf(triggers, run) : undefined;
  return output === undefined ? { status: 202, body } : { status: 200, body: { ...body, output } };
}
