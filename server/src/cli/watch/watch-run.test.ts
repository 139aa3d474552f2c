import { expect, test } from "vitest";
import { ApiError, Unreachable, type Api } from "../server/api.ts";
import { watchRun, type ShownEvent } from "./watch-run.ts";

const runEvent = (revision: number, status: string) => ({ revision, run: { status }, step: null }) as ShownEvent;

/** Each entry is what one connection brings: events, then perhaps an error. */
function apiOf(connections: (ShownEvent | Error)[][]): { api: Api; asked: number[] } {
  const asked: number[] = [];
  const api: Api = {
    url: "http://127.0.0.1:1",
    send: () => Promise.reject(new Error("not asked for")),
    async *subscribe(_query, variables) {
      asked.push((variables as { after: number }).after);
      for (const one of connections.shift() ?? []) {
        if (one instanceof Error) throw one;
        yield { runEvents: one } as never;
      }
    },
  };
  return { api, asked };
}

const watch = async (connections: (ShownEvent | Error)[][]) => {
  const { api, asked } = apiOf(connections);
  const lost: string[] = [];
  const revisions: number[] = [];
  const onLost = (reason: string): void => void lost.push(reason);
  for await (const { revision } of watchRun({ api, runId: "run_1", withTexts: false, onLost }))
    revisions.push(revision);
  return { revisions, asked, lost };
};

test("goes on behind the last revision after each cut, and ends with the final state", async () => {
  const gone = new Unreachable("no server answers");
  const connections = [
    [runEvent(1, "running"), runEvent(2, "running")],
    [gone],
    [runEvent(3, "paused")],
    [runEvent(4, "completed")],
  ];
  expect(await watch(connections)).toEqual({
    revisions: [1, 2, 3, 4],
    asked: [0, 2, 2, 3],
    lost: ["the connection was cut", "the connection was cut"],
  });
});

test("a refusal is not retried", async () => {
  const refusal = new ApiError("NOT_FOUND", "Run not found");
  await expect(watch([[runEvent(1, "running"), refusal]])).rejects.toThrow(refusal);
});
