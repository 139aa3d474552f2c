/** A command that stays for an assistant's calls: whatever ends one of them and whenever, the next has its turn. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { randomFrom } from "../../../../../test/faults/random.ts";
import { SHELL } from "../../../../../test/mcp-commands.ts";
import { realClock } from "../../../lib/clock.ts";
import { newId } from "../../../lib/ids.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { Credentials } from "../http-response.ts";
import { createMcpCommands, type McpCommands } from "./commands.ts";
import { KeptCommands } from "./kept-commands.ts";
import type { Way } from "./reader.ts";
import type { Starts } from "./starts.ts";

const organizationId = newId<"organization">();
const open = (): McpCommands =>
  createMcpCommands({
    allowed: [{ command: SHELL, arguments: undefined, settable: ["TOKEN"] }],
    environment: { PATH: "/usr/bin:/bin" },
    clock: realClock,
  });

function wayOf(signal: AbortSignal, conclude: Way["conclude"]): Way {
  const context = { organizationId, signal, turn: () => undefined, limitMs: 60_000, leftMs: () => 60_000 };
  return {
    context: context as unknown as Way["context"],
    calling: {} as Way["calling"],
    credentials: new Credentials(undefined, undefined),
    searching: (work) => work(),
    conclude,
    keep: async () => {},
  };
}

/** Calls the tool; resolves with the times that it was called, or the reason of its end. */
async function call(
  kept: KeptCommands,
  words: string[],
  given: object,
  signal: AbortSignal,
  { concluded = Promise.resolve(), environment = {} }: { concluded?: Promise<void>; environment?: object } = {},
): Promise<unknown> {
  let said: unknown = "nothing";
  const way = wayOf(signal, async (_, result) => {
    said = result;
    await concluded;
  });
  const asked = {
    method: "tools/call",
    parameters: { name: "count", arguments: given as never },
    client: {},
    idempotencyKey: "k",
  };
  const wanted = { command: SHELL, arguments: words, environment: { ...environment } };
  return kept.ask(wanted, way, asked).then(
    () => said,
    (error: unknown) => error,
  );
}

const openFolder = () => fs.mkdtempDisposableSync(path.join(os.tmpdir(), "autograph-turns-"));
const countsIn = (folder: { path: string }): string[] => ["counts", path.join(folder.path, "server")];
const never = new AbortController().signal;
const saying = (text: string): object => ({ content: [{ text }] });

const ENDS = [{}, {}, { die: true }, { hang: true }];

test("calls that are given up, hang or die at any time: each ends once, and the next is answered", async () => {
  using folder = openFolder();
  const { pick, between } = randomFrom(11);
  const commands = open();
  const words = countsIn(folder);
  for (let round = 0; round < 6; round++) {
    const kept = new KeptCommands(commands);
    const calls = Array.from({ length: 6 }, () => {
      const given = pick(ENDS);
      const isLeft = "hang" in given || between(0, 1) === 0;
      return call(kept, words, given, isLeft ? AbortSignal.timeout(between(0, 400)) : never);
    });
    for (const end of await Promise.all(calls)) expect(end).not.toBe("nothing");
    expect(await call(kept, words, {}, never)).toMatchObject({
      content: [{ text: expect.stringMatching(/^call \d/) }],
    });
    kept[Symbol.dispose]();
    expect(commands.idle.size).toBe(0);
  }
  await expect.poll(() => commands.slots.free).toBe(LIMITS.mcpCommands);
});

test("a call that is given up in the moment of its command's start does not wait for it", async () => {
  const commands = open();
  const left = new AbortController();
  const starts: Pick<Starts, "take" | "start"> = {
    take: async () => true,
    start(_, work) {
      queueMicrotask(() => left.abort(new Error("left")));
      return work();
    },
  };
  using kept = new KeptCommands({ ...commands, starts: starts as Starts });
  expect(await call(kept, ["hangs"], {}, left.signal)).toMatchObject({ message: "left" });
});

test("a command that comes to rest gives its place to who waits for one, and ends with its assistant at the latest", async () => {
  using folder = openFolder();
  const words = countsIn(folder);
  const commands = open();
  const { slots } = commands;
  for (let taken = 1; taken < LIMITS.mcpCommands / 2; taken++) slots.tryTake(organizationId);
  const [one, other] = [new KeptCommands(commands), new KeptCommands(commands)];
  for (const [kept, next] of [
    [one, other],
    [other, one],
  ] as const) {
    const { promise: concluded, resolve: conclude } = Promise.withResolvers<void>();
    const first = call(kept, words, {}, never, { concluded });
    await expect.poll(() => slots.leftOf(organizationId)).toBe(0);
    const waiting = call(next, words, {}, never);
    await expect.poll(() => slots.waiting).toBe(1);
    conclude();
    expect(await first).toMatchObject(saying("call 1 with "));
    expect(await waiting).toMatchObject(saying("call 1 with "));
    next[Symbol.dispose]();
    await expect.poll(() => slots.leftOf(organizationId)).toBe(1);
  }
});

test("an assistant that ends in a call leaves no command behind", async () => {
  using folder = openFolder();
  const commands = open();
  const kept = new KeptCommands(commands);
  const { promise: concluded, resolve: conclude } = Promise.withResolvers<void>();
  const asked = call(kept, countsIn(folder), {}, never, { concluded });
  await expect.poll(() => commands.slots.free).toBe(LIMITS.mcpCommands - 1);
  kept[Symbol.dispose]();
  conclude();
  expect(await asked).toMatchObject(saying("call 1 with "));
  await expect.poll(() => commands.slots.free).toBe(LIMITS.mcpCommands);
  expect(commands.idle.size).toBe(0);
});

test("what a command writes counts from one call to the next: a long conversation has no end", async () => {
  using folder = openFolder();
  using kept = new KeptCommands(open());
  // An argument or a variable of a process has at most 128 KiB.
  const environment = { TOKEN: "x".repeat(100_000) };
  const calls = Math.ceil(LIMITS.outputBytes / environment.TOKEN.length) + 1;
  for (let count = 1; count <= calls; count++)
    expect(await call(kept, countsIn(folder), {}, never, { environment })).toMatchObject(
      saying(`call ${count} with ${environment.TOKEN}`),
    );
});

test("a command that is given another secret is another process", async () => {
  using folder = openFolder();
  using kept = new KeptCommands(open());
  const said = (token: string): Promise<unknown> =>
    call(kept, countsIn(folder), {}, never, { environment: { TOKEN: token } });
  expect(await said("a")).toMatchObject(saying("call 1 with a"));
  expect(await said("a")).toMatchObject(saying("call 2 with a"));
  expect(await said("b")).toMatchObject(saying("call 1 with b"));
});
