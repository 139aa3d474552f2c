/** A text that a model writes, as people who watch the run see it while it comes. Against a real endpoint on loopback. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { startLlmService, status, Writing, type LlmService } from "./llm-service.ts";
import { agentOf, CANCEL, ENDED, readRun, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const KEY = "sk-planted-0123456789";
const CREATE = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const EVENTS = `subscription($id: ID!, $after: Int) { runEvents(runId: $id, after: $after) {
  revision run { status revision } step { number status output } ...written } }
  fragment written on RunEvent { textDelta { runId stepNumber offset text } }`;

let model: LlmService;
let server: MovedServer;
let writing: Writing;
beforeAll(async () => {
  [model, server] = [await startLlmService(), await movedServer()];
  const { projectId } = server.world;
  const input = {
    projectId,
    name: "cheap",
    provider: "openai_compatible",
    baseUrl: model.url,
    model: "small",
    apiKey: KEY,
  };
  await server.data(CREATE, { input });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.asked.length = 0;
  writing = new Writing();
  model.replies = [writing.reply];
});

const ask = (values = "prompt: Hi", more = ""): string =>
  `do: [{ask: {call: 'llm:1.0.0@default', with: {connection: cheap, ${values}}${more}}}]`;
const begin = async (body = ask()): Promise<string> => {
  const id = await start(server, await agentOf(server, body));
  await eventually(() => writing.count === 1);
  return id;
};

/** Follows a run until it ends: all events, and the text of the first step as a client has it. */
function follow(id: string) {
  const followed = { events: [] as Data[], text: "", over: Promise.resolve() };
  followed.over = (async () => {
    for await (const { data } of server.watch(EVENTS, { id })) {
      const event = data.runEvents;
      followed.events.push(event);
      if (event.textDelta) followed.text = followed.text.slice(0, event.textDelta.offset) + event.textDelta.text;
    }
  })();
  // A killed server closes it.
  followed.over.catch(() => {});
  return followed;
}
const shape = ({ run, step, textDelta }: Data): string =>
  run ? `run ${run.status}` : step ? `step ${step.status}` : `text at ${textDelta.offset}`;

