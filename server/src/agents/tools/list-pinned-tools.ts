/** The tools of MCP servers that a version of an agent has listed. */
import { isPlainText } from "../../lib/mail/email-address.ts";
import { pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import type { Agent } from "../agent.ts";
import type { Agents } from "../agents.ts";
import { pageOfPins } from "./pin-store.ts";
import type { PinnedTool } from "./pinned-tool.ts";

type Wanted = { version: string | undefined; isChanged: boolean | undefined };

/** By default of the published version. */
export async function listPinnedTools(
  { database }: Pick<Agents, "database">,
  { organizationId, id, publishedVersion }: Agent,
  request: PageRequest,
  { version: given, isChanged }: Wanted,
): Promise<Page<PinnedTool>> {
  const version = given ?? publishedVersion;
  if (version === null || !isPlainText(version)) return { items: [], hasNextPage: false };
  return pageOf(await pageOfPins(database, organizationId, id, request, { version, isChanged }), request.first);
}
