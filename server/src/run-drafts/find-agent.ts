/** The agent that a sentence names, among those that the caller reaches. */
import type { Steps } from "../fairness/slices.ts";
import { wordsOf } from "./fields/sentence.ts";
import { tokensOf } from "./words/tokens.ts";
import { FILLERS, isNear, stem, synonymsOf } from "./words/words.ts";

export type Named = { name: string; handle: string };

/** Half of an agent's words must be there. */
const LEAST = 0.5;

/** Some 50 ms. A thousand agents and a sentence of a hundred words take 10,000. */
const COMPARISONS = 150_000;

/** Undefined: none, several alike, or too many words to compare. */
export function* findAgent<A extends Named>(agents: readonly A[], text: string): Steps<A | undefined> {
  const said = new Set(tokensOf(text).flatMap(({ kind, word }) => (kind === "word" ? partsOf(word) : [])));
  for (const filler of FILLERS) said.delete(filler);
  /** By their first letter: no others are near. */
  const saidBy = Map.groupBy(said, (word) => word[0]);
  let left = COMPARISONS;
  /** By a word of an agent's name: whether the sentence has it. Agents share many. */
  const known = new Map<string, boolean>();
  const isSaid = (word: string): boolean => {
    let isThere = known.get(word);
    if (isThere === undefined) {
      const alike = saidBy.get(word[0]) ?? [];
      left -= alike.length;
      isThere =
        left >= 0 &&
        (synonymsOf(word).some((synonym) => said.has(synonym)) || alike.some((other) => isSame(other, word)));
      known.set(word, isThere);
    }
    return isThere;
  };
  let best: { agent: A; score: number } | undefined;
  let isTie = false;
  for (const agent of agents) {
    yield;
    const score = Math.max(
      scoreOf(wordsOf(agent.name), isSaid),
      scoreOf(wordsOf(agent.handle.replaceAll("-", " ")), isSaid),
    );
    if (score < LEAST || (best && score < best.score)) continue;
    isTie = best?.score === score;
    best = { agent, score };
  }
  // Who was not looked at might be meant as well.
  return isTie || left < 0 ? undefined : best?.agent;
}

/** Whether each telling word of the agent's name, or of its handle, is in the text. */
export function isWhollyNamed({ name, handle }: Named, text: string): boolean {
  const said = tokensOf(text).flatMap(({ kind, word }) => (kind === "word" ? partsOf(word) : []));
  return [wordsOf(name), wordsOf(handle.replaceAll("-", " "))].some((words) =>
    words.filter((word) => !FILLERS.has(word)).every((word) => said.some((other) => isSame(other, word))),
  );
}

/** The words of the text that are in the agent's name, as they were written: what it was found by. */
export function wordsFor({ name, handle }: Named, text: string): string {
  const telling = wordsOf(`${name} ${handle.replaceAll("-", " ")}`).filter((word) => !FILLERS.has(word));
  const said = tokensOf(text).filter(({ kind, word }) => kind === "word" && !FILLERS.has(word));
  return said
    .filter(({ word }) => partsOf(word).some((part) => telling.some((other) => isSame(part, other))))
    .map((token) => token.text)
    .join(" ");
}

/** `ten-minute` names `Ten-minute wait` and `ten-minute-wait`. */
const partsOf = (word: string): string[] => (word.includes("-") ? [word, ...word.split("-")] : [word]);

function scoreOf(words: string[], isSaid: (word: string) => boolean): number {
  const telling = words.filter((word) => !FILLERS.has(word));
  const found = telling.filter(isSaid).length;
  // If two are wholly there, the longer name is meant.
  return telling.length === 0 ? 0 : found / telling.length + (found - 1) / 100;
}

/** `summarise` and `summary` are of one kind too: five letters in common at the beginning. */
function isSame(one: string, other: string): boolean {
  const most = Math.min(stem(one).length, stem(other).length);
  return (
    isNear(one, other) ||
    synonymsOf(other).includes(one) ||
    (one[0] === other[0] && most >= 6 && one.slice(0, 6) === other.slice(0, 6))
  );
}
