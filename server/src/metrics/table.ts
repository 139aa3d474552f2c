/**
 * Every figure that `/metrics` shows beside Node's own: what it is called, and where it is read. No label has a value that
 * somebody chose: none names an organization, agent, user, run or address. docs/operations.md explains each; a test
 * compares.
 */
import type { Counts, Histogram } from "../lib/figures.ts";
import {
  inPrometheus,
  MCP_SECONDS,
  MODEL_ATTRIBUTES,
  OPERATIONS,
  SECONDS,
  TOKEN_TYPE,
  TOKENS,
  TOOL_ATTRIBUTES,
} from "../lib/telemetry/gen-ai.ts";

/** For each label in turn a table by its values; at the end a number or a histogram, or nothing yet. */
export type Figure = number | undefined | Histogram | { readonly [value: string]: Figure };

type Budget = { readonly taken: number; readonly total: number };
type Pool = {
  readonly connections: Counts<"in_use" | "idle">;
  readonly waiting: number;
  readonly waitSeconds: Histogram;
  readonly querySeconds: Histogram;
};
type Histograms = Record<string, Histogram>;
/** Those that have been observed, by two labels. */
type Tables = Record<string, Partial<Histograms>>;

/** The rooms' counts, as `join-rooms.ts` hands them in. */
export type Sources = {
  build: { version: string; node: string };
  isAccepting: () => boolean;
  http: { requests: Record<string, Counts>; refusals: Counts };
  connections: { readonly open: { readonly strangers: number; readonly callers: number } };
  entrance: { readonly refused: number; readonly waiting: number };
  edge: () => { readonly webSockets: number; readonly arrivals: Budget };
  graphql: {
    seconds: Histograms;
    withErrors: Counts;
    refusals: Counts;
    readonly subscriptions: number;
    readonly answersBudget: Budget;
  };
  runs: { started: Counts; ended: Counts; seconds: Histograms; failures: Counts; steps: Record<string, Counts> };
  due: { latest(): number | undefined };
  openApprovals: { latest(): number | undefined };
  memory: { readonly held: number; readonly limit: number };
  loaded: { readonly size: number };
  places: { readonly taken: number; readonly waiting: number };
  engine: { readonly executing: boolean };
  delaySeconds: Histogram;
  commits: { readonly waiting: number; readonly figures: { rows: Histogram; seconds: Histogram } };
  pools: { readonly hot: Pool; readonly list: Pool; readonly large: Pool };
  outbound: { calls: Counts; seconds: Histogram };
  loops: { lateSeconds(): Figure };
  llm: { calls: Counts; seconds: Tables; tokens: Tables };
  mcp: { seconds: Record<string, Tables> };
  mail: { outcomes: Counts; seconds: Histogram };
};

export type Metric = {
  name: string;
  kind: "counter" | "gauge" | "histogram";
  help: string;
  labels: readonly string[];
  read: (sources: Sources) => Figure;
};

type Read = Metric["read"];
const make =
  (kind: Metric["kind"]) =>
  (name: string, help: string, read: Read, ...labels: string[]): Metric => ({
    name: `autograph_${name}`,
    kind,
    help,
    labels,
    read,
  });
const counter = make("counter");
const gauge = make("gauge");
const histogram = make("histogram");

/** Named by OpenTelemetry, for dashboards that know its names. `labels`: attributes. */
const telemetry = (name: string, help: string, read: Read, ...labels: string[]): Metric => ({
  name: inPrometheus(name),
  kind: "histogram",
  help,
  labels: labels.map(inPrometheus),
  read,
});
const ofModels = (name: string, help: string, read: Read, ...labels: string[]): Metric =>
  telemetry(
    name,
    help,
    (sources) => ({ [OPERATIONS.model]: read(sources) }),
    MODEL_ATTRIBUTES.operation,
    MODEL_ATTRIBUTES.provider,
    ...labels,
  );

const ofPools =
  (of: (pool: Pool) => Figure): Read =>
  ({ pools: { hot, list, large } }) => ({ hot: of(hot), list: of(list), large: of(large) });

