import { isPlainText } from "../lib/mail/email-address.ts";
import { notFound } from "../lib/errors.ts";
import type { AgentId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import type { Agents } from "./agents.ts";
import { diffVersions } from "./diff-versions.ts";
import { readDraftText } from "./draft-store.ts";
import { readAgentRow } from "./store.ts";
import { readSource } from "./version-store.ts";
import { versionNotFound } from "./versions.ts";

type DiffRequest = {
  agentId: AgentId;
  /** A version; by default the published one. */
  from?: string | undefined;
  /** A version; by default the draft, or the published version if there is no draft. */
  to?: string | undefined;
};

type Side = { name: string; text: string };

/** As `diff -u` names a missing file. */
const NOTHING: Side = { name: "/dev/null", text: "" };

/**
 * The differences between two texts of an agent, as `diff -u` writes them; empty if there are none. Throws NOT_FOUND. One
 * of the largest takes 40 ms of the thread, so an organization has one at a time, as with reading definitions.
 */
export const diffAgent = (
  agents: Agents,
  within: Within,
  request: DiffRequest,
  signal?: AbortSignal,
): Promise<string> => agents.reading.run(within.organizationId, () => readDiff(agents, within, request), signal);

async function readDiff(agents: Agents, within: Within, { agentId, from, to }: DiffRequest): Promise<string> {
  const { organizationId } = within;
  const agent = await readAgentRow(agents.database, within, agentId);
  if (!agent) throw notFound("Agent");
  const versionOf = async (version: string | null): Promise<Side> => {
    if (version === null) return NOTHING;
    const text = isPlainText(version)
      ? await readSource(agents.database.query, organizationId, agentId, version)
      : undefined;
    if (text === undefined) throw await versionNotFound(agents, organizationId, agentId);
    return { name: version, text };
  };
  const draftOf = async (): Promise<Side> => {
    const text = await readDraftText(agents.database.query, organizationId, agentId);
    return text === undefined ? versionOf(agent.publishedVersion) : { name: "draft", text };
  };
  const before = await versionOf(from ?? agent.publishedVersion);
  const after = await (to === undefined ? draftOf() : versionOf(to));
  return diffVersions(before.text, after.text, { before: before.name, after: after.name });
}
