/**
 * The parts of a call that a mapping may see besides its body: `$headers` and `$query`. It is kept with the firing, which is shown and fired
 * again, so anything named like a credential is left out.
 */
import type { IncomingHttpHeaders } from "node:http";
import { readFormFields } from "../../../lib/json/form-fields.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { redact } from "../../../lib/log/log.ts";
import { variablesIn } from "../contract/mapping.ts";
import { SECRET_HEADERS } from "./header-name.ts";
import { signatureHeaders } from "./signature.ts";

/** The variables of a webhook's mapping. */
export const CALL_VARIABLES: ReadonlySet<string> = new Set(["headers", "query"]);

/** Matches the name of a header or of a field of the query. */
const NAMED_SECRET =
  /token|secret|signature|hmac|passw|passphrase|credential|cookie|jwt|api[-_.]?key|access[-_.]?key|(?:^|[-_.])(?:auth|authentication|authorization|sig|pwd|pass|session|session[-_]?id|sid)(?:$|[-_.\d])/i;

/** Whether it looks like a credential, as the log hides them: a proxy adds the path that was called, which has the token. */
const looksSecret = (value: unknown): boolean => {
  const text = JSON.stringify(value);
  return redact(text) !== text;
};

/** Undefined where the mapping uses neither. Throws BAD_USER_INPUT for a query that is not percent-encoded UTF-8. */
export function callPartsOf(
  policy: JsonObject,
  { headers, url = "" }: { headers: IncomingHttpHeaders; url?: string | undefined },
): JsonObject | undefined {
  if (variablesIn(policy).isDisjointFrom(CALL_VARIABLES)) return undefined;
  const at = url.indexOf("?");
  const query = at < 0 ? {} : readFormFields(url.slice(at + 1), "the query of the URL");
  const hidden = new Set(signatureHeaders(policy));
  const isShown = (name: string): boolean => !SECRET_HEADERS.has(name) && !hidden.has(name) && !NAMED_SECRET.test(name);
  return {
    headers: shownOf(headers, isShown),
    query: shownOf(query, (name) => !NAMED_SECRET.test(name)),
  };
}

const shownOf = (values: object, isShown: (name: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => isShown(name) && !looksSecret(value)));
