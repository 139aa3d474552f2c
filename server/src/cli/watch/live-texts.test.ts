import { expect, test } from "vitest";
import { createTerminal, type Terminal } from "../line/terminal.ts";
import { createLiveTexts } from "./live-texts.ts";
import type { ShownEvent, ShownStep } from "./watch-run.ts";

const delta = (text: string, offset = 0, stepNumber = 1) =>
  ({ step: null, textDelta: { stepNumber, offset, text } }) satisfies Partial<ShownEvent>;
const step = (status: ShownStep["status"], number = 1) => ({ step: { number, status } as ShownStep });

/** A screen so wide; `lines` are those that somebody sees after all that was written. */
function screen(columns: number): { terminal: Terminal; lines: () => string[]; written: () => string } {
  let written = "";
  const write = (text: string): boolean => Boolean((written += text));
  const stream = { isTTY: true, columns, write } as unknown as NodeJS.WriteStream;
  const terminal = createTerminal({ stdout: stream, stderr: stream, environment: { NO_COLOR: "1" } });
  const lines = (): string[] => {
    const seen: string[] = [""];
    let at = 0;
    for (const [part, up] of written.matchAll(/\u001b\[(\d+)A|\u001b\[J|\n|[^\u001b\n]+/g)) {
      if (up !== undefined) at -= Number(up);
      else if (part === "\n") at++;
      else if (part === "\u001b[J") seen.length = at;
      else seen[at] = part;
    }
    return seen;
  };
  return { terminal, lines, written: () => written };
}

function printed(): { terminal: Terminal; lines: () => string[] } {
  const lines: string[] = [];
  const write = (text: string): boolean => Boolean(lines.push(text.replace(/\n$/, "")));
  const stream = { isTTY: false, write } as unknown as NodeJS.WriteStream;
  return { terminal: createTerminal({ stdout: stream, stderr: stream, environment: {} }), lines: () => lines };
}

test("a text grows below the steps of a screen, and the finished step takes its place", () => {
  const { terminal, lines } = screen(20);
  using texts = createLiveTexts(terminal);
  terminal.print("step 1 is running");
  texts.take(delta("Once upon a time there"));
  expect(lines()).toEqual(["step 1 is running", "  1 | Once upon a t", "  1 | ime there"]);
  texts.take(delta(" was\nan end", 22));
  terminal.say("connection lost");
  const seen = ["step 1 is running", "connection lost"];
  expect(lines()).toEqual([...seen, "  1 | Once upon a t", "  1 | ime there was", "  1 | an end"]);
  texts.take(delta("Other", 0, 2));
  texts.take(step("completed"));
  terminal.print("step 1 is completed");
  expect(lines()).toEqual([...seen, "step 1 is completed", "  2 | Other"]);
  texts[Symbol.dispose]();
  expect(lines()).toEqual([...seen, "step 1 is completed"]);
});

test("of long texts a screen shows the last lines, none wider than it is, whatever characters they have", () => {
  const { terminal, lines, written } = screen(16);
  using texts = createLiveTexts(terminal);
  texts.take(delta(`${"word ".repeat(1_000)}\u001b[2J\u009b31m\u0007\ttab\r\n\u202eturned\n漢字漢字漢字漢字 🦜🦜🦜`));
  const shown = lines();
  expect(shown).toHaveLength(6);
  expect(shown.slice(-3)).toEqual(["  1 | 漢字漢字", "  1 | 漢字漢字 ", "  1 | 🦜🦜🦜"]);
  expect(shown.join("\n")).toContain("?turned");
  expect(written().replaceAll(/\u001b\[(\d+A|J)/g, "")).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test("of many texts a screen shows the newest lines, and one whose step goes on stays", () => {
  const { terminal, lines } = screen(20);
  using texts = createLiveTexts(terminal);
  for (const number of [1, 2, 3]) texts.take(delta("a\nb\nc\nd\ne", 0, number));
  texts.take(step("running", 3));
  const of = (number: number, signs: string): string[] => [...signs].map((sign) => `  ${number} | ${sign}`);
  expect(lines()).toEqual([...of(1, "de"), ...of(2, "abcde"), ...of(3, "abcde")]);
});

test("a screen that is narrower than the margin shows a character a line", () => {
  const { terminal, lines } = screen(4);
  using texts = createLiveTexts(terminal);
  texts.take(delta("abcdefgh"));
  expect(lines()).toEqual([..."cdefgh"].map((sign) => `  1 | ${sign}`));
});

test("elsewhere each line is printed once, when it is whole, also after a cut, and again when the model begins again", () => {
  const { terminal, lines } = printed();
  using texts = createLiveTexts(terminal);
  texts.take(delta("One\nTwo\u001b[1"));
  texts.take(delta("One\nTwo\u001b[1A, and", 0));
  texts.take(delta(" more\r\nThr", 16));
  expect(lines()).toEqual(["  1 | One", "  1 | Two?[1A, and more"]);
  texts.take(step("completed"));
  expect(lines().slice(2)).toEqual(["  1 | Thr"]);
  texts.take(delta("Uno\n"));
  texts.take(delta("Eins\n", 0));
  texts.take(delta("x".repeat(2_500), 5));
  texts.take(step("failed"));
  expect(
    lines()
      .slice(3)
      .map((line) => line.slice(6, 10)),
  ).toEqual(["Uno", "Eins", "xxxx", "xxxx", "xxxx"]);
});

test("elsewhere a text that begins again shorter loses nothing of what follows", () => {
  const { terminal, lines } = printed();
  using texts = createLiveTexts(terminal);
  texts.take(delta("One\nTwo\n"));
  texts.take(delta("One"));
  texts.take(delta("\nThree\nFour\n", 3));
  expect(lines().map((line) => line.slice(6))).toEqual(["One", "Two", "One", "Three", "Four"]);
  texts.take(delta("One\nThr"));
  texts.take(delta("ee\nFour\nFive\n", 7));
  expect(lines().map((line) => line.slice(6))).toEqual(["One", "Two", "One", "Three", "Four", "Five"]);
});

test("elsewhere a long line is never parted inside a character", () => {
  const { terminal, lines } = printed();
  using texts = createLiveTexts(terminal);
  const line = `a${"\u{1f600}".repeat(1_200)}`;
  for (let at = 0; at < line.length; at += 7) texts.take(delta(line.slice(at, at + 7), at));
  texts.take(step("completed"));
  const parts = lines().map((part) => part.slice(6));
  expect(parts.join("")).toBe(line);
  expect(parts.every((part) => part.isWellFormed())).toBe(true);
  expect(parts.map((part) => part.length)).toEqual([999, 1_000, 402]);
});
