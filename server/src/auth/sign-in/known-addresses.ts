/**
 * Where users have signed in from before. There, a pause that others brought on the account does not apply, and their turn
 * comes first. What is kept is an HMAC of e-mail and network, so that the database does not tell where somebody was.
 * The newest are in memory and are read again once a minute while people sign in, so a stranger's attempt costs no statement.
 */
import { createHmac } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database, Query } from "../../storage/database.ts";
import { network } from "./login-throttle.ts";
import { accountName } from "../names.ts";

export type KnownAddresses = {
  has(email: string, address: string): Promise<boolean>;
  /** After a sign-in or a refresh that succeeded. Never throws. */
  note(user: { id: UserId; email: string }, address: string): Promise<void>;
  /** After addresses were forgotten (`forgetAddresses`): at once here, within a minute in other processes. */
  readAgain(): void;
};

const MARK_BYTES = 16;
/** The most old marks that one statement deletes. */
const FORGOTTEN_AT_ONCE = 1_000;
const READ_EVERY_MS = 60_000;
const READ_AGAIN_MS = 1_000;
const DAY_MS = 86_400_000;
const LIFE_MS = LIMITS.knownAddressDays * DAY_MS;

export function createKnownAddresses(database: Database, clock: Clock, log: Log, key: Buffer): KnownAddresses {
  /** Marks, with when they were last written, the newest last. */
  let seenAt: Marks = new Map();
  /** Since the last read began, which may have missed them. */
  const added: Marks = new Map();
  let reading: Promise<void> | undefined;
  let nextReadAt = Number.NEGATIVE_INFINITY;

  const markOf = (email: string, address: string): Buffer =>
    createHmac("sha256", key)
      .update(`${accountName(email)}\0${network(address)}`)
      .digest()
      .subarray(0, MARK_BYTES);

  const read = async (): Promise<void> => {
    added.clear();
    nextReadAt = clock.now() + READ_EVERY_MS;
    try {
      await forgetOldMarks(database, clock.now());
      seenAt = await readMarks(database, clock.now());
      for (const [name, at] of added) remember(seenAt, name, at);
    } catch (error) {
      nextReadAt = clock.now() + READ_AGAIN_MS;
      log.warn(
        { reason: messageOf(error) },
        "known addresses could not be read: an address that is not in memory counts as unknown",
      );
    }
    reading = undefined;
  };

  return {
    has: async (email, address) => {
      const isFirst = seenAt.size === 0;
      if (clock.now() >= nextReadAt) reading ??= read();
      if (isFirst) await reading;
      const at = seenAt.get(nameOf(markOf(email, address)));
      return at !== undefined && at > clock.now() - LIFE_MS;
    },
    note: async ({ id, email }, address) => {
      const now = clock.now();
      const mark = markOf(email, address);
      const name = nameOf(mark);
      if ((seenAt.get(name) ?? Number.NEGATIVE_INFINITY) > now - DAY_MS) return;
      for (const marks of [seenAt, added]) remember(marks, name, now);
      await writeMark(database, id, mark, now).catch((error: unknown) =>
        log.warn({ reason: messageOf(error) }, "the address of a sign-in could not be stored"),
      );
    },
    readAgain: () => {
      seenAt = new Map();
      nextReadAt = Number.NEGATIVE_INFINITY;
    },
  };
}

const nameOf = (mark: Buffer): string => mark.toString("latin1");

/** About 150 bytes each. */
type Marks = Map<string, number>;

/** Addresses beyond these count as unknown while somebody is guessing at the account: those that were known first. */
function remember(marks: Marks, name: string, at: number): void {
  marks.delete(name);
  marks.set(name, at);
  for (const oldest of marks.keys()) {
    if (marks.size <= LIMITS.knownAddresses) break;
    marks.delete(oldest);
  }
}

/** Deletes the marks of people who do not sign in any more: no other sign-in deletes them. */
const forgetOldMarks = (database: Database, now: number): Promise<unknown> =>
  database.query(
    `delete from known_addresses where (user_id, mark) in (
       select user_id, mark from known_addresses where seen_at <= $1 order by seen_at limit $2 for update skip locked)`,
    [new Date(now - LIFE_MS), FORGOTTEN_AT_ONCE],
  );

async function readMarks(database: Database, now: number): Promise<Marks> {
  const rows = await database.query(
    "select mark, seen_at from known_addresses where seen_at > $1 order by seen_at desc limit $2",
    [new Date(now - LIFE_MS), LIMITS.knownAddresses],
  );
  return new Map(rows.toReversed().map(({ mark, seen_at }) => [nameOf(mark), seen_at.getTime()]));
}

/** Also removes the user's marks that are too old or not among the newest few. */
const writeMark = (database: Database, userId: UserId, mark: Buffer, now: number): Promise<unknown> =>
  database.query(
    `with kept as (
       insert into known_addresses (user_id, mark, seen_at) values ($1, $2, $3)
       on conflict (user_id, mark) do update set seen_at = greatest(known_addresses.seen_at, excluded.seen_at))
     delete from known_addresses
      where user_id = $1 and mark <> $2
        and (seen_at < $4 or mark in (
          select mark from known_addresses where user_id = $1 and mark <> $2 order by seen_at desc offset $5))`,
    [userId, mark, new Date(now), new Date(now - LIFE_MS), LIMITS.knownAddressesPerUser - 1],
  );

/** After a password change: an address where a thief signed in with the old one is no longer known. */
export const forgetAddresses = (query: Query, userId: UserId): Promise<unknown> =>
  query("delete from known_addresses where user_id = $1", [userId]);
