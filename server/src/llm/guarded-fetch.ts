/** The `fetch` of a provider's package: our guarded sockets. */
import type { OrganizationId } from "../lib/ids.ts";
import { hasMoreValues } from "../lib/json/json-steps.ts";
import { LIMITS } from "../lib/limits.ts";
import { textIn } from "../outbound/body-text.ts";
import { tooLarge } from "../outbound/errors.ts";
import type { Outbound, OutboundResponse } from "../outbound/outbound.ts";

type Options = {
  outbound: Outbound;
  organizationId: OrganizationId;
  host: string;
  timeoutMs: number;
  /** The maximum of an answer. */
  mostBytes: number;
  /** Awaited when the answer has arrived, before it is parsed. */
  turn?: (() => Promise<void> | undefined) | undefined;
  /** Called with each response: some ask for a pause. */
  onResponse: (response: Pick<OutboundResponse, "status" | "headers">) => void;
};

const WITHOUT_BODY = new Set([204, 205, 304]);

export const guardedFetch =
  ({ outbound, organizationId, host, timeoutMs, mostBytes, turn, onResponse }: Options): typeof globalThis.fetch =>
  async (url, init) => {
    const { status, headers, body } = await outbound.request({
      organizationId,
      method: "POST",
      url: String(url),
      headers: Object.fromEntries(new Headers(init!.headers)),
      body: init!.body as string,
      redirect: false,
      signal: init!.signal!,
      timeoutMs,
      ...(turn && { turn }),
    });
    if (body.length > mostBytes) throw tooLarge(host, mostBytes);
    onResponse({ status, headers });
    const text = WITHOUT_BODY.has(status) ? null : textIn({ headers, body });
    // A package checks each value: a megabyte of `{}` takes it two seconds. It finds an answer without a body unusable.
    const isRead = text !== null && !hasMoreValues(text, LIMITS.modelAnswerValues);
    return new Response(isRead ? text : null, { status, headers });
  };
