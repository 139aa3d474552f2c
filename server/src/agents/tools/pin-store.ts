/** The SQL of pinned tools. */
import type { Actor } from "../../lib/actor.ts";
import type { AgentId, OrganizationId } from "../../lib/ids.ts";
import { parseStored } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { ToolDescription } from "../../lib/mcp/tool-description.ts";
import type { PageRequest } from "../../lib/page.ts";
import { shortenedTo } from "../../lib/text.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import { hashOfServer, type PinnedTool, type ToolServer, type ToolText } from "./pinned-tool.ts";

/** A tool as a server's list has it. */
export type SeenTool = { id: string; name: string; described: ToolDescription | undefined; hash: string };

/** The pin of a tool; `changedHash`: of what was last seen in its place. */
export type Pin = { id: string; pinned: ToolDescription | undefined; pinnedHash: string; changedHash: string | null };

/** Undefined: together they are larger than what a model is offered may be. */
export async function readPins(
  query: Query,
  { organizationId, agentId, version, server }: ToolServer,
  names: readonly string[],
): Promise<Map<string, Pin> | undefined> {
  const rows = await query(
    `with pins as (
       select *, sum(octet_length(pinned)) over () > $6 as is_large from pinned_tools
        where organization_id = $1 and agent_id = $2 and version = $3 and server_hash = $4 and name = any($5::text[]))
     select id, name, pinned_hash, changed_hash, is_large, case when not is_large then pinned end as pinned from pins`,
    [organizationId, agentId, version, hashOfServer(server), names, LIMITS.assistantListBytes],
    organizationId,
  );
  if (rows.some((row) => row["is_large"])) return undefined;
  return new Map(
    rows.map((row) => [
      row["name"],
      {
        id: row["id"],
        pinned: row["pinned"] === null ? undefined : (parseStored(row["pinned"]) as ToolDescription),
        pinnedHash: row["pinned_hash"],
        changedHash: row["changed_hash"],
      },
    ]),
  );
}

/** Those who pin tools of one version at the same time wait for each other. Returns how many are pinned. */
export async function lockPins(query: Query, { organizationId, agentId, version }: ToolServer): Promise<number> {
  await query(
    "select 1 from agent_versions where organization_id = $1 and agent_id = $2 and version = $3 for no key update",
    [organizationId, agentId, version],
  );
  const [row] = await query(
    "select count(*)::int as count from pinned_tools where organization_id = $1 and agent_id = $2 and version = $3",
    [organizationId, agentId, version],
  );
  return row!["count"];
}

/** Its hash tells servers apart: the rest is for people, in each row. */
const MAX_SERVER_CHARACTERS = 2_000;

/** Below `lockPins`. A tool that is pinned already stays as it is. */
export const insertPins = (
  query: Query,
  { organizationId, agentId, version, server }: ToolServer,
  tools: readonly SeenTool[],
  now: number,
): Promise<unknown> =>
  query(
    `insert into pinned_tools
       (organization_id, agent_id, version, server, server_hash, pinned_at, id, name, pinned, pinned_hash)
     select $1, $2, $3, $4, $5, $6, seen.* from unnest($7::uuid[], $8::text[], $9::text[], $10::text[]) as seen
     on conflict do nothing`,
    [
      organizationId,
      agentId,
      version,
      shortenedTo(server, MAX_SERVER_CHARACTERS).toWellFormed(),
      hashOfServer(server),
      new Date(now),
      tools.map(({ id }) => id),
      tools.map(({ name }) => name),
      tools.map(({ described }) => textOf(described)),
      tools.map(({ hash }) => hash),
    ],
  );

const textOf = (described: ToolDescription | undefined): string | null =>
  described === undefined ? null : JSON.stringify(described);

/** As a server describes tools now; one that is as it was pinned has no change any longer. Locks rows in one order. */
export const noteSeen = (
  query: Query,
  organizationId: OrganizationId,
  tools: readonly SeenTool[],
  now: number,
): Promise<unknown> =>
  query(
    `with locked as (
       select id from pinned_tools where organization_id = $1 and id = any($2::uuid[]) order by id for no key update)
     update pinned_tools p set
       changed = case when seen.hash <> p.pinned_hash then seen.described end,
       changed_hash = nullif(seen.hash, p.pinned_hash),
       changed_at = case when seen.hash <> p.pinned_hash then $5::timestamptz end
     from locked join unnest($2::uuid[], $3::text[], $4::text[]) as seen (id, described, hash) using (id)
     where p.organization_id = $1 and p.id = locked.id and p.changed_hash is distinct from nullif(seen.hash, p.pinned_hash)`,
    [
      organizationId,
      tools.map(({ id }) => id),
      tools.map(({ described }) => textOf(described)),
      tools.map(({ hash }) => hash),
      new Date(now),
    ],
    organizationId,
  );

