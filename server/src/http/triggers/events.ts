/** `POST /events`: events as CloudEvents 1.0, one or a batch (docs/triggers.md). */
import { actorOf, type Caller } from "../../auth/caller.ts";
import type { Needs } from "../../auth/needs.ts";
import { Refusal, type Code, type FieldProblem } from "../../lib/errors.ts";
import { encodeId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log/log.ts";
import { acceptEvent, firedInTime, type Accepted, type CheckedEvent } from "../../events/publish-event.ts";
import type { Events } from "../../events/events.ts";
import type { Exchange, Reply } from "../write-response.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { readBody } from "../connections/read-body.ts";
import { eventsIn, modeOf } from "./cloud-events.ts";

type EventsOptions = { events: Events; arrivals: Arrivals };

export const EVENTS_NEED: Needs = {
  signIn: true,
  scopes: new Map([["events:write", "POST /events"]]),
  whole: undefined,
};

/** A batch counts as one request. */
export async function publishEvents(
  { events, arrivals }: EventsOptions,
  { request }: Exchange,
  caller: Caller,
): Promise<Reply> {
  const mode = modeOf(request.headers);
  const { text, release } = await readBody(request, arrivals, () => caller);
  try {
    const accepted = await accept(events, caller, eventsIn(mode, request.headers, text));
    const published = accepted.map(({ event: { id, source, sourceId }, isRepeat }) => ({
      id: encodeId("event", id),
      source,
      sourceId,
      isRepeat,
    }));
    return { status: 202, body: { events: published } };
  } finally {
    release?.();
  }
}

async function accept(events: Events, caller: Caller, given: CheckedEvent[]): Promise<Accepted[]> {
  events.intake.check();
  const publishedBy = actorOf(caller);
  const settled = await Promise.allSettled(given.map((event) => acceptEvent(events, caller, publishedBy, event)));
  const accepted = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  await firedInTime(
    events,
    accepted.map(({ fired }) => fired),
  );
  if (accepted.length < settled.length) throw refusalOf(settled, events.log);
  return accepted;
}

/** The refusal of a batch whose other events were accepted: what may be sent again comes first, then what is the server's fault. */
export function refusalOf(settled: PromiseSettledResult<Accepted>[], log: Pick<Log, "error">): unknown {
  const rejected = settled.flatMap((one, index) =>
    one.status === "rejected" ? [{ index, reason: one.reason as unknown }] : [],
  );
  const codeOf = (reason: unknown): Code | undefined => (reason instanceof Refusal ? reason.code : undefined);
  const failed = rejected.filter(({ reason }) => codeOf(reason) === undefined);
  const told =
    rejected.find(({ reason }) => codeOf(reason) === "UNAVAILABLE") ??
    failed[0] ??
    rejected.find(({ reason }) => codeOf(reason) !== "CONFLICT");
  // The refusal is logged with the answer.
  for (const one of failed)
    if (one !== told) log.error({ place: one.index, err: one.reason }, "an event of a batch failed");
  if (told) return told.reason;
  if (settled.length === 1) return rejected[0]!.reason;
  const message = "was published before with another body";
  const fields = rejected.map(({ index }): FieldProblem => ({ path: `${index}.id`, code: "differs", message }));
  return new Refusal(
    "CONFLICT",
    `the events ${rejected.map(({ index }) => index).join(", ")} of the batch were published before with another body; the others were accepted`,
    { reason: "key_reused", fields },
  );
}
