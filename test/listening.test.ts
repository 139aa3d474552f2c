/** `listen` and `emit` over the wire: what a run hears, from when on, and what becomes of it. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { createKey } from "./narrowed-keys.ts";
import { eventTriggerOf, publishEvent } from "./published-events.ts";
import { agentOf, CANCEL, ENDED, ran, readRun, runOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

let server: MovedServer;
let sink: Sink;
beforeAll(async () => void ([server, sink] = await Promise.all([movedServer(), startSink()])));
afterAll(() => Promise.all([server[Symbol.asyncDispose](), sink[Symbol.asyncDispose]()]));

let last = 0;
/** A type of event that no other test has. */
const newType = (): string => `order.paid.${++last}`;
const send = async (event: string, data: object = {}, more: object = {}): Promise<string> => {
  const answer = await publishEvent(server, { source: "shop", event, id: `id ${++last}`, data, ...more });
  return answer.data.publishEvent.id;
};
const listen = (to: string, more = ""): string => `do: [{hear: {listen: {to: ${to}${more}}}}]`;
/** A step that listens is waiting once its input says to what: the service's own events are kept from then on. */
const waiting = (id: string, step = "hear"): Promise<Data> =>
  eventually(async () => {
    const run = await readRun(server, id);
    const isWaiting = ({ name, status, kind, input }: Data): boolean =>
      name === step && status === "running" && (kind !== "listen" || input !== null);
    return run["steps"].some(isWaiting) && run;
  });
const started = async (body: string, input: object = {}): Promise<string> => {
  const id = await start(server, await agentOf(server, body), input);
  await waiting(id);
  return id;
};
const outputOf = async (id: string): Promise<unknown> => (await until(server, id, ...ENDED))["output"];

