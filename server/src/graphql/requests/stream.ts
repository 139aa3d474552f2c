/** The events of a subscription, as its transport reads them. */
import type { ExecutionResult } from "graphql";
import type { Ending } from "../../lib/ending.ts";
import type { AnswerSize } from "../context/answer-size.ts";
import type { ShownError } from "../documents/errors.ts";
import type { Result } from "./request.ts";
import { isWritten, type Written } from "./written-events.ts";

type Shows = {
  size: AnswerSize;
  /** Called when the source has ended completely. */
  ended(): void;
  isRepeat(result: ExecutionResult): boolean;
  show(result: ExecutionResult): Result;
  showError(error: unknown): ShownError[];
};

/**
 * Ends the source at once on `return`, even while `next` is waiting; a generator's own `return` would wait for it. The next
 * event is requested when the reader has the last one, so only one at a time counts. An event that is too large is the
 * last; a new subscription gets the present state.
 */
export function stream(
  source: AsyncIterable<ExecutionResult | Written>,
  ending: Ending,
  { size, ended, isRepeat, show, showError }: Shows,
): AsyncGenerator<Result, void, void> {
  const iterator = source[Symbol.asyncIterator]();
  const done = { done: true, value: undefined } as const;
  /** The last request to the source, which may still be reading when the reader has left. */
  let asked: Promise<unknown> | undefined;
  // The reader does not wait for it: `return` may hang on a `next` that only the signal ends.
  ending.onEnd(() => void Promise.allSettled([asked, iterator.return?.()]).then(ended));
  const end = async (): Promise<typeof done> => {
    size.clear();
    ending.end();
    return done;
  };
  const last = async (error: unknown): Promise<IteratorResult<Result, void>> => {
    await end();
    return { done: false, value: { errors: showError(error) } };
  };
  return {
    async next() {
      try {
        for (;;) {
          size.clear();
          if (ending.isOver) return done;
          const next = iterator.next();
          asked = next;
          const item = await next;
          if (item.done || ending.isOver) return await end();
          if (size.refusal) return await last(size.refusal);
          if (isWritten(item.value)) return { done: false, value: item.value };
          if (!isRepeat(item.value)) return { done: false, value: show(item.value) };
        }
      } catch (error) {
        if (ending.isOver) return done;
        return last(error);
      }
    },
    return: end,
    throw: end,
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}
