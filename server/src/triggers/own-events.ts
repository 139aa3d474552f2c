/** The content of the service's own events: a run that ended, an approval that was requested, an agent that was published. */
import type { Agent } from "../agents/agent.ts";
import type { ApprovalEvent, UntoldEvent } from "../events/outbox-store.ts";
import type { OwnEventText } from "../events/publish-own-events.ts";
import type { Approval, Run } from "../execution/run/run.ts";
import { actorId, type Actor } from "../lib/actor.ts";
import { encodeId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { JsonText, type Payload } from "../lib/json/json-text.ts";
import { LIMITS } from "../lib/limits.ts";
import { allOf } from "../lib/reach.ts";
import { readPayloads } from "../runs/read/read-payloads.ts";
import { readApproval, readRun } from "../runs/read/read.ts";
import type { Runs } from "../runs/handle/runs.ts";
import { originOfRun } from "./store/firing-store.ts";
import type { Triggers } from "./triggers.ts";

type Telling = Pick<Triggers, "database" | "agents" | "runs">;

/** Reads the subject of a row of the outbox. Undefined: it is gone. */
export function readSubject(triggers: Telling, untold: UntoldEvent): Promise<OwnEventText | undefined> {
  if (untold.event === "agent.published") return ofAgent(triggers, untold);
  const { organizationId } = untold;
  if (isOfApproval(untold)) return ofApproval(triggers, untold);
  return ofRun(triggers, organizationId, untold.subjectId);
}

type OfApproval = Extract<UntoldEvent, { event: ApprovalEvent }>;

const isOfApproval = (untold: UntoldEvent): untold is OfApproval => untold.event.startsWith("approval.");

async function ofAgent(
  { agents }: Telling,
  { organizationId, subjectId, at, version }: Extract<UntoldEvent, { event: "agent.published" }>,
): Promise<OwnEventText | undefined> {
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

async function ofRun(triggers: Telling, organizationId: OrganizationId, id: RunId): Promise<OwnEventText | undefined> {
  const { runs, agents, database } = triggers;
  const run = await readRun(runs, allOf(organizationId), id);
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
async function shownStarter(runs: Runs, { organizationId, projectId, startedBy }: Run): Promise<Actor> {
  if (startedBy.kind !== "run") return startedBy;
  const starter = await readRun(runs, allOf(organizationId), startedBy.id as RunId);
  return starter?.projectId === projectId ? startedBy : { ...startedBy, id: null };
}

/** Null where it is too large to be told. */
async function payloadsOf(runs: Runs, { id, organizationId, output, error }: Run): Promise<JsonObject> {
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
  triggers: Telling,
  { organizationId, event, subjectId: id, at }: OfApproval,
): Promise<OwnEventText | undefined> {
  const approval = await readApproval(triggers.runs, allOf(organizationId), id);
  const agent = approval && (await triggers.agents.cache.agent(organizationId, approval.agentId));
  if (!approval || !agent) return undefined;
  const { question, assignee, assignees, quorum, dueAt, runId, expiresAt, createdAt } = approval;
  const approvalId = encodeId("approval", id);
  const data = {
    approvalId,
    runId: encodeId("run", runId),
    ...namesOf(agent),
    question,
    assignee,
    assignees: [...(assignees ?? [])],
    quorum,
    dueAt: dueAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    ...((event === "approval.reassigned" || event === "approval.escalated") && reassignmentAt(approval, at)),
  };
  const origin = await originOfRun(triggers.database, organizationId, runId);
  // An approval may be passed on again and again, but is asked once.
  const eventId = event === "approval.requested" ? approvalId : `${approvalId} ${event} ${at.toISOString()}`;
  return { projectId: approval.projectId, id: eventId, data, origin };
}

/** Who passed it on at that time, and from whom to whom. */
function reassignmentAt({ reassignments }: Approval, at: Date): JsonObject {
  const found = reassignments.findLast((one) => one.at.getTime() === at.getTime());
  if (!found) return {};
  const { by, from, to, comment } = found;
  return { reassignedBy: { kind: by.kind, id: actorId(by) }, from: [...from], to: [...to], comment };
}
