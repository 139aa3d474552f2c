/** Shared by the runs in memory, and what the room above does for them. */
import type { Expressions } from "../expressions/expressions.ts";
import type { ApiOperationName, ReadApiOperation } from "../definition/openapi/operation.ts";
import type { Program } from "../definition/program.ts";
import type { Clock } from "../lib/clock.ts";
import type { ApprovalId, OrganizationId, RunId, UserId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import type { DescribedTools, PinnedDescription } from "../lib/mcp/tool-description.ts";
import type { JsonText } from "../lib/json/json-text.ts";
import type { Places } from "../fairness/places.ts";
import type { Rounds } from "../fairness/rounds.ts";
import type { FairPool } from "../fairness/fair-pool.ts";
import type { Database } from "../storage/database.ts";
import type { RunStatus } from "../storage/schema.ts";
import type { EndedRun } from "./journal/commit-end.ts";
import type { JournalOptions } from "./journal/journal.ts";
import type { Head } from "./journal/loaded-run.ts";
import type { NeededBytes } from "./memory.ts";
import type { LiveTexts } from "./live-text.ts";
import type { Run } from "./run/run.ts";
import type { Signals } from "./signals.ts";

export type Shared = {
  database: Database;
  expressions: Expressions;
  clock: Clock;
  /** 0 to 1, for jitter. */
  random: () => number;
  /** In memory, for runs; the engine's too. */
  places: Places;
  surroundings: Surroundings;
  signals: Signals;
  /** The texts that models are writing. */
  texts: LiveTexts;
  rounds: Rounds<OrganizationId>;
  /** The memory that runs hold. */
  memory: FairPool;
  /** The bytes that runs need that were turned away for lack of memory, until they are claimed again. */
  needs: NeededBytes;
  /** Set when the process ends: no new work. */
  draining: boolean;
};

/** The surroundings of a run, which the room above knows: who watches it, its relatives, its version. */
export type Surroundings = {
  /** The version that the run is pinned to. Undefined: it is gone. */
  programOf(head: Head): Promise<Program | undefined>;
  /** Called after each commit, never before; `left`: children that no step awaits any longer. */
  onCommit: JournalOptions["published"];
  /** It may have changed, or ended, in a commit whose answer was lost. */
  onLostAnswer(organizationId: OrganizationId, id: RunId): void;
  /** Called after the commit of the run's end. */
  onEnd(head: Head): void;
  /** It was ended without its journal (commit-end.ts). */
  onFailure(end: EndedRun): Promise<void>;
  /** Starts a child. Throws WorkflowError. */
  startChild(request: ChildRequest, signal: AbortSignal): Promise<RunStatus>;
  readChild(organizationId: OrganizationId, id: RunId): Promise<Child | undefined>;
  /** Null: they asked no model. */
  readChildUsage(organizationId: OrganizationId, id: RunId): Promise<ChildUsage | null>;
  /** Undefined: there is no such agent, or none published. */
  readForm(organizationId: OrganizationId, namespace: string, handle: string): Promise<AgentForm | undefined>;
  /**
   * Compares a server's list of tools with that which the run's version has pinned, and pins what is new to it. Committed when it
   * resolves. Empty: the server has none of the tools. Throws WorkflowError.
   */
  pinTools(head: Head, server: string, described: DescribedTools): Promise<Map<string, PinnedDescription>>;
  /** An operation of an OpenAPI document as the run's version has pinned it, in JSON. Undefined: it has none. */
  readOperation(head: Head, name: ApiOperationName): Promise<string | undefined>;
  /** Pins it for the run's version, and returns what is pinned. Committed when it resolves. Throws WorkflowError. */
  pinOperation(head: Head, name: ApiOperationName, read: ReadApiOperation): Promise<string>;
  /** Who started the run and those above it, and how many may decide what it asks besides them. Asked after the run's first commit. */
  whoDecides(
    head: Head,
    asked: { assignees: readonly string[] | null; excludesStarter: boolean },
  ): Promise<{ excluded: UserId[]; deciders: number }>;
  /** Tells those who are asked again, unless that was done or it is closed. Committed when it resolves. */
  remindApproval(organizationId: OrganizationId, id: ApprovalId): Promise<void>;
  /** Lets these decide as well, unless that was done or it is closed. Committed when it resolves. */
  escalateApproval(organizationId: OrganizationId, id: ApprovalId, assignees: readonly string[]): Promise<void>;
  /** Payloads too large to come with the run. */
  readChildEnd(organizationId: OrganizationId, id: RunId, what: "output" | "error"): Promise<JsonText | undefined>;
};

/** An agent as a tool of a model: its own words, and the form of its runs as a JSON Schema. */
export type AgentForm = { description: string; parameters: JsonObject };

/** The use of models by a run and those below it. Cost null: a call had no price, or there are two currencies. */
export type ChildUsage = { inputTokens: number; outputTokens: number; cost: number | null; currency: string | null };

/** The facts that a step needs from the run that it started. */
export type Child = Pick<Run, "id" | "status" | "output" | "error">;

/** A run that a step starts. */
export type ChildRequest = {
  /** Committed with the step beforehand, so a repeat finds the existing child. */
  id: RunId;
  parent: Head;
  /** Handles of the project and the agent. */
  namespace: string;
  name: string;
  version?: string;
  input: Json;
  awaits: boolean;
};
