/** Which runs a list or a bulk operation means. */
import { ACTOR_IDS, type ActorKind } from "../../lib/actor.ts";
import { badInput } from "../../lib/errors.ts";
import { decodeId, idsFrom, type IdRange, type RunId } from "../../lib/ids.ts";
import { allOf, type Within } from "../../lib/reach.ts";
import { knownRuns } from "../../runs/read/read.ts";
import type { Run, RunFilter } from "../../execution/run/run.ts";
import { checkFilter, listOf, optionalIds } from "../context/arguments.ts";
import type { Builder } from "../builder/builder.ts";
import { callerOf, type Context } from "../context/context.ts";
import type { Enums } from "../builder/enums.ts";

type Ids = readonly string[] | null | undefined;
type StarterFilter = { kind?: readonly ActorKind[] | null | undefined; id?: Ids };
export type FilterInput = {
  projectId?: Ids;
  agentId?: Ids;
  status?: readonly Run["status"][] | null | undefined;
  startedBy?: StarterFilter | null | undefined;
  createdFrom?: Date | null | undefined;
  createdBefore?: Date | null | undefined;
  idPrefix?: string | null | undefined;
};

export type RunFilterInput = ReturnType<typeof addRunFilter>;

export function addRunFilter(builder: Builder, enums: Enums) {
  const starter = builder.inputType("RunStarterFilter", {
    description: "Selects runs by who or what started them.",
    fields: (t) => ({
      kind: t.field({
        type: [enums.ActorKind],
        required: false,
        description: "Started by an actor of any of these kinds.",
      }),
      id: t.idList({ required: false, description: "Started by any of these users, API keys, triggers or runs." }),
    }),
  });
  return builder.inputType("RunFilter", {
    description:
      "Selects the runs that match every field given. A list selects the runs that match any of its values; an empty list selects none.",
    fields: (t) => ({
      projectId: t.idList({ required: false, description: "Of agents in any of these projects." }),
      agentId: t.idList({ required: false, description: "Of any of these agents." }),
      status: t.field({ type: [enums.RunStatus], required: false, description: "With any of these statuses." }),
      startedBy: t.field({ type: starter, required: false, description: "Who or what started the run." }),
      createdFrom: t.field({ type: "DateTime", required: false, description: "Accepted at this time or later." }),
      createdBefore: t.field({ type: "DateTime", required: false, description: "Accepted before this time." }),
      idPrefix: t.string({
        required: false,
        description: "With an id that begins with this text: `run_` and up to 26 more characters.",
      }),
    }),
  });
}

/** `path` is that of the filter. Throws NOT_FOUND for a project or an agent that the organization does not have. */
export async function checkedFilter(context: Context, filter: FilterInput, path: string): Promise<RunFilter> {
  const wanted = filterOf(filter, path);
  const caller = callerOf(context);
  await checkFilter(context, caller, wanted);
  if (!caller.reach || !wanted.starterId) return wanted;
  return { ...wanted, starterId: await shownStarters(context, caller, wanted.starterId) };
}

/** Without the runs that the caller does not reach: they start nothing, as what is not there (`Actor.id` is null, too). */
async function shownStarters({ runs }: Context, within: Within, ids: readonly string[]): Promise<string[]> {
  const all = await knownRuns(runs, allOf(within.organizationId), ids as readonly RunId[]);
  const reached = await knownRuns(runs, within, [...all]);
  return ids.filter((id) => !all.has(id as RunId) || reached.has(id as RunId));
}

function filterOf(
  { projectId, agentId, status, startedBy, createdFrom, createdBefore, idPrefix }: FilterInput,
  path: string,
): RunFilter {
  return {
    ...optionalIds("projectId", "project", projectId, path),
    ...optionalIds("agentId", "agent", agentId, path),
    ...(status && { status: listOf(status, `${path}.status`) }),
    ...(startedBy && starterOf(startedBy, `${path}.startedBy`)),
    ...(createdFrom && { createdFrom }),
    ...(createdBefore && { createdBefore }),
    ...(idPrefix != null && { idPrefix: idsOf(idPrefix, `${path}.idPrefix`) }),
  };
}

function idsOf(prefix: string, path: string): IdRange {
  const ids = idsFrom("run", prefix);
  if (ids) return ids;
  const message = "must be the beginning of a run's id: `run_` and up to 26 more characters";
  throw badInput("invalid_input", `${path} ${message}`, [{ path, code: "invalid", message }]);
}

/** Nothing was started by what is no such id: it selects no run, as an id that started none. */
function starterOf({ kind, id }: StarterFilter, path: string): Pick<RunFilter, "starterKind" | "starterId"> {
  const kinds = kind && listOf(kind, `${path}.kind`);
  if (id == null) return kinds ? { starterKind: kinds } : {};
  const prefixes = Object.entries(ACTOR_IDS).filter(([starter]) => kinds?.includes(starter as ActorKind) ?? true);
  const starterId = listOf(id, `${path}.id`).flatMap((text) =>
    prefixes.flatMap(([, prefix]) => decodeId(prefix, text) ?? []),
  );
  return { starterId };
}
