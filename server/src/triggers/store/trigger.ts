import type { Actor } from "../../lib/actor.ts";
import type { FieldProblem } from "../../lib/errors.ts";
import type { AgentId, EventId, FiringId, OrganizationId, ProjectId, RunId, TriggerId } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { FiringOutcome, TriggerStatus } from "../../storage/schema.ts";
import type { TriggerType } from "../kinds/kinds.ts";
import type { Payload } from "../../lib/json/json-text.ts";

/** A trigger: starts runs of an agent by itself. */
export type Trigger = {
  id: TriggerId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  agentId: AgentId;
  /** Unique among the agent's. */
  name: string;
  type: TriggerType;
  status: TriggerStatus;
  /** The keys of its kind, as they were given and checked. */
  configuration: JsonObject;
  policy: JsonObject;
  /** For one with a schedule. */
  nextDueAt: Date | null;
  /** The agent's definition brings it: publishing changes and deletes it. */
  isManaged: boolean;
  createdBy: Actor;
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | null;
};

/** A new firing. Those that wait for a slow reader hold no payloads in memory. */
export type FiringMessage = { id: FiringId; firing?: WeakRef<Firing> };

/** One time that a trigger was due or called. */
export type Firing = {
  id: FiringId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  agentId: AgentId;
  triggerId: TriggerId;
  at: Date;
  dueAt: Date | null;
  outcome: FiringOutcome;
  /** The run that it started, or of a duplicate the one that the first one did. */
  runId: RunId | null;
  policy: string | null;
  code: string | null;
  message: string | null;
  fields: FieldProblem[];
  skipped: number | null;
  delivery: string | null;
  payload: Payload | null;
  /** Bytes of the call's parts besides its body that the mapping saw; 0: nothing. */
  requestBytes: number;
  firedBy: Actor | null;
  replayOf: FiringId | null;
  eventId: EventId | null;
};
