import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Feeds } from "./feed.ts";
import { Hub } from "./hub.ts";

type Message = { id: string; text: number };

function setUp(most = 100) {
  const hub = new Hub<Message>();
  const feeds = new Feeds<Message>({ hub, keyOf: ({ id }) => id, most });
  const open = (topic = "a") => {
    const counts = { notices: 0, losses: 0 };
    const reader = feeds.open(topic, { notify: () => counts.notices++, lose: () => counts.losses++ });
    return { reader, counts, read: () => Array.from(reader.round(), ({ id, text }) => `${id}${text}`) };
  };
  let text = 0;
  const tell = (...ids: string[]): void => ids.forEach((id) => hub.publish("a", { id, text: ++text }));
  return { hub, open, tell };
}

test("each reads what has come since it began, every key in its newest state and once, in their order", () => {
  const { open, tell } = setUp();
  const first = open();
  tell("x", "y", "x");
  const second = open();
  const other = open("b");
  tell("z");
  expect([first.read(), second.read(), other.read()]).toEqual([["y2", "x3", "z4"], ["z4"], []]);
  tell("y");
  expect([first.read(), first.read(), second.read()]).toEqual([["y5"], [], ["y5"]]);
});

test("what changes again during a round waits for the next one, also behind what is tidied away meanwhile", () => {
  const { open, tell } = setUp(10_000);
  const slow = open();
  tell("x", "y", "z");
  const round = slow.reader.round();
  expect(round.next().value).toEqual({ id: "x", text: 1 });
  for (let time = 0; time < 1_500; time++) tell("x", "y");
  expect(Array.from(round)).toEqual([{ id: "z", text: 3 }]);
  expect(slow.read()).toEqual(["x3002", "y3003"]);
});

test("one notice for a round, however much comes; and another for what comes after the round began", () => {
  const { open, tell } = setUp();
  const { counts, reader } = open();
  tell("x", "y");
  expect(counts.notices).toBe(1);
  const round = reader.round();
  round.next();
  tell("x", "y");
  expect(counts.notices).toBe(2);
});

test("of thousands of readers some are notified in a tick of the event loop, and each in the end", async () => {
  const { open, tell } = setUp();
  const all = Array.from({ length: 1_200 }, () => open());
  const notified = (): number => all.filter(({ counts }) => counts.notices === 1).length;
  tell("x");
  tell("y");
  const turns = [notified()];
  for (let turn = 0; turn < 2; turn++) turns.push((await nextTurn(), notified()));
  expect(turns).toEqual([500, 1_000, 1_200]);
  expect(all.at(-1)!.read()).toEqual(["x1", "y2"]);
});

test("for whom more waits than may is over, who has read it is not, and keeps reading", () => {
  const { open, tell } = setUp(100);
  const [slow, quick] = [open(), open()];
  const ids = Array.from({ length: 100 }, (_, index) => `r${index}`);
  tell(...ids);
  expect(quick.read()).toHaveLength(100);
  tell("r0", "r1");
  expect([slow.counts.losses, quick.counts.losses]).toEqual([0, 0]);
  tell("new");
  expect([slow.counts.losses, quick.counts.losses]).toEqual([1, 0]);
  expect(quick.read()).toEqual(["r0101", "r1102", "new103"]);
  tell("new");
  expect(quick.read()).toEqual(["new104"]);
});

test("when the last reader has left nobody listens any longer, and a later reader starts over", () => {
  const { hub, open, tell } = setUp();
  const { reader, counts } = open();
  expect(hub.hasListeners("a")).toBe(true);
  reader[Symbol.dispose]();
  reader[Symbol.dispose]();
  expect(hub.hasListeners("a")).toBe(false);
  tell("x");
  expect(counts.notices).toBe(0);
  const next = open();
  tell("y");
  expect(next.read()).toEqual(["y2"]);
});
