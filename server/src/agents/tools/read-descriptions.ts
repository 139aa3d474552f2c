/** How servers describe tools, for an answer. */
import type { OrganizationId } from "../../lib/ids.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { parseStored } from "../../lib/json/json.ts";
import type { ToolDescription } from "../../lib/mcp/tool-description.ts";
import type { Agents } from "../agents.ts";
import { readTexts } from "./pin-store.ts";
import type { ToolText } from "./pinned-tool.ts";

/** Each part as it goes into the answer. */
export type ShownDescription = { description: string; inputSchema: JsonText; hints: JsonText };

/**
 * Reads them in the order of `texts`; undefined for one that the server has replaced since. One has up to a quarter of a megabyte, in any
 * number of values: others have their turn after each, and `throwIfOver` may end it before the next.
 */
export async function readDescriptions(
  { database }: Pick<Agents, "database">,
  organizationId: OrganizationId,
  texts: readonly ToolText[],
  throwIfOver: () => void,
): Promise<(ShownDescription | undefined)[]> {
  const shown: (ShownDescription | undefined)[] = [];
  for (const text of await readTexts(database, organizationId, texts)) {
    throwIfOver();
    shown.push(text === undefined ? undefined : shownOf(parseStored(text) as ToolDescription));
    await new Promise(setImmediate);
  }
  return shown;
}

/** Kept as text: a parsed schema takes thirteen times as much memory. */
const shownOf = ({ description, inputSchema, hints }: ToolDescription): ShownDescription => ({
  description,
  inputSchema: JsonText.ofText(JSON.stringify(inputSchema)),
  hints: JsonText.ofText(JSON.stringify(hints)),
});
