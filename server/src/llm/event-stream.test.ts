/** A stream on its way from the wire to the package: who waits for whom, and that each goes on. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { randomFrom } from "../../../test/faults/random.ts";
import { Beats } from "../fairness/pace.ts";
import { LIMITS } from "../lib/limits.ts";
import { EventStream } from "./event-stream.ts";

const KIB = 1_024;
/** An event of so many bytes. */
const event = (bytes: number): string => `data: "${"x".repeat(bytes - 10)}"\n\n`;

/** Whether the promise is fulfilled by the time that everything else stands still. */
async function isFulfilled(promise: Promise<unknown>): Promise<boolean> {
  let isSo = false;
  void promise.then(() => (isSo = true));
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  return isSo;
}

test("the wire waits while 64 KiB are unread, and goes on as soon as there are fewer", async () => {
  const stream = new EventStream({ host: "model", turn: undefined, beats: new Beats(testClock()), left: () => {} });
  const reader = stream.body.getReader();
  expect(stream.take(Buffer.from(event(KIB).repeat(48)))).toBe(undefined);
  const waiting = stream.take(Buffer.from(event(KIB).repeat(48)))!;
  for (let left = 96 * KIB; left >= 64 * KIB;) {
    expect(await isFulfilled(waiting)).toBe(false);
    left -= (await reader.read()).value!.length;
  }
  expect(await isFulfilled(waiting)).toBe(true);
});

test("an event that is known waits until the package has read those before it", async () => {
  const stream = new EventStream({ host: "model", turn: undefined, beats: new Beats(testClock()), left: () => {} });
  const reader = stream.body.getReader();
  const texts: string[] = [];
  stream.onKnown = ({ text }) => void texts.push(text);
  const come = (text: string): void => void stream.take(Buffer.from(`data: {"said":"${text}"}\n\n`));
  const packageReads = (text: string): void => {
    stream.known.began({ said: text });
    stream.known.made({ type: "text-delta", delta: text });
  };
  for (const text of ["a", "b", "c"]) come(text);
  await reader.read();
  for (const text of ["a", "b"]) packageReads(text);
  come("d");
  const more = reader.read();
  expect([await isFulfilled(more), texts]).toEqual([false, []]);
  packageReads("c");
  expect([await isFulfilled(more), texts]).toEqual([false, ["d"]]);
});

test("an answer whose event is too large is left", async () => {
  let times = 0;
  const stream = new EventStream({
    host: "model",
    turn: undefined,
    beats: new Beats(testClock()),
    left: () => times++,
  });
  void stream.take(Buffer.from(`data: [${"0,".repeat(LIMITS.modelAnswerValues)}0]\n\n`));
  const reader = stream.body.getReader();
  await reader.read();
  await expect(reader.read()).rejects.toThrow();
  expect(times).toBe(1);
});

test("in any order of pieces, turns, reads and ends, all texts are read in order, and nobody waits for good", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { next, between, pick } = randomFrom(seed);
    const pause = async (most: number): Promise<void> => {
      for (let left = between(0, most); left > 0; left--) await nextTurn();
    };
    const end = pick(["whole", "broken", "left"]);
    const texts = Array.from({ length: between(1, 200) }, (_, at) => `${at} `.padEnd(between(1, 800), "x"));
    const sent = texts.map((text) => `data: "${text}"\n\n`).join("");
    // A request whose answer is not wanted any longer ends, also while it waits.
    const gone = new AbortController();
    const left = new Promise((resolve) => gone.signal.addEventListener("abort", resolve));
    let moves = 0;
    let got = "";
    const take = (text: string): void => {
      got += text;
      moves++;
    };
    const turn = (): Promise<void> | undefined => (next() < 0.3 ? pause(3) : undefined);
    const clock = testClock();
    const stream = new EventStream({ host: "model", turn, beats: new Beats(clock), left: () => gone.abort() });
    stream.onKnown = ({ text }) => take(text);
    const wire = async (): Promise<void> => {
      const cut = (one: string): string[] => (next() < 0.2 ? cutAt(one, () => between(1, 300)) : [one]);
      const pieces = next() < 0.7 ? sent.split(/(?<=\n\n)/).flatMap(cut) : cutAt(sent, () => between(1, 40 * KIB));
      let bytes = 0;
      for (const piece of pieces) {
        if (gone.signal.aborted) break;
        await Promise.race([stream.take(Buffer.from(piece)), left]);
        moves++;
        await pause(2);
        bytes += piece.length;
        if (next() < 0.9) continue;
        // All whole events are read soon.
        await stands(() => moves, clock);
        const come = sent.slice(0, bytes).split("\n\n").length - 1;
        if (!gone.signal.aborted) expect(got).toBe(texts.slice(0, come).join(""));
      }
      if (end === "broken") stream.fail(new Error("broken"));
      else stream.end();
    };
    const packageReads = async (): Promise<void> => {
      const reader = stream.body.getReader();
      let rest = "";
      for (let reads = between(0, 4); ; reads--) {
        if (end === "left" && reads === 0) {
          await reader.cancel();
          expect(gone.signal.aborted).toBe(true);
        }
        const { done, value } = await reader.read();
        if (done) return;
        rest += Buffer.from(value).toString();
        for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
          const said = JSON.parse(rest.slice("data: ".length, at)) as string;
          rest = rest.slice(at + 2);
          stream.known.began(said);
          stream.known.made({ type: "text-delta", delta: said });
          take(said);
          if (next() < 0.1) await pause(2);
        }
      }
    };
    const both = Promise.allSettled([wire(), packageReads()]);
    const [wired, read] = (await Promise.race([both, stands(() => moves, clock, 400)])) ?? [];
    expect(wired, `seed ${seed}: somebody waits for good`).toMatchObject({ status: "fulfilled" });
    const whole = texts.join("");
    if (end === "whole") expect([read!.status, got]).toEqual(["fulfilled", whole]);
    if (end === "broken") expect(read).toMatchObject({ reason: { message: "broken" } });
    if (end === "left") expect(read).toMatchObject({ status: "fulfilled" });
    expect(whole.slice(0, got.length)).toBe(got);
  }
});

function cutAt(text: string, length: () => number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieces.at(-1)!.length) pieces.push(text.slice(at, at + length()));
  return pieces;
}

/** Resolves when nothing has moved for long. */
async function stands(moves: () => number, clock: TestClock, most = 40): Promise<undefined> {
  let seen = -1;
  for (let left = most; left > 0; left--) {
    if (moves() !== seen) left = most;
    seen = moves();
    clock.pass(2);
    await nextTurn();
  }
}
