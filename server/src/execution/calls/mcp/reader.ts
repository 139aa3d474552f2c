/** Reads what an MCP server answers, however it comes: hides credentials in it and keeps the output. */
import { inTurns } from "../../../fairness/slices.ts";
import type { OutboundResponse } from "../../../outbound/outbound.ts";
import type { EffectContext } from "../../effect.ts";
import type { HttpResponse } from "../../run/run.ts";
import type { Authentication } from "../authentication.ts";
import type { Calling } from "../calling.ts";
import type { FilledRequest } from "../fill-request.ts";
import { unhidden, type Credentials } from "../http-response.ts";
import type { Answer, Line } from "./conversation.ts";
import { refusalIn, shownWord } from "./outcome.ts";

/** How long the whole conversation may take, and how long it still may. */
export type Limited = { limitMs: number; leftMs(): number };

/** All that the way to a server needs. */
export type Way = {
  calling: Calling;
  context: EffectContext & Limited & { authentication: Authentication; filled: FilledRequest | undefined };
  credentials: Credentials;
  searching: <Result>(work: () => Promise<Result>) => Promise<Result>;
  conclude: Line["conclude"];
  /** Called once the output is there, before the answer is released. */
  keep(): Promise<void>;
};

type Reader = Pick<Line, "conclude" | "refusal" | "shownWord"> & {
  /** Calls `taken` with the answer, and keeps the output if it was concluded. */
  read(answer: () => Promise<Answer>, taken: (answer: Answer) => Promise<void>): Promise<void>;
};

/** `answered`: is given an answer as people may see it. */
export function readerOf({ context, credentials, ...way }: Way, answered: (shown: HttpResponse) => void): Reader {
  const { turn } = context;
  const show = async (response: OutboundResponse): Promise<HttpResponse> => {
    const shown = credentials.isEmpty ? unhidden(response) : await inTurns(credentials.shown(response), turn);
    answered(shown);
    return shown;
  };
  let isConcluded = false;
  return {
    async read(answer, taken) {
      await way.searching(async () => taken(await answer()));
      if (!isConcluded) return;
      isConcluded = false;
      await way.keep();
    },
    async conclude(answer, result) {
      await show(answer.response);
      await way.conclude(answer, result);
      isConcluded = true;
    },
    async refusal(answer) {
      return refusalIn(answer, { shown: await show(answer.response), credentials, turn });
    },
    shownWord: (value) => shownWord(value, { credentials, turn }),
  };
}
