/** /metrics over the wire: who reads it, that it counts, that nobody makes new series, and what is made from it. */
import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { createServer } from "node:http";
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import { ALL_SCOPES } from "../server/src/auth/scopes.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { startEndpoint } from "./endpoint.ts";
import { CALL, callsTo, result } from "./mcp-calls.ts";
import { MCP_STDIO_ALLOW, MISSING } from "./mcp-commands.ts";
import { agentOf, CANCEL, ran, until } from "./runs.ts";

let server: TestServer;
let endpoint: string;
const echo = createServer((request, response) => response.writeHead(request.url === "/teapot" ? 418 : 200).end("{}"));
beforeAll(async () => {
  server = await startTestServer({ env: { METRICS_PORT: "0", OUTBOUND_ALLOW: "127.0.0.1/32", MCP_STDIO_ALLOW } });
  await once(echo.listen(0, "127.0.0.1"), "listening");
  endpoint = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
});
afterAll(async () => {
  echo.close();
  await server[Symbol.asyncDispose]();
});

type Sent = { status: number; headers: IncomingHttpHeaders; text: string };
type Sending = { method?: string; headers?: Record<string, string> };

/** A request as it is: fetch would not send another Host. */
const send = (url: string, { method = "GET", headers = {} }: Sending = {}): Promise<Sent> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    sent.on("error", reject).end();
  });

const main = (token: string | undefined, sending: Sending = {}): Promise<Sent> =>
  send(`${server.url}/metrics`, { ...sending, ...(token && { headers: { authorization: `Bearer ${token}` } }) });

