/** GraphQL. */
import { BY_NAME, type Limit } from "./limit.ts";

const SIZE = "server/src/graphql/documents/size.test.ts";
const LIMITS_TEST = "test/limits.test.ts";
const DIFF_VERSIONS = "server/src/agents/diff-versions.test.ts";
const LARGE_ANSWERS = "test/large-answers.test.ts";

export const GRAPHQL = {
  queryCharacters: {
    value: 50_000,
    bounds: "a GraphQL document as text; large values belong in its variables",
    test: BY_NAME,
  },
  strangerQueryCharacters: {
    value: 2_000,
    bounds: "a GraphQL document from somebody who is not signed in",
    beyond: "`UNAUTHENTICATED`, before it is parsed",
    test: BY_NAME,
  },
  queryTokens: { value: 2_000, bounds: "tokens of a GraphQL document", test: BY_NAME },
  queryDepth: {
    value: 12,
    bounds: "levels of a document, not counting introspection",
    test: [SIZE, "%s: the maximum is accepted, one more is refused"],
  },
  queryAliases: {
    value: 30,
    bounds: "aliases of a document",
    test: [SIZE, "%s: the maximum is accepted, one more is refused"],
  },
  aliasCharacters: {
    value: 100,
    bounds: "an alias, which is repeated in each object of the answer",
    test: [SIZE, "%s: the maximum is accepted, one more is refused"],
  },
  queryDirectives: {
    value: 5,
    bounds: "directives of a document",
    test: [SIZE, "%s: the maximum is accepted, one more is refused"],
  },
  queryRepeats: {
    value: 100,
    bounds: "fields with the same name anywhere in a document: validation compares each pair",
    test: [SIZE, "%s: the maximum is accepted, one more is refused"],
  },
  querySelections: {
    value: 5_000,
    bounds: "fields and fragments of a document; a fragment counts wherever it is spread",
    test: [SIZE, "selections are counted to the last"],
  },
  queryComplexity: {
    value: 10_000,
    bounds: "objects that an operation may read: its fields times the size of the pages around them",
    test: BY_NAME,
  },
  queryValues: {
    value: 50_000,
    bounds: "values that an operation may answer: each field once per object that has it",
    test: BY_NAME,
  },
  argumentItems: {
    value: 100,
    bounds: "items of a list in an argument, or in a field of one; lists within `JSON` do not count",
    test: BY_NAME,
  },
  messageCharacters: {
    value: 1_000,
    bounds: "an error's `message`, and each `path` and `message` of its `fields`",
    beyond: "the text is cut",
    test: ["server/src/graphql/documents/errors.test.ts", "a text that repeats what was sent is cut"],
  },
  pageSize: { value: 200, bounds: "items of a page", test: BY_NAME },
  agentsListed: {
    value: 1_000,
    bounds: "`agents`; `agentsConnection` has all",
    beyond: "the rest is left out",
    test: ["server/src/agents/agents.db.test.ts", "a list has at most 1,000 agents"],
  },
  membershipsListed: {
    value: 100,
    bounds: "`Caller.memberships`",
    beyond: "the rest is left out",
    test: [LIMITS_TEST, '"membershipsListed"'],
  },
  stepsListed: {
    value: 1_000,
    bounds: "`Run.steps`; `stepsConnection` has all",
    beyond: "the rest is left out; a larger `first` is refused",
    test: ["test/graphql-runs.test.ts", "a page of steps has 1 to 1,000"],
  },
  waitsListed: { value: 100, bounds: "`Run.waitingFor`; without `first` it lists 20", test: BY_NAME },
  attemptsListed: {
    value: 100,
    bounds: "`Step.attempts` without `first`",
    beyond: "the rest is left out",
    test: [LIMITS_TEST, '"attemptsListed"'],
  },
  secretUsersListed: {
    value: 100,
    bounds: "`Secret.usedBy`",
    beyond: "the rest is left out",
    test: [LIMITS_TEST, '"secretUsersListed"'],
  },
  runIdsToCancel: { value: 1_000, bounds: "`runIds` of `cancelRuns`", test: BY_NAME },
  usageDays: {
    value: 366,
    bounds: "`days` of `usage`, and how long usage is kept",
    beyond: "more days are refused; older usage is deleted",
    test: ["test/rates.test.ts", "usage by day: requests, refused, runs and steps"],
  },
  cronPreviewInstants: {
    value: 100,
    bounds: "`count` of `cronPreview`",
    test: ["test/cron.test.ts", "answers 1 to 100 instants"],
  },
  counted: {
    value: 1_000,
    bounds: "runs that `runCount` counts exactly, and runs or approvals that `badges` counts",
    beyond: "`runCount` estimates, `badges` stops there",
    test: ["test/counts.test.ts", "counts exactly up to 1,000, estimates above, and follows every filter"],
  },
  diffLines: {
    value: 20_000,
    bounds: "lines of a definition that `agentDiff` compares one by one",
    beyond: "all that differs is one change",
    test: [DIFF_VERSIONS, "20,000 lines and 1,000 changes are told one by one"],
  },
  diffChanges: {
    value: 1_000,
    bounds: "changed lines in a shortest difference",
    beyond: "all that differs is one change",
    test: [DIFF_VERSIONS, "20,000 lines and 1,000 changes are told one by one"],
  },
  waitSeconds: { value: 30, bounds: "`wait` of `runAgent`", test: BY_NAME },
  requestSeconds: {
    value: 60,
    bounds: "a query, a mutation or a message to `/mcp`, waits included",
    beyond: "`UNAVAILABLE`",
    test: ["test/hostile-queries.test.ts", "after 60 s, with UNAVAILABLE"],
  },
  answerBytes: {
    value: 8 * 1024 * 1024,
    bounds: "an answer, or an event of a subscription",
    beyond: "`QUERY_TOO_COMPLEX`",
    test: [LARGE_ANSWERS, "one with more than 8 MiB is refused before it is read"],
  },
  answersBytes: {
    value: 64 * 1024 * 1024,
    bounds:
      "all answers and events together, from reading until their readers have them. One organization may hold no more than it leaves free",
    beyond: "`UNAVAILABLE` until less is held",
    test: [LARGE_ANSWERS, "hold tens of MB, refuse nobody else, and are cut after 20 s"],
  },
  readerSeconds: {
    value: 20,
    bounds: "how long a reader may take for 64 kB of what waits for it, or for the rest",
    beyond: "the reader is cut off",
    test: [LARGE_ANSWERS, "hold tens of MB, refuse nobody else, and are cut after 20 s"],
  },
  subscriptionsPerConnection: {
    value: 100,
    bounds: "operations of one WebSocket at a time",
    test: [
      "test/close-codes.test.ts",
      "a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time",
    ],
  },
  lastingRequests: {
    value: 25_000,
    bounds:
      "open subscriptions and requests that `wait` for a run, over all transports, or an eighth of the heap at 20 kB each if that is less. One organization may have no more than it leaves free",
    beyond: "`UNAVAILABLE` until fewer are open",
    test: [
      "server/src/graphql/context/lasting.test.ts",
      "an organization has as many subscriptions and waits as stay free beside it",
    ],
  },
  changesWaiting: {
    value: 10_000,
    bounds:
      "runs, approvals, agents, firings or events that have changed since a reader of `runsChanged`, `approvalsChanged`, `agentsChanged`, `firingsChanged` or `eventsChanged` was last sent one. All readers of an organization share one list",
    beyond: "the subscription ends with `UNAVAILABLE`",
    test: ["test/operations-changes.test.ts", "is told so when more than ${LIMITS.changesWaiting} runs wait"],
  },
  answersRemembered: {
    value: 1_000,
    bounds: "runs, approvals or agents whose last answer a subscription to changes remembers",
    beyond: "the oldest is forgotten: it may be sent again unchanged",
    test: [
      "server/src/graphql/documents/sent-answers.test.ts",
      "an answer is a repeat until another is sent, or a thousand other objects were",
    ],
  },
} satisfies Record<string, Limit>;
