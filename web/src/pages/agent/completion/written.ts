/** Text that a completion writes: the keys that a part of the language must have, with holes for what only the author knows. */
import { alternatives, type Language, type Part } from "./language.ts";

/** Stands for nothing in a text that is offered: the first is where the cursor is then. */
export const HOLE = "\0";

const isOf = ({ type }: Part, name: string): boolean => type === name || (Array.isArray(type) && type[0] === name);

/** The text behind a key of this column and its colon. */
export function writtenAfterKey(language: Language, part: Part, column: number): string {
  const [first = {}] = alternatives(language, part);
  if (first.const !== undefined) return ` ${String(first.const)}`;
  const below = `\n${" ".repeat(column + 2)}`;
  if (isOf(first, "array")) return `${below}- ${HOLE}`;
  if (!isOf(first, "object")) return ` ${HOLE}`;
  const { required = [] } = first;
  return required.length === 0
    ? below + HOLE
    : required.map((key) => below + writtenKey(language, first, key, column + 2)).join("");
}

export const writtenKey = (language: Language, { properties }: Part, key: string, column: number): string =>
  `${key}:${writtenAfterKey(language, properties?.[key] ?? {}, column)}`;

export type TaskForm = { label: string; write: (column: number) => string };

/** Each kind of task with the keys that it must have: by what it calls, or by its keyword and what is below it. */
export const tasksIn = (language: Language, task: Part): readonly TaskForm[] =>
  alternatives(language, task).flatMap((kind): readonly TaskForm[] => {
    const { properties = {}, required = [] } = kind;
    const [keyword, ...others] = required as [string, ...string[]];
    const called = properties["call"]?.const;
    const write = (column: number): string =>
      required.map((key) => writtenKey(language, kind, key, column)).join(`\n${" ".repeat(column)}`);
    if (typeof called === "string") return [{ label: `call: ${called.split(":")[0]!}`, write }];
    const ways = alternatives(language, properties[keyword]!);
    if (others.length > 0 || ways.length < 2 || !ways.every(isOneWay)) return [{ label: keyword, write }];
    return ways.map((way) => ({
      label: `${keyword}: ${way.required![0]!}`,
      write: (column) => `${keyword}:${writtenAfterKey(language, way, column)}`,
    }));
  });

const isOneWay = (part: Part): boolean => isOf(part, "object") && (part.required?.length ?? 0) > 0;