const LINE = /^([a-z][a-z0-9_]*)((?:\{(?:[a-z_]+="[^"\\\n]*",?)+\})?) (-?[0-9.e+-]+|Nan)$/;

/** By its name with its labels. Fails on any line that is not of the format. */
function read(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !/^# (HELP|TYPE) [a-z][a-z0-9_]* ./.test(line));
  const samples = lines.map((line) => {
    const [, name, labels, value] = LINE.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    return [`${name}${labels}`, Number(value)] as const;
  });
  expect(new Set(samples.map(([series]) => series)).size).toBe(samples.length);
  return new Map(samples);
}

/** May be 0.1 s old. */
const textNow = async (): Promise<string> => (await send(server.metricsUrl!)).text;
const scrape = async (): Promise<Map<string, number>> => read(await textNow());

/** With all that was counted until now: the processor time is another in each. */
async function scrapeAnew(): Promise<Map<string, number>> {
  const old = await textNow();
  return read(
    await eventually(async () => {
      const text = await textNow();
      return text === old ? undefined : text;
    }),
  );
}

const differences = (
  before: Map<string, number>,
  after: Map<string, number>,
  names: string[],
): Record<string, number> => Object.fromEntries(names.map((name) => [name, after.get(name)! - before.get(name)!]));

/** Until what is expected was counted: a request is counted when its connection is done with it. */
async function counts(before: Map<string, number>, expected: Record<string, number>): Promise<void> {
  let found: Record<string, number> = {};
  await eventually(async () => {
    found = differences(before, await scrape(), Object.keys(expected));
    return JSON.stringify(found) === JSON.stringify(expected);
  }).catch(() => expect(found).toEqual(expected));
}

const set = (name: string): string => `- ${name}: {set: {n: 1}}`;
const call = (path: string): string =>
  `- call: {call: http, with: {method: get, endpoint: {uri: '${endpoint}${path}'}}}`;

describe("what is counted", () => {
  test("runs by end, duration and error; steps by kind; who started them; calls by outcome; commits and statements", async () => {
    const three = await agentOf(server, ["do:", set("a"), set("b"), set("c")].join("\n"));
    const calling = await agentOf(server, `do:\n${call("/")}`);
    const refused = await agentOf(server, `do:\n${call("/teapot")}`);
    const raising = await agentOf(
      server,
      "do: [{raise: {raise: {error: {type: 'https://example.org/own', status: 400, title: T}}}}]",
    );
    const asking = await agentOf(server, "do: [{ask: {call: 'approval:1.0.0@default', with: {question: Go on?}}}]");
    const before = await scrapeAnew();
    for (const agent of [three, three, calling]) expect((await ran(server, agent)).status).toBe("completed");
    for (const agent of [refused, raising]) expect((await ran(server, agent)).status).toBe("failed");
    const { id } = await ran(server, asking);
    await until(server, id, "paused");
    await server.data(CANCEL, { id });
    await counts(before, {
      'autograph_runs_started_total{by="key"}': 6,
      'autograph_runs_ended_total{status="completed"}': 3,
      'autograph_runs_ended_total{status="failed"}': 2,
      'autograph_runs_ended_total{status="cancelled"}': 1,
      'autograph_run_duration_seconds_count{status="completed"}': 3,
      'autograph_run_failures_total{type="communication"}': 1,
      'autograph_run_failures_total{type="other"}': 1,
      'autograph_steps_total{kind="set",status="completed"}': 6,
      'autograph_steps_total{kind="http",status="completed"}': 1,
      'autograph_steps_total{kind="http",status="failed"}': 1,
      'autograph_steps_total{kind="raise",status="failed"}': 1,
      'autograph_outbound_calls_total{outcome="2xx"}': 1,
      'autograph_outbound_calls_total{outcome="4xx"}': 1,
      autograph_outbound_call_duration_seconds_count: 2,
      'autograph_operation_duration_seconds_count{type="wait"}': 6,
    });
    const after = await scrape();
    for (const name of ["autograph_commit_size_count", 'autograph_database_query_duration_seconds_count{pool="hot"}'])
      expect(after.get(name)! - before.get(name)!, name).toBeGreaterThanOrEqual(6);
    expect(after.get("autograph_commit_size_sum")).toBeGreaterThanOrEqual(after.get("autograph_commit_size_count")!);
    await eventually(async () => {
      const now = await scrape();
      return ["hot", "list"].every((pool) => now.get(`autograph_database_waiting{pool="${pool}"}`) === 0);
    });
    // A statement that is under way has waited already.
    for (const pool of ["hot", "list"])
      expect(after.get(`autograph_database_wait_seconds_count{pool="${pool}"}`)).toBeGreaterThanOrEqual(
        after.get(`autograph_database_query_duration_seconds_count{pool="${pool}"}`)!,
      );
    expect(after.get('autograph_run_duration_seconds_sum{status="completed"}')).toBeLessThan(60);
  });

  test("approvals that are open, and no longer once they are decided", async () => {
    const name = "autograph_open_approvals";
    // Read every 10 s.
    const shows = (count: number) => eventually(async () => (await scrape()).get(name) === count, 60_000);
    // That of the test before is cancelled; the figure may be older.
    await shows(0);
    const asking = await agentOf(
      server,
      "do: [{ask: {call: 'approval:1.0.0@default', with: {question: Go on?}}}]",
      "asks",
    );
    const { id } = await ran(server, asking);
    await until(server, id, "paused");
    await shows(1);
    await server.data(CANCEL, { id });
    await shows(0);
  });

  test("a run that is due later, and how late it begins", async () => {
    const three = await agentOf(server, `do:\n${set("a")}`);
    const before = await scrapeAnew();
    const runAt = new Date((await server.clock.now()) + 60_000).toISOString();
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId: three, runAt },
    });
    await server.clock.advance(90_000);
    await until(server, runAgent.id, "completed");
    await counts(before, { autograph_run_delay_seconds_count: 1, 'autograph_runs_ended_total{status="completed"}': 1 });
    const late =
      (await scrape()).get("autograph_run_delay_seconds_sum")! - before.get("autograph_run_delay_seconds_sum")!;
    expect(late).toBeGreaterThanOrEqual(30);
  });

  test("requests by route and status, operations, refusals by code over HTTP and by GraphQL", async () => {
    const before = await scrapeAnew();
    await send(`${server.url}/healthz`);
    await send(`${server.url}/nothing`);
    await send(`${server.url}/graphql`);
    await send(`${server.url}/graphql`, { headers: { host: "evil.example.org" } });
    await server.graphql("{ me { id } }");
    await server.graphql('{ a: run(id: "x") { id } b: run(id: "y") { id } }');
    await server.graphql("{ nothing }");
    await server.graphql("{ me { id } }", {}, "wrong");
    await counts(before, {
      'autograph_http_requests_total{route="health",status="2xx"}': 1,
      'autograph_http_requests_total{route="other",status="4xx"}': 1,
      // Two by GET, one with a wrong credential; what is not valid is 200 under application/json.
      'autograph_http_requests_total{route="graphql",status="4xx"}': 3,
      'autograph_http_requests_total{route="graphql",status="2xx"}': 3,
      'autograph_operation_duration_seconds_count{type="query"}': 2,
      'autograph_operation_duration_seconds_count{type="refused"}': 3,
      'autograph_operation_errors_total{type="query"}': 1,
      'autograph_refusals_total{at="http",code="BAD_REQUEST"}': 1,
      'autograph_refusals_total{at="graphql",code="BAD_REQUEST"}': 1,
      'autograph_refusals_total{at="graphql",code="NOT_FOUND"}': 2,
      'autograph_refusals_total{at="graphql",code="GRAPHQL_VALIDATION_FAILED"}': 1,
      'autograph_refusals_total{at="graphql",code="UNAUTHENTICATED"}': 1,
    });
  });

  test("what is open now: WebSockets, subscriptions over both transports, connections, a run and its place", async () => {
    const agent = await agentOf(server, "do: [{ask: {call: 'approval:1.0.0@default', with: {question: Go on?}}}]");
    const { id } = await ran(server, agent);
    const before = await scrapeAnew();
    const query = "subscription($id: ID!) { runUpdated(runId: $id) { status } }";
    const [webSocket, events] = [server.watch(query, { id }), server.events(query, { id })];
    await Promise.all([webSocket.next(), events.next()]);
    await counts(before, {
      autograph_websockets: 1,
      autograph_subscriptions: 2,
      'autograph_operation_duration_seconds_count{type="subscription"}': 2,
    });
    expect((await scrape()).get('autograph_connections{of="callers"}')).toBeGreaterThanOrEqual(2);
    await Promise.all([webSocket.return!(), events.return(undefined)]);
    await counts(before, { autograph_websockets: 0, autograph_subscriptions: 0 });
    const now = await scrape();
    expect([now.get("autograph_executor"), now.get("autograph_accepting_runs")]).toEqual([1, 1]);
    expect(now.get('autograph_memory_limit_bytes{of="runs"}')).toBeGreaterThan(1e7);
    await server.setFreeBytes(0);
    await eventually(async () => (await scrape()).get("autograph_accepting_runs") === 0);
    await server.setFreeBytes(null);
    await eventually(async () => (await scrape()).get("autograph_accepting_runs") === 1);
  });
});

