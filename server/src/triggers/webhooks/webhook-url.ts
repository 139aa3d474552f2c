/** The URL of a trigger. Its token is kept sealed as well, because anyone who may change the trigger may see the URL again. */
import type { JsonObject } from "../../lib/json/json.ts";
import { encodeId } from "../../lib/ids.ts";
import { presentKeyId } from "../../secrets/present-key.ts";
import type { Query } from "../../storage/database.ts";
import { insertToken } from "./token-store.ts";
import { hashToken, newToken } from "./token.ts";
import type { Trigger } from "../store/trigger.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Sealer } from "../../secrets/seal.ts";

const ownerOf = ({ organizationId, projectId, id }: Trigger) => ({ organizationId, projectId, name: id });

/** Makes one, within the transaction that makes its trigger or replaces the former one. */
export async function makeToken(
  { sealer, clock }: { clock: Clock; sealer: Sealer },
  query: Query,
  trigger: Trigger,
): Promise<string> {
  const token = newToken();
  const sealed = await sealer.seal(token, ownerOf(trigger), await presentKeyId(query));
  await insertToken(query, trigger, { hash: hashToken(token), sealed, now: clock.now() });
  return token;
}

/** Stands for a token where it is not shown. */
const MASK = "********";

/** `token`: the present one's row, where the caller may see it. */
export async function urlOf(
  { sealer, url, log }: { sealer: Sealer; url: string; log: Log },
  trigger: Trigger,
  token: { sealed: string } | undefined,
): Promise<string> {
  const opened = token && (await sealer.open(token.sealed, ownerOf(trigger)));
  // Not the caller's mistake: the row was changed by hand, or belongs to another installation.
  if (token && opened === undefined)
    log.error({ trigger: trigger.id }, "a webhook's token does not open with this server's key");
  return `${url}/webhook/${encodeId("agent", trigger.agentId)}/${opened ?? MASK}`;
}

/** A command for a POSIX shell that calls it with this body. */
export const curlOf = (url: string, body: JsonObject): string =>
  `curl -X POST ${quoted(url)} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
