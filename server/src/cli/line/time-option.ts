import { OperatorError } from "../../lib/errors.ts";

/** Reads a time with a zone, as RFC 3339 has it. `problem`: the sentence for anything else. */
export const timeOr =
  (problem: string) =>
  (text: string): Date => {
    const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/i.test(text) && !Number.isNaN(Date.parse(text));
    if (isTime) return new Date(text);
    throw new OperatorError(problem);
  };
