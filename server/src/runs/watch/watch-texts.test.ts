import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { LiveTexts } from "../../execution/live-text.ts";
import { newId } from "../../lib/ids.ts";
import { Wakeup } from "../../realtime/stream.ts";
import type { Runs } from "../handle/runs.ts";
import { WatchedTexts, type TextDelta } from "./watch-texts.ts";

test("a text that ends while it is looked at is sent once, as its last part", async () => {
  const runId = newId<"run">();
  const texts = new LiveTexts();
  const clock = testClock();
  const runs = { executions: { texts }, clock } as unknown as Runs;
  const kept: TextDelta[] = [];
  using watched = new WatchedTexts(runs, runId, new Wakeup(), (last) => kept.push(last));
  const text = texts.open(runId, 1, function* () {
    yield;
    return { look: ({ length }) => ({ clean: length, instead: undefined }) };
  });
  text.add("Hello");
  const sent: TextDelta[] = [];
  for await (const delta of watched.due(() => undefined)) sent.push(delta);
  text.add(" world");
  // Long after the first part.
  clock.pass(1_000);
  for await (const delta of watched.due(() => undefined)) sent.push(delta);
  text.add("!");
  clock.pass(1_000);
  const looking = watched.due(() => undefined);
  const next = looking.next();
  text.complete();
  text[Symbol.dispose]();
  expect((await next).done).toBe(true);
  expect([...sent, ...kept].map((delta) => delta.text).join("")).toBe("Hello world!");
  expect(kept).toHaveLength(1);
});
