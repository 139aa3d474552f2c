/** The room's handle: what sign-in keeps in memory. Every operation of the room takes it first. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Loop } from "../../lib/loops/loop.ts";
import { noNotices, type Notices } from "../../realtime/notices.ts";
import type { Database } from "../../storage/database.ts";
import type { Plan } from "../../storage/schema.ts";
import { createAccessTokens, type AccessTokens } from "../tokens/access-token.ts";
import { createKeyStates, type KeyStates } from "./api-key-states.ts";
import type { Acting } from "../caller.ts";
import { createDatabasePauses } from "../sign-in/database-pauses.ts";
import { createFailedSignIns, type FailedSignIns } from "../sign-in/failed-sign-ins.ts";
import { createKnownAddresses, type KnownAddresses } from "../sign-in/known-addresses.ts";
import { createLoginThrottle, type LoginThrottle } from "../sign-in/login-throttle.ts";
import { createMemoryPauses } from "../sign-in/pauses.ts";
import { createPasswords, type Passwords } from "../sign-in/passwords.ts";
import { createRefreshTurns } from "./refresh-turns.ts";
import type { Turns } from "../../fairness/turns.ts";
import type { SecretKeys } from "../tokens/secret-key.ts";
import { createSessionStates, type SessionStates } from "./session-states.ts";
import { createSetupLink, type SetupLink } from "./setup-link.ts";
import { createSignIns, type SignIns } from "../sign-in/sign-ins.ts";
import { createSigningKeys, type SigningKeys } from "../tokens/signing-keys.ts";
import { createWrongCredentials, type WrongCredentials } from "../sign-in/wrong-credentials.ts";

export type Auth = {
  database: Database;
  clock: Clock;
  log: Log;
  /** The plan of every new organization. */
  defaultPlan: Plan;
  passwords: Passwords;
  throttle: LoginThrottle;
  /** The same for requests for a new password, each of which counts. */
  resetThrottle: LoginThrottle;
  knownAddresses: KnownAddresses;
  failedSignIns: FailedSignIns;
  signIns: SignIns;
  wrongCredentials: WrongCredentials;
  signingKeys: SigningKeys;
  accessTokens: AccessTokens;
  /** HMAC key of refresh tokens. */
  refreshKey: Buffer;
  refreshTurns: Turns;
  sessions: SessionStates;
  keys: KeyStates;
  setupLink: SetupLink;
  /** Called once, after the first owner is committed; errors are logged and do not undo the setup. */
  afterSetup: (owner: Acting) => Promise<void>;
  loops: readonly Loop[];
} & AsyncDisposable;

export type AuthOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  secretKeys: SecretKeys;
  defaultPlan: Plan;
  afterSetup?: (owner: Acting) => Promise<void>;
  /** If left out, no other process is told. */
  notices?: Pick<Notices, "send" | "on">;
};

export function createAuth(options: AuthOptions): Auth {
  const { database, clock, log, secretKeys, defaultPlan, notices = noNotices } = options;
  const { derive } = secretKeys;
  const keys = createKeyStates(database, clock, log, notices);
  const signingKeys = createSigningKeys({ database, clock, log, derive });
  const pauses = database.isEmbedded ? createMemoryPauses(clock) : createDatabasePauses(database, clock, log);
  const failedSignIns = createFailedSignIns(database, clock, log);
  return {
    database,
    clock,
    log,
    defaultPlan,
    passwords: createPasswords(),
    throttle: createLoginThrottle(pauses, derive("failed sign-ins v1")),
    resetThrottle: createLoginThrottle(pauses, derive("password reset requests v1"), "requests for a new password"),
    wrongCredentials: createWrongCredentials(clock),
    knownAddresses: createKnownAddresses(database, clock, log, derive("known addresses v1")),
    failedSignIns,
    signIns: createSignIns(clock),
    signingKeys,
    accessTokens: createAccessTokens(clock, signingKeys, issuerOf(derive)),
    refreshKey: derive("refresh tokens v1"),
    refreshTurns: createRefreshTurns(),
    sessions: createSessionStates(database, clock, notices),
    keys,
    setupLink: createSetupLink(clock),
    afterSetup: options.afterSetup ?? (async () => {}),
    loops: [keys.loop],
    async [Symbol.asyncDispose]() {
      await failedSignIns[Symbol.asyncDispose]();
      await keys[Symbol.asyncDispose]();
    },
  };
}

/** A name that no other installation has, the same for all its processes. */
const issuerOf = (derive: SecretKeys["derive"]): string =>
  `urn:autograph:${derive("issuer v1").toString("hex", 0, ISSUER_BYTES)}`;
const ISSUER_BYTES = 16;
