/** The language's error for what went wrong on the way to another server. */
import { WorkflowError, type ErrorKind } from "../../definition/workflow-error.ts";
import { OutboundError, type OutboundErrorKind } from "../../outbound/errors.ts";

const KINDS: Record<OutboundErrorKind, ErrorKind> = {
  timeout: "timeout",
  bad_request: "validation",
  refused: "authorization",
  network: "communication",
  too_large: "communication",
};

/** Anything else is returned as it is. */
export const asWorkflowError = (error: unknown, before = ""): unknown =>
  error instanceof OutboundError ? WorkflowError.of(KINDS[error.kind], before + error.message) : error;
