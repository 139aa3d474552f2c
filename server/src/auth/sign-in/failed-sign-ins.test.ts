import { expect, test } from "vitest";
import { realClock } from "../../lib/clock.ts";
import { newId, type OrganizationId } from "../../lib/ids.ts";
import { createLog } from "../../lib/log/log.ts";
import type { Database } from "../../storage/database.ts";
import { createFailedSignIns } from "./failed-sign-ins.ts";

test("while the database stands still, guesses at one organization's accounts leave room to record another's", async () => {
  const { promise: stands, resolve: goOn } = Promise.withResolvers<undefined>();
  const recorded: unknown[] = [];
  const transaction = (_work: unknown, organizationId: unknown) => (recorded.push(organizationId), stands);
  const failed = createFailedSignIns({ transaction } as unknown as Database, realClock, createLog("silent"));
  const note = (organizationId: OrganizationId): void =>
    failed.note({ userId: newId<"user">(), organizationId }, { address: "127.0.0.1" });
  const [one, other] = [newId<"organization">(), newId<"organization">()];
  for (let guess = 0; guess < 1_000; guess++) note(one);
  note(other);
  expect(recorded.filter((organizationId) => organizationId === one)).toHaveLength(50);
  expect(recorded).toContain(other);
  goOn(undefined);
  await failed[Symbol.asyncDispose]();
  note(one);
  expect(recorded).toHaveLength(52);
});