describe("a text that is being written", () => {
  test("is seen as it comes, also by who comes later; the parts are the output, and none of them is a commit", async () => {
    const id = await begin();
    const first = follow(id);
    writing.text("Once ", "upon ");
    await eventually(() => first.text === "Once upon ");
    const { revision } = await readRun(server, id);
    const late = follow(id);
    await eventually(() => late.text === "Once upon ");
    expect(late.events.at(-1).textDelta).toEqual({ runId: id, stepNumber: 1, offset: 0, text: "Once upon " });
    for (let count = 0; count < 500; count++) writing.text("a ");
    writing.text("\u{1f600} time.");
    await eventually(() => late.text.endsWith("time."));
    expect((await readRun(server, id)).revision).toBe(revision);
    writing.text(" The", " end.");
    writing.end();
    await Promise.all([first.over, late.over]);
    const { output } = await until(server, id, ...ENDED);
    expect(output).toBe(`Once upon ${"a ".repeat(500)}\u{1f600} time. The end.`);
    for (const { text, events } of [first, late]) {
      expect(text).toBe(output);
      const shapes = events.map(shape);
      expect(shapes.slice(-2)).toEqual(["step completed", "run completed"]);
      expect(shapes.slice(shapes.indexOf("text at 0"), -2).every((one) => one.startsWith("text"))).toBe(true);
      const revisions = events.map((event) => event.revision);
      expect(revisions).toEqual(revisions.toSorted((one, other) => one - other));
    }
  });

  test("is answered in the words of the client's query, each part as the first one", async () => {
    const id = await begin();
    const query = `subscription($id: ID!) { seen: runEvents(runId: $id) { last: revision again: revision ...part step { status } } }
      fragment part on RunEvent { part: textDelta { __typename id: runId at: offset twice: offset number: stepNumber said: text } }`;
    const events: Data[] = [];
    const over = (async () => {
      for await (const { data } of server.watch(query, { id })) events.push(data.seen);
    })();
    const parts = (): Data[] => events.filter(({ part }) => part);
    const said = (): string => parts().reduce((sum, { part }) => sum + part.said, "");
    let all = "";
    for (const text of ["One", ' "two"', "\\ \n", "\u{1f600}", " five"]) {
      all += text;
      writing.text(text);
      await eventually(() => said() === all);
    }
    writing.end();
    await over;
    const revision = parts()[0]!["last"];
    let at = 0;
    for (const event of parts()) {
      const part = { __typename: "TextDelta", id, at, twice: at, number: 1, said: event["part"].said };
      expect(event).toEqual({ last: revision, again: revision, part, step: null });
      at += event["part"].said.length;
    }
    expect(said()).toBe(all);
    expect(parts().length).toBeGreaterThan(2);
  });

  test("is sent to nobody who does not ask for it", async () => {
    const id = await begin();
    const events: Data[] = [];
    const over = (async () => {
      const query = "subscription($id: ID!) { runEvents(runId: $id) { revision step { status } run { status } } }";
      for await (const { data } of server.watch(query, { id })) events.push(data.runEvents);
    })();
    const seen = follow(id);
    writing.text("Hello");
    await eventually(() => seen.text === "Hello");
    writing.end();
    await Promise.all([over, seen.over]);
    expect(new Set(events.map(({ revision }) => revision)).size).toBe(events.length);
    expect(events.every(({ step, run }) => step || run)).toBe(true);
  });

  test("begins again where the question is asked again", async () => {
    const second = new Writing();
    model.replies = [writing.reply, second.reply];
    const id = await begin(ask("prompt: Hi, schema: {type: integer}"));
    const seen = follow(id);
    writing.text("I don't ", "know.");
    await eventually(() => seen.text === "I don't know.");
    writing.end();
    await eventually(() => second.count === 1);
    second.text("4");
    await eventually(() => seen.text === "4");
    second.text("2");
    second.end();
    await seen.over;
    expect(seen.text).toBe("42");
    expect((await until(server, id, ...ENDED)).output).toBe(42);
  });

  test("is seen where an endpoint that knows no schema is asked in words", async () => {
    model.replies = [status(400), writing.reply];
    const id = await begin(ask("prompt: Hi, schema: {type: integer}"));
    const seen = follow(id);
    writing.text("4");
    await eventually(() => seen.text === "4");
    writing.text("2");
    writing.end();
    await seen.over;
    expect((await until(server, id, ...ENDED)).output).toBe(42);
    expect(seen.text).toBe("42");
  });

  test("of a run that a killed process had begins again in the next one", async () => {
    const id = await begin();
    const before = follow(id);
    writing.text("Lost ");
    await eventually(() => before.text === "Lost ");
    await server.kill();
    await before.over.catch(() => {});
    await server.restart();
    await eventually(() => writing.count === 2);
    const after = follow(id);
    writing.text("Found");
    await eventually(() => after.text === "Found");
    writing.end();
    await after.over;
    expect((await until(server, id, ...ENDED)).output).toBe("Found");
    expect(new Set(model.asked.map(({ key }) => key)).size).toBe(1);
  });

  test("of a cancelled run ends, and its stream is left", async () => {
    const id = await begin();
    const seen = follow(id);
    writing.text("Never");
    await eventually(() => seen.text === "Never");
    await server.data(CANCEL, { id });
    await seen.over;
    await eventually(() => writing.isClosed);
    expect(seen.events.map(shape).at(-1)).toBe("run cancelled");
  });

  test("that ends like the key begins is shown whole", async () => {
    const id = await begin();
    const seen = follow(id);
    writing.text("You ", `sent ${KEY.slice(0, 9)}`);
    await eventually(() => seen.text === "You sent ");
    writing.end();
    await seen.over;
    const sent = seen.events.map(({ textDelta }) => textDelta?.text ?? "").join("");
    expect(sent).toBe(`You sent ${KEY.slice(0, 9)}`);
    expect((await until(server, id, ...ENDED)).output).toBe(sent);
  });

  test.each([
    ["as it is", [KEY]],
    ["in pieces", [...KEY]],
    ["escaped, in pieces", [...encodeURIComponent(`"${KEY}"`), ...KEY.split("").flatMap((sign) => [...escaped(sign)])]],
    ["in base64", [Buffer.from(KEY).toString("base64").slice(0, 9), Buffer.from(KEY).toString("base64").slice(9)]],
  ])("ends where the endpoint repeats the key: %s", async (_, pieces) => {
    const id = await begin();
    const seen = follow(id);
    writing.text("You sent sk-p", "at. ");
    await eventually(() => seen.text === "You sent sk-pat. ");
    for (const piece of pieces) {
      writing.text(piece);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    writing.text(" and more");
    await eventually(() => seen.text.endsWith("[redacted]"));
    writing.end();
    await seen.over;
    const sent = seen.events.map(({ textDelta }) => textDelta?.text ?? "").join("");
    expect(sent).toMatch(/^You sent sk-pat\. (?:%22)?\[redacted\]$/);
  });
});

const escaped = (sign: string): string => `%${Buffer.from(sign).toString("hex")}`;

describe("a stream", () => {
  test("of very many tiny parts is joined", async () => {
    const id = await begin();
    const seen = follow(id);
    // Who comes after the answer's end finds it in the output alone.
    await eventually(() => seen.events.length > 0);
    const parts = 20_000;
    for (let count = 0; count < parts; count += 500) {
      writing.text(...Array<string>(500).fill("a"));
      await writing.drained();
    }
    writing.end();
    await seen.over;
    expect(seen.text).toBe("a".repeat(parts));
    const { output, revision } = await until(server, id, ...ENDED);
    expect(output).toBe(seen.text);
    expect(revision).toBeLessThan(10);
    expect(seen.events.length).toBeLessThan(parts / 50);
  });

  test("of each of forty runs at a time reaches its own subscriber in few events, and none of it is committed before its end", async () => {
    const all: Writing[] = [];
    model.think = () => {
      const one = new Writing();
      all.push(one);
      return one.reply;
    };
    try {
      const agent = await agentOf(server, ask());
      const ids = await Promise.all(Array.from({ length: 40 }, () => start(server, agent)));
      const seen = ids.map(follow);
      await eventually(() => all.length === ids.length);
      await eventually(() => seen.every(({ events }) => events.some(({ step }) => step?.status === "running")));
      const revisions = await Promise.all(ids.map(async (id) => (await readRun(server, id)).revision));
      const begun = performance.now();
      for (let part = 0; part < 50; part++) {
        for (const one of all) one.text(`${part} `);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await eventually(() => seen.every(({ text }) => text.endsWith("49 ")));
      const most = (performance.now() - begun) / 50 + 2;
      expect(await Promise.all(ids.map(async (id) => (await readRun(server, id)).revision))).toEqual(revisions);
      for (const one of all) one.end();
      await Promise.all(seen.map(({ over }) => over));
      const whole = Array.from({ length: 50 }, (_, part) => `${part} `).join("");
      for (const { events, text } of seen) {
        expect(text).toBe(whole);
        expect(events.filter(({ textDelta }) => textDelta).length).toBeLessThanOrEqual(most);
      }
    } finally {
      model.think = undefined;
    }
  });

  test.each([
    ["breaks off", () => writing.breakOff(), "closed the connection before its answer was complete"],
    ["ends before its answer does", () => writing.breakOff(false), "broke off its answer"],
    [
      "says what went wrong",
      () => writing.send('data: {"error": {"message": "overloaded"}}\n\n'),
      "broke off its answer: overloaded",
    ],
    ["is none", () => writing.send("data: {]\n\n"), "broke off its answer"],
    ["is cut by the model", () => writing.end("length"), "It begins: Half"],
  ])("that %s is an error, and no answer", async (_, end, detail) => {
    const id = await begin();
    const seen = follow(id);
    writing.text("Half");
    await eventually(() => seen.text === "Half");
    end();
    const run = await until(server, id, ...ENDED);
    expect(run).toMatchObject({ status: "failed", error: { detail: expect.stringContaining(detail) } });
  });

  test("that the endpoint refuses is asked for as a whole, and no more from then on", async () => {
    model.replies = [status(400), "Hello", "again"];
    const agent = await agentOf(server, ask());
    for (const output of ["Hello", "again"])
      expect(await until(server, await start(server, agent), ...ENDED)).toMatchObject({ status: "completed", output });
    expect(model.asked.map(({ body }) => body.stream)).toEqual([true, undefined, undefined]);
    const [first, second] = model.asked as [Data, Data];
    expect(second.key).toBe(`${first.key}-whole`);
  });
});
