/** A new key as its form says it, and the input of the mutation that it becomes. */
import type { CreateApiKeyInput } from "../../api/documents.ts";
import { endOf, isDateMissing, type Expiry } from "./key-expiry.tsx";
import { agentsLeft, type Reach } from "./key-reach.tsx";
import type { Preset } from "./key-scopes.tsx";

export type SaidOfKey = {
  name: string;
  /** Undefined: `own` are the scopes. */
  preset: Preset | undefined;
  own: readonly string[];
  reach: Reach;
  expiry: Expiry;
};

/** The parts of the form, each with its own problem. */
export type Part = "name" | "scopes" | "reach" | "expiresAt";

const scopesOf = ({ preset, own }: SaidOfKey): readonly string[] => preset?.scopes ?? own;

/** A key that may do everything may do it everywhere. */
export const mayNarrow = (said: SaidOfKey): boolean => !scopesOf(said).includes("admin");

/** The preset is for chosen agents, and asks for no projects. */
export const isOfAgents = ({ preset }: SaidOfKey): boolean => preset?.needsAgent === true;

export const isNarrowed = (said: SaidOfKey): boolean => mayNarrow(said) && (isOfAgents(said) || said.reach.isNarrow);

export const projectIdsOf = (said: SaidOfKey): readonly string[] => (isOfAgents(said) ? [] : said.reach.projectIds);

const agentIdsOf = (said: SaidOfKey): string[] =>
  agentsLeft({ projectIds: projectIdsOf(said), agents: said.reach.agents }).map(({ id }) => id);

export function problemsIn(said: SaidOfKey): Partial<Record<Part, string>> {
  const isNowhere = isNarrowed(said) && projectIdsOf(said).length + agentIdsOf(said).length === 0;
  return {
    ...(said.name.trim() === "" && { name: "is required" }),
    ...(scopesOf(said).length === 0 && { scopes: "must be at least one" }),
    ...(isNowhere && { reach: "must be at least one" }),
    ...(isDateMissing(said.expiry) && { expiresAt: "is required" }),
  };
}

export function keyInput(said: SaidOfKey): CreateApiKeyInput {
  const [projectIds, agentIds] = isNarrowed(said) ? [projectIdsOf(said), agentIdsOf(said)] : [[], []];
  const expiresAt = endOf(said.expiry);
  return {
    name: said.name,
    scopes: [...scopesOf(said)],
    ...(projectIds.length > 0 && { projectIds: [...projectIds] }),
    ...(agentIds.length > 0 && { agentIds }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
