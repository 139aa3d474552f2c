/** Which runs a list or a bulk operation means. */
import { decodeId } from "../lib/ids.ts";
import type { Run, RunFilter } from "../runs/run.ts";
import { checkFilter, optionalId } from "./arguments.ts";
import type { Builder } from "./builder.ts";
import { callerOf, type Context } from "./context.ts";
import type { Enums } from "./enums.ts";
import type { Starter } from "./objects.ts";

/** What can be named as the starter of a run, with the kind of its id. */
export const STARTERS = { user: "user", key: "apiKey", run: "run" } as const;

type StarterFilter = { kind?: Starter["kind"] | null | undefined; id?: string | null | undefined };
type Filter = {
  projectId?: string | null | undefined;
  agentId?: string | null | undefined;
  status?: Run["status"][] | null | undefined;
  startedBy?: StarterFilter | null | undefined;
  createdAfter?: Date | null | undefined;
  createdBefore?: Date | null | undefined;
};

export type RunFilterInput = ReturnType<typeof addRunFilter>;

export function addRunFilter(builder: Builder, enums: Enums) {
  const starter = builder.inputType("RunStarterFilter", {
    description: "Who or what started a run.",
    fields: (t) => ({
      kind: t.field({ type: enums.StarterKind, required: false, description: "What it is." }),
      id: t.id({ required: false, description: "Exactly this user, API key or run." }),
    }),
  });
  return builder.inputType("RunFilter", {
    description: "Which runs: those that fit all fields given.",
    fields: (t) => ({
      projectId: t.id({ required: false, description: "Of agents in this project." }),
      agentId: t.id({ required: false, description: "Of this agent." }),
      status: t.field({ type: [enums.RunStatus], required: false, description: "In one of these states." }),
      startedBy: t.field({ type: starter, required: false, description: "Started by this." }),
      createdAfter: t.field({ type: "DateTime", required: false, description: "Accepted at or after this time." }),
      createdBefore: t.field({ type: "DateTime", required: false, description: "Accepted before this time." }),
    }),
  });
}

/** Throws NOT_FOUND for a project or an agent that the organization does not have. */
export async function checkedFilter(context: Context, filter: Filter): Promise<RunFilter> {
  const wanted = filterOf(filter);
  await checkFilter(context, callerOf(context).organizationId, wanted);
  return wanted;
}

function filterOf({ projectId, agentId, status, startedBy, createdAfter, createdBefore }: Filter): RunFilter {
  return {
    ...optionalId("projectId", "project", projectId),
    ...optionalId("agentId", "agent", agentId),
    ...(status && { status }),
    ...(startedBy && { startedBy: starterOf(startedBy) }),
    ...(createdAfter && { createdAfter }),
    ...(createdBefore && { createdBefore }),
  };
}

function starterOf({ kind, id }: StarterFilter): { kind?: Starter["kind"]; id?: string } {
  if (id == null) return kind ? { kind } : {};
  for (const [starter, prefix] of Object.entries(STARTERS)) {
    const decoded = decodeId(prefix, id);
    if (decoded !== undefined && (kind == null || kind === starter))
      return { kind: starter as Starter["kind"], id: decoded };
  }
  // Nothing that is not an id can have started a run; as for one that started none, the list is empty.
  return { kind: kind ?? "user", id: "00000000-0000-0000-0000-000000000000" };
}