describe("on the server's own port", () => {
  test("a whole credential with `admin` of the first organization reads it", async () => {
    const { status, headers, text } = await main(server.world.apiKey);
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(headers["cache-control"]).toBe("no-store");
    expect(read(text).size).toBeGreaterThan(100);
    expect(await main(server.world.apiKey, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect((await main(await server.key(["admin"]))).status).toBe(200);
  });

  test("nobody else: 401, 403, and 429 over the plan's number", async () => {
    const other = await server.organization("beside");
    const least = await server.key(ALL_SCOPES.filter((scope) => scope !== "admin"));
    for (const [token, status, code] of [
      [undefined, 401, "UNAUTHENTICATED"],
      ["wrong", 401, "UNAUTHENTICATED"],
      [least, 403, "FORBIDDEN"],
      [other.apiKey, 403, "FORBIDDEN"],
    ] as const) {
      const answer = await main(token);
      expect([answer.status, JSON.parse(answer.text).errors[0].extensions.code]).toEqual([status, code]);
      expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
      expect(answer.text).not.toContain("autograph_");
    }
    await server.setPlan(other.organizationId, "free");
    await server.clock.advance(10_000);
    const answers = [];
    for (let count = 0; count < 11; count++) answers.push(await main(other.apiKey));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 403), 429]);
    expect(answers[10]!.headers["retry-after"]).toMatch(/^\d+$/);
  });

  test("other methods are 405, also without a credential", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"])
      expect(await main(undefined, { method })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  });
});

