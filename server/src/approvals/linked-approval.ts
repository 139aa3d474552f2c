/** An approval as the holder of a link sees it, and their decision. */
import { userNames } from "../auth/accounts/users.ts";
import type { Acting } from "../auth/caller.ts";
import { ROLE_SCOPES } from "../auth/scopes.ts";
import type { From } from "../audit/event.ts";
import { inputFields, type FormField } from "../definition/form/form.ts";
import { readWholeApproval } from "../execution/journal/read-approval.ts";
import type { WholeApproval } from "../execution/run/run.ts";
import { formIn, toolCallIn } from "../execution/run/tool-call.ts";
import { notFound } from "../lib/errors.ts";
import { newId, type UserId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { readToken } from "../members/link-token.ts";
import { decideApproval, type Decision } from "../runs/decide-approval.ts";
import { canDecide, standingOf } from "../runs/read/who-decides.ts";
import type { Approvals } from "./approvals.ts";
import { linksOf } from "./link.ts";
import { findLink, type HeldLink } from "./link-store.ts";

export type LinkedApproval = {
  organization: string;
  agent: string;
  /** Who decides by this link. */
  you: { name: string; email: string };
  status: WholeApproval["status"];
  question: string;
  context: Json;
  /** The form of the answer. */
  fields: FormField[];
  toolCall: { name: string; arguments: JsonObject } | null;
  quorum: number;
  decisions: {
    by: string;
    isYou: boolean;
    decision: string;
    comment: string | null;
    at: string;
    isOverride: boolean;
  }[];
  /** The answer that others approved; those who approve after them approve the same. */
  answer: Json;
  canDecide: boolean;
  createdAt: string;
  expiresAt: string | null;
  decidedAt: string | null;
};

/** A link whose holder is a member. */
export type OpenedLink = HeldLink & { caller: Acting };

/**
 * Throws NOT_FOUND, in the same words for a token that nobody made, whose holder has left, and whose approval is gone or is not
 * theirs any longer.
 */
export async function openLink(approvals: Approvals, token: string, from: From): Promise<OpenedLink> {
  const secretHash = readToken(linksOf(approvals), token);
  const link = secretHash && (await findLink(approvals.runs.database, secretHash));
  if (!link) throw notFound("Link");
  const { organizationId, holder } = link;
  const caller: Acting = {
    organizationId,
    user: { id: holder.userId, name: holder.name },
    // A membership is all that it needs: there is no session that could end.
    credential: { kind: "user", sessionId: newId(), client: "ui", expiresAt: Number.POSITIVE_INFINITY },
    scopes: ROLE_SCOPES[holder.role],
    reach: undefined,
    from,
  };
  return { ...link, caller };
}

/** Throws NOT_FOUND. */
export async function readLinked(approvals: Approvals, link: OpenedLink): Promise<LinkedApproval> {
  const approval = await approvalOf(approvals, link);
  const { organizationId, holder, caller } = link;
  const { runs, auth } = approvals;
  const agent = await runs.agents.cache.agent(organizationId, approval.agentId);
  if (!agent) throw notFound("Link");
  const { form, decisions } = approval;
  const toolCall = toolCallIn(form);
  return {
    organization: link.organizationName,
    agent: agent.name,
    you: { name: holder.name, email: holder.email },
    status: approval.status,
    question: approval.question,
    context: approval.context,
    fields: inputFields(formIn(form)),
    toolCall: toolCall ? { name: toolCall.name, arguments: toolCall.arguments } : null,
    quorum: approval.quorum,
    decisions: await shownDecisions(approvals, link, decisions),
    answer: approval.answer,
    canDecide: canDecide(approval, caller, personOf(link), auth.clock.now()),
    createdAt: approval.createdAt.toISOString(),
    expiresAt: approval.expiresAt?.toISOString() ?? null,
    decidedAt: approval.decidedAt?.toISOString() ?? null,
  };
}

/** Throws as `decideApproval` does, and NOT_FOUND. */
export async function decideLinked(
  approvals: Approvals,
  link: OpenedLink,
  decision: Omit<Decision, "approvalId" | "isByLink">,
): Promise<LinkedApproval> {
  await approvalOf(approvals, link);
  await decideApproval(approvals.runs, link.caller, { ...decision, approvalId: link.approvalId, isByLink: true });
  return readLinked(approvals, link);
}

const personOf = ({ holder: { userId, role, email } }: HeldLink) => ({ id: userId, role, email });

/** One that is the holder's to decide, or that they have decided. */
async function approvalOf({ runs }: Approvals, link: OpenedLink): Promise<WholeApproval> {
  const { organizationId, approvalId, holder, caller } = link;
  const approval = await readWholeApproval(runs.database, organizationId, approvalId);
  if (!approval || !caller.scopes.has("approvals:decide")) throw notFound("Link");
  const hasDecided = approval.decisions.some(({ by }) => by.kind === "user" && by.id === holder.userId);
  if (!hasDecided && standingOf(approval, personOf(link)) !== "asked") throw notFound("Link");
  return approval;
}

async function shownDecisions(
  { auth }: Approvals,
  { organizationId, holder }: HeldLink,
  decisions: WholeApproval["decisions"],
): Promise<LinkedApproval["decisions"]> {
  const ids = decisions.flatMap(({ by }) => (by.kind === "user" ? [by.id as UserId] : []));
  const names = await userNames(auth, organizationId, ids);
  return decisions.map(({ by, decision, comment, at, isOverride }) => ({
    by: by.kind === "user" ? (names.get(by.id as UserId) ?? "a former user") : "an API key",
    isYou: by.kind === "user" && by.id === holder.userId,
    decision,
    comment,
    at: at.toISOString(),
    isOverride,
  }));
}
