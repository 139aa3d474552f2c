/**
 * `/auth/approval`: the page of a mailed link. The link's token is the credential, in `Authorization`; nothing is decided but by a POST to
 * `/auth/approval/decision` from a page of this server (docs/mail.md).
 */
import { decideLinked, openLink, readLinked, type OpenedLink } from "../../approvals/linked-approval.ts";
import type { Approvals } from "../../approvals/approvals.ts";
import { badInput, notFound, Refusal } from "../../lib/errors.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import { countRequest, type Rates } from "../../rates/rates.ts";
import type { Decision } from "../../runs/decide-approval.ts";
import type { Admission } from "../admission/admission.ts";
import { bearerOf } from "../../auth/admission/authenticate.ts";
import { checkContentType, JSON_BODY, parseJsonBody } from "../body-format.ts";
import type { Arrivals } from "../connections/arrivals.ts";
import { readBody } from "../connections/read-body.ts";
import { userAgentOf } from "../request.ts";
import type { Exchange, Reply } from "../write-response.ts";

type LinkOptions = {
  approvals: Approvals;
  admission: Admission;
  rates: Rates;
  arrivals: Arrivals;
  clientAddress: (request: Exchange["request"]) => string;
};

/**
 * The connection then counts as the organization's, and the request as one of the person's. Throws NOT_FOUND in the same words
 * for every link that is not good.
 */
export async function admitByLink(options: LinkOptions, exchange: Exchange): Promise<OpenedLink> {
  const { request } = exchange;
  const { approvals, admission, rates, clientAddress } = options;
  const token = bearerOf(request.headers.authorization ?? "");
  if (token === undefined) throw notFound("Link");
  const from = { address: clientAddress(request), userAgent: userAgentOf(request) };
  const link = await openLink(approvals, token, from);
  admission.assign(request.socket, link.organizationId);
  await countRequest(rates, link.caller, (standing) => void (exchange.standing = standing));
  return link;
}

export const showLinked = async ({ approvals }: LinkOptions, _: Exchange, link: OpenedLink): Promise<Reply> => ({
  status: 200,
  body: await readLinked(approvals, link),
});

export async function decideByLink(options: LinkOptions, { request }: Exchange, link: OpenedLink): Promise<Reply> {
  checkContentType(request.headers, JSON_BODY);
  const { text, release } = await readBody(request, options.arrivals, () => link.caller);
  try {
    return { status: 200, body: await decideLinked(options.approvals, link, decisionIn(parseJsonBody(text))) };
  } finally {
    release?.();
  }
}

type Given = Omit<Decision, "approvalId" | "isByLink">;

/** Throws BAD_REQUEST and BAD_USER_INPUT. */
function decisionIn(body: Json): Given {
  if (!isObject(body)) throw new Refusal("BAD_REQUEST", "the request body must be a JSON object");
  const { decision, comment, answer } = body;
  const wrong = (name: string, message: string): Refusal =>
    badInput("invalid_input", `${name} ${message}`, [{ path: `input.${name}`, code: "invalid", message }]);
  if (decision !== "approve" && decision !== "reject") throw wrong("decision", "must be approve or reject");
  if (comment !== undefined && comment !== null && typeof comment !== "string")
    throw wrong("comment", "must be a string");
  return { decision, ...(comment && { comment }), ...(answer !== undefined && { answer }) };
}
