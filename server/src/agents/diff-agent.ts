import { isPlainText } from "../auth/names.ts";
import { notFound } from "../lib/errors.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { Agents } from "./agents.ts";
import { diffVersions } from "./diff-versions.ts";
import { readDraftRows } from "./draft-store.ts";
import { readAgentRow, readSource } from "./store.ts";

export type DiffRequest = {
  agentId: AgentId;
  /** A version; the published one without it. */
  from?: string | undefined;
  /** A version; without it the draft, or the published version when there is none. */
  to?: string | undefined;
};

type Side = { name: string; text: string };

/** As `diff -u` names a file that is not there. */
const NOTHING: Side = { name: "/dev/null", text: "" };

/**
 * What differs between two texts of an agent, as `diff -u` writes it; empty when nothing does. Throws NOT_FOUND. One of the
 * largest takes 40 ms of the thread, so an organization has one at a time, as when definitions are read.
 */
export const diffAgent = (agents: Agents, organizationId: OrganizationId, request: DiffRequest): Promise<string> =>
  agents.reading.run(organizationId, () => readDiff(agents, organizationId, request));

async function readDiff(
  agents: Agents,
  organizationId: OrganizationId,
  { agentId, from, to }: DiffRequest,
): Promise<string> {
  const agent = await readAgentRow(agents.database, organizationId, agentId);
  if (!agent) throw notFound("Agent");
  const versionOf = async (version: string | null): Promise<Side> => {
    if (version === null) return NOTHING;
    const text = isPlainText(version)
      ? await readSource(agents.database.query, organizationId, agentId, version)
      : undefined;
    if (text === undefined) throw notFound("Version");
    return { name: version, text };
  };
  const draftOf = async (): Promise<Side> => {
    const text = (await readDraftRows(agents.database.query, organizationId, [agentId])).get(agentId);
    return text == null ? versionOf(agent.publishedVersion) : { name: "draft", text };
  };
  const before = await versionOf(from ?? agent.publishedVersion);
  const after = await (to === undefined ? draftOf() : versionOf(to));
  return diffVersions(before.text, after.text, { before: before.name, after: after.name });
}
