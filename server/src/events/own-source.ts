/** The source of events that happen in the service itself. */
export const OWN_SOURCE = "autograph";

/** All of them; `triggers/own-events.ts` has the content of each. */
export const OWN_EVENTS = [
  "run.completed",
  "run.failed",
  "run.cancelled",
  "approval.requested",
  "approval.reminded",
  "approval.escalated",
  "approval.reassigned",
  "agent.published",
] as const;
export type OwnEvent = (typeof OWN_EVENTS)[number];
