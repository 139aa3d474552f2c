import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startSink, type Sink } from "./sink.ts";

let sink: Sink;
beforeEach(async () => {
  sink = await startSink();
});
afterEach(() => sink[Symbol.asyncDispose]());

const post = async (path: string, key = "k1", init: RequestInit = {}): Promise<number> => {
  const response = await fetch(sink.url + path, {
    method: "POST",
    body: "{}",
    headers: { "idempotency-key": key },
    ...init,
  });
  await response.text();
  return response.status;
};

it("counts by run and step and keeps the keys", async () => {
  await post("/?run=a&step=1");
  await post("/?run=a&step=1", "k2");
  await post("?run=a&step=2");
  expect(sink.count("a", 1)).toEqual({ run: "a", step: "1", requests: 2, answered: 2, keys: ["k1", "k2"] });
  expect(sink.requests.size).toBe(2);
  const summary = { requests: 3, steps: 2, repeated: 1, keysChanged: 1, waiting: 0, abandoned: 0 };
  expect(sink.summary()).toEqual(summary);
  expect(await (await fetch(`${sink.url}/counts`)).json()).toEqual(summary);
  sink.reset();
  expect(sink.count("a", 1)).toBeUndefined();
});

it("refuses and drops as often as it is set to, for each run and step", async () => {
  const statuses = [];
  for (const step of [1, 1, 1, 2]) statuses.push(await post(`/refuse/2?run=a&step=${step}`));
  expect(statuses).toEqual([503, 503, 200, 503]);
  expect(sink.count("a", 1)).toMatchObject({ requests: 3, answered: 1 });
  await expect(post("/drop/1?run=b&step=1")).rejects.toThrow("fetch failed");
  expect(await post("/drop/1?run=b&step=1")).toBe(200);
  expect(await post("/refuse?run=c&step=1")).toBe(503);
});

it("delays, hangs and sees who goes away", async () => {
  const since = performance.now();
  await post("/delay/60/refuse/1?run=a&step=1");
  expect(performance.now() - since).toBeGreaterThan(55);
  const leaving = new AbortController();
  const hanging = post("/hang?run=b&step=1", "k1", { signal: leaving.signal });
  await expect.poll(() => sink.summary()).toMatchObject({ waiting: 1, abandoned: 0 });
  leaving.abort(new Error("gone"));
  await expect(hanging).rejects.toThrow("gone");
  await expect.poll(() => sink.summary()).toMatchObject({ waiting: 0, abandoned: 1 });
});

it("holds answers until they are let go", async () => {
  const statuses: number[] = [];
  const holding = post("/hold?run=a&step=1").then((status) => statuses.push(status));
  await expect.poll(() => sink.count("a", 1)).toMatchObject({ requests: 1, answered: 0 });
  expect(await post("/?run=a&step=2")).toBe(200);
  expect(statuses).toEqual([]);
  sink.letGo();
  await holding;
  expect(statuses).toEqual([200]);
});

it("runs by itself and prints its counts", async () => {
  const child = spawn(process.execPath, [new URL("sink.ts", import.meta.url).pathname], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Its last lines may be read after it has ended.
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string);
  const { url } = (await next()) as { url: string };
  await (await fetch(`${url}?run=a&step=1`, { method: "POST" })).text();
  child.kill("SIGUSR2");
  expect(await next()).toEqual({ run: "a", step: "1", requests: 1, answered: 1, keys: [] });
  expect(await next()).toMatchObject({ requests: 1, steps: 1 });
  child.kill("SIGTERM");
  expect([await next(), await next()]).toHaveLength(2);
  expect(await exited).toEqual([0, null]);
});
