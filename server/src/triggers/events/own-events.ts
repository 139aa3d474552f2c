/**
 * The service's own events, so that agents chain. What one tells of is written down in the statement that made it true, if anybody in
 * the organization listens (outbox.ts), and is published from there, also when the process was killed meanwhile: an
 * event has an id of what it tells of, so that it is published once however often that is tried. They fire triggers of
 * their own project alone, since a key that is narrowed to another one must not see what runs here.
 */
import type { Agent } from "../../agents/agent.ts";
import { SYSTEM } from "../../audit/event.ts";
import type { Run } from "../../execution/run/run.ts";
import { JsonText, type Payload } from "../../lib/json/json-text.ts";
import { messageOf, Refusal } from "../../lib/errors.ts";
import { actorId, type Actor } from "../../lib/actor.ts";
import { encodeId, NO_ID, type ApprovalId, type OrganizationId, type ProjectId, type RunId } from "../../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import { wholeOf } from "../../lib/reach.ts";
import { readPayloads } from "../../runs/read/read-payloads.ts";
import { readApproval, readRun } from "../../runs/read/read.ts";
import type { Triggers } from "../triggers.ts";
import { originOfRun, type Origin } from "./event-roots.ts";
import type { EventTrigger, TriggersNow } from "../matching/known-triggers.ts";
import { OWN_SOURCE } from "./own-source.ts";
import { acceptEvent } from "./publish-event.ts";
import { deleteUntold, releaseUntold, takeUntold, type Untold } from "./untold-store.ts";

/** After this, it is taken for left behind. */
const LEASE_MS = 30_000;
const LOOK_EVERY_MS = 5_000;
/** Taken from the table at a time; when it is so few, none had more than its share. */
const TAKEN = 128;
const FEW = 16;
const MOST_LEFT_OUT = 1_000;

type Own = { projectId: ProjectId; id: string; data: JsonObject; origin: Origin };

/** Publishes what has happened: at the start, every 5 s, and when asked to. */
export function publishUntold(triggers: Triggers): { loop: Loop } & AsyncDisposable {
  const { database, clock, log, events, runs } = triggers;
  /** No other process can hold them. */
  let isFirst = database.isEmbedded;
  let after = NO_ID;
  /** Left out for 5 s, because one of their events was not published. Beyond a maximum the lease alone delays them. */
  const leftOut = new Set<OrganizationId>();
  let leftOutUntil = clock.now();

  const sweep = async (round: Round): Promise<void> => {
    if (isFirst) await releaseUntold(database);
    isFirst = false;
    while (round.goesOn() && !runs.executions.draining) {
      const now = clock.now();
      if (Math.abs(leftOutUntil - now) > LOOK_EVERY_MS || now >= leftOutUntil) {
        leftOut.clear();
        leftOutUntil = now + LOOK_EVERY_MS;
      }
      const without = [...leftOut];
      const taken = await takeUntold(database, { most: TAKEN, now, until: now + LEASE_MS, after, without });
      // What a replaced look has taken is due again when its lease is over.
      if (!round.goesOn()) return;
      const triggersNow = events.known.now();
      const told = await Promise.all(taken.map((one) => tell(triggers, one, triggersNow, leftOut)));
      await deleteTold(
        database,
        taken.filter((_, index) => told[index]),
      );
      if (!round.goesOn()) return;
      const isWhole = after === NO_ID;
      const had = new Set(taken.map(({ organizationId }) => organizationId));
      after = had.size < TAKEN ? NO_ID : lastOf(taken);
      if (isWhole && taken.length < FEW) break;
    }
  };
  const loop = new Loop({
    clock,
    log,
    name: "own-events",
    everyMs: LOOK_EVERY_MS,
    look: sweep,
    failed: "events of the service itself were not published; trying again",
  }).start();
  events.tell = () => loop.wake();
  return {
    loop,
    async [Symbol.asyncDispose]() {
      events.tell = () => {};
      await loop[Symbol.asyncDispose]();
    },
  };
}

const lastOf = (taken: Untold[]): string =>
  taken.reduce((last, { organizationId }) => (organizationId > last ? organizationId : last), NO_ID);

const deleteTold = async (database: Triggers["database"], told: Untold[]): Promise<void> => {
  if (told.length > 0) await deleteUntold(database, told);
};

/**
 * Whether it is over with: published, or nothing to be told to anybody. Never throws: what fails is tried again, and its organization
 * is left out meanwhile.
 */
async function tell(
  triggers: Triggers,
  untold: Untold,
  triggersNow: TriggersNow,
  leftOut: Set<OrganizationId>,
): Promise<boolean> {
  const { organizationId, event, subjectId } = untold;
  try {
    await triggers.events.ownSlots.run(organizationId, async () =>
      publishOwn(triggers, untold, await triggersNow(organizationId, OWN_SOURCE, event)),
    );
    return true;
  } catch (error) {
    const about = { organization: organizationId, event, subject: subjectId, reason: messageOf(error) };
    // It was published by a server that told it in other words.
    const isOver = error instanceof Refusal && error.code === "CONFLICT";
    if (isOver) triggers.log.warn(about, "an event was published before");
    else if (!leftOut.has(organizationId))
      triggers.log.warn(about, "events could not be published; they will be retried");
    if (!isOver && leftOut.size < MOST_LEFT_OUT) leftOut.add(organizationId);
    return isOver;
  }
}