describe("on METRICS_PORT", () => {
  test("nothing but GET and HEAD of /metrics, for this host", async () => {
    const { metricsUrl } = server;
    expect(new URL(metricsUrl!)).toMatchObject({ hostname: "127.0.0.1", pathname: "/metrics" });
    expect(await send(metricsUrl!)).toMatchObject({
      status: 200,
      headers: {
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
      },
    });
    expect(await send(metricsUrl!, { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect(await send(metricsUrl!, { method: "POST" })).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    for (const path of ["/", "/graphql", "/metrics/", "/healthz"])
      expect((await send(new URL(path, metricsUrl!).href)).status).toBe(404);
    expect((await send(metricsUrl!, { headers: { host: "evil.example.org" } })).status).toBe(421);
  });

  test(`${LIMITS.metricsConnections} connections pass, a further one is closed`, async () => {
    const { port } = new URL(server.metricsUrl!);
    const open = async (): Promise<net.Socket> => {
      const socket = net.connect(Number(port), "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      return socket;
    };
    /** One that was closed has no answer. */
    const isAnswered = (socket: net.Socket): Promise<boolean> =>
      new Promise((resolve) => {
        socket.once("data", () => resolve(true)).once("close", () => resolve(false));
        socket.write("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
      });
    const sockets: net.Socket[] = [];
    const close = (): void => sockets.splice(0).forEach((socket) => socket.destroy());
    try {
      // Those of the tests before may not have been closed yet.
      await eventually(async () => {
        close();
        for (let count = 0; count < LIMITS.metricsConnections; count++) sockets.push(await open());
        return (await Promise.all(sockets.map(isAnswered))).every(Boolean);
      });
      expect(await isAnswered(await open())).toBe(false);
    } finally {
      close();
    }
    await eventually(async () => (await send(server.metricsUrl!).catch(() => undefined))?.status === 200);
  });
});

/** The figures read from the database are there. */
const isCounted = (now: Map<string, number>): boolean =>
  now.has("autograph_due_runs") && now.has("autograph_open_approvals");

test("nobody makes a new series, and no label has what somebody chose", async () => {
  await eventually(async () => isCounted(await scrape()));
  // The collector's kinds come with their first time.
  const seriesOf = (samples: Map<string, number>): string[] =>
    [...samples.keys()].filter((series) => !series.startsWith("nodejs_gc_")).toSorted();
  const before = seriesOf(await scrape());
  expect(before.length).toBeLessThan(1_000);
  const MARK = "m4rked";
  await agentOf(server, `do: [{${MARK}: {set: {${MARK}: 1}}}]`, MARK);
  const raising = await agentOf(
    server,
    `do: [{a: {raise: {error: {type: 'https://example.org/${MARK}', status: 418, title: ${MARK}}}}}]`,
  );
  await ran(server, raising, {}, 30);
  await server.graphql(`query ${MARK} { ${MARK}: me { id } ${MARK}2: run(id: "${MARK}") { id } }`);
  await server.graphql(`{ ${MARK} }`, {}, MARK);
  await server.graphql("{ __typename }", {}, "__proto__");
  for (const path of [`/${MARK}`, `/graphql/${MARK}`, `/metrics?${MARK}`, "/__proto__", "/constructor"])
    for (const method of ["GET", "PUT", "PROPFIND"])
      await send(server.url + path, { method, headers: { [`x-${MARK}`]: MARK, "x-request-id": MARK } });
  const { text } = await send(server.metricsUrl!);
  expect(seriesOf(read(text))).toEqual(before);
  expect(text).not.toContain(MARK);
  expect(text).not.toMatch(/_[0-9a-hjkmnp-tv-z]{26}|@|[0-9a-f]{8}-/);
  expect(text.length).toBeLessThan(100_000);
});

describe("what is made from it", () => {
  const fileOf = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
  /** Prometheus adds these itself. */
  const ADDED = ["instance", "job", "le"];
  const METRIC = /\b(?:autograph|process|nodejs)_[a-z0-9_]+\b/g;
  let scraped: Set<string>;
  let labels: Set<string>;
  beforeAll(async () => {
    const series = await eventually(async () => {
      const now = await scrape();
      const names = [...now.keys()];
      return names.some((name) => name.startsWith("nodejs_gc_")) && isCounted(now) ? names : undefined;
    }, 60_000);
    labels = new Set([
      ...ADDED,
      ...series.flatMap((name) => Array.from(name.matchAll(/(\w+)="/g), ([, label]) => label!)),
    ]);
    scraped = new Set(series.map((name) => name.replace(/\{.*/, "")));
  });
  /** Texts that are no PromQL, and metrics and labels that no server shows. */
  const mistakesIn = (expressions: string[]): string[] =>
    expressions.flatMap((written) => {
      const text = written.replaceAll("$__rate_interval", "5m");
      const mistakes: string[] = [];
      parser.parse(text).iterate({
        enter: ({ type, from, to }) => {
          const found = text.slice(from, to);
          if (type.isError) mistakes.push(`${text} at ${from}`);
          if (type.name === "LabelName" && !labels.has(found)) mistakes.push(found);
          if (type.name === "Identifier" && found !== "up" && !scraped.has(found)) mistakes.push(found);
        },
      });
      return mistakes;
    });

  test("a mistake in an expression is found", () => {
    expect(mistakesIn(["sum(up) by (job)", 'rate(autograph_steps_total{kind="set"}[$__rate_interval])'])).toEqual([]);
    expect(mistakesIn(["autograph_gone_total + up{nobody='x'}", "sum(up"])).toEqual([
      "autograph_gone_total",
      "nobody",
      expect.stringContaining("sum(up at"),
    ]);
  });

  test("the dashboard: each panel asks for what a server shows, and every row has panels", () => {
    const { panels, templating, schemaVersion } = JSON.parse(fileOf("deploy/grafana/autograph.json"));
    expect(schemaVersion).toBeGreaterThanOrEqual(39);
    const shown = panels.filter(({ type }: { type: string }) => type !== "row");
    const expressions: string[] = shown.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.map(({ expr }) => expr),
    );
    expect(shown.length).toBeGreaterThan(20);
    expect(mistakesIn(expressions)).toEqual([]);
    const queries: string[] = templating.list.flatMap(({ definition }: { definition?: string }) => definition ?? []);
    expect(
      queries.map((query) => /^label_values\((.+), (\w+)\)$/.exec(query)![1]!).flatMap((one) => mistakesIn([one])),
    ).toEqual([]);
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  });

  test("the alerts, and the sample configuration that has them", () => {
    const { groups } = parse(fileOf("deploy/prometheus/alerts.yml"));
    const { rule_files, scrape_configs } = parse(fileOf("deploy/prometheus/prometheus.yml"));
    expect(rule_files).toEqual(["alerts.yml"]);
    expect(scrape_configs).toMatchObject([{ job_name: "autograph" }]);
    const expressions: string[] = groups[0].rules.map(({ expr }: { expr: string }) => expr);
    expect(expressions.length).toBeGreaterThan(8);
    expect(expressions.filter((expression) => !/[<>=]=? [\d.]+$/.test(expression))).toEqual([]);
    expect(mistakesIn(expressions)).toEqual([]);
  });

  test("docs/operations.md names every figure that a server shows", () => {
    const page = fileOf("docs/operations.md");
    const names = new Set(page.match(METRIC));
    const families = Array.from(scraped, (name) =>
      names.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, ""),
    );
    expect(families.filter((name) => !names.has(name))).toEqual([]);
  });
});

test("calls of MCP servers are counted with their time, by method, transport and outcome", async () => {
  await using shop = await startEndpoint();
  const { task, outputOf, errorOf } = callsTo(() => ({ server, endpoint: shop }));
  shop.answers = [result({ content: [] }), result({ content: [], isError: true }), { status: 503 }];
  await outputOf(CALL);
  await errorOf(CALL);
  await errorOf(CALL);
  shop.answer = result({ content: [], isError: true });
  await outputOf({ ...CALL, onError: "continue" });
  shop.answer = result({ tools: [] });
  await outputOf({ method: "tools/list" });
  await errorOf({ ...CALL, transport: { stdio: MISSING } });
  // A call that its run gave up is none.
  shop.answer = "held";
  const id = await start(server, await agentOf(server, `do: [${task(CALL)}]`));
  await eventually(() => shop.held === 1);
  await server.data(CANCEL, { id });
  await until(server, id, "cancelled");
  await eventually(() => shop.held === 0);
  const of = (method: string, transport: string, error: string): string =>
    `mcp_client_operation_duration_seconds_count{mcp_method_name="${method}",network_transport="${transport}",error_type="${error}"}`;
  const counted = await eventually(async () => {
    const found = [...(await scrape())].filter(([name]) =>
      name.startsWith("mcp_client_operation_duration_seconds_count"),
    );
    return found.reduce((sum, [, count]) => sum + count, 0) >= 6 ? Object.fromEntries(found) : undefined;
  });
  expect(counted).toEqual({
    [of("tools/call", "tcp", "")]: 1,
    [of("tools/call", "tcp", "tool_error")]: 2,
    [of("tools/call", "tcp", "communication")]: 1,
    [of("tools/call", "pipe", "communication")]: 1,
    [of("tools/list", "tcp", "")]: 1,
  });
});
