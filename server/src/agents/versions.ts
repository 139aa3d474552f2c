/** Versions: listed, and read for loaders. */
import { isPlainText } from "../lib/mail/email-address.ts";
import { notFound, Refusal } from "../lib/errors.ts";
import type { AgentId, AgentVersionId, OrganizationId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Within } from "../lib/reach.ts";
import type { AgentVersion } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { readAgent } from "./published.ts";
import {
  nameOfVersion,
  pageOfVersionRows,
  readSourceRows,
  readVersionRow,
  readVersionRows,
  type VersionKey,
} from "./version-store.ts";

/** Newest first; `after` is a version's text; if the agent has no such version, nothing follows. */
export async function listVersions(
  agents: Agents,
  organizationId: OrganizationId,
  agentId: AgentId,
  request: PageRequest,
): Promise<Page<AgentVersion>> {
  const page = checkPage(request);
  if (page.after !== undefined && !isPlainText(page.after)) return { items: [], hasNextPage: false };
  return pageOf(await pageOfVersionRows(agents.database, organizationId, agentId, page), page.first);
}

export async function readVersion(
  agents: Agents,
  within: Within,
  id: AgentVersionId,
): Promise<AgentVersion | undefined> {
  const version = await readVersionRow(agents.database, within.organizationId, id);
  // A version does not say its project; its agent does.
  return version && within.reach && !(await readAgent(agents, within, version.agentId)) ? undefined : version;
}

/** In the order of the keys; null for those that the organization does not have. For a loader. */
export async function readVersions(
  agents: Agents,
  organizationId: OrganizationId,
  keys: readonly VersionKey[],
): Promise<(AgentVersion | null)[]> {
  const asked = keys.filter(({ version }) => isPlainText(version));
  const found = asked.length > 0 ? await readVersionRows(agents.database, organizationId, asked) : [];
  const byName = new Map(found.map((version) => [nameOfVersion(version), version]));
  return keys.map((key) => byName.get(nameOfVersion(key)) ?? null);
}

/** The texts of those that the organization has, for a loader; null: not read, as an answer could not hold all of them. */
export const readSources = (
  agents: Agents,
  organizationId: OrganizationId,
  ids: readonly AgentVersionId[],
): Promise<Map<AgentVersionId, string | null>> => readSourceRows(agents.database.query, organizationId, ids);

const NEWEST_NAMED = 3;

/** NOT_FOUND for a version that the agent does not have, with the newest ones that it has. */
export async function versionNotFound(
  agents: Agents,
  organizationId: OrganizationId,
  agentId: AgentId,
): Promise<Refusal> {
  const newest = await pageOfVersionRows(agents.database, organizationId, agentId, { first: NEWEST_NAMED - 1 });
  const names = newest.map(({ version }) => version).join(", ");
  const { message } = notFound("Version");
  return new Refusal(
    "NOT_FOUND",
    names === "" ? `${message}: none is published` : `${message}: the newest are ${names}`,
  );
}
