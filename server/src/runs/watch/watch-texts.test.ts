import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { LiveTexts } from "../../execution/live-text.ts";
import { newId } from "../../lib/ids.ts";
import { Beats } from "../../fairness/pace.ts";
import { Wakeup } from "../../realtime/stream.ts";
import type { Runs } from "../handle/runs.ts";
import { WatchedTexts, type TextDelta } from "./watch-texts.ts";

test("a text that ends while it is looked at is sent once, as its last part", async () => {
  const runId = newId<"run">();
  const clock = testClock();
  const texts = new LiveTexts(new Beats(clock));
  const runs = { executions: { texts }, clock } as unknown as Runs;
  const kept: TextDelta[] = [];
  using watched = new WatchedTexts(runs, runId, new Wakeup(), (last) => kept.push(last));
  const text = texts.open(runId, 1, function* () {
    yield;
    return { look: ({ length }) => ({ clean: length, instead: undefined }) };
  });
  text.add("Hello");
  const sent: TextDelta[] = [];
  const send = async (): Promise<void> => {
    for (const due of watched.due()) {
      await due.look(() => undefined);
      sent.push(watched.take(due)!);
    }
  };
  await send();
  text.add(" world");
  // Long after the first part.
  clock.pass(1_000);
  await send();
  text.add("!");
  clock.pass(1_000);
  const [due] = watched.due();
  const looking = due!.look(() => undefined);
  text.complete();
  text[Symbol.dispose]();
  await looking;
  expect(watched.take(due!)).toBeUndefined();
  expect([...sent, ...kept].map((delta) => delta.text).join("")).toBe("Hello world!");
  expect(kept).toHaveLength(1);
});
