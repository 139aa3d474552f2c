/** Keeps work of each kind under way for a stop to meet. Each client goes on until its server is gone. */
import { setTimeout as sleep } from "node:timers/promises";
import { publishEvent, eventTriggerOf } from "../published-events.ts";
import { cronTriggers } from "../cron-triggers.ts";
import { startProcess } from "../cli-process.ts";
import { eventually, type Data, type TestServer } from "../client.ts";
import { beside } from "../command-line.ts";
import { chunk, connect, head, type Raw } from "../raw.ts";
import { agentOf } from "../runs.ts";
import { scaled } from "../scale.ts";
import type { Sink } from "../sink.ts";
import { stalledReader } from "../stalled-reader.ts";
import { acknowledged, type Talk } from "../web-socket.ts";
import { call, webhookOf } from "../webhooks.ts";
import type { Random } from "./random.ts";

/** Acknowledged work, which must be there afterwards. */
export type Answered = { runs: Set<string>; events: Set<string>; version: number; draft: number };

export type Agents = {
  call: string;
  hang: string;
  large: string;
  hook: string;
  published: number;
  /** How many calls got no answer. */
  hung(): number;
};

const PAYLOADS = "subscription { runsChanged { id input output steps { input output } } }";
/** Every second one is not read. */
const SOCKETS = scaled({ whole: 4, part: 2 });
const SUBSCRIPTIONS = scaled({ whole: 10, part: 4 });
const HANGING = 3;

export async function publishAll(server: TestServer, sink: Sink): Promise<Agents> {
  // The clock moves by a minute, which is how long a call may take otherwise.
  const called = (path: string, run: string): string =>
    `do:\n  - called: {timeout: {after: PT30M}, call: http, with: {method: post, endpoint: '${sink.url}${path}?run=${run}&step=1'}}\n`;
  const large = await agentOf(server, `do:\n  - large: {set: {text: '\${ "x" * 60000 }'}}\n`);
  const [slow, hang] = [
    await agentOf(server, called("/delay/100", "slow")),
    await agentOf(server, called("/hang", "hang")),
  ];
  const { url } = await webhookOf(server, slow);
  await eventTriggerOf(server, large, { source: "shop", event: "order.paid" });
  await cronTriggers(server, large).create({ schedule: "* * * * *", timezone: "UTC" });
  return { call: slow, hang, large, hook: url, published: 0, hung: () => sink.count("hang", 1)?.requests ?? 0 };
}

export type Busy = {
  answered: Answered;
  /** The answer to a caller who waits at the moment of the stop. */
  waits: Promise<Data>[];
  /** Resolves when something of each kind has been answered, and what hangs does. */
  isUnderWay(): Promise<unknown>;
  /** Resolves when its clients have noticed. */
  end(): Promise<void>;
};

/** `withHanging`: also runs whose calls nobody answers, so that the stop takes as long as it may. */
export async function keepBusy(
  server: TestServer,
  agents: Agents,
  random: Random,
  { withHanging }: { withHanging: boolean },
): Promise<Busy> {
  const answered: Answered = { runs: new Set(), events: new Set(), version: 0, draft: 0 };
  const { apiKey, projectId } = server.world;
  const over = new AbortController();
  const held = new AsyncDisposableStack();
  const waits: Promise<Data>[] = [];
  const again = async (work: () => Promise<unknown>): Promise<void> => {
    while (!over.signal.aborted) await work().catch(() => sleep(200));
  };
  const ask = (query: string, variables: object = {}): Promise<Data> =>
    server.data(query, variables as Record<string, unknown>);
  const run = async (agentId: string, wait?: number): Promise<void> => {
    const { runAgent } = await ask("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId, wait },
    });
    answered.runs.add(runAgent.id);
  };

  const watch = async (isRead: boolean): Promise<void> => {
    const opened: Talk = held.use(await acknowledged(server, apiKey));
    for (let id = 0; id < SUBSCRIPTIONS; id++)
      opened.send({ type: "subscribe", id: `${id}`, payload: { query: PAYLOADS } });
    if (!isRead) opened.socket.pause();
  };
  for (let socket = 0; socket < SOCKETS; socket++) await watch(socket % 2 === 0);
  const unread = stalledReader(server, PAYLOADS, apiKey);
  const read = server.events(PAYLOADS);
  const reading = (async () => {
    for await (const _event of read);
  })().catch(() => {});

  const half = async (first: string): Promise<void> => {
    const raw: Raw = held.use(await connect(server));
    raw.write(first);
  };
  const path = new URL(agents.hook).pathname;
  for (const to of ["/graphql", path, "/events"])
    for (const length of [500_000, "chunked"] as const)
      await half(
        head(length, to === path ? undefined : apiKey, "", to) +
          (length === "chunked" ? chunk(1_000) : "x".repeat(1_000)),
      );

  const hangs = withHanging ? agents.hung() + HANGING : 0;
  if (withHanging)
    for (let count = 0; count < HANGING; count++)
      waits.push(
        ask("mutation($input: RunAgentInput!) { runAgent(input: $input) { id status } }", {
          input: { agentId: agents.hang, wait: 30 },
        }).catch((error: unknown) => error),
      );

  const working = [
    again(() => run(agents.large)),
    again(() => run(agents.large, 30)),
    again(() => run(agents.call)),
    again(() => run(agents.call, 30)),
    again(async () => {
      const { status, body } = await call(agents.hook, { n: 1 });
      if (status === 202) answered.runs.add(body.runId);
    }),
    again(() => call(`${agents.hook}?wait=20`, { n: 1 })),
    again(() => ask("{ runs(first: 50) { nodes { id status input output } } }")),
    again(async () => {
      const id = `${random.next()}`;
      const { data } = await publishEvent(server, { source: "shop", event: "order.paid", id, data: { n: 1 } });
      if (data?.publishEvent) answered.events.add(data.publishEvent.id);
    }),
    again(async () => {
      const version = ++agents.published;
      const definition = `document: {dsl: '1.0.3', namespace: test, name: published, version: '1.0.${version}'}\ndo:\n  - one: {set: {n: ${version}}}\n`;
      await ask("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
        input: { projectId, definition },
      });
      answered.version = version;
    }),
    again(async () => {
      const definition = `document: {dsl: '1.0.3', namespace: test, name: drafted, version: '1.0.0'}\ndo:\n  - one: {set: {n: ${random.next()}}}\n`;
      const { saveAgentDraft } = await ask(
        "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { draft { revision } } }",
        { input: { projectId, definition } },
      );
      answered.draft = saveAgentDraft.draft.revision;
    }),
    again(() =>
      ask("mutation($input: DraftInput!) { draftRunInput(input: $input) { id } }", {
        input: { text: "the large one", timezone: "UTC" },
      }),
    ),
    // In the ten seconds of a stop that waits for what hangs, they would have ended long ago.
    ...(withHanging
      ? []
      : [
          ["runs", "list", "--json"],
          ["audit", "export"],
        ]
    ).map((args) => startProcess(args, { env: beside(server) }).ended),
  ];
  await server.clock.advance(60_000);
  return {
    answered,
    waits,
    isUnderWay: () =>
      eventually(() => {
        const { runs, events, version, draft } = answered;
        return agents.hung() >= hangs && runs.size > 2 && events.size > 0 && version > 0 && draft > 0;
      }),
    async end() {
      over.abort();
      await held.disposeAsync();
      await Promise.allSettled([...working, reading, unread, ...waits]);
    },
  };
}
