/** The room's handle: what sign-in keeps in memory. Every operation of the room takes it first. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Database } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";
import { createAccessTokens, type AccessTokens } from "./access-token.ts";
import { createKeyStates, type KeyStates } from "./api-key-states.ts";
import type { Caller } from "./caller.ts";
import type { TellChange } from "../lib/fresh-cache.ts";
import { createKnownAddresses, type KnownAddresses } from "./known-addresses.ts";
import { createLoginThrottle, type LoginThrottle } from "./login-throttle.ts";
import { createPasswords, type Passwords } from "./passwords.ts";
import { createRefreshTurns } from "./refresh-turns.ts";
import type { Turns } from "../lib/turns.ts";
import type { SecretKeys } from "./secret-key.ts";
import { createSessionStates, type SessionStates } from "./session-states.ts";
import { createSetupLink, type SetupLink } from "./setup-link.ts";

export type Auth = {
  database: Database;
  clock: Clock;
  log: Log;
  /** Of every organization at its creation. */
  defaultPlan: Plan;
  passwords: Passwords;
  throttle: LoginThrottle;
  knownAddresses: KnownAddresses;
  accessTokens: AccessTokens;
  /** HMAC key of refresh tokens. */
  refreshKey: Buffer;
  refreshTurns: Turns;
  sessions: SessionStates;
  keys: KeyStates;
  setupLink: SetupLink;
  /** Called once, after the first owner is committed; what it throws is logged and does not undo the setup. */
  afterSetup: (owner: Caller) => Promise<void>;
} & AsyncDisposable;

export type AuthOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  secretKeys: SecretKeys;
  defaultPlan: Plan;
  afterSetup?: (owner: Caller) => Promise<void>;
  tell?: TellChange;
};

export function createAuth(options: AuthOptions): Auth {
  const { database, clock, log, secretKeys, defaultPlan, tell = () => {} } = options;
  const keys = createKeyStates(database, clock, log, tell);
  return {
    database,
    clock,
    log,
    defaultPlan,
    passwords: createPasswords(),
    throttle: createLoginThrottle(clock),
    knownAddresses: createKnownAddresses(database, clock, log, secretKeys.derive("known addresses v1")),
    accessTokens: createAccessTokens(clock, secretKeys.signing),
    refreshKey: secretKeys.derive("refresh tokens v1"),
    refreshTurns: createRefreshTurns(),
    sessions: createSessionStates(database, clock, tell),
    keys,
    setupLink: createSetupLink(clock),
    afterSetup: options.afterSetup ?? (async () => {}),
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  };
}
