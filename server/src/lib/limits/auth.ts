/** Sign-in, sessions and credentials. */
import { BY_NAME, type Limit } from "./limit.ts";

const ACCESS_TOKEN = "server/src/auth/tokens/access-token.test.ts";
const SIGN_IN = "server/src/auth/sessions/sign-in.db.test.ts";
const PASSWORDS = "server/src/auth/sign-in/passwords.test.ts";
const LOGIN_THROTTLE = "server/src/auth/sign-in/login-throttle.test.ts";
const SESSIONS = "server/src/auth/sessions/sessions.db.test.ts";
const KNOWN_ADDRESSES = "server/src/auth/sign-in/known-addresses.db.test.ts";
const RATES = "test/rates.test.ts";
const API_KEY_LOOK_UPS = "server/src/auth/handle/known-keys.test.ts";
const REFRESH_TURNS = "server/src/auth/handle/refresh-turns.test.ts";

export const AUTH = {
  accessTokenMinutes: {
    value: 10,
    bounds: "an access token",
    beyond: "it has expired",
    test: [ACCESS_TOKEN, "comes back as it was issued, for ten minutes"],
  },
  refreshTokenDays: {
    value: 30,
    bounds: "a refresh token, since its last use",
    beyond: "it has expired",
    test: [SIGN_IN, "lasts 30 days from the last one"],
  },
  uiRefreshGraceSeconds: {
    value: 10,
    bounds:
      "how long a session of the web UI keeps its refresh token after a refresh, and also accepts the one before it",
    beyond: "the next refresh replaces the token; the one before it ends the session",
    test: [SIGN_IN, "a token is kept for 10 s and then replaced"],
  },
  signingKeyGraceSeconds: {
    value: 60,
    bounds:
      "how long a new key of access tokens is published before it signs, and an old one after its last token has expired; also how far a token's clock may be ahead of this process's",
    beyond: "the new key signs; the old key's tokens are refused",
    test: [ACCESS_TOKEN, "a new key signs from its time in every process"],
  },
  signingKeysInUse: {
    value: 8,
    bounds: "keys of access tokens published at a time",
    beyond: "`autograph tokens rotate-key` refuses another",
    test: [SIGN_IN, "eight at most are in use; those whose tokens have ended are removed"],
  },
  setupLinkMinutes: {
    value: 30,
    bounds: "the setup link",
    beyond: "it has expired",
    test: [
      "server/src/auth/accounts/setup.db.test.ts",
      "only the token of the link that was printed last fits, for half an hour",
    ],
  },
  nameCharacters: { value: 200, bounds: "a name", test: BY_NAME },
  emailCharacters: { value: 254, bounds: "an e-mail address", test: BY_NAME },
  passwordCharactersLeast: {
    value: 10,
    bounds: "a password, at least",
    test: ["test/limits.test.ts", '"passwordCharactersLeast"'],
  },
  passwordCharactersMost: { value: 256, bounds: "a password, at most", test: BY_NAME },
  passwordsAtOnce: {
    value: 2,
    bounds: "passwords hashed at a time: each takes 19 MiB and a thread",
    beyond: "further ones wait",
    test: [PASSWORDS, "a flood of strangers has two threads and 128 places"],
  },
  passwordsWaiting: {
    value: 128,
    bounds: "sign-ins from known addresses that wait to be hashed, and as many others",
    beyond: "`RATE_LIMITED`",
    test: [PASSWORDS, "a flood of strangers has two threads and 128 places"],
  },
  passwordsWaitingPerAddress: {
    value: 64,
    bounds: "sign-ins from one address (IPv6: /64) among these",
    beyond: "`RATE_LIMITED`",
    test: [PASSWORDS, "of one address 64 may wait, and one more is refused"],
  },
  failedLoginsPerAccountAndAddress: {
    value: 10,
    bounds: "wrong passwords for one account from one address without a pause",
    beyond: "`RATE_LIMITED`; one more after each pause of 30 s, 1, 2, 4 and 5 minutes",
    test: [LOGIN_THROTTLE, "an e-mail may fail ten times from one address"],
  },
  failedLoginsPerAddress: {
    value: 50,
    bounds: "wrong passwords from one address for all accounts, except those that have signed in from there",
    beyond: "`RATE_LIMITED`; one more after each pause of 5, 10, 20, 40 and 60 s",
    test: [LOGIN_THROTTLE, "an address may fail fifty times, with whatever e-mail"],
  },
  failedLoginsPerAccount: {
    value: 50,
    bounds: "wrong passwords for one account from addresses that it has not signed in from",
    beyond: "`RATE_LIMITED`; one more after each pause of 30 s, 1, 2, 4 and 5 minutes",
    test: [LOGIN_THROTTLE, "from many addresses an e-mail may fail fifty times"],
  },
  failedLoginPauseSeconds: {
    value: 300,
    bounds:
      "the longest of these pauses for an account. As much quiet time after a pause takes one wrong password back",
    beyond: "a pause never grows beyond it",
    test: [LOGIN_THROTTLE, "then after pauses that grow to 5 minutes"],
  },
  failedLoginPauseSecondsPerAddress: {
    value: 60,
    bounds: "the longest of these pauses for an address",
    beyond: "a pause never grows beyond it",
    test: [LOGIN_THROTTLE, "then after pauses of 5 s to 1 minute"],
  },
  sessionsPerUser: {
    value: 100,
    bounds: "open sessions of a user, sign-ins at the same moment included",
    beyond: "the one that was refreshed least recently ends",
    test: [SESSIONS, "${LIMITS.sessionsPerUser} sessions: one more ends"],
  },
  signInsPerUser: {
    value: 300,
    bounds:
      "sign-ins, moves to another organization and changes of the password of one user at once, then one a second. Each process counts for itself",
    beyond: "`RATE_LIMITED`",
    test: [SESSIONS, "signs in ${LIMITS.signInsPerUser} times at once, then once a second"],
  },
  addressCharacters: {
    value: 64,
    bounds: "the address that a session was opened from",
    beyond: "it is cut",
    test: [SESSIONS, "are kept short and plain"],
  },
  userAgentCharacters: {
    value: 200,
    bounds: "the user agent that a session was opened with",
    beyond: "it is cut",
    test: [SESSIONS, "are kept short and plain"],
  },
  knownAddresses: {
    value: 10_000,
    bounds: "addresses of all accounts that a server knows while somebody is guessing at one",
    beyond: "the oldest is forgotten",
    test: [KNOWN_ADDRESSES, "as many addresses as may be are known in memory"],
  },
  knownAddressesPerUser: {
    value: 20,
    bounds: "addresses that an account has signed in from",
    beyond: "the oldest is forgotten",
    test: [KNOWN_ADDRESSES, "an address is known for 90 days"],
  },
  knownAddressDays: {
    value: 90,
    bounds: "how long such an address is kept",
    beyond: "it is forgotten",
    test: [KNOWN_ADDRESSES, "an address is known for 90 days"],
  },
  credentialCharacters: {
    value: 4_096,
    bounds: "the `Authorization` of a request or of `connection_init`",
    beyond: "it counts as a wrong credential",
    test: BY_NAME,
  },
  wrongCredentialsPerAddress: {
    value: 60,
    bounds:
      "requests with a wrong credential from one address (IPv6: /64) at once, then one a second. A good credential from there always passes",
    beyond: "`RATE_LIMITED`",
    test: [RATES, "wrong credentials from one address are limited"],
  },
  keysLookedUpAtOnce: {
    value: 256,
    bounds: "API keys, or webhook tokens, looked up in one statement; one such statement runs at a time",
    beyond: "the rest goes with the next",
    test: [API_KEY_LOOK_UPS, "one statement at a time, for all that wait, and each gets its own"],
  },
  keysWaiting: {
    value: 1_024,
    bounds:
      "requests with unknown API keys that wait to be looked up, and as many with unknown webhook tokens; their addresses take turns",
    beyond: "`UNAVAILABLE` for the last one of the address with the most",
    test: [API_KEY_LOOK_UPS, "the maximum of waiting keys is looked up, one more is refused"],
  },
  keysWaitingPerAddress: {
    value: 512,
    bounds: "such requests from one address (IPv6: /64)",
    beyond: "`UNAVAILABLE`",
    test: [API_KEY_LOOK_UPS, "of one address as many wait as may, and one more is refused"],
  },
  refreshesWaiting: {
    value: 256,
    bounds: "refreshes that wait; two are at work",
    beyond: "`UNAVAILABLE`",
    test: [REFRESH_TURNS, "%s as many wait as may, and one more is refused"],
  },
  refreshesWaitingPerAccount: {
    value: 32,
    bounds: "refreshes of one account among these, over all its sessions",
    beyond: "`UNAVAILABLE`",
    test: [REFRESH_TURNS, "%s as many wait as may, and one more is refused"],
  },
  uiRequestsPerMinute: {
    value: 600,
    bounds:
      "requests of one user of the web UI in any 60 seconds, over all sessions; they do not count against the plan. Each process counts for itself",
    beyond: "`RATE_LIMITED`",
    test: [RATES, "a user of the web UI has one limit for all sessions"],
  },
} satisfies Record<string, Limit>;
