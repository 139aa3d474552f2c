import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { newId } from "../lib/ids.ts";
import { Beats } from "../fairness/pace.ts";
import { LiveTexts } from "./live-text.ts";

test("the search for secrets is made once, however many readers come before it is there", async () => {
  let made = 0;
  const texts = new LiveTexts(new Beats(testClock()));
  using text = texts.open(newId(), 1, function* () {
    made++;
    yield;
    return { look: ({ length }) => ({ clean: length, instead: undefined }) };
  });
  text.add("Hello");
  const turns: (() => void)[] = [];
  const turn = (): Promise<void> => new Promise((resolve) => turns.push(resolve));
  const looks = Promise.all(Array.from({ length: 100 }, async () => text.look(turn)));
  while (text.from(0) === "") {
    await Promise.resolve();
    turns.shift()?.();
  }
  await looks;
  expect(text.from(0)).toBe("Hello");
  expect(made).toBe(1);
});

test("a character that comes in two halves is shown when it is whole", async () => {
  using text = new LiveTexts(new Beats(testClock())).open(newId(), 1, () => undefined);
  const shown = async (more: string): Promise<string> => {
    text.add(more);
    await text.look(async () => {});
    return text.from(0);
  };
  expect(await shown("Hi \ud83d")).toBe("Hi ");
  expect(await shown("\ude00")).toBe("Hi \u{1f600}");
});
