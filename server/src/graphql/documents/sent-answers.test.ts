import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { SentAnswers } from "./sent-answers.ts";

test("an answer is a repeat until another is sent, or a thousand other objects were", () => {
  const sent = new SentAnswers();
  expect([1, 1, 2, 1, 1].map((status) => sent.isRepeat("run", { status }))).toEqual([false, true, false, false, true]);
  expect(sent.isRepeat("other", { status: 1 })).toBe(false);
  for (let number = 2; number < LIMITS.answersRemembered; number++) sent.isRepeat(`run ${number}`, {});
  expect(sent.isRepeat("run", { status: 1 })).toBe(true);
  sent.isRepeat("one more", {});
  expect(sent.isRepeat("other", { status: 1 })).toBe(false);
  expect(sent.isRepeat("run", { status: 1 })).toBe(true);
});

test.for([
  [1, 4],
  [LIMITS.answersRemembered, 90],
])("what a subscription remembers of %i objects takes less than %i kB", ([objects, most]) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const held = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const ids = Array.from({ length: objects! }, (_, number) => `run ${number}`);
  const before = held();
  const all = Array.from({ length: 200 }, () => new SentAnswers());
  for (const sent of all) for (const id of ids) sent.isRepeat(id, { id });
  expect((held() - before) / all.length / 1000).toBeLessThan(most!);
  expect(all.every((sent) => sent.isRepeat(ids[0]!, { id: ids[0] }))).toBe(true);
});
