/** The filters of the runs, as they stand in the address and as the API takes them. */
import type { ActorKind, RunFilter, RunStatus } from "../../api/documents.ts";
import { periodOf, type Period } from "../../lib/periods.ts";

export type RunsSearch = {
  project?: string | undefined;
  status?: RunStatus;
  /** An agent's id. */
  agent?: string;
  /** A kind of starter, or the id of one. */
  by?: string;
  when?: Period;
  /** ISO 8601; a period by its name goes before. */
  from?: string;
  to?: string;
};

/** Undefined takes a filter away. */
export type Change = { [Key in keyof RunsSearch]: RunsSearch[Key] | undefined };

export const STARTERS = { user: "A person", key: "An API key", trigger: "A trigger", run: "Another run" } as const;

const isKind = (by: string): by is keyof typeof STARTERS => Object.hasOwn(STARTERS, by);

export function filterOf({ project, status, agent, by, when, from, to }: RunsSearch, now: number): RunFilter {
  const period = when ? periodOf(when, now) : { from, to };
  return {
    ...(project && { projectId: [project] }),
    ...(status && { status: [status] }),
    ...(agent && { agentId: [agent] }),
    ...(by && { startedBy: isKind(by) ? { kind: [by satisfies ActorKind] } : { id: [by] } }),
    ...(period.from && { createdFrom: period.from }),
    ...(period.to && { createdBefore: period.to }),
  };
}

/** Besides the project, which is chosen elsewhere, and for all pages. */
export const hasFilters = ({ status, agent, by, when, from, to }: RunsSearch): boolean =>
  [status, agent, by, when, from, to].some((one) => one !== undefined);

/** The value of `by`, where that is a kind. */
export const kindText = (by: string): string | undefined => (isKind(by) ? STARTERS[by] : undefined);
