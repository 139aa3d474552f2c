/** Why the language model did not answer. */
import type { OutboundError, OutboundErrorKind } from "../outbound/errors.ts";

export const LLM_PROBLEMS = [
  "timeout",
  "unreachable",
  "unauthorized",
  "not_found",
  "rate_limited",
  "failed",
  "unusable",
  "too_often",
  "over_budget",
  "too_large",
] as const;
export type LlmProblem = (typeof LLM_PROBLEMS)[number];

/** The message names at most the host and a status: never the key, what was sent, or what came. */
export class LlmError extends Error {
  readonly problem: LlmProblem;
  /** The HTTP status, if that is what came. */
  readonly status: number | undefined;
  /** The endpoint's own sentence, which may repeat anything that was sent. */
  said: string | undefined;
  /** The time before which a call does not ask again, ms. */
  readonly heldUntil: number | undefined;

  constructor(problem: LlmProblem, message: string, status?: number, heldUntil?: number) {
    super(message);
    this.name = "LlmError";
    this.problem = problem;
    this.status = status;
    this.heldUntil = heldUntil;
  }
}

const OF_OUTBOUND: Record<OutboundErrorKind, LlmProblem> = {
  timeout: "timeout",
  too_large: "unusable",
  refused: "unreachable",
  network: "unreachable",
  bad_request: "failed",
};

export const ofOutbound = ({ kind, message }: OutboundError): LlmError => new LlmError(OF_OUTBOUND[kind], message);

/** Maps a failure status. */
export function ofStatus(status: number, host: string): LlmError {
  if (status === 401 || status === 403)
    return new LlmError("unauthorized", `${host} refused the key (${status})`, status);
  if (status === 404) return new LlmError("not_found", `${host} knows no such address or model (404)`, status);
  if (status === 429) return new LlmError("rate_limited", `${host} was asked too often (429)`, status);
  return new LlmError("failed", `${host} answered with ${status}`, status);
}
