/**
 * The keys that access tokens are signed with (Ed25519). The database has each one's id and from when it signs; the key itself is
 * derived from the installation's secret and the id (decision 0023). All processes of a database look again every 5 s while
 * they need a key, so a new one is known everywhere before it signs.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Database } from "../../storage/database.ts";

type SigningKey = {
  /** A UUID: `kid` in tokens. */
  id: string;
  private: KeyObject;
  public: KeyObject;
  /** ms since 1970. */
  signsFrom: number;
  /** When its last token has ended. */
  verifiesUntil: number;
};

export type SigningKeys = {
  /** The one that signs now. */
  current(): Promise<SigningKey>;
  /** Accepts any id, in use or not: only a holder of the installation's secret can have signed with it. Costs no statement. */
  publicKey(id: string): KeyObject;
  /** Whether its tokens are good. Ask only when the signature is right: for an unknown id the database is asked. */
  isInUse(id: string): Promise<boolean>;
  /** The keys whose tokens are good, and the next one. */
  inUse(): Promise<SigningKey[]>;
};

/** For how long a former key verifies after the next one has begun to sign. */
export const AFTERLIFE_MS = LIMITS.accessTokenMinutes * 60_000 + LIMITS.signingKeyGraceSeconds * 1_000;
const LOOK_EVERY_MS = 5_000;
/** For an id that the database did not have. */
const LOOK_AGAIN_MS = 1_000;
const MISSED = 100;

/** RFC 8410: a PKCS #8 wrapping of a 32-byte Ed25519 seed. */
const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");

export function signingPair(derive: (purpose: string) => Buffer, id: string): Pick<SigningKey, "private" | "public"> {
  const seed = derive(`access tokens ed25519 v1 ${id}`);
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: "der", type: "pkcs8" });
  return { private: key, public: createPublicKey(key) };
}

type Options = { database: Database; clock: Clock; log: Log; derive: (purpose: string) => Buffer };

export function createSigningKeys({ database, clock, log, derive }: Options): SigningKeys {
  /** In the order in which they sign. */
  let known: SigningKey[] = [];
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<SigningKey[]> | undefined;
  /** Ids that the database did not have, and when. */
  const missed = new LRUCache<string, number>({ max: MISSED });

  const keyOf = ({ id, signsFrom }: Row, next: Row | undefined): SigningKey => ({
    ...(known.find((one) => one.id === id) ?? signingPair(derive, id)),
    id,
    signsFrom,
    verifiesUntil: next === undefined ? Number.POSITIVE_INFINITY : next.signsFrom + AFTERLIFE_MS,
  });

  const read = async (): Promise<SigningKey[]> => {
    lookedAt = clock.now();
    try {
      const rows = await readKeys(database);
      known = rows.map((row, index) => keyOf(row, rows[index + 1]));
    } catch (error) {
      // Without the database sessions are not known either; what follows from these keys alone goes on.
      if (known.length === 0) throw error;
      log.warn({ reason: messageOf(error) }, "the signing keys could not be read: the previous ones stay in use");
    }
    return known;
  };

  const look = (): Promise<SigningKey[]> => (looking ??= read().finally(() => (looking = undefined)));

  /** The clock may have been set back since. */
  const isWithin = (ms: number, at: number | undefined): boolean => at !== undefined && Math.abs(clock.now() - at) < ms;

  const present = (): SigningKey[] | Promise<SigningKey[]> =>
    known.length > 0 && isWithin(LOOK_EVERY_MS, lookedAt) ? known : look();

  /** A process that knows a new key may use it before this one has looked. */
  const find = async (id: string): Promise<SigningKey | undefined> => {
    const key = (await present()).find((one) => one.id === id);
    if (key || isWithin(LOOK_AGAIN_MS, missed.get(id))) return key;
    const found = (await look()).find((key) => key.id === id);
    if (!found) missed.set(id, clock.now());
    return found;
  };

  return {
    current: async () => {
      const keys = await present();
      return keys.findLast(({ signsFrom }) => signsFrom <= clock.now()) ?? keys[0]!;
    },
    publicKey: (id) => (known.find((key) => key.id === id) ?? signingPair(derive, id)).public,
    isInUse: async (id) => {
      const key = await find(id);
      return key !== undefined && clock.now() < key.verifiesUntil;
    },
    inUse: async () => (await present()).filter(({ verifiesUntil }) => clock.now() < verifiesUntil),
  };
}

type Row = Pick<SigningKey, "id" | "signsFrom">;

/** Each rotation removes those whose tokens have all ended, so they are few. */
async function readKeys(database: Database): Promise<Row[]> {
  const rows = await database.query("select id, signs_from from signing_keys order by signs_from, id");
  return rows.map((row) => ({ id: row["id"], signsFrom: row["signs_from"].getTime() }));
}