const COLUMNS = `id, version, server, name, pinned_at, trusted_by_kind, trusted_by_id, pinned_hash, changed_hash, changed_at,
  octet_length(pinned) as pinned_bytes, octet_length(changed) as changed_bytes`;

const pinnedToolOf = (row: Row): PinnedTool => ({
  id: row["id"],
  version: row["version"],
  server: row["server"],
  name: row["name"],
  pinned: row["pinned_bytes"] === null ? null : { id: row["id"], hash: row["pinned_hash"], bytes: row["pinned_bytes"] },
  pinnedAt: row["pinned_at"],
  trustedBy: row["trusted_by_kind"] === null ? null : { kind: row["trusted_by_kind"], id: row["trusted_by_id"] },
  change:
    row["changed_hash"] === null
      ? null
      : {
          hash: row["changed_hash"],
          described: { id: row["id"], hash: row["changed_hash"], bytes: row["changed_bytes"] },
          seenAt: row["changed_at"],
        },
});

export type PinFilter = { version: string; isChanged: boolean | undefined };

/** One more than asked for, in the order in which they were pinned. */
export async function pageOfPins(
  database: Database,
  organizationId: OrganizationId,
  agentId: AgentId,
  { first, after }: PageRequest,
  { version, isChanged }: PinFilter,
): Promise<PinnedTool[]> {
  const rows = await database.query(
    `select ${COLUMNS} from pinned_tools
      where organization_id = $1 and agent_id = $2 and version = $3 and ($4::uuid is null or id > $4)
        and ($5::boolean is null or (changed_hash is not null) = $5)
      order by id limit $6`,
    [organizationId, agentId, version, after ?? null, isChanged ?? null, first + 1],
    organizationId,
  );
  return rows.map(pinnedToolOf);
}

/** In the order of `texts`; undefined for one that the server has replaced since. */
export async function readTexts(
  database: Database,
  organizationId: OrganizationId,
  texts: readonly ToolText[],
): Promise<(string | undefined)[]> {
  const rows = await database.query(
    `select wanted.place::int as place, case when p.pinned_hash = wanted.hash then p.pinned else p.changed end as text
       from unnest($2::uuid[], $3::text[]) with ordinality as wanted (id, hash, place)
       join pinned_tools p on p.organization_id = $1 and p.id = wanted.id and wanted.hash in (p.pinned_hash, p.changed_hash)`,
    [organizationId, texts.map(({ id }) => id), texts.map(({ hash }) => hash)],
    organizationId,
  );
  const found = new Map(rows.map((row) => [row["place"] as number, row["text"] as string]));
  return texts.map((_, index) => found.get(index + 1));
}

/** `hash`: of what was accepted. */
export type AcceptedTool = Pick<PinnedTool, "version" | "server" | "name"> & { hash: string };

/** Pins what was seen, for the changes that are there. Returns their tools, in order. */
export async function acceptChanges(
  query: Query,
  { organizationId, agentId, hashes }: { organizationId: OrganizationId; agentId: AgentId; hashes: readonly string[] },
  { by, now }: { by: Actor; now: number },
): Promise<AcceptedTool[]> {
  const rows = await query(
    `with locked as (
       select id from pinned_tools
        where organization_id = $1 and agent_id = $2 and changed_hash = any($3::text[]) order by id for no key update)
     update pinned_tools p set pinned = changed, pinned_hash = changed_hash, pinned_at = $4,
       trusted_by_kind = $5, trusted_by_id = $6, changed = null, changed_hash = null, changed_at = null
     from locked where p.organization_id = $1 and p.id = locked.id and p.changed_hash = any($3::text[])
     returning p.id, p.version, p.server, p.name, p.pinned_hash`,
    [organizationId, agentId, hashes, new Date(now), by.kind, by.id],
  );
  return rows
    .toSorted((a, b) => (a["id"] < b["id"] ? -1 : 1))
    .map((row) => ({ version: row["version"], server: row["server"], name: row["name"], hash: row["pinned_hash"] }));
}
