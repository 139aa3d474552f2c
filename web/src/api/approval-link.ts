/** The requests of a mailed link's page. The link's token is the credential: nobody has to be signed in. */
import { parseJson, unmarked, type Json, type JsonObject } from "../lib/json.ts";
import { urlOf } from "./base.ts";
import type { ApprovalStatus, Decision, FormFieldFragment } from "./documents.ts";
import { refusalOf, unreachable, type GivenError } from "./refusal.ts";

export type LinkedApproval = {
  organization: string;
  agent: string;
  /** Who decides by this link. */
  you: { name: string; email: string };
  status: ApprovalStatus;
  question: string;
  context: Json;
  fields: readonly FormFieldFragment[];
  toolCall: { name: string; arguments: JsonObject } | null;
  quorum: number;
  decisions: readonly {
    by: string;
    isYou: boolean;
    decision: Decision;
    comment: string | null;
    at: string;
    isOverride: boolean;
  }[];
  /** The answer that others approved. */
  answer: Json;
  canDecide: boolean;
  createdAt: string;
  expiresAt: string | null;
  decidedAt: string | null;
};

/** Throws Refusal. */
export const readLinkedApproval = (token: string): Promise<LinkedApproval> => send(token, "auth/approval");

type Given = { decision: Decision; comment?: string; answer?: Json };

/** Throws Refusal. */
export const decideLinkedApproval = (token: string, given: Given): Promise<LinkedApproval> =>
  send(token, "auth/approval/decision", given);

async function send(token: string, path: string, body: object = {}): Promise<LinkedApproval> {
  const response = await fetch(urlOf(path), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: unmarked(JSON.stringify(body)),
  }).catch(() => {
    throw unreachable();
  });
  const answer = parseJson(
    await response.text().catch(() => {
      throw unreachable();
    }),
  ) as unknown as LinkedApproval & { errors?: GivenError[] };
  const [error] = answer.errors ?? [];
  if (error) throw refusalOf(error);
  return answer;
}
