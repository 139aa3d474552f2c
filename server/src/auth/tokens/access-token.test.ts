import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { newId } from "../../lib/ids.ts";
import { createLog } from "../../lib/log/log.ts";
import type { Database } from "../../storage/database.ts";
import { createAccessTokens, type AccessClaims } from "./access-token.ts";
import { secretKeys } from "./secret-key.ts";
import { createSigningKeys } from "./signing-keys.ts";

const ISSUER = "urn:autograph:00112233445566778899aabbccddeeff";
const who: Omit<AccessClaims, "expiresAt"> = {
  userId: newId(),
  organizationId: newId(),
  sessionId: newId(),
  client: "ui",
};

type Row = { id: string; signs_from: Date };
const first = (): Row => ({ id: randomUUID(), signs_from: new Date(0) });

/** Several of them on the same rows stand for processes on one database. */
function process(rows: Row[], clock = testClock(), master = Buffer.alloc(32, 7)) {
  const asked = { count: 0, isDown: false };
  const query = async (): Promise<Row[]> => {
    asked.count++;
    if (asked.isDown) throw new Error("down");
    return [...rows];
  };
  const { derive } = secretKeys(master);
  const keys = createSigningKeys({
    database: { query } as unknown as Database,
    clock,
    log: createLog("silent"),
    derive,
  });
  return { clock, asked, keys, ...createAccessTokens(clock, keys, ISSUER) };
}

const partsOf = (token: string): [Record<string, unknown>, Record<string, unknown>] =>
  token
    .split(".")
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString())) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];

test("comes back as it was issued, for ten minutes", async () => {
  const rows = [first()];
  const { clock, issue, verify } = process(rows);
  const { token, expiresAt } = await issue(who);
  const other = (): Promise<unknown> => process(rows, clock).verify(token);
  expect(expiresAt).toBe(clock.now() + 600_000);
  for (let time = 0; time < 2; time++) expect(await verify(token)).toEqual({ ...who, expiresAt });
  clock.pass(599_999);
  expect(await verify(token)).toBeDefined();
  expect(await other()).toBeDefined();
  clock.pass(1);
  expect(await verify(token)).toBe("expired");
  expect(await other()).toBe("expired");
  expect(await process(rows, clock).verify(`${token.slice(0, -5)}AAAAA`)).toBeUndefined();
});

test("the claims are TypeIDs, each token has an id of its own, the algorithm is EdDSA", async () => {
  const rows = [first()];
  const { clock, issue } = process(rows);
  const [header, payload] = partsOf((await issue(who)).token);
  expect(header).toEqual({ alg: "EdDSA", typ: "at+jwt", kid: rows[0]!.id });
  const iat = clock.now() / 1000;
  expect(payload).toMatchObject({ iss: ISSUER, aud: ISSUER, client: "ui", client_id: "ui", iat, exp: iat + 600 });
  expect([payload["sub"], payload["org"], payload["sid"]].map((id) => String(id).split("_")[0])).toEqual([
    "user",
    "org",
    "session",
  ]);
  expect(partsOf((await issue(who)).token)[1]["jti"]).not.toBe(payload["jti"]);
});

test("nothing else passes, also with the right key", async () => {
  const rows = [first()];
  const { clock, keys, issue, verify } = process(rows);
  const { token } = await issue(who);
  const [head, claims] = partsOf(token);
  const now = clock.now() / 1000;
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const { private: right } = await keys.current();
  const signed = (change: object, more: object = {}, key = right): Promise<string> =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader({ ...head, ...more } as { alg: string }).sign(key);
  // The signature is right, and another program would read the text in the same way.
  const spare = String.fromCharCode(signature.at(-1)!.charCodeAt(0) + 1);
  const hostile: Record<string, string> = {
    empty: "",
    dots: "..",
    letters: "a.b.c",
    short: token.slice(0, -2),
    long: `${token}A`,
    "spare bits": token.slice(0, -1) + spare,
    unsigned: `${header}.${payload}.`,
    changed: `${header}.${encode({ ...claims, sub: claims["org"] })}.${signature}`,
    "other order": await new SignJWT(claims)
      .setProtectedHeader({ kid: String(head["kid"]), typ: "at+jwt", alg: "EdDSA" })
      .sign(right),
    ...Object.fromEntries(
      await Promise.all(
        [
          { iss: "other" },
          { aud: "other" },
          { aud: [ISSUER] },
          { aud: [ISSUER, "other"] },
          { exp: undefined },
          { exp: String(now + 600) },
          { exp: now + 599.5 },
          { exp: now + 601 },
          { exp: Number.MAX_SAFE_INTEGER },
          { exp: 1e300 },
          { iat: undefined },
          { iat: now + 61, exp: now + 600 },
          { iat: "now" },
          { nbf: now + 1 },
          { sub: undefined },
          { sub: "user_1" },
          { sub: { toString: 1 } },
          { org: null },
          { client: "root" },
        ].map(async (change) => [JSON.stringify(change), await signed(change)]),
      ),
    ),
    ...Object.fromEntries(
      await Promise.all(
        [
          { typ: "JWT" },
          { typ: "AT+JWT" },
          { typ: "application/at+jwt" },
          { typ: undefined },
          { kid: undefined },
          { kid: randomUUID() },
          { jku: "http://127.0.0.1" },
        ].map(async (more) => [JSON.stringify(more), await signed({}, more)]),
      ),
    ),
    "another key": await signed({}, {}, generateKeyPairSync("ed25519").privateKey),
    "another installation": (await process(rows, clock, randomBytes(32)).issue(who)).token,
    "another database": (await process([first()], clock).issue(who)).token,
  };
  expect(await verify(await signed({}))).toBeDefined();
  expect(await verify(await signed({ iat: now + 60, exp: now + 660 }))).toBeDefined();
  expect(await verify(token)).toBeDefined();
  for (const [name, text] of Object.entries(hostile)) expect(await verify(text), name).toBeUndefined();
});