async function publishOwn(triggers: Triggers, untold: Untold, known: EventTrigger[]): Promise<void> {
  const { organizationId, event, at: time } = untold;
  const what = known.length > 0 && (await read(triggers, untold));
  if (!what) return;
  const { projectId, id, data, origin } = what;
  const reach = { projectIds: [projectId], agentIds: [], shownProjectIds: [] };
  const given = { source: OWN_SOURCE, event, id, time, data, text: JSON.stringify(data) };
  await acceptEvent(triggers, { organizationId, reach }, SYSTEM, given, { ...origin, known });
}

/** Undefined: it is gone. */
function read(triggers: Triggers, untold: Untold): Promise<Own | undefined> {
  if (untold.event === "agent.published") return ofAgent(triggers, untold);
  const { organizationId } = untold;
  if (untold.event === "approval.requested") return ofApproval(triggers, organizationId, untold.subjectId);
  return ofRun(triggers, organizationId, untold.subjectId);
}

async function ofAgent(
  { agents }: Triggers,
  { organizationId, subjectId, at, version }: Extract<Untold, { event: "agent.published" }>,
): Promise<Own | undefined> {
  const agent = await agents.cache.agent(organizationId, subjectId);
  if (!agent) return undefined;
  const id = `${encodeId("agent", subjectId)} ${at.toISOString()}`;
  return { projectId: agent.projectId, id, data: { ...namesOf(agent), version }, origin: { depth: 0, rootId: null } };
}

const namesOf = ({ id, handle, projectId }: Agent): JsonObject => ({
  agentId: encodeId("agent", id),
  agent: handle,
  projectId: encodeId("project", projectId),
});

async function ofRun(triggers: Triggers, organizationId: OrganizationId, id: RunId): Promise<Own | undefined> {
  const { runs, agents, database } = triggers;
  const run = await readRun(runs, wholeOf(organizationId), id);
  const agent = run && (await agents.cache.agent(organizationId, run.agentId));
  if (!run || !agent) return undefined;
  const data = {
    runId: encodeId("run", id),
    ...namesOf(agent),
    version: run.version,
    status: run.status,
    startedBy: { kind: run.startedBy.kind, id: actorId(await shownStarter(triggers.runs, run)) },
    createdAt: run.createdAt.toISOString(),
    finishedAt: run.finishedAt?.toISOString() ?? null,
    ...(await payloadsOf(runs, run)),
  };
  const origin = await originOfRun(database, organizationId, id);
  return { projectId: run.projectId, id: data.runId, data, origin };
}

/** Drops the id of a run in another project: keys that reach only this project see the event. */
async function shownStarter(runs: Triggers["runs"], { organizationId, projectId, startedBy }: Run): Promise<Actor> {
  if (startedBy.kind !== "run") return startedBy;
  const starter = await readRun(runs, wholeOf(organizationId), startedBy.id as RunId);
  return starter?.projectId === projectId ? startedBy : { ...startedBy, id: null };
}

/** Null where it is too large to be told. */
async function payloadsOf(runs: Triggers["runs"], { id, organizationId, output, error }: Run): Promise<JsonObject> {
  const read = async (column: "output" | "error", payload: Payload): Promise<JsonText> =>
    payload instanceof JsonText
      ? payload
      : ((await readPayloads(runs, organizationId, [{ of: "run", id, column }]))[0] ?? JsonText.ofValue(null));
  const told = (payload: JsonText): Json => (payload.bytes > LIMITS.eventPayloadBytes ? null : payload.value);
  return {
    output: output && output.bytes <= LIMITS.eventPayloadBytes ? (await read("output", output)).value : null,
    error: error && told(withoutAnswer(await read("error", error))),
  };
}

/** An endpoint's answer alone may be larger than an event. */
function withoutAnswer(error: JsonText): JsonText {
  const { value } = error;
  if (!isObject(value) || value["response"] === undefined) return error;
  const { response: _answer, ...rest } = value;
  return JsonText.ofValue(rest);
}

async function ofApproval(
  triggers: Triggers,
  organizationId: OrganizationId,
  id: ApprovalId,
): Promise<Own | undefined> {
  const approval = await readApproval(triggers.runs, wholeOf(organizationId), id);
  const agent = approval && (await triggers.agents.cache.agent(organizationId, approval.agentId));
  if (!approval || !agent) return undefined;
  const { question, assignee, runId, expiresAt, createdAt } = approval;
  const data = {
    approvalId: encodeId("approval", id),
    runId: encodeId("run", runId),
    ...namesOf(agent),
    question,
    assignee,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
  };
  const origin = await originOfRun(triggers.database, organizationId, runId);
  return { projectId: approval.projectId, id: data.approvalId, data, origin };
}
