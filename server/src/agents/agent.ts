/** An agent, and the statuses it may have. */
import type { Workflow } from "../definition/profile/workflow.ts";
import type { Actor } from "../lib/actor.ts";
import { conflict, type Refusal } from "../lib/errors.ts";
import type { AgentId, AgentVersionId, OrganizationId, ProjectId } from "../lib/ids.ts";
import type { AgentStatus } from "../storage/schema.ts";

/** A named automation in a project. Name and description are those of its published definition. */
export type Agent = {
  id: AgentId;
  organizationId: OrganizationId;
  projectId: ProjectId;
  /** `document.name`; unique in the project, never changes. */
  handle: string;
  name: string;
  description: string | null;
  status: AgentStatus;
  publishedVersion: string | null;
  /** The version that its draft names; null without a draft, or if that is not a version. */
  draftVersion: string | null;
  /** How many runs may have begun and not ended at the same time; further runs queue. Null: no limit. */
  concurrencyLimit: number | null;
  createdAt: Date;
  updatedAt: Date;
};

/** One immutable definition of an agent. */
export type AgentVersion = {
  id: AgentVersionId;
  organizationId: OrganizationId;
  agentId: AgentId;
  /** Semver text. */
  version: string;
  createdBy: Actor;
  createdAt: Date;
};

/** The statuses of an agent with and without a published version; any may follow any other in its row. */
export const STATUSES = {
  published: ["active", "paused", "archived"],
  unpublished: ["draft", "archived"],
} as const satisfies Record<string, readonly AgentStatus[]>;

const statusesOf = (agent: Pick<Agent, "publishedVersion">): readonly AgentStatus[] =>
  agent.publishedVersion === null ? STATUSES.unpublished : STATUSES.published;

/** Why an agent cannot get a status, as a sentence; undefined if it can. */
export function statusProblem(agent: Pick<Agent, "publishedVersion">, status: AgentStatus): string | undefined {
  if (statusesOf(agent).includes(status)) return undefined;
  return agent.publishedVersion === null
    ? `an agent that was never published cannot be ${status}: publish it first`
    : "a published agent cannot be a draft again: pause or archive it";
}

/** Refuses a new run unless the agent is active (docs: pausing and archiving leave open runs alone). */
export const takesRuns = (agent: Agent): boolean => agent.status === "active" && agent.publishedVersion !== null;

/** Why an archived agent takes no draft and no version. */
export const archived = ({ handle, publishedVersion }: Pick<Agent, "handle" | "publishedVersion">): Refusal =>
  conflict(
    "wrong_state",
    `the agent ${handle} is archived: set its status to ${publishedVersion === null ? "draft" : "active"} first`,
  );

/** The name of a definition in the API: its title, or the handle if it has none. */
export const shownOf = (
  document: Pick<Workflow["document"], "name" | "title" | "summary">,
): Pick<Agent, "name" | "description"> => ({
  name: document.title?.normalize("NFC").trim() || document.name,
  description: document.summary?.trim() || null,
});
