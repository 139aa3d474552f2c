/** A limit as the code, docs/limits.md and test/tidy/limits.test.ts know it. */
export type Limit = {
  /** In the unit that the limit's name says; without one it counts what `bounds` names. */
  value: number;
  /** The thing that is limited. */
  bounds: string;
  /** The behaviour beyond it. Omitted: it is refused, and the error says the value. */
  beyond?: string;
  /** The test that holds it at its edge: a file, and words that stand in it. */
  test: EdgeTest;
};

/** Without words: the file has a table with the limit's name in it. */
export type EdgeTest = readonly [file: string, words?: string];
export const BY_NAME: EdgeTest = ["test/limits.test.ts"];
