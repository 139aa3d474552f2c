/**
 * Where each limit is held at its edge: the file of a test and words of its title, or the limit's name where a table has
 * it. A new limit needs a row, and `npm run check` says so.
 */
import type { LIMITS } from "../../server/src/lib/limits.ts";

export type Edge = {
  file: string;
  /** Stands in the file as it is. */
  title: string;
  /** The behaviour at the limit, where nothing is refused with a sentence that names it. */
  instead?: string;
};

/** At the limit everything passes, and one more is refused with a sentence that says the maximum. */
const refused = (file: string, title: string): Edge => ({ file, title });
const shown = (file: string, title: string, instead: string): Edge => ({ file, title, instead });
/** In `test/limits.test.ts`, under its name. */
const here = (title: string): Edge => refused("test/limits.test.ts", title);

const READING = "server/src/agents/reading.test.ts";
const HOW_MANY = "server/src/agents/how-many.db.test.ts";
const AUDIT = "server/src/audit/audit.db.test.ts";
const INBOUND = "test/inbound.test.ts";
const CONNECTIONS = "server/src/http/connections/connections.test.ts";
const LINGER = "server/src/http/linger.test.ts";
const DATA = "test/language-data.test.ts";
const LARGE = "test/large-answers.test.ts";
const SIZE = "server/src/graphql/documents/size.test.ts";
const PASSWORDS = "server/src/auth/sign-in/passwords.test.ts";
const THROTTLE = "server/src/auth/sign-in/login-throttle.test.ts";
const SIGN_IN = "server/src/auth/sessions/sign-in.db.test.ts";
const KNOWN = "server/src/auth/sign-in/known-addresses.db.test.ts";
const SESSIONS = "server/src/auth/sessions/sessions.db.test.ts";
const NATIVE = "server/src/expressions/native-limits.test.ts";
const HOSTILE = "server/src/expressions/hostile-expressions.test.ts";
const DIFF = "server/src/agents/diff-versions.test.ts";
const REST = "server/src/runs/rest.db.test.ts";
const LOG = "server/src/lib/log/log.test.ts";
const TRIGGERS = "server/src/triggers/triggers.db.test.ts";
const EVENTS = "server/src/triggers/events.db.test.ts";
const AT_ONCE = "64 triggers of an organization fire at once, 128 in all; 16 and 32 of the service's own events";
const DUE = "server/src/triggers/schedule/due-clock.db.test.ts";
const MAPPED = "server/src/triggers/firings/map-input.db.test.ts";
const LLM = "test/llm.test.ts";
const OUTBOUND = "server/src/outbound/outbound.test.ts";
const CALLS = "test/call-answers.test.ts";
const BATCH = "server/src/storage/batch.test.ts";
const NEIGHBOURS = "test/neighbours.test.ts";

/** Its part depends on what others hold, so no sentence can say how many may be. */
const SHARE = "a share of what all hold: who has it is refused for now or waits, another organization goes on";
const QUERY_SIZE = "%s: as many as there may be, and not one more";
const PAUSES =
  "RATE_LIMITED with the pause: which of the three it was would tell whether the account is known at the address";