describe("a run that listens to one event", () => {
  test("goes on with a list of its data", async () => {
    const type = newType();
    const id = await started(listen(`{one: {with: {type: ${type}}}}`));
    await send(`other ${type}`);
    await send(type, { orderId: 7 });
    expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed", output: [{ orderId: 7 }] });
  });

  test("is running, says that it waits, and shows what for", async () => {
    const type = newType();
    const id = await started(listen(`{one: {with: {type: ${type}, source: shop, data: {orderId: '\${ .n }'}}}}`), {
      n: 7,
    });
    const run = await eventually(async () => {
      const { run: now } = await server.data(`{ run(id: "${id}") { status waitingFor { stepNumber until event } } }`);
      return now.waitingFor.length > 0 && now;
    });
    expect(run.waitingFor).toEqual([{ stepNumber: 1, until: null, event: type }]);
    expect(run.status).toBe("running");
    const { steps } = await readRun(server, id);
    expect(steps[0]).toMatchObject({
      kind: "listen",
      status: "running",
      input: [{ type, source: "shop", data: { fields: { orderId: [7] } } }],
    });
  });

  test("reads the data, the envelope, or the data as text", async () => {
    const type = newType();
    const agents = ["data", "envelope", "raw"].map((read) =>
      started(listen(`{one: {with: {type: ${type}}}}`, `, read: ${read}`)),
    );
    const ids = await Promise.all(agents);
    const { data } = await publishEvent(server, {
      source: "shop",
      event: type,
      id: "e1",
      data: { n: 1 },
      time: "2026-11-20T10:00:00Z",
    });
    expect(data.publishEvent.id).toMatch(/^event_/);
    const envelope = {
      specversion: "1.0",
      id: "e1",
      source: "shop",
      type,
      time: "2026-11-20T10:00:00.000Z",
      datacontenttype: "application/json",
      data: { n: 1 },
    };
    expect(await Promise.all(ids.map(outputOf))).toEqual([[{ n: 1 }], [envelope], ['{"n":1}']]);
  });

  test("takes only those that its attributes, values and condition fit", async () => {
    const type = newType();
    const ids = await Promise.all(
      [
        `{one: {with: {type: ${type}, source: shop, data: {kind: [a, b], n: 2}}}}`,
        `{one: {with: {type: ${type}, data: '\${ .n > $input.least }'}}}`,
        `{one: {with: {type: ${type}, source: '\${ "other" }'}}}`,
      ].map((to) => started(listen(to), { least: 2 })),
    );
    await send(type, { kind: "c", n: 2 });
    await send(type, { kind: "b", n: 1 });
    await send(type, { n: {}, kind: "z" }, { source: "weird" });
    await send(type, { kind: "a", n: 2 });
    await send(type, { n: 3 }, { source: "other" });
    // Anything is above a number in jq's order, so the object came first.
    expect(await Promise.all(ids.map(outputOf))).toEqual([[{ kind: "a", n: 2 }], [{ n: {}, kind: "z" }], [{ n: 3 }]]);
  });

  test("takes only the event with its subject and id", async () => {
    const type = newType();
    const id = await started(listen(`{one: {with: {type: ${type}, subject: order 7, id: mine}}}`));
    for (const of of ["id: other, subject: order 7", "id: mine, subject: order 8", "id: mine, subject: order 7"])
      await runOf(server, `do: [{say: {emit: {event: {with: {${of}, type: ${type}, data: {of: '${of}'}}}}}}]`);
    expect(await outputOf(id)).toEqual([{ of: "id: mine, subject: order 7" }]);
  });

  test("does not take an event on which its condition or its correlation fails, and goes on", async () => {
    const type = newType();
    const filters = [
      `{with: {type: ${type}, data: '\${ .n + 1 == 3 }'}}`,
      `{with: {type: ${type}}, correlate: {sum: {from: '\${ .n + 1 }', expect: '\${ 3 }'}}}`,
    ];
    const ids = await Promise.all(filters.map((filter) => started(listen(`{one: ${filter}}`))));
    await send(type, { n: {} });
    await send(type, { n: 2 });
    for (const id of ids) expect(await outputOf(id)).toEqual([{ n: 2 }]);
  });

  test("takes the one that correlates, whatever comes for others", async () => {
    const type = newType();
    const agent = await agentOf(
      server,
      listen(`{one: {with: {type: ${type}}, correlate: {order: {from: .orderId, expect: '\${ .order }'}}}}`),
    );
    const ids = await Promise.all(["a", "b", "c"].map((order) => start(server, agent, { order })));
    await Promise.all(ids.map((id) => waiting(id)));
    await send(type, { orderId: "b", n: 1 });
    expect(await outputOf(ids[1]!)).toEqual([{ orderId: "b", n: 1 }]);
    await send(type, { data: { orderId: "a" } });
    await send(type, { orderId: "a" });
    expect(await outputOf(ids[0]!)).toEqual([{ orderId: "a" }]);
    expect(await readRun(server, ids[2]!)).toMatchObject({ status: "running" });
    await server.data(CANCEL, { id: ids[2] });
  });

  test("is found, however long the path is of the value that it asks for", async () => {
    const type = newType();
    // Text that PostgreSQL can't compress, in an index of at most 2,704 bytes a row.
    const field = Array.from({ length: 100 }, (_, n) => createHash("sha256").update(`${n}`).digest("hex")).join("");
    const correlate = `{order: {from: .x${field}, expect: '\${ 7 }'}}`;
    const id = await started(listen(`{one: {with: {type: ${type}}, correlate: ${correlate}}}`));
    await send(type, { [`x${field}`]: 8 });
    await send(type, { [`x${field}`]: 7 });
    expect(await outputOf(id)).toEqual([{ [`x${field}`]: 7 }]);
  });

  test("is not told twice of an event that is published again", async () => {
    const type = newType();
    const id = await started(`do: [{hear: {listen: {to: {any: [{with: {type: ${type}}}], until: 'length == 2'}}}}]`);
    for (const _ of [1, 2, 3]) await publishEvent(server, { source: "shop", event: type, id: "same", data: { n: 1 } });
    await publishEvent(server, { source: "shop", event: type, id: "next", data: { n: 2 } });
    expect(await outputOf(id)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("fails with `timeout` in its time, which can be caught", async () => {
    const type = newType();
    const run = await runOf(
      server,
      `do: [{safe: {try: [{hear: {listen: {to: {one: {with: {type: ${type}}}}}, timeout: {after: {milliseconds: 50}}}}], catch: {errors: {with: {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout}}, do: [{late: {set: {late: true}}}]}}}]`,
    );
    expect(run).toMatchObject({ status: "completed", output: { late: true } });
  });
});

describe("an event that comes before the run listens", () => {
  test("is heard if it came after the run was started", async () => {
    const type = newType();
    const id = await start(
      server,
      await agentOf(server, `do: [{nap: {wait: {hours: 1}}}, {hear: {listen: {to: {one: {with: {type: ${type}}}}}}}]`),
    );
    await waiting(id, "nap");
    await send(type, { n: 1 });
    await server.clock.advance(3_600_000);
    expect(await outputOf(id)).toEqual([{ n: 1 }]);
  });

  test("is not heard if it came before the run was started, or started it", async () => {
    const type = newType();
    await send(type, { n: 0 });
    const agent = await agentOf(server, listen(`{one: {with: {type: ${type}}}}`));
    await eventTriggerOf(server, agent, { source: "starter", event: type });
    await send(type, { n: 1 }, { source: "starter" });
    const id = await eventually(async () => {
      const { runs } = await server.data(`{ runs(filter: {agentId: "${agent}"}) { nodes { id } } }`);
      return runs.nodes[0]?.id;
    });
    await waiting(id);
    await send(type, { n: 2 });
    expect(await outputOf(id)).toEqual([{ n: 2 }]);
  });

  test("is taken once by steps that follow one another, in the order of publication", async () => {
    const type = newType();
    const id = await start(
      server,
      await agentOf(
        server,
        `do: [{nap: {wait: {hours: 1}}}, {loop: {for: {in: '\${ [1, 2, 3] }'}, do: [{hear: {listen: {to: {one: {with: {type: ${type}}}}}, export: {as: '\${ ($context // []) + $output }'}}}]}}, {all: {set: {all: '\${ $context }'}}}]`,
      ),
    );
    await waiting(id, "nap");
    await send(type, { n: 1 });
    await send(type, { n: 2 });
    await server.clock.advance(3_600_000);
    await waiting(id);
    await send(type, { n: 3 });
    expect(await outputOf(id)).toEqual({ all: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  });

  test("is heard by branches that listen at the same time, each", async () => {
    const type = newType();
    const one = `{listen: {to: {one: {with: {type: ${type}}}}}}`;
    const id = await started(`do: [{both: {fork: {branches: [{hear: ${one}}, {too: ${one}}]}}}]`);
    await waiting(id, "too");
    await send(type, { n: 1 });
    expect(await outputOf(id)).toEqual([[{ n: 1 }], [{ n: 1 }]]);
  });

  test("is heard by the retry of a run that timed out", async () => {
    const type = newType();
    const agent = await agentOf(
      server,
      `do: [{hear: {listen: {to: {one: {with: {type: ${type}}}}}, timeout: {after: {milliseconds: 50}}}}]`,
    );
    const run = await ran(server, agent);
    expect(run["status"]).toBe("failed");
    await send(type, { n: 1 });
    const { retryRun } = await server.data("mutation($id: ID!) { retryRun(input: {runId: $id}) { id } }", {
      id: run["id"],
    });
    expect(await outputOf(retryRun.id)).toEqual([{ n: 1 }]);
  });
});

describe("several events", () => {
  test("all: one of each, in the order in which they came, with what the first correlates", async () => {
    const type = newType();
    const filter = (kind: string): string =>
      `{with: {type: ${type}, data: {kind: ${kind}}}, correlate: {room: {from: '\${ .data.room }'}}}`;
    const id = await started(listen(`{all: [${filter("heat")}, ${filter("damp")}]}`));
    await send(type, { kind: "damp", room: 1 });
    await send(type, { kind: "damp", room: 1, again: true });
    await send(type, { kind: "heat", room: 2 });
    await send(type, { kind: "heat", room: 1 });
    expect(await outputOf(id)).toEqual([
      { kind: "damp", room: 1 },
      { kind: "heat", room: 1 },
    ]);
  });

  test("any: the first", async () => {
    const [one, two] = [newType(), newType()];
    const id = await started(listen(`{any: [{with: {type: ${one}}}, {with: {type: ${two}}}]}`));
    await send(two, { n: 2 });
    expect(await outputOf(id)).toEqual([{ n: 2 }]);
  });

  test("any, until an event that is not in the list", async () => {
    const [one, end] = [newType(), newType()];
    const id = await started(listen(`{any: [{with: {type: ${one}}}], until: {one: {with: {type: ${end}}}}}`));
    for (const n of [1, 2]) await send(one, { n });
    await send(end, { n: 3 });
    expect(await outputOf(id)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("foreach: tasks for each, one after another, and what they make is the list", async () => {
    const type = newType();
    const id = await started(
      `do: [{hear: {listen: {to: {any: [{with: {type: ${type}}}], until: 'length == 3'}}, foreach: {item: paid, at: place, do: [{pay: {set: {sum: '\${ $paid.n + $place }'}}}], output: {as: .sum}}}}]`,
    );
    for (const n of [10, 20, 30]) await send(type, { n });
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "completed", output: [10, 21, 32] });
    expect(run["steps"].map(({ name }: Data) => name)).toEqual(["hear", "pay", "pay", "pay"]);
  });

  test("foreach: `exit` leaves it", async () => {
    const type = newType();
    const id = await started(
      `do: [{hear: {listen: {to: {any: [{with: {type: ${type}}}], until: '\${ $context == 1 }'}}, foreach: {do: [{stop: {if: '\${ $item.n == 2 }', set: {done: true}, then: exit}}]}}}, {after: {set: {n: '\${ length }'}}}]`,
    );
    for (const n of [1, 2, 3]) await send(type, { n });
    expect(await outputOf(id)).toEqual({ n: 2 });
  });

  test("an item that fails is done again by a retry, which keeps what was taken", async () => {
    const type = newType();
    const id = await started(
      `do: [{hear: {listen: {to: {any: [{with: {type: ${type}}}], until: 'length == 2'}}, foreach: {do: [{call: {call: http, with: {method: post, endpoint: '${sink.url}/{path}', query: {step: '\${ "\\($item.n)" }', run: ${type}}}}}]}}}]`.replace(
        "{path}",
        "refuse/1",
      ),
    );
    await send(type, { n: 1 });
    const failed = await until(server, id, ...ENDED);
    expect(failed["status"]).toBe("failed");
    const { retryRun } = await server.data("mutation($id: ID!) { retryRun(input: {runId: $id}) { id } }", { id });
    await eventually(async () =>
      (await readRun(server, retryRun.id))["steps"].some(
        ({ name, status }: Data) => name === "call" && status === "completed",
      ),
    );
    await send(type, { n: 2 });
    const retried = await until(server, retryRun.id, ...ENDED);
    expect(retried["steps"].filter(({ name }: Data) => name === "call")).toHaveLength(2);
  });
});

describe("emit", () => {
  test("publishes an event as the run's, with the agent as its source, and its output is its input", async () => {
    const type = newType();
    const id = await started(listen(`{one: {with: {type: ${type}}}}`, ", read: envelope"));
    const run = await runOf(
      server,
      `do: [{say: {emit: {event: {with: {type: ${type}, subject: '\${ .about }', data: {n: '\${ .n }'}}}}}}]`,
      { n: 1, about: "me" },
    );
    expect(run).toMatchObject({ status: "completed", output: { n: 1, about: "me" } });
    const [envelope] = (await outputOf(id)) as Data[];
    expect(envelope).toMatchObject({
      type,
      source: expect.stringMatching(/^\/test\/agent-\d+$/),
      subject: "me",
      data: { n: 1 },
    });
    const { events } = await server.data(`{ events(first: 1) { nodes { event publishedBy { kind id } } } }`);
    expect(events.nodes[0]).toEqual({ event: type, publishedBy: { kind: "run", id: run["id"] } });
  });

  test("fires triggers, and agents that start each other end after ten", async () => {
    const type = newType();
    const agent = await agentOf(
      server,
      `do: [{say: {emit: {event: {with: {source: loop, type: ${type}, data: {}}}}}}]`,
    );
    await eventTriggerOf(server, agent, { source: "loop", event: type });
    await ran(server, agent);
    const count = async (): Promise<number> =>
      (await server.data(`{ runs(filter: {agentId: "${agent}"}, first: 50) { nodes { id status } } }`)).runs.nodes
        .length;
    await eventually(async () => (await count()) >= 11);
    await ran(server, await agentOf(server, "do: [{nap: {wait: {milliseconds: 300}}}]"));
    expect(await count()).toBe(11);
  });

  test("refuses what no event can have, as an error of the run", async () => {
    for (const [attributes, said] of [
      ["{type: '${ 7 }'}", "its type must be a text"],
      ["{type: x, source: autograph}", "its source must not be autograph"],
      ["{type: x, data: '${ [1] }'}", "its data must be an object"],
      ["{type: x, time: '${ \"soon\" }'}", "its time must be an RFC 3339 time"],
      ["{type: '${ \"x\" * 256 }'}", "its type must have at most 255 characters"],
    ] as const) {
      const run = await runOf(server, `do: [{say: {emit: {event: {with: ${attributes}}}}}]`);
      expect(run["error"], attributes).toMatchObject({
        type: expect.stringMatching(/validation$/),
        detail: expect.stringContaining(said),
      });
    }
  });

  test("listens to the service's own events", async () => {
    const child = await agentOf(server, "do: [{one: {set: {n: 1}}}]");
    const id = await started(
      listen(
        `{one: {with: {source: autograph, type: run.completed, data: {agentId: ${child}}}}}`.replace(
          "source: autograph",
          "source: '${ \"autograph\" }'",
        ),
      ),
    );
    const run = await ran(server, child);
    expect(await outputOf(id)).toMatchObject([{ runId: run["id"], output: { n: 1 } }]);
  });
});

describe("kill -9", () => {
  test("emit publishes each event once, whenever the process dies", async () => {
    const type = newType();
    const all = Array.from({ length: 90 }, (_, n) => n);
    const agent = await agentOf(
      server,
      `do: [{loop: {for: {in: '\${ [range(${all.length})] }', each: n}, do: [{say: {emit: {event: {with: {type: ${type}, data: {n: '\${ $n }'}}}}}}]}}]`,
    );
    const id = await start(server, agent);
    const published = async (): Promise<number[]> => {
      const { events } = await server.data("{ events(first: 200) { nodes { event data } } }");
      return events.nodes.filter(({ event }: Data) => event === type).map(({ data }: Data) => data.n);
    };
    for (const least of [5, 30, 60]) {
      await eventually(async () => (await published()).length >= least);
      await server.kill();
      await server.restart();
    }
    expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed" });
    expect((await published()).toSorted((a, b) => a - b)).toEqual(all);
  });

  test("a run hears what was published while it waited, before and after", async () => {
    const [one, two] = [newType(), newType()];
    const id = await started(listen(`{all: [{with: {type: ${one}}}, {with: {type: ${two}}}]}`));
    await send(one, { n: 1 });
    await server.kill();
    await server.restart();
    await send(two, { n: 2 });
    expect(await outputOf(id)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("a branch still hears what one beside it took that has ended", async () => {
    const [common, own] = [newType(), newType()];
    const id = await started(`
do:
  - both:
      fork:
        branches:
          - hear: {listen: {to: {one: {with: {type: ${common}}}}}}
          - late:
              listen: {to: {any: [{with: {type: ${own}}}, {with: {type: ${common}}}], until: '\${ length == 2 }'}}
              foreach: {do: [{pause: {wait: PT1H}}]}
`);
    await waiting(id, "late");
    await send(own, { n: 1 });
    await waiting(id, "pause");
    await send(common, { n: 2 });
    await eventually(async () => {
      const { steps } = await readRun(server, id);
      return steps.some(({ name, status }: Data) => name === "hear" && status === "completed");
    });
    await server.kill();
    await server.restart();
    await server.clock.advance(3_600_000);
    const again = await eventually(async () => {
      const { steps } = await readRun(server, id);
      const pauses = steps.filter(({ name }: Data) => name === "pause");
      return pauses.length === 2 && pauses;
    });
    expect(again.map(({ status }: Data) => status)).toEqual(["completed", "running"]);
    await server.clock.advance(3_600_000);
    const { output } = await until(server, id, ...ENDED);
    expect(output).toEqual([[{ n: 2 }], [{ n: 1 }, { n: 2 }]]);
  });
});

describe("cancel", () => {
  test("leaves nothing that listens", async () => {
    const type = newType();
    const id = await started(listen(`{one: {with: {type: ${type}}}}`));
    await server.data(CANCEL, { id });
    await send(type);
    expect(await readRun(server, id)).toMatchObject({
      status: "cancelled",
      steps: [{ name: "hear", status: "cancelled" }],
    });
  });
});

test("a narrowed key's event reaches the projects of the key alone", async () => {
  const type = newType();
  const { createProject } = await server.data(
    'mutation { createProject(input: {handle: "elsewhere", name: "Elsewhere"}) { id } }',
  );
  const key = await createKey(server, { scopes: ["events:write"], projectIds: [createProject.id] });
  const id = await started(listen(`{one: {with: {type: ${type}}}}`));
  await publishEvent(server, { source: "shop", event: type, id: "n1", data: { n: 1 } }, key.secret ?? key);
  await send(type, { n: 2 });
  expect(await outputOf(id)).toEqual([{ n: 2 }]);
});

test("a narrowed key publishes no agent that listens or emits", async () => {
  const { secret } = await createKey(server, { scopes: ["agents:write"], projectIds: [server.world.projectId] });
  for (const [name, task] of [
    ["listens", "{listen: {to: {one: {with: {type: a}}}}}"],
    ["emits", "{emit: {event: {with: {type: a}}}}"],
  ] as const) {
    const definition = `document: {dsl: '1.0.3', namespace: test, name: narrow, version: '1.0.0'}\ndo: [{inner: {do: [{t: ${task}}]}}]`;
    const { errors } = await server.graphql(
      "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
      { input: { definition } },
      secret,
    );
    expect(errors?.[0], name).toMatchObject({
      message: expect.stringContaining(name),
      extensions: { code: "FORBIDDEN" },
    });
  }
});
