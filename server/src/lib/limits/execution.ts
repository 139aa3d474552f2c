/** Runs. */
import { BY_NAME, type Limit } from "./limit.ts";

const LANGUAGE_DATA = "test/language-data.test.ts";
const NEIGHBOURS = "test/neighbours.test.ts";
const REST = "server/src/runs/rest.db.test.ts";
const BATCH = "server/src/storage/batch.test.ts";

export const EXECUTION = {
  inputBytes: { value: 640 * 1000, bounds: "a run's input, as JSON", test: BY_NAME },
  outputBytes: {
    value: 1024 * 1024,
    bounds:
      "an output of a run, a step or an expression; an HTTP response that a step takes; in characters, the texts and keys of a definition with its aliases expanded",
    test: BY_NAME,
  },
  stepsPerRun: {
    value: 10_000,
    bounds: "steps of a run",
    test: [LANGUAGE_DATA, "a run has at most 10,000 steps, and a run that is too large ends before it is"],
  },
  attemptsPerStep: {
    value: 1_000,
    bounds: "attempts of a step",
    beyond: "a larger count is refused; without a count the step fails with its own error",
    test: BY_NAME,
  },
  runBytes: {
    value: 64 * 1024 * 1024,
    bounds: "inputs, outputs and kept responses of all steps of a run, as JSON",
    test: [LANGUAGE_DATA, "a run has at most 10,000 steps, and a run that is too large ends before it is"],
  },
  runtimeDays: { value: 30, bounds: "a run, waits included", beyond: "the run fails with `timeout`", test: BY_NAME },
  runDepth: {
    value: 16,
    bounds: "runs started by runs",
    test: ["test/operations-runs.test.ts", "runs start runs 16 deep, one that starts itself too"],
  },
  approvalAssignees: {
    value: 20,
    bounds:
      "e-mails and roles that an approval is assigned to, with those that it is escalated to; and those that it is reassigned to",
    test: ["test/approvals-bind.test.ts", "an approval has 20 assignees and a quorum of 10, and not one more"],
  },
  approvalHistoryBytes: {
    value: 32_768,
    bounds: "decisions and reassignments of an approval, names and comments included, as JSON",
    test: ["test/approvals-reassign.test.ts", "what people write about an approval has 32 KiB together"],
  },
  approvalMails: {
    value: 50,
    bounds: "people who are mailed about an approval at a time, those named by e-mail before those of a role",
    beyond: "the others find it in their inbox",
    test: ["server/src/approvals/mail-notice.db.test.ts", "of a role of many, fifty people are mailed"],
  },
  approvalQuorum: {
    value: 10,
    bounds: "people who have to approve",
    test: ["test/approvals-bind.test.ts", "an approval has 20 assignees and a quorum of 10, and not one more"],
  },
  approvalReassignments: {
    value: 10,
    bounds: "times that an approval is passed on to others",
    test: ["test/approvals-reassign.test.ts", "an approval is reassigned ten times, and not once more"],
  },
  errorCharacters: {
    value: 10_000,
    bounds: "each text of a run's error",
    beyond: "the text is cut",
    test: [
      "server/src/definition/workflow-error.test.ts",
      "each text has at most 10,000 characters, and of a longer one the end is cut",
    ],
  },
  errorBodyBytes: {
    value: 16 * 1024,
    bounds: "the body of an HTTP response in `$error.response`",
    beyond: "it is not parsed, but cut at a character, and ends with `…`",
    test: ["test/call-answers.test.ts", "of as many bytes as an error holds is parsed"],
  },
  responseBodyBytes: {
    value: 4_096,
    bounds: "the body of an HTTP response that is kept with its attempt (`Attempt.response`)",
    beyond: "it is cut at a character, and ends with `…`",
    test: ["test/history.test.ts", "is cut at a character"],
  },
  internalTries: {
    value: 5,
    bounds: "how often a run is tried that throws an internal error",
    beyond: "it fails with `internal`",
    test: ["test/runs-internal.test.ts", "an internal error ends the run after five tries with type internal"],
  },
  idempotencyHours: {
    value: 24,
    bounds: "how long an idempotency key is valid",
    beyond: "the key is free again",
    test: ["test/runs-idempotency.test.ts", "after 24 hours a key is free, not before"],
  },
  idempotencyKeyCharacters: { value: 255, bounds: "an idempotency key", test: BY_NAME },
  runsInMemory: {
    value: 1_000,
    bounds: "runs in memory that all organizations share; each may have nine for each place that stays free",
    beyond: "the run waits for its turn",
    test: [NEIGHBOURS, "organizations with 2,000 hanging runs each"],
  },
  runsInMemoryOwn: {
    value: 8,
    bounds: "further runs in memory that every organization has to itself",
    beyond: "the run waits for its turn",
    test: [NEIGHBOURS, "organizations with 2,000 hanging runs each"],
  },
  runMemoryOwnBytes: {
    value: 512 * 1024,
    bounds: "memory that every organization's runs have to themselves",
    beyond: "they share the rest ([memory](operations.md)); the run waits for room",
    test: [
      "server/src/fairness/fair-pool.test.ts",
      "however much the others hold, an organization's first small runs find room",
    ],
  },
  waitInMemoryMs: {
    value: 1_000,
    bounds: "a wait that a run sits out in memory",
    beyond: "the run is unloaded",
    test: [REST, "a wait of a second is sat out in memory, a longer one is not"],
  },
  restSeconds: {
    value: 300,
    bounds:
      "how long a run of more than 100 steps stays in memory while all of it waits and nobody needs the room: 20 ms per step, this at most",
    beyond: "the run is unloaded",
    test: [REST, "after 300 s, however large it is"],
  },
  batchRows: {
    value: 256,
    bounds: "runs committed in one statement",
    beyond: "the rest goes with the next",
    test: [BATCH, "at most ${LIMITS.batchRows} rows"],
  },
  batchBytes: {
    value: 1024 * 1024,
    bounds: "payloads committed in one statement",
    beyond: "the rest goes with the next; a single run's payloads are split into several statements of one transaction",
    test: [BATCH, "at most ${LIMITS.batchBytes} bytes"],
  },
  largeWriteBytes: {
    value: 64 * 1024,
    bounds: "payloads that a run commits at once",
    beyond: "it goes through a lane of its own, which no smaller commit waits for",
    test: [BATCH, "leave the lane of the small ones free"],
  },
  largeWrites: {
    value: 2,
    bounds: "such commits in flight at a time, one per organization",
    beyond: "they wait; organizations take turns by bytes",
    test: [BATCH, "of all ${LIMITS.largeWrites}"],
  },
} satisfies Record<string, Limit>;
