/**
 * The texts that models are writing, below the steps: their ends on a screen, where the finished step takes their place, and
 * elsewhere their lines, each once it is whole.
 */
import { plainText, type Terminal } from "../line/terminal.ts";
import type { ShownDelta, ShownEvent } from "./watch-run.ts";

/** Lines of a screen: for each text, and for the newest texts together. */
const TEXT_LINES = 6;
const ALL_LINES = 12;
/** A line without an end is printed in parts. */
const MAX_CHARACTERS = 1_000;

/** `printed`: its whole lines, as they were printed. */
type Text = { all: string; printed: string };

export type LiveTexts = Disposable & { take(event: Pick<ShownEvent, "step" | "textDelta">): void };

export function createLiveTexts(terminal: Terminal): LiveTexts {
  const texts = new Map<number, Text>();
  const { show } = terminal;
  const showAll = (): void => {
    const lines = [...texts].flatMap(([number, { all }]) => endOf(terminal, number, all));
    show?.(lines.slice(-ALL_LINES));
  };
  const printLines = (number: number, isOver: boolean): void => {
    const text = texts.get(number)!;
    for (;;) {
      const left = text.all.slice(text.printed.length, text.printed.length + MAX_CHARACTERS);
      const end = left.indexOf("\n");
      if (end < 0 && left.length < MAX_CHARACTERS && (!isOver || left === "")) return;
      const part = left.slice(0, end < 0 ? wholeLength(left) : end);
      terminal.print(lineOf(terminal, number, part));
      text.printed += end < 0 ? part : `${part}\n`;
    }
  };
  return {
    take({ step, textDelta }) {
      if (textDelta) texts.set(textDelta.stepNumber, grown(texts.get(textDelta.stepNumber), textDelta));
      const ended = step && step.status !== "running" && texts.has(step.number) ? step.number : undefined;
      if (!show && textDelta) printLines(textDelta.stepNumber, false);
      if (!show && ended !== undefined) printLines(ended, true);
      if (ended !== undefined) texts.delete(ended);
      if (textDelta ?? ended !== undefined) showAll();
    },
    [Symbol.dispose]: () => show?.([]),
  };
}

/** A text that comes again, as after a cut, is printed once; one that the model begins again is printed again. */
function grown({ all, printed }: Text = { all: "", printed: "" }, { offset, text }: ShownDelta): Text {
  const next = all.slice(0, offset) + text;
  const isSame = next.startsWith(printed) || printed.startsWith(next);
  return { all: next, printed: isSame ? printed : "" };
}

/** Without the half of a character that a full part ends with. */
const wholeLength = (part: string): number =>
  part.length === MAX_CHARACTERS && /[\ud800-\udbff]$/.test(part) ? part.length - 1 : part.length;

/** `  3 | Once upon a time`. */
const lineOf = ({ dim }: Terminal, number: number, text: string): string =>
  dim(`${marginOf(number)}${plainText(spaced(text))}`);
const marginOf = (number: number): string => `${String(number).padStart(3)} | `;
const spaced = (text: string): string => text.replace(/\r$/, "").replaceAll("\t", "  ");

/** The last lines of a text, as wide as the screen. */
function endOf(terminal: Terminal, number: number, text: string): string[] {
  const columns = Math.max(1, terminal.shownColumns - marginOf(number).length);
  const end = text.slice(-TEXT_LINES * columns).toWellFormed();
  const lines = end.split("\n").flatMap((line) => wrapped(plainText(spaced(line)), columns));
  return lines.slice(-TEXT_LINES).map((line) => lineOf(terminal, number, line));
}

/** Han, Hangul, emoji and their like take two columns; some that are counted so take one. */
const FIRST_WIDE = 0x11_00;

function wrapped(text: string, columns: number): string[] {
  const lines = [""];
  let left = columns;
  for (const character of text) {
    const width = character.codePointAt(0)! < FIRST_WIDE ? 1 : 2;
    if (width > left && lines.at(-1) !== "") {
      lines.push("");
      left = columns;
    }
    lines[lines.length - 1] += character;
    left -= width;
  }
  return lines;
}
