import { expect, test } from "vitest";
import { newId, type RunId } from "../../lib/ids.ts";
import type { Database } from "../../storage/database.ts";
import { text, RowSet, uuid } from "../../storage/unnest.ts";
import { startPart, type Follower, type Write } from "./part.ts";
import { createWriter } from "./write.ts";

const KINDS = { run_id: uuid<RunId>(), note: text() };
const noteOf = (code: string) =>
  startPart<{ run_id: RunId; note: string }, Follower>({
    code,
    rows: new RowSet("given_note", "note_row", KINDS),
    sql: () => "",
  });

/** A database that no statement reaches. */
const database = {
  hot: () => Promise.reject(new Error("a statement was sent")),
  months: [],
} as unknown as Database;

test("two parts with one code are refused: their statements would have one name", () => {
  expect(() => createWriter(database, { guards: [], followers: [noteOf("z"), noteOf("z")] })).toThrow(
    "two parts of a statement have one code",
  );
});

test("a row of a part that the journal was made without is refused, also beside one with the same code", async () => {
  const runId = newId<"run">();
  const { row } = noteOf("z");
  const write: Write = {
    runId,
    organizationId: newId<"organization">(),
    brought: [row({ run_id: runId, note: "lost" })],
    steps: [],
    attempts: [],
    approvals: [],
    approvalChanges: [],
    bytes: 0,
  };
  for (const followers of [[], [noteOf("z")]])
    await expect(createWriter(database, { guards: [], followers }).add(write)).rejects.toThrow(
      'the journal has no part "z"',
    );
});