export const METRICS: readonly Metric[] = [
  gauge(
    "build_info",
    "1, with the version of the server and of Node.",
    ({ build }) => ({ [build.version]: { [build.node]: 1 } }),
    "version",
    "node",
  ),
  gauge("accepting_runs", "1 while new runs are accepted: not stopping, and the disk has room.", ({ isAccepting }) =>
    Number(isAccepting()),
  ),
  gauge("executor", "1 in the process of the database that executes runs, 0 in one that stands by.", ({ engine }) =>
    Number(engine.executing),
  ),
  gauge(
    "loop_late_seconds",
    "How late each loop of the service is to come round, or how long its look takes; from 30 s on it is started over.",
    ({ loops }) => loops.lateSeconds(),
    "loop",
  ),

  counter(
    "http_requests_total",
    "HTTP requests answered, by route and class of status; aborted: the client went away before the answer.",
    ({ http }) => http.requests,
    "route",
    "status",
  ),
  histogram(
    "operation_duration_seconds",
    "GraphQL operations over any transport, by type; wait: waited for a run; refused: before it was executed.",
    ({ graphql }) => graphql.seconds,
    "type",
  ),
  counter(
    "operation_errors_total",
    "GraphQL operations answered with at least one error.",
    ({ graphql }) => graphql.withErrors,
    "type",
  ),
  counter(
    "refusals_total",
    "Errors shown to clients, by code; at: for a request as a whole over HTTP, or by GraphQL.",
    ({ http, graphql }) => ({ http: http.refusals, graphql: graphql.refusals }),
    "at",
    "code",
  ),
  counter(
    "overload_refusals_total",
    "Requests and operations refused because too much waits to begin.",
    ({ entrance }) => entrance.refused,
  ),
  gauge("requests_waiting", "Requests and operations that wait to begin.", ({ entrance }) => entrance.waiting),
  gauge(
    "connections",
    "Open connections; strangers have shown no credential yet.",
    ({ connections: { open } }) => open,
    "of",
  ),
  gauge("websockets", "Open WebSockets.", ({ edge }) => edge().webSockets),
  gauge(
    "subscriptions",
    "Open subscriptions over WebSockets and Server-Sent Events.",
    ({ graphql }) => graphql.subscriptions,
  ),

  counter("runs_started_total", "Runs accepted, by who or what started them.", ({ runs }) => runs.started, "by"),
  counter("runs_ended_total", "Runs ended, by their final state.", ({ runs }) => runs.ended, "status"),
  histogram(
    "run_duration_seconds",
    "From a run's first work to its end, waits included.",
    ({ runs }) => runs.seconds,
    "status",
  ),
  counter(
    "run_failures_total",
    "Failed runs, by the type of error; other: the author's own.",
    ({ runs }) => runs.failures,
    "type",
  ),
  counter(
    "steps_total",
    "Steps ended, by kind of task (`part`: a step that a task made) and final state.",
    ({ runs }) => runs.steps,
    "kind",
    "status",
  ),
  gauge("runs_in_memory", "Runs that this process advances now.", ({ loaded }) => loaded.size),
  gauge("run_places_taken", "Places in memory that runs have taken.", ({ places }) => places.taken),
  gauge("organizations_waiting", "Organizations with due runs that wait for a place.", ({ places }) => places.waiting),
  gauge("due_runs", "Runs of the database that are due and not taken up, up to 10,000; up to 10 s old.", ({ due }) =>
    due.latest(),
  ),
  gauge(
    "open_approvals",
    "Approvals of the database that wait for somebody, up to 10,000; up to 10 s old.",
    ({ openApprovals }) => openApprovals.latest(),
  ),
  histogram("run_delay_seconds", "How late due runs are taken up.", ({ delaySeconds }) => delaySeconds),

  gauge(
    "database_connections",
    "Connections to PostgreSQL, by pool (`hot`, `list`, and `large` for large commits) and state.",
    ofPools(({ connections }) => connections),
    "pool",
    "state",
  ),
  gauge(
    "database_waiting",
    "Statements that wait for their turn or a connection.",
    ofPools(({ waiting }) => waiting),
    "pool",
  ),
  histogram(
    "database_wait_seconds",
    "How long statements waited for their turn and a connection.",
    ofPools(({ waitSeconds }) => waitSeconds),
    "pool",
  ),
  histogram(
    "database_query_duration_seconds",
    "Statements, and transactions as a whole.",
    ofPools(({ querySeconds }) => querySeconds),
    "pool",
  ),
  gauge("commit_waiting", "Changes of runs that wait for a group commit.", ({ commits }) => commits.waiting),
  histogram("commit_size", "Changes of runs in one group commit.", ({ commits }) => commits.figures.rows),
  histogram("commit_duration_seconds", "Group commits of runs.", ({ commits }) => commits.figures.seconds),

  counter(
    "outbound_calls_total",
    "Calls of steps to other servers, by class of status or why there was no answer.",
    ({ outbound }) => outbound.calls,
    "outcome",
  ),
  counter(
    "llm_calls_total",
    "Questions to the language model, by whether it answered or why not.",
    ({ llm }) => llm.calls,
    "outcome",
  ),
  ofModels(
    SECONDS.name,
    "Calls of models, by provider and why there was no answer (empty: there was one).",
    ({ llm }) => llm.seconds,
    MODEL_ATTRIBUTES.error,
  ),
  ofModels(
    TOKENS.name,
    "Tokens of an answered call, by provider; type: input or output.",
    ({ llm }) => llm.tokens,
    TOKEN_TYPE,
  ),
  telemetry(
    MCP_SECONDS.name,
    "Calls of MCP servers with their sessions, by method, transport (tcp: HTTP; pipe: a command) and why there was no answer (empty: there was one).",
    ({ mcp }) => mcp.seconds,
    TOOL_ATTRIBUTES.method,
    TOOL_ATTRIBUTES.transport,
    TOOL_ATTRIBUTES.error,
  ),
  counter(
    "mails_total",
    "Tries to send a mail of the outbox, by what became of it: sent, to_retry or given_up.",
    ({ mail }) => mail.outcomes,
    "outcome",
  ),
  histogram("mail_duration_seconds", "Tries to send a mail of the outbox.", ({ mail }) => mail.seconds),
  histogram("outbound_call_duration_seconds", "Calls of steps to other servers.", ({ outbound }) => outbound.seconds),

  gauge(
    "memory_held_bytes",
    "Memory counted against a limit, by what holds it.",
    ({ memory, edge, graphql }) => ({
      runs: memory.held,
      requests: edge().arrivals.taken,
      answers: graphql.answersBudget.taken,
    }),
    "of",
  ),
  gauge(
    "memory_limit_bytes",
    "That limit.",
    ({ memory, edge, graphql }) => ({
      runs: memory.limit,
      requests: edge().arrivals.total,
      answers: graphql.answersBudget.total,
    }),
    "of",
  ),
];