export const EDGES: Record<keyof typeof LIMITS, Edge> = {
  bodyBytes: here("bodyBytes"),
  strangerBodyBytes: here("strangerBodyBytes"),
  arrivingBytes: shown(INBOUND, "of one organization have half of the budget, then 503", SHARE),
  bodyPieces: here("bodyPieces"),
  bodyProgressSeconds: refused(INBOUND, "that stand still or trickle are cut with 408, those that come are not"),
  bodyProgressBytes: shown(
    "server/src/http/connections/arrivals.test.ts",
    "4,096 bytes in each 5 s are enough, one less is not",
    "it is cut: 408 with the figures over HTTP",
  ),
  unreadBytes: shown(LINGER, "so many bytes of a refused body, and not one more", "the connection is cut"),
  unreadSeconds: shown(LINGER, "for so long, and no longer", "the connection is cut"),
  unreadBodies: shown(LINGER, "so many at a time, and one more cuts the oldest", "the connection is cut"),
  fragmentsPerMessage: here("fragmentsPerMessage"),
  connectionInitCharacters: here("connectionInitCharacters"),
  connectionInitSeconds: shown(
    "test/close-codes.test.ts",
    "4408: no connection_init within 10 s, pings or not",
    "it is closed with the protocol's own reason",
  ),
  operationIdCharacters: here("operationIdCharacters"),
  unansweredBytes: shown(
    "server/src/http/graphql/websocket/unanswered.test.ts",
    "a stranger's may be 1 MiB together, a caller's have the organization's share",
    "the WebSocket is closed",
  ),
  messagesWaiting: shown(
    "server/src/http/graphql/websocket/outgoing.test.ts",
    "a thousand messages wait for a client that does not read",
    "the WebSocket is closed",
  ),
  headersPerRequest: here("headersPerRequest"),
  headersSeconds: shown(
    "test/slow-clients.test.ts",
    "a head letter by letter",
    "408 at the next look, 5 s later at most",
  ),
  requestArrivalSeconds: shown(
    "test/slow-clients.test.ts",
    "a caller's body that brings just enough at a time",
    "408 at the next look, 5 s later at most",
  ),
  headerBytes: here('"headerBytes"'),
  requestsPerConnection: refused(INBOUND, "of requests that one connection sends without waiting 100 are begun"),
  waitToBeginMs: shown(
    "server/src/http/connections/entrance.test.ts",
    "after the first second those that are begun waited hardly longer than they may",
    "503: it is a time, which nobody can ask less of",
  ),
  requestsWaiting: shown(
    "server/src/http/connections/entrance.test.ts",
    "a line of a few is not refused, however slow it is; of many that are as slow some are",
    "so many are never refused, more may be",
  ),
  strangerConnections: shown(
    CONNECTIONS,
    "of strangers' connections the one that is open longest gives way",
    "the oldest gives way",
  ),
  strangerConnectionsPerAddress: shown(
    "test/connections.test.ts",
    "an address closes its own connections for more than its share",
    "its own oldest gives way",
  ),
  callerConnections: shown(CONNECTIONS, "an organization has what stays free beside it", SHARE),
  metricsConnections: shown(
    "test/metrics.test.ts",
    "connections pass, a further one is closed",
    "the connection is closed unread",
  ),
  inputBytes: here("inputBytes"),
  outputBytes: here("outputBytes"),
  definitionBytes: here("definitionBytes"),
  jsonNesting: here("jsonNesting"),
  jsonSteps: here("jsonSteps"),
  numberDigits: here("numberDigits"),
  numberExponent: here("numberExponent"),
  definitionNesting: here("definitionNesting"),
  expressionCharacters: here("expressionCharacters"),
  expressionNesting: here("expressionNesting"),
  expressionOperators: here("expressionOperators"),
  expressionMs: shown(HOSTILE, "they end, and this thread stays free", "it runs again, alone"),
  expressionRetryMs: refused(HOSTILE, 'toBe("takes longer than 2000 ms")'),
  expressionMemoryBytes: refused(HOSTILE, "toMatch(/^needs more than 64 MiB/)"),
  expressionDataBytes: refused(NATIVE, "its data is larger than 8388608 bytes"),
  definitionTextNesting: refused(
    "server/src/definition/text/read-text.test.ts",
    "as many words and signs as there may be, and as many levels, and not one more",
  ),
  definitionTokens: refused(
    "server/src/definition/text/read-text.test.ts",
    "as many words and signs as there may be, and as many levels, and not one more",
  ),
  definitionProblems: { ...here('"definitionProblems"'), instead: "further problems are left out" },
  definitionExpressions: here("definitionExpressions"),
  definitionExpressionCharacters: here("definitionExpressionCharacters"),
  definitionsWaiting: refused(READING, "%s as many as may wait are read, one more is refused"),
  definitionsWaitingOwn: refused(READING, "%s as many as may wait are read, one more is refused"),
  taskNameCharacters: here("taskNameCharacters"),
  descriptionCharacters: here("descriptionCharacters"),
  errorCharacters: shown(
    "server/src/definition/workflow-error.test.ts",
    "each text has at most 10,000 characters, and of a longer one the end is cut",
    "the text is cut",
  ),
  formFields: here("formFields"),
  formChoices: here("formChoices"),
  forkBranches: here("forkBranches"),
  eachConcurrency: here("eachConcurrency"),
  schemaSteps: refused(
    "server/src/definition/schema/schema-check.test.ts",
    "a check that costs too much ends with a sentence instead of holding the process",
  ),
  stepsPerRun: refused(DATA, "a run has at most 10,000 steps, and a run that is too large ends before it is"),
  errorBodyBytes: shown(CALLS, "of as many bytes as an error holds is parsed", "the text is cut"),
  responseBodyBytes: shown("test/history.test.ts", "is cut at a character", "the text is cut"),
  runBytes: refused(DATA, "a run has at most 10,000 steps, and a run that is too large ends before it is"),
  runtimeDays: here("runtimeDays"),
  runDepth: refused("test/operations-runs.test.ts", "runs start runs 16 deep, one that starts itself too"),
  waitSeconds: here("waitSeconds"),
  idempotencyHours: shown(
    "test/runs-idempotency.test.ts",
    "after 24 hours a key is free, not before",
    "the key is free again",
  ),
  idempotencyKeyCharacters: here("idempotencyKeyCharacters"),
  pageSize: here("pageSize"),
  agentsListed: shown("server/src/agents/agents.db.test.ts", "a list has at most 1,000 agents", "the rest is left out"),
  membershipsListed: { ...here('"membershipsListed"'), instead: "the rest is left out" },
  stepsListed: refused("test/graphql-runs.test.ts", "a page of steps has 1 to 1,000"),
  waitsListed: here("waitsListed"),
  subscriptionsPerConnection: refused(
    "test/close-codes.test.ts",
    "a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time",
  ),
  lastingRequests: shown(
    "server/src/graphql/context/lasting.test.ts",
    "an organization has as many subscriptions and waits as stay free beside it",
    SHARE,
  ),
  changesWaiting: refused(
    "test/operations-changes.test.ts",
    "is told so when more than ${LIMITS.changesWaiting} runs wait",
  ),
  answerBytes: refused(LARGE, "one with more than 8 MiB is refused before it is read"),
  answersBytes: shown(LARGE, "hold tens of MB, refuse nobody else, and are cut after 20 s", SHARE),
  requestSeconds: refused("test/hostile-queries.test.ts", "after 60 s, with UNAVAILABLE"),
  readerSeconds: shown(LARGE, "hold tens of MB, refuse nobody else, and are cut after 20 s", "the reader is cut off"),
  argumentItems: here("argumentItems"),
  runIdsToCancel: here("runIdsToCancel"),
  counted: shown(
    "test/counts.test.ts",
    "counts exactly up to 1,000, estimates above, and follows every filter",
    "the count is estimated",
  ),
  diffLines: shown(DIFF, "20,000 lines and 1,000 changes are told one by one", "all that differs is one change"),
  diffChanges: shown(DIFF, "20,000 lines and 1,000 changes are told one by one", "all that differs is one change"),
  answersRemembered: shown(
    "server/src/graphql/documents/sent-answers.test.ts",
    "an answer is a repeat until another is sent, or a thousand other objects were",
    "the oldest is forgotten",
  ),
  messageCharacters: shown(
    "server/src/graphql/documents/errors.test.ts",
    "a text that repeats what was sent is cut",
    "the text is cut",
  ),
  queryCharacters: here("queryCharacters"),
  strangerQueryCharacters: here("strangerQueryCharacters"),
  queryTokens: here("queryTokens"),
  queryDepth: refused(SIZE, QUERY_SIZE),
  queryAliases: refused(SIZE, QUERY_SIZE),
  aliasCharacters: refused(SIZE, QUERY_SIZE),
  queryDirectives: refused(SIZE, QUERY_SIZE),
  queryRepeats: refused(SIZE, QUERY_SIZE),
  querySelections: refused(SIZE, "selections are counted to the last"),
  queryComplexity: here("queryComplexity"),
  queryValues: here("queryValues"),
  runsInMemory: shown(NEIGHBOURS, "organizations with 2,000 hanging runs each", "the run waits for its turn"),
  runsInMemoryOwn: shown(NEIGHBOURS, "organizations with 2,000 hanging runs each", "the run waits for its turn"),
  runMemoryOwnBytes: shown(
    "server/src/fairness/fair-pool.test.ts",
    "however much the others hold, an organization's first small runs find room",
    "the run waits for room",
  ),
  attemptsPerStep: here("attemptsPerStep"),
  attemptsListed: { ...here('"attemptsListed"'), instead: "the rest is left out" },
  internalTries: shown(
    "test/runs-internal.test.ts",
    "what is nobody's error ends the run after five tries with type internal",
    "the run fails",
  ),
  waitInMemoryMs: shown(
    REST,
    "a wait of a second is sat out in memory, a longer one is not",
    "the run leaves the memory",
  ),
  restSeconds: shown(REST, "after 300 s, however large it is", "the run leaves the memory"),
  batchRows: shown(BATCH, "at most ${LIMITS.batchRows} rows", "the rest goes with the next"),
  batchBytes: shown(BATCH, "at most ${LIMITS.batchBytes} bytes", "the rest goes with the next"),
  largeWriteBytes: shown(BATCH, "leave the lane of the small ones free", "it goes through a lane of its own"),
  largeWrites: shown(BATCH, "of all ${LIMITS.largeWrites}", "the others wait for their turn"),
  accessTokenMinutes: shown(
    "server/src/auth/tokens/access-token.test.ts",
    "comes back as it was issued, for ten minutes",
    "it has expired",
  ),
  refreshTokenDays: shown(SIGN_IN, "lasts 30 days from the last one", "it has expired"),
  uiRefreshGraceSeconds: shown(
    SIGN_IN,
    "a token is kept for 10 s and then replaced",
    "using it again ends the session",
  ),
  signingKeyGraceSeconds: shown(
    "server/src/auth/tokens/access-token.test.ts",
    "a new key signs from its time in every process",
    "the new one signs; tokens of the former one are refused",
  ),
  signingKeysInUse: refused(SIGN_IN, "eight at most are in use; those whose tokens have ended are removed"),
  setupLinkMinutes: shown(
    "server/src/auth/accounts/setup.db.test.ts",
    "only the token of the link that was printed last fits, for half an hour",
    "it has expired",
  ),
  nameCharacters: here("nameCharacters"),
  handleCharacters: here("handleCharacters"),
  identifierCharacters: here("identifierCharacters"),
  fieldNameCharacters: here("fieldNameCharacters"),
  versionCharacters: here("versionCharacters"),
  emailCharacters: here("emailCharacters"),
  passwordCharactersLeast: here('"passwordCharactersLeast"'),
  passwordCharactersMost: here("passwordCharactersMost"),
  passwordsAtOnce: shown(PASSWORDS, "a flood of strangers has two threads and 128 places", "the others wait"),
  passwordsWaiting: refused(PASSWORDS, "a flood of strangers has two threads and 128 places"),
  passwordsWaitingPerAddress: refused(PASSWORDS, "of one address 64 may wait, and one more is refused"),
  failedLoginsPerAddress: shown(THROTTLE, "an address may fail fifty times, with whatever e-mail", PAUSES),
  failedLoginsPerAccount: shown(THROTTLE, "from many addresses an e-mail may fail fifty times", PAUSES),
  failedLoginsPerAccountAndAddress: shown(THROTTLE, "an e-mail may fail ten times from one address", PAUSES),
  failedLoginPauseSeconds: shown(THROTTLE, "then after pauses that grow to 5 minutes", PAUSES),
  failedLoginPauseSecondsPerAddress: shown(THROTTLE, "then after pauses of 5 s to 1 minute", PAUSES),
  sessionsPerUser: shown(SESSIONS, "${LIMITS.sessionsPerUser} sessions: one more ends", "the oldest one ends"),
  addressCharacters: shown(SESSIONS, "are kept short and plain", "it is cut"),
  userAgentCharacters: shown(SESSIONS, "are kept short and plain", "it is cut"),
  knownAddresses: shown(KNOWN, "as many addresses as may be are known in memory", "the oldest is forgotten"),
  knownAddressesPerUser: shown(KNOWN, "an address is known for 90 days", "the oldest is forgotten"),
  knownAddressDays: shown(KNOWN, "an address is known for 90 days", "it is forgotten"),
  keysLookedUpAtOnce: shown(
    "server/src/auth/handle/api-key-look-ups.test.ts",
    "one statement at a time, for all that wait, and each gets its own",
    "the rest goes with the next",
  ),
  keysWaiting: refused(
    "server/src/auth/handle/api-key-look-ups.test.ts",
    "as many as may wait are looked up, one more is refused",
  ),
  keysWaitingPerAddress: refused(
    "server/src/auth/handle/api-key-look-ups.test.ts",
    "of one address as many wait as may, and one more is refused",
  ),
  refreshesWaiting: refused(
    "server/src/auth/handle/refresh-turns.test.ts",
    "%s as many wait as may, and one more is refused",
  ),
  refreshesWaitingPerAccount: refused(
    "server/src/auth/handle/refresh-turns.test.ts",
    "%s as many wait as may, and one more is refused",
  ),
  drainSeconds: shown(
    "test/crash.test.ts",
    "what takes longer than it gets is resumed at the next start",
    "it is interrupted",
  ),
  stopSeconds: shown("test/main.test.ts", "a stop that hangs is ended", "the process and its PostgreSQL are ended"),
  standstillSeconds: shown(
    "test/faults/watchdog.test.ts",
    "the stack are in the log, and the exit code is 70",
    "the process is ended",
  ),
  loopLateSeconds: shown("server/src/lib/loops/loop.test.ts", "is noticed after 30 s", "it is started over"),
  logLinesAlike: shown(LOG, "a line that repeats is counted", "further ones are counted"),
  logTextsCounted: shown(LOG, "of very many texts only some are remembered", "the oldest is forgotten"),
  logBytesUnread: shown(LOG, "a reader that stands still costs a bounded number of bytes", "lines are dropped"),
  apiKeysPerOrganization: refused(
    "server/src/auth/api-keys/api-keys.db.test.ts",
    "an organization has at most 1,000 live keys",
  ),
  signInsPerUser: refused(SESSIONS, "signs in ${LIMITS.signInsPerUser} times at once, then once a second"),
  apiKeyDaysAfterEnd: shown(
    "test/former-keys.test.ts",
    "90 days after its end a key is deleted",
    "it is deleted, but for its name",
  ),
  projectsPerOrganization: refused(
    "server/src/projects/projects.db.test.ts",
    "an organization has its 1,000 projects and not one more",
  ),
  agentsPerOrganization: refused(HOW_MANY, "an organization has its 10,000 agents, drafts and archived ones with them"),
  versionsPerAgent: refused(HOW_MANY, "an agent has its 10,000 versions and not one more"),
  membersPerOrganization: refused(
    "server/src/members/members.db.test.ts",
    "an organization has at most ${LIMITS.membersPerOrganization} members",
  ),
  invitationsPerOrganization: refused("test/invitations.test.ts", "has at most 100 open ones"),
  invitationTries: shown("test/invitations.test.ts", "is void after 20 wrong passwords", "it is not found"),
  invitationDays: shown("test/invitations.test.ts", "has at most 100 open ones", "it has expired"),
  triggersPerAgent: refused(TRIGGERS, "an agent has its 100 triggers and not one more"),
  triggersPerOrganization: refused(TRIGGERS, "an organization has its 100,000 triggers and not one more"),
  triggerBytes: refused("server/src/triggers/kinds/kinds.test.ts", "have triggerBytes as JSON and not one more"),
  deliveryCharacters: refused("test/triggers.test.ts", "a delivery's name has 255 characters and not one more"),
  tokenOverlapMinutes: refused("test/firings.test.ts", "for 10,080 minutes at most"),
  formBodyFields: refused(
    "test/webhook-bodies.test.ts",
    "with 1,000 fields is taken, with one more or what cannot be read it is 400",
  ),
  webhookAddresses: refused("server/src/triggers/kinds/kinds.test.ts", "addresses are 100 at most"),
  refusedCallsPerAddress: refused("test/signatures.test.ts", "takes nothing of the plan and leaves few firings"),
  refusedCallsPerTrigger: shown(
    "test/signatures.test.ts",
    "takes nothing of the plan and leaves few firings",
    "429, and the sentence names what one address may",
  ),
  signatureSeconds: refused("test/signatures.test.ts", "within 300 s of now and not one more"),
  eventNameCharacters: refused("test/events.test.ts", "a name has 255 characters and not one more"),
  eventDataBytes: refused("test/events.test.ts", "its data has 65536 bytes as JSON and not one more"),
  eventPayloadBytes: shown(
    "test/own-events.test.ts",
    "with an output of 16,384 bytes, and without a larger one",
    "it is null",
  ),
  eventDepth: refused("test/own-events.test.ts", "10 events lead to one another"),
  eventsOfRoot: refused(EVENTS, "10,000 events come of one and not one more"),
  eventTriggersExplained: shown(EVENTS, "the newest 100 triggers of its source", "the rest is left out"),
  eventsPerBatch: refused("test/cloud-events.test.ts", "has 100 events and not one more"),
  eventFilterFields: refused("test/events.test.ts", "21 fields"),
  eventFilterValues: refused("test/events.test.ts", "101 values"),
  eventFilterBytes: refused("test/events.test.ts", "4097 bytes"),
  triggersPerEvent: refused(EVENTS, "an event of a source has its 5,000 triggers and not one more"),
  eventDays: shown(EVENTS, "an event is kept for 30 days", "it is deleted"),
  eventWaitSeconds: shown(EVENTS, "is answered after 10 s at most", "it is answered with the rest still to come"),
  eventsFiring: shown(EVENTS, "1,000 events fire at once, 100 of one organization", "it waits in its table"),
  eventsFiringOwn: shown(EVENTS, "1,000 events fire at once, 100 of one organization", "it waits in its table"),
  eventsFiringBytes: shown(EVENTS, "half of the bytes of all firing events are one organization's", SHARE),
  eventsSwept: shown(EVENTS, "has half of the room for them", SHARE),
  ownEventsPublishing: shown(EVENTS, AT_ONCE, "further ones wait"),
  ownEventsPublishingOwn: shown(EVENTS, AT_ONCE, "further ones wait"),
  triggersFiring: shown(EVENTS, AT_ONCE, "further ones wait"),
  triggersFiringOwn: shown(EVENTS, AT_ONCE, "further ones wait"),
  schedulesFiring: shown(DUE, "512 fire at once, 256 of one organization", "further ones wait"),
  schedulesFiringOwn: shown(DUE, "512 fire at once, 256 of one organization", "further ones wait"),
  largeInputs: shown(MAPPED, "a large input of a mapping waits for a place 10 s at most", "it waits, then UNAVAILABLE"),
  largeInputsOwn: shown(
    MAPPED,
    "a large input of a mapping waits for a place 10 s at most",
    "it waits, then UNAVAILABLE",
  ),
  eventsWaiting: refused(EVENTS, "10,000 events of an organization wait to be fired, and not one more"),
  firingFields: shown("test/triggers.test.ts", "a firing names the first 10 of the fields", "the rest is left out"),
  firingDays: shown(TRIGGERS, "a firing is kept for 30 days", "it is deleted"),
  secretsPerProject: refused("server/src/secrets/secrets.db.test.ts", "a project has its 200 secrets and not one more"),
  secretUsersListed: { ...here('"secretUsersListed"'), instead: "the rest is left out" },
  secretsPerDefinition: here("secretsPerDefinition"),
  auditEventBytes: shown(
    AUDIT,
    "an event that can't be written takes its change with it",
    "a bug: no operation makes one",
  ),
  auditFailedSignInsPerHour: shown(
    AUDIT,
    "of failed sign-ins so many an hour are kept, and the last one says so",
    "further ones are not recorded",
  ),
  secretBytes: here("secretBytes"),
  secretTexts: refused("server/src/secrets/secrets.db.test.ts", "names and values: what fits passes"),
  authorityCharacters: here("authorityCharacters"),
  tokenPathCharacters: here("tokenPathCharacters"),
  uiRequestsPerMinute: refused("test/rates.test.ts", "a user of the web UI has one limit for all sessions"),
  credentialCharacters: here("credentialCharacters"),
  wrongCredentialsPerAddress: refused("test/rates.test.ts", "wrong credentials from one address are limited"),
  usageDays: refused("test/rates.test.ts", "usage by day: requests, refused, runs and steps"),
  keyReachIds: refused("test/reach.test.ts", "to at most 100 projects and agents"),
  scheduleCharacters: refused(
    "server/src/triggers/kinds/cron/instants.test.ts",
    "takes an expression of 500 characters and no more",
  ),
  queuedFirings: refused(TRIGGERS, "1,000 runs of a trigger wait for the one before, and not one more"),
  missedInstants: shown(
    "server/src/triggers/kinds/cron/missed.test.ts",
    "of more than a thousand, the last thousand",
    "a skipped firing counts the others",
  ),
  punctualSeconds: shown(
    "server/src/triggers/kinds/cron/missed.test.ts",
    "later than `none` takes",
    "the instant was missed",
  ),
  catchUpMinutes: refused("test/cron-triggers.test.ts", "as much as may be passes"),
  jitterSeconds: refused("test/cron-triggers.test.ts", "as much as may be passes"),
  runDraftCharacters: refused("test/run-drafts.test.ts", "as many characters as may be"),
  runDraftHours: shown("test/run-drafts.test.ts", "is forgotten after a day", "it is deleted"),
  runDrafts: shown("test/run-drafts.test.ts", "keeps its newest thousand", "the oldest goes"),
  llmSeconds: shown(LLM, "does not answer in time", "the sentence is read by rules"),
  llmUsesPerMinute: shown(LLM, "as often in a minute as it may", "the sentence is read by rules"),
  llmTestsPerMinute: refused(LLM, "is tried by hand"),
  llmAtOnce: shown(LLM, "is asked ${LIMITS.llmAtOnce} times at once", "the sentence is read by rules"),
  llmAtOnceOwn: shown(LLM, "as many at once as it may", "the sentence is read by rules"),
  llmPromptCharacters: shown(LLM, "names as many agents as there is room for", "further agents are left out"),
  llmAnswerTokens: shown(
    LLM,
    "in the caller's zone",
    "the model is told so, and an answer that was cut is asked for again",
  ),
  llmAnswerBytes: shown(LLM, "is huge", "the sentence is read by rules"),
  llmPauseSeconds: shown(LLM, "asks for a pause", "the sentence is read by rules"),
  cronPreviewInstants: refused("test/cron.test.ts", "answers 1 to 100 instants"),
  callSeconds: shown(
    CALLS,
    "a call may take as long as its timeout says, an hour at most",
    "the call fails with timeout",
  ),
  callIdleSeconds: shown(OUTBOUND, "that began and then sends nothing is given up", "the call fails with timeout"),
  retryAfterSeconds: shown(CALLS, "asks for more than an hour", "the next try is made after an hour"),
  outboundConnectSeconds: shown(OUTBOUND, "to connect is limited by itself", "the call fails with timeout"),
  outboundRedirects: refused(OUTBOUND, "follows redirects only when asked to, at most five"),
  outboundHeaderBytes: refused(OUTBOUND, "of headers is limited too"),
  outboundUrlCharacters: refused("test/language-calls.test.ts", "a URL may have as many characters as the limit says"),
  outboundAnswersBytes: shown(OUTBOUND, "of all answers that are read at once hold no more than the budget", SHARE),
  outboundCalls: shown(OUTBOUND, "waits for no place among all calls", SHARE),
  outboundCallsOwn: shown(OUTBOUND, "waits for no place among all calls", "further ones wait"),
  outboundConnectionsPerOrigin: shown(
    OUTBOUND,
    "goes to a server to which one has as many connections as it may",
    "further calls wait",
  ),
  outboundKeptSockets: shown(OUTBOUND, "is at most so many sockets, over however many hosts", "it is closed after use"),
};
