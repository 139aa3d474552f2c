import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import { ownerCaller, type Caller } from "../../auth/caller.ts";
import { newId } from "../../lib/ids.ts";
import { createCredentialWatch } from "./credential-watch.ts";

const LOOK_MS = 4_000;

/** `read` answers whether a key is still good. */
function world(read: (keyId: string) => Promise<boolean>) {
  const clock = testClock();
  const warnings: unknown[] = [];
  const byId = async (organizationId: string, keyId: string): Promise<Caller | undefined> =>
    (await read(keyId)) ? keyCaller(organizationId, keyId) : undefined;
  const auth = { clock, keys: { byId }, log: { warn: (...said: unknown[]) => warnings.push(said) } } as unknown as Auth;
  return { clock, warnings, watch: createCredentialWatch(auth) };
}

const keyCaller = (organizationId: string, keyId: string): Caller => ({
  ...ownerCaller(organizationId as never, { id: newId(), name: "Ada" }),
  credential: { kind: "key", keyId: keyId as never },
});

test("2,000 credentials are looked at side by side: ten at a time, which with 5 ms for each is within a second", async () => {
  let [looking, most] = [0, 0];
  const { clock, watch } = world(async () => {
    most = Math.max(most, ++looking);
    await sleep(1);
    looking--;
    return false;
  });
  const ended: number[] = [];
  for (let index = 0; index < 2_000; index++) watch.watch(keyCaller(newId(), newId()), () => ended.push(index));
  clock.pass(LOOK_MS);
  await vi.waitFor(() => expect(ended).toHaveLength(2_000), 60_000);
  expect(most).toBeGreaterThanOrEqual(10);
  await watch[Symbol.asyncDispose]();
});

test("one that cannot be looked at holds up no other, and is looked at again", async () => {
  let isDown = true;
  const bad = newId();
  const { clock, watch, warnings } = world(async (keyId) => {
    if (keyId === bad && isDown) throw new Error("connection lost");
    return false;
  });
  const ended: string[] = [];
  for (const id of [bad, newId()]) watch.watch(keyCaller(newId(), id), () => ended.push(id));
  clock.pass(LOOK_MS);
  await sleep(0);
  expect(ended).toHaveLength(1);
  expect(warnings).toHaveLength(1);
  isDown = false;
  clock.pass(LOOK_MS);
  await sleep(0);
  expect(ended.at(-1)).toBe(bad);
  await watch[Symbol.asyncDispose]();
});

test("two of one credential, of which one began before it changed: that one ends, whichever is first", async () => {
  for (const isOlderFirst of [true, false]) {
    const { clock, watch } = world(async () => true);
    const now = keyCaller(newId(), newId());
    const older: Caller = { ...now, scopes: new Set(["runs:read"]) };
    const ended: Caller[] = [];
    for (const caller of isOlderFirst ? [older, now] : [now, older]) watch.watch(caller, () => ended.push(caller));
    clock.pass(LOOK_MS);
    await sleep(0);
    expect(ended).toEqual([older]);
    await watch[Symbol.asyncDispose]();
  }
});

test("what reaches something else than when it began ends too", async () => {
  const { clock, watch } = world(async () => true);
  const now = keyCaller(newId(), newId());
  const narrowed: Caller = { ...now, reach: { projectIds: [newId()], agentIds: [], shownProjectIds: [] } };
  const ended = new Promise((resolve) => void watch.watch(narrowed, () => resolve("ended")));
  clock.pass(LOOK_MS);
  expect(await ended).toBe("ended");
  await watch[Symbol.asyncDispose]();
});
