import { expect, test } from "vitest";
import { Refusal } from "../lib/errors.ts";
import { createTurns, type TurnOptions, type Turns, type Who } from "./turns.ts";

const options: TurnOptions = {
  atOnce: 1,
  waiting: 6,
  waitingPerGroup: 4,
  refusal: () => new Refusal("RATE_LIMITED", "too many", { retryAfter: 1 }),
};

/** Work that ends when told to; `started` has the names in the order of their turns. */
function world(turns: Turns) {
  const started: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];
  return {
    started,
    refused,
    ask: (name: string, who: Who): void => {
      turns(who, async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
      }).catch(() => refused.push(name));
    },
    /** Ends running work, one after the other, until none is left. */
    async finish(): Promise<string[]> {
      for (let end = ends.shift(); end; end = ends.shift()) {
        end();
        for (let tick = 0; tick < 10; tick++) await Promise.resolve();
      }
      return started;
    },
  };
}

const stranger = (group: string): Who => ({ group, isKnown: false });
const known = (group: string): Who => ({ group, isKnown: true });

test("groups take turns", async () => {
  const { ask, finish } = world(createTurns(options));
  for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) ask(name, stranger(name[0]!));
  expect(await finish()).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("known ones go first, and every fourth turn is a stranger's", async () => {
  const { ask, finish } = world(createTurns({ ...options, waiting: 10, waitingPerGroup: 10 }));
  for (const name of ["x", "s1", "s2", "s3"]) ask(name, stranger("s"));
  for (const name of ["k1", "k2", "k3", "k4", "k5"]) ask(name, known("k"));
  expect(await finish()).toEqual(["x", "k1", "k2", "k3", "s1", "k4", "k5", "s2", "s3"]);
});

test("beyond what may wait the last of the longest group gives way, else the new one is refused", async () => {
  const { ask, finish, refused } = world(createTurns(options));
  for (const name of ["x", "a1", "a2", "a3", "a4"]) ask(name, stranger("a"));
  ask("a5", stranger("a"));
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
  expect(refused).toEqual(["a5"]);
  for (const name of ["b1", "b2", "c1", "d1", "e1", "f1", "g1"]) ask(name, stranger(name[0]!));
  ask("k1", known("k"));
  expect(await finish()).toEqual(["x", "k1", "a1", "b1", "c1", "d1", "e1", "f1"]);
  expect(refused).toEqual(["a5", "a4", "a3", "a2", "b2", "g1"]);
});

test("what fails frees its turn", async () => {
  const turns = createTurns({ ...options, waiting: 0 });
  await expect(turns(known("a"), () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await turns(known("a"), async () => "next")).toBe("next");
});
