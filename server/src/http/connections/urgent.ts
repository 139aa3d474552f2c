/**
 * Whether a request might ask for what begins also when the server is overloaded (`Operation.isUrgent`). Costs a look at its
 * bytes: reading and parsing every refused body would take a tenth of what is left for the others. Anyone who writes one of these words
 * elsewhere is refused a little later, by what the document says.
 */
import type { IncomingMessage } from "node:http";

/** `cancelRuns` has the first in it. The others are of GraphQL and of MCP. JSON may have `\/` for a slash, as PHP writes it. */
const WORDS = [
  "cancelRun",
  "decideApproval",
  "rateLimit",
  "cancel_run",
  "decide_approval",
  "tasks/cancel",
  "tasks/update",
  "tasks\\/cancel",
  "tasks\\/update",
];

export const hasUrgentWord = (text: string | Buffer): boolean => WORDS.some((word) => text.includes(word));

/** Asked when nothing has read of it yet. A body of which something is still to come might say anything. */
export function mayBeUrgent(request: IncomingMessage): boolean {
  if (request.method !== "POST") return false;
  if (!request.complete) return true;
  const body = request.read() as Buffer | null;
  if (body === null || !hasUrgentWord(body)) return false;
  request.unshift(body);
  return true;
}
