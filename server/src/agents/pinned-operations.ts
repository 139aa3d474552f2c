/** The operations of OpenAPI documents that a version of an agent calls: each stays as the version's first call of it read it. */
import { hash } from "node:crypto";
import type { ApiOperationName, ReadApiOperation } from "../definition/openapi/operation.ts";
import { conflict } from "../lib/errors.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { shortenedTo } from "../lib/text.ts";
import type { Query } from "../storage/database.ts";
import type { Agents } from "./agents.ts";

type OfVersion = { organizationId: OrganizationId; agentId: AgentId; version: string };

const hashOf = ({ document, operationId }: ApiOperationName): string =>
  hash("sha256", JSON.stringify([document, operationId]), "hex");

/** Undefined: none is pinned. */
export const readPinnedOperation = (
  { database }: Pick<Agents, "database">,
  of: OfVersion,
  name: ApiOperationName,
): Promise<string | undefined> => read(database.query, of, hashOf(name));

async function read(
  query: Query,
  { organizationId, agentId, version }: OfVersion,
  keyHash: string,
): Promise<string | undefined> {
  const [row] = await query(
    "select operation from pinned_operations where organization_id = $1 and agent_id = $2 and version = $3 and key_hash = $4",
    [organizationId, agentId, version, keyHash],
    organizationId,
  );
  return row?.["operation"];
}

/** For people, in each row. */
const MAX_NAME_CHARACTERS = 2_000;
const shown = (text: string): string => shortenedTo(text, MAX_NAME_CHARACTERS).toWellFormed().replaceAll("\0", "");

/** Returns what is pinned: another process may have been first. Throws CONFLICT if a version has as many as it may. */
export function pinOperation(
  { database, clock }: Pick<Agents, "database" | "clock">,
  of: OfVersion,
  name: ApiOperationName,
  { operation, documentHash }: ReadApiOperation,
): Promise<string> {
  const { organizationId, agentId, version } = of;
  const keyHash = hashOf(name);
  return database.transaction(async (query) => {
    // Those who pin operations of one version at the same time wait for each other.
    await query(
      "select 1 from agent_versions where organization_id = $1 and agent_id = $2 and version = $3 for no key update",
      [organizationId, agentId, version],
    );
    const pinned = await read(query, of, keyHash);
    if (pinned !== undefined) return pinned;
    const [row] = await query(
      "select count(*)::int as count from pinned_operations where organization_id = $1 and agent_id = $2 and version = $3",
      [organizationId, agentId, version],
    );
    if (row!["count"] >= LIMITS.openapiOperationsPerVersion) throw tooMany();
    await query(
      `insert into pinned_operations
         (organization_id, agent_id, version, key_hash, document, operation_id, document_hash, operation, pinned_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        organizationId,
        agentId,
        version,
        keyHash,
        shown(name.document),
        shown(name.operationId),
        documentHash,
        operation,
        new Date(clock.now()),
      ],
    );
    return operation;
  }, organizationId);
}

const tooMany = (): Error =>
  conflict(
    "limit_reached",
    `the operations of OpenAPI documents are pinned for each version and address, ${LIMITS.openapiOperationsPerVersion} at most, and this version has them: publish a new version, or keep what differs from run to run out of the document's address`,
  );