test("a new key signs from its time in every process; the former one's tokens are good until the last has ended", async () => {
  const rows = [first()];
  const clock = testClock();
  const [one, other] = [process(rows, clock), process(rows, clock)];
  const kidOf = async ({ issue }: typeof one): Promise<unknown> => partsOf((await issue(who)).token)[0]["kid"];
  await kidOf(one);
  await kidOf(other);
  rows.push({ id: randomUUID(), signs_from: new Date(clock.now() + 60_000) });
  clock.pass(5_000);
  expect((await one.keys.inUse()).map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  clock.pass(54_999);
  const former = (await one.issue(who)).token;
  expect(partsOf(former)[0]["kid"]).toBe(rows[0]!.id);
  clock.pass(1);
  for (const each of [one, other]) expect(await kidOf(each)).toBe(rows[1]!.id);
  clock.pass(599_000);
  expect(await other.verify(former)).toBe("expired");
  clock.pass(60_999);
  expect(await other.keys.inUse()).toHaveLength(2);
  clock.pass(1);
  expect((await other.keys.inUse()).map(({ id }) => id)).toEqual([rows[1]!.id]);
  // A holder of the former key signs with it in vain.
  const late = await new SignJWT({ ...partsOf(former)[1], iat: clock.now() / 1000, exp: clock.now() / 1000 + 600 })
    .setProtectedHeader(partsOf(former)[0] as { alg: string })
    .sign((await process([rows[0]!], clock).keys.current()).private);
  expect(await process([rows[0]!], clock).verify(late)).toBeDefined();
  expect(await other.verify(late)).toBeUndefined();
});

test("a key that this process has not heard of is looked up once the signature is right, at most once a second", async () => {
  const rows = [first()];
  const clock = testClock();
  const [one, other] = [process(rows, clock), process(rows, clock)];
  await other.keys.current();
  const before = other.asked.count;
  const [, claims] = partsOf((await one.issue(who)).token);
  const strangers = Array.from({ length: 20 }, () =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt", kid: randomUUID() })
      .sign(generateKeyPairSync("ed25519").privateKey),
  );
  for (const token of await Promise.all(strangers)) expect(await other.verify(token)).toBeUndefined();
  expect(other.asked.count).toBe(before);

  rows.push({ id: randomUUID(), signs_from: new Date(clock.now()) });
  const { token } = await process(rows, clock).issue(who);
  expect(await other.verify(token)).toBeDefined();
  expect(other.asked.count).toBe(before + 1);
  // As after a restored backup: the signature is right, and the key is not there.
  const restored = process([first()], clock);
  for (let time = 0; time < 20; time++) expect(await other.verify((await restored.issue(who)).token)).toBeUndefined();
  expect(other.asked.count).toBe(before + 2);
  clock.pass(1_000);
  expect(await other.verify((await restored.issue(who)).token)).toBeUndefined();
  expect(other.asked.count).toBe(before + 3);
});

test("without the database the keys of before are used; a process that never had any has none", async () => {
  const rows = [first()];
  const clock = testClock();
  const [one, late] = [process(rows, clock), process(rows, clock)];
  const { token } = await one.issue(who);
  one.asked.isDown = late.asked.isDown = true;
  clock.pass(5_000);
  expect(await one.verify((await one.issue(who)).token)).toBeDefined();
  await expect(late.verify(token)).rejects.toThrow("down");
  late.asked.isDown = false;
  expect(await late.verify(token)).toBeDefined();
});

test("a clock that is set back by hours delays no key", async () => {
  const rows = [first()];
  const { clock, keys } = process(rows);
  await keys.current();
  rows.push({ id: randomUUID(), signs_from: new Date(clock.now() - 86_400_000) });
  clock.pass(-3_600_000);
  expect((await keys.current()).id).toBe(rows[1]!.id);
});
