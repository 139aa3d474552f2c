/**
 * Records sign-ins that failed at an existing account in the audit. Nobody waits for it, so a wrong password is answered in the
 * same time as an unknown e-mail. At most `auditFailedSignInsPerHour` per organization are kept: guessing fills no disk.
 */
import { record } from "../../audit/record.ts";
import type { From, Who } from "../../audit/event.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { OrganizationId, UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database, Query } from "../../storage/database.ts";

export type FailedSignIns = {
  /** In the organization that they would have been signed in to. */
  note(at: { userId: UserId; organizationId: OrganizationId }, from: From): void;
  /** Waits for what is being written. */
} & AsyncDisposable;

const HOUR_MS = 3_600_000;
/**
 * Passwords are tried about 60 times a second; a database that stands still must not gather them. Shared, so that guesses at one organization's
 * accounts do not keep those at another's from being recorded.
 */
const WRITTEN_AT_ONCE = 100;

export function createFailedSignIns(database: Database, clock: Clock, log: Log): FailedSignIns {
  const writing = new Set<Promise<void>>();
  const share = new FairShare(WRITTEN_AT_ONCE);
  const write = async (who: Who): Promise<void> => {
    const now = clock.now();
    await database
      .transaction((query) => recordFailure(query, who, now), who.organizationId)
      .catch((error: unknown) =>
        log.warn({ reason: messageOf(error) }, "a failed sign-in could not be recorded in the audit"),
      );
  };
  return {
    note({ userId, organizationId }, from) {
      if (!share.tryTake(organizationId, 1)) return;
      const written = write({ organizationId, actor: { kind: "user", id: userId }, from }).finally(() => {
        writing.delete(written);
        share.give(organizationId, 1);
      });
      writing.add(written);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(writing);
    },
  };
}

/** The actor is the account that was tried: who tried it is not known. */
async function recordFailure(query: Query, who: Who, now: number): Promise<void> {
  const most = LIMITS.auditFailedSignInsPerHour;
  const [row] = await query(
    `select count(*) as known from (
       select from audit_events where organization_id = $1 and action = 'sign_in_failed' and at > $2 limit $3) as failed`,
    [who.organizationId, new Date(now - HOUR_MS), most],
  );
  const left = most - row!["known"];
  if (left <= 0) return;
  const subject = { kind: "user", id: who.actor.id as UserId } as const;
  const note = left === 1 ? "further ones of this hour are not recorded" : undefined;
  await record(query, who, now, { action: "sign_in_failed", subject, detail: { limit: note } });
}
