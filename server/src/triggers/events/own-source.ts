/** The source of events that happen in the service itself. */
export const OWN_SOURCE = "autograph";

/** All of them: what each tells of is in own-events.ts. */
export const OWN_EVENTS = [
  "run.completed",
  "run.failed",
  "run.cancelled",
  "approval.requested",
  "agent.published",
] as const;
export type OwnEvent = (typeof OWN_EVENTS)[number];
