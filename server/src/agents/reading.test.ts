import { expect, test } from "vitest";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Reading } from "./reading.ts";

const organizations = Array.from({ length: LIMITS.definitionsWaiting + 9 }, () =>
  newId(),
) as unknown as OrganizationId[];
const one = organizations[0]!;

/** While as many as may are read: how many are done and what the others were refused with. */
async function waiting(count: number, working: number, organizationOf: (index: number) => OrganizationId) {
  const reading = new Reading();
  const ended = Promise.withResolvers<void>();
  const outcomes = Array.from({ length: working + count }, (_, index) =>
    reading
      .run(organizationOf(index), async () => {
        if (index < working) await ended.promise;
      })
      .then(
        () => "read",
        (error: Error) => error.message,
      ),
  );
  ended.resolve();
  return (await Promise.all(outcomes)).filter((outcome) => outcome !== "read");
}

const SENTENCE = "too many definitions wait to be read (10000 may, 2000 of one organization): try again in a moment";

test.each([
  ["of all organizations", LIMITS.definitionsWaiting, 8, (index: number) => organizations[index]!],
  ["of one organization", LIMITS.definitionsWaitingOwn, 1, () => one],
])("%s the maximum of waiting definitions is read, one more is refused", async (_, most, working, organizationOf) => {
  expect(await waiting(most, working, organizationOf)).toEqual([]);
  expect(await waiting(most + 1, working, organizationOf)).toEqual([SENTENCE]);
});

test("what nobody waits for any longer leaves its place, and is not read", async () => {
  const reading = new Reading();
  const ended = Promise.withResolvers<void>();
  const first = reading.run(one, () => ended.promise);
  const leaving = new AbortController();
  const gone = new Error("gone");
  let read = 0;
  const late = Array.from({ length: LIMITS.definitionsWaitingOwn }, () =>
    reading.run(one, async () => read++, leaving.signal),
  );
  const outcomes = Promise.allSettled(late);
  leaving.abort(gone);
  expect((await outcomes).every((outcome) => outcome.status === "rejected" && outcome.reason === gone)).toBe(true);
  await expect(reading.run(one, async () => read++, leaving.signal)).rejects.toBe(gone);
  const next = reading.run(one, async () => "read");
  ended.resolve();
  await first;
  expect([await next, read]).toEqual(["read", 0]);
});
