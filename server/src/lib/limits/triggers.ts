/** Triggers, webhooks and schedules. */
import { type Limit } from "./limit.ts";

const TRIGGERS_DB = "server/src/triggers/triggers.db.test.ts";
const KINDS = "server/src/triggers/kinds/kinds.test.ts";
const TRIGGERS_TEST = "test/triggers.test.ts";
const SIGNATURES = "test/signatures.test.ts";
const MAP_INPUT = "server/src/triggers/firings/map-input.db.test.ts";
const DUE_CLOCK = "server/src/triggers/schedule/due-clock.db.test.ts";
const MISSED = "server/src/triggers/kinds/cron/missed.test.ts";
const CRON_TRIGGERS = "test/cron-triggers.test.ts";

export const TRIGGERS = {
  triggersPerAgent: {
    value: 100,
    bounds: "triggers of an agent",
    test: [TRIGGERS_DB, "an agent has at most 100 triggers"],
  },
  triggersPerOrganization: {
    value: 100_000,
    bounds: "triggers of an organization",
    test: [TRIGGERS_DB, "an organization has at most 100,000 triggers"],
  },
  triggerBytes: {
    value: 64 * 1024,
    bounds: "a trigger's configuration as JSON, and its policy",
    test: [KINDS, "have at most triggerBytes as JSON"],
  },
  tokenOverlapMinutes: {
    value: 10_080,
    bounds: "how long a webhook's former URL may be kept",
    test: ["test/firings.test.ts", "for 10,080 minutes at most"],
  },
  webhookAddresses: {
    value: 100,
    bounds: "addresses and ranges that may call a webhook",
    test: [KINDS, "at most 100 addresses"],
  },
  formBodyFields: {
    value: 1_000,
    bounds: "fields of a form that is sent to a webhook, and of a query that a mapping reads",
    test: ["test/webhook-bodies.test.ts", "with 1,000 fields is taken, with one more or what cannot be read it is 400"],
  },
  deliveryCharacters: {
    value: 255,
    bounds: "a header that names a delivery to a webhook",
    test: [TRIGGERS_TEST, "a delivery's name has at most 255 characters"],
  },
  signatureSeconds: {
    value: 300,
    bounds: "the difference between the time that a sender signed and now",
    test: [SIGNATURES, "within 300 s of now at most"],
  },
  refusedCallsPerAddress: {
    value: 10,
    bounds:
      "calls of a webhook from one address at once that are badly signed or come from elsewhere, then one a minute",
    beyond: "429, without a firing",
    test: [SIGNATURES, "takes nothing of the plan and leaves few firings"],
  },
  refusedCallsPerTrigger: {
    value: 100,
    bounds: "such calls from all addresses, then ten a minute",
    beyond: "429, without a firing",
    test: [SIGNATURES, "takes nothing of the plan and leaves few firings"],
  },
  largeInputs: {
    value: 4,
    bounds: "inputs over 256 KiB that mappings make at a time",
    beyond: "one waits for at most 10 s, then `UNAVAILABLE`",
    test: [MAP_INPUT, "a mapping's large input waits at most 10 s for a place"],
  },
  largeInputsOwn: {
    value: 2,
    bounds: "inputs of one organization among these",
    beyond: "one waits for at most 10 s, then `UNAVAILABLE`",
    test: [MAP_INPUT, "a mapping's large input waits at most 10 s for a place"],
  },
  firingDays: {
    value: 30,
    bounds: "how long a firing is kept, with its payload",
    beyond: "it is deleted",
    test: [TRIGGERS_DB, "a firing is kept for 30 days"],
  },
  firingFields: {
    value: 10,
    bounds: "refused fields that a firing names",
    beyond: "the rest is left out",
    test: [TRIGGERS_TEST, "a firing names the first 10 of the fields"],
  },
  queuedFirings: {
    value: 1_000,
    bounds:
      "runs of a trigger with `overlap: queue` that wait for the one before; some that come at the same moment may exceed it",
    test: [TRIGGERS_DB, "at most 1,000 runs of a trigger wait for the one before"],
  },
  scheduleCharacters: {
    value: 500,
    bounds: "a cron schedule",
    test: ["server/src/triggers/kinds/cron/instants.test.ts", "takes an expression of at most 500 characters"],
  },
  schedulesFiring: {
    value: 512,
    bounds: "cron triggers that fire at a time",
    beyond: "further ones wait",
    test: [DUE_CLOCK, "512 fire at once, 256 of one organization"],
  },
  schedulesFiringOwn: {
    value: 256,
    bounds: "triggers of one organization among these",
    beyond: "further ones wait",
    test: [DUE_CLOCK, "512 fire at once, 256 of one organization"],
  },
  missedInstants: {
    value: 1_000,
    bounds: "instants of a schedule at which no server ran, and which fire later under `all`",
    beyond: "earlier ones are skipped; one firing counts them",
    test: [MISSED, "only the last thousand"],
  },
  punctualSeconds: {
    value: 60,
    bounds: "how late an instant of a schedule may fire",
    beyond: "it counts as missed",
    test: [MISSED, "later than `none` takes"],
  },
  catchUpMinutes: {
    value: 10_080,
    bounds: "`catchUpMinutes` of a cron trigger",
    test: [CRON_TRIGGERS, "as much as may be passes"],
  },
  jitterSeconds: {
    value: 3_600,
    bounds: "`jitterSeconds` of a cron trigger",
    test: [CRON_TRIGGERS, "as much as may be passes"],
  },
} satisfies Record<string, Limit>;
