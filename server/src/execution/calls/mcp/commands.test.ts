/** Commands that are started as MCP servers: their environment, and what a start that fails leaves. */
import { expect, test } from "vitest";
import { realClock } from "../../../lib/clock.ts";
import { newId } from "../../../lib/ids.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { Credentials } from "../http-response.ts";
import { createMcpCommands, withCommand } from "./commands.ts";
import type { Answer } from "./conversation.ts";
import { readerOf, type Way } from "./reader.ts";

const SHELL = "/bin/sh";
const organizationId = newId<"organization">();
const allowed = [{ command: SHELL, arguments: undefined, settable: ["GREETING"] }];
const environment = { GREETING: "the operator's", PATH: "/usr/bin:/bin" };

function wayOf(own: Partial<Way> = {}): Way {
  const context = {
    organizationId,
    signal: new AbortController().signal,
    turn: () => undefined,
    limitMs: 60_000,
    leftMs: () => 60_000,
  };
  return {
    context: context as unknown as Way["context"],
    calling: {} as Way["calling"],
    credentials: new Credentials(undefined, undefined),
    searching: (work) => work(),
    conclude: async () => {},
    keep: async () => {},
    ...own,
  };
}

const SAYS = `read -r line; printf '{"jsonrpc":"2.0","id":1,"result":{"said":"%s"}}\\n' "$GREETING"`;

/** The answer of the command to a first question. */
async function said(variables: Record<string, string>): Promise<unknown> {
  const commands = createMcpCommands({ allowed, environment, clock: realClock });
  let answered: Answer | undefined;
  const started = { command: SHELL, arguments: ["-c", SAYS], environment: variables };
  await withCommand(commands, started, wayOf(), (line) =>
    line.post({ id: 1, body: { jsonrpc: "2.0", id: 1, method: "ping" } } as never, async (answer) => {
      answered = answer;
    }),
  );
  return JSON.parse(Buffer.from(answered!.response.body).toString()).result.said;
}

test("a variable that the definition may set takes the place of the operator's", async () => {
  expect(await said({})).toBe("the operator's");
  expect(await said({ GREETING: "the author's" })).toBe("the author's");
});

test("a command that can't be started gives its slot back", async () => {
  const commands = createMcpCommands({ allowed, environment, clock: realClock });
  const started = { command: SHELL, arguments: ["x".repeat(300_000)], environment: {} };
  await expect(withCommand(commands, started, wayOf(), async () => {})).rejects.toMatchObject({
    fields: { detail: expect.stringContaining("too large") },
  });
  expect(commands.slots.free).toBe(LIMITS.mcpCommands);
});

test.each(["slots", "starts"] as const)(
  "a call that found none of the %s in its time says that nothing was started",
  async (what) => {
    const commands = createMcpCommands({ allowed, environment, clock: realClock });
    const signal = new AbortController().signal;
    for (let free = what === "slots" ? LIMITS.mcpCommands / 2 : 1; free > 0; free--)
      await commands[what].take(organizationId, signal);
    const way = wayOf();
    Object.assign(way.context, { limitMs: 50, leftMs: () => 50 });
    const started = { command: SHELL, arguments: [], environment: {} };
    await expect(withCommand(commands, started, way, async () => {})).rejects.toMatchObject({
      fields: {
        type: expect.stringMatching(/timeout$/),
        detail: "/bin/sh was not started: no place for it was free within 0.05 s",
      },
    });
  },
);

test("who finds no place has that of the command that is idle longest; at its share, of its own", async () => {
  const commands = createMcpCommands({ allowed, environment, clock: realClock });
  const { slots, idle } = commands;
  const other = newId<"organization">();
  const left: string[] = [];
  for (const [name, owner] of [
    ["other's", other],
    ["first", organizationId],
    ["second", organizationId],
  ] as const) {
    const one = { organizationId: owner, leave: () => void (idle.delete(one), left.push(name)) };
    idle.add(one);
  }
  const call = async (): Promise<string[]> => {
    const way = wayOf();
    Object.assign(way.context, { limitMs: 50, leftMs: () => 50 });
    const started = { command: SHELL, arguments: [], environment: {} };
    await expect(withCommand(commands, started, way, async () => {})).rejects.toThrow();
    return left;
  };
  for (let taken = 0; taken < LIMITS.mcpCommands / 2; taken++) slots.tryTake(organizationId);
  expect(await call()).toEqual(["first"]);
  for (let taken = 0; taken < LIMITS.mcpCommands / 2; taken++) slots.tryTake(other);
  slots.release(organizationId);
  slots.tryTake(newId<"organization">());
  expect(await call()).toEqual(["first", "other's"]);
});

test("an answer is kept once it was concluded, and no other", async () => {
  let kept = 0;
  const way = wayOf({ keep: async () => void kept++ });
  const reader = readerOf(way, () => {});
  const response = { status: 200, statusText: "", url: "", headers: {}, setCookies: [], body: Buffer.alloc(0) };
  const answer: Answer = { from: SHELL, response, reply: {} };
  await reader.read(
    async () => answer,
    async () => {},
  );
  expect(kept).toBe(0);
  await reader.read(
    async () => answer,
    (one) => reader.conclude(one, {}),
  );
  expect(kept).toBe(1);
  await reader.read(
    async () => answer,
    async () => {},
  );
  expect(kept).toBe(1);
});
