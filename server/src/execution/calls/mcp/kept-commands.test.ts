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
    allowed: [{ command: SHELL, arguments: undefined, settable: [] }],
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
async function call(kept: KeptCommands, words: string[], given: object, signal: AbortSignal): Promise<unknown> {
  let said: unknown = "nothing";
  const way = wayOf(signal, async (_, result) => void (said = result));
  const asked = {
    method: "tools/call",
    parameters: { name: "count", arguments: given as never },
    client: {},
    idempotencyKey: "k",
  };
  const wanted = { command: SHELL, arguments: words, environment: {} };
  return kept.ask(wanted, way, asked).then(
    () => said,
    (error: unknown) => error,
  );
}

const ENDS = [{}, {}, { die: true }, { hang: true }];

test("calls that are given up, hang or die at any time: each ends once, and the next is answered", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-turns-"));
  const { pick, between } = randomFrom(11);
  const commands = open();
  const words = ["counts", path.join(folder, "server")];
  for (let round = 0; round < 6; round++) {
    const kept = new KeptCommands(commands);
    const never = new AbortController().signal;
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
  fs.rmSync(folder, { recursive: true, force: true });
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
