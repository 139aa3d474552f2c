/** The streams of firings and events send nothing of another organization, nor what a narrowed key does not reach. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { createKey } from "./narrowed-keys.ts";
import { publishEvent } from "./published-events.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { stalledReader } from "./stalled-reader.ts";
import { webhookOf } from "./webhooks.ts";

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

type Heard = { firings: Data[]; events: Data[] };

/** Everything that comes from now on. */
async function listen(token: string | undefined): Promise<Heard & AsyncDisposable> {
  const heard: Heard = { firings: [], events: [] };
  const client = server.webSocket(token);
  let isOpen = false;
  for (const query of [
    "subscription { firingsChanged { id trigger { name } } }",
    "subscription { eventsChanged { sourceId } }",
    "subscription { badgesChanged { openRuns } }",
  ])
    client.subscribe<Data>(
      { query },
      {
        next: ({ data }) => {
          if (data!["firingsChanged"]) heard.firings.push(data!["firingsChanged"].trigger.name);
          if (data!["eventsChanged"]) heard.events.push(data!["eventsChanged"].sourceId);
          isOpen ||= data!["badgesChanged"] !== undefined;
        },
        error: (error) => expect.fail(JSON.stringify(error)),
        complete: () => {},
      },
    );
  // The last one's first value says that all are open.
  await eventually(() => isOpen);
  return { ...heard, [Symbol.asyncDispose]: () => Promise.resolve(client.dispose()) };
}

test("each hears of its own", async () => {
  const mine = await publish(server, "echo");
  const near = await publish(server, "three");
  const other = await server.organization("streams");
  const its: Pick<SharedServer, "data"> = { data: (query, variables) => server.data(query, variables, other.apiKey) };
  const theirs = await publish({ world: other, ...its }, "echo");
  const { secret } = await createKey(server, { agentIds: [mine] });
  const hooks = [
    await webhookOf(server, near, { name: "near" }),
    await webhookOf(server, mine, { name: "mine" }),
    await webhookOf(its, theirs, { name: "theirs" }),
  ] as const;
  await using narrow = await listen(secret);
  await using tenant = await listen(other.apiKey);
  await using whole = await listen(undefined);
  // An event that this caller may not see comes before one that shows that it would have been received.
  for (const [index, token] of [undefined, undefined, other.apiKey].entries())
    await server.data(`mutation { fireTrigger(input: {triggerId: "${hooks[index]!.id}"}) { id } }`, {}, token);
  for (const [id, token] of [
    ["of the organization", undefined],
    ["of the key", secret],
    ["of others", other.apiKey],
  ] as const)
    await publishEvent(server, { source: "shop", event: "paid", id }, token);
  await eventually(() => narrow.events.length > 0 && tenant.events.length > 0 && whole.events.length > 1);
  await eventually(() => narrow.firings.length > 0 && tenant.firings.length > 0 && whole.firings.length > 1);
  expect(narrow).toMatchObject({ firings: ["mine"], events: ["of the key"] });
  expect(tenant).toMatchObject({ firings: ["theirs"], events: ["of others"] });
  expect(whole).toMatchObject({ firings: ["near", "mine"], events: ["of the organization", "of the key"] });
});

test(`a reader that stalls is told so when more than ${LIMITS.changesWaiting} events wait`, async () => {
  const busy = await server.organization("busy");
  let last = 0;
  const send = async (count: number, data: object): Promise<void> => {
    const events = Array.from({ length: count }, () => ({
      specversion: "1.0",
      source: "shop",
      type: "paid",
      id: `${++last}`,
      data,
    }));
    const { status } = await fetch(`${server.url}/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${busy.apiKey}`, "content-type": "application/cloudevents-batch+json" },
      body: JSON.stringify(events),
    });
    expect(status).toBe(202);
  };
  const reader = await stalledReader(server, "subscription { eventsChanged { id data } }", busy.apiKey);
  // More than the sockets' buffers take.
  const LARGE = 150;
  const text = "x".repeat(LIMITS.eventDataBytes - 100);
  for (let at = 0; at < LARGE; at += 10) await send(10, { text });
  const batches = Array.from({ length: LIMITS.changesWaiting / LIMITS.eventsPerBatch });
  await Promise.all(batches.map(() => send(LIMITS.eventsPerBatch, {})));
  const lines = await reader.rest();
  expect(lines.length).toBeLessThan(LARGE + 5);
  expect(JSON.parse(lines.at(-1)!.slice("data: ".length)).errors).toEqual([
    expect.objectContaining({
      message: `more than ${LIMITS.changesWaiting} changes wait to be read: subscribe again, then read the list`,
      extensions: { code: "UNAVAILABLE", retryAfter: 1 },
    }),
  ]);
});
