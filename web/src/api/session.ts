/**
 * Who is signed in. The refresh token is in a cookie that no script can read; the access token is in memory alone and is
 * exchanged before it expires (docs/api.md, "Signing in from a page of the server").
 */
import { Store } from "../lib/store.ts";
import { BASE, urlOf } from "./base.ts";
import { Refusal, refusalOf, unreachable, type GivenError } from "./refusal.ts";

type Token = { accessToken: string; expiresAt: string };
type Request = { method: "POST" | "DELETE"; path: string; body?: object; authorization?: string | undefined };

/** Exchanged this long before its end, so that no request is under way with it then. */
const EARLY_MS = 30_000;
/** Tabs take turns, so that each sends the cookie that the one before was given; and tell each other who is in. */
const LOCK = "autograph-session";
const CHANNEL = `${LOCK} ${BASE}`;

export type Credentials =
  | { email: string; password: string }
  | { setupToken: string; organization: string; name: string; email: string; password: string }
  | { invitationToken: string; name?: string; email?: string; password?: string };

/**
 * `who`: the user and the organization; what was read as one is nothing for another. A session that has `lapsed` was ended
 * elsewhere or has expired: what is on the page stays, and whatever is asked waits until they have signed in again.
 */
export type Presence =
  | { readonly state: "in"; readonly who: string }
  | { readonly state: "lapsed"; readonly who: string }
  | { readonly state: "out"; readonly who?: undefined };

const OUT: Presence = { state: "out" };

export class Session {
  /** Undefined: not asked yet. */
  readonly presence = new Store<Presence | undefined>(undefined);
  /** Work to do before the user is signed out. */
  readonly leaving = new Set<() => Promise<void>>();
  #token: Token | undefined;
  #refreshing: Promise<boolean> | undefined;
  /** Posts `who` is in, or "" for nobody. */
  readonly #tabs = new BroadcastChannel(CHANNEL);

  /** Whether this browser was given a session; if not, there is none to ask for. No script can read the cookie itself. */
  get #isKnown(): boolean {
    return localStorage.getItem(CHANNEL) !== null;
  }

  constructor() {
    this.#tabs.addEventListener("message", ({ data: who }: MessageEvent<string>) => {
      const present = this.presence.get();
      if (!present) return;
      if (who === "") this.#end();
      // It has the same cookie. If the server does not answer, the next request asks again.
      else if (present.state !== "in" || present.who !== who) void this.#refresh().catch(() => undefined);
    });
  }

  /** Returns whether somebody is signed in. Throws Refusal when the server does not say. */
  async start(): Promise<boolean> {
    const present = this.presence.get();
    if (present) return present.state !== "out";
    if (this.#isKnown) return this.#refresh();
    this.#end();
    return false;
  }

  /** Throws Refusal UNAUTHENTICATED, and when the server does not answer. */
  async accessToken(): Promise<string> {
    const asked = this.presence.get()?.who;
    if (!this.#token || Date.parse(this.#token.expiresAt) - Date.now() < EARLY_MS) {
      if (this.presence.get()?.state !== "lapsed") await this.#refresh();
      await this.settled();
    }
    if (!this.#token || (asked !== undefined && asked !== this.presence.get()?.who))
      throw new Refusal("Your session has ended: sign in again.", { code: "UNAUTHENTICATED" });
    return this.#token.accessToken;
  }

  /** Resolves once the session is no longer one that has lapsed. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.presence.get()?.state === "lapsed") return;
        stop();
        resolve();
      };
      const stop = this.presence.watch(look);
      look();
    });
  }

  /** The server did not take the token. */
  forget(accessToken: string): void {
    if (this.#token?.accessToken === accessToken) this.#token = undefined;
  }

  /** Throws Refusal with what is wrong. */
  async signIn(credentials: Credentials): Promise<void> {
    const isInvited = "invitationToken" in credentials && this.presence.get()?.state === "in";
    const authorization = isInvited ? `Bearer ${await this.accessToken()}` : undefined;
    this.#begin(await send({ method: "POST", path: "auth/session", body: credentials, authorization }));
    this.#tell();
  }

  /** Throws Refusal NOT_FOUND for one that the user has left. */
  async switchOrganization(organizationId: string): Promise<void> {
    await this.#leave();
    const body = { organizationId };
    this.#begin(await inTurn(() => send({ method: "POST", path: "auth/session/refresh", body })));
    this.#tell();
  }

  /** Throws Refusal when the server does not answer: they are still signed in then. */
  async signOut(): Promise<void> {
    await this.#leave();
    await send({ method: "DELETE", path: "auth/session" });
    this.#end();
    this.#tell();
  }

  async #leave(): Promise<void> {
    // Nothing can be done as somebody whose session has lapsed, and what is asked waits until they are back.
    if (this.presence.get()?.state !== "in") return;
    await Promise.all(Array.from(this.leaving, (leave) => leave()));
  }

  #refresh(): Promise<boolean> {
    this.#refreshing ??= inTurn(() => this.#exchange()).finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #exchange(): Promise<boolean> {
    try {
      this.#begin(await send({ method: "POST", path: "auth/session/refresh", body: {} }));
      return true;
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "UNAUTHENTICATED") throw error;
      const who = this.presence.get()?.who;
      if (who === undefined) this.#end();
      else this.#set({ state: "lapsed", who });
      return false;
    }
  }

  #begin(token: Token): void {
    this.#set({ state: "in", who: whoOf(token) }, token);
  }

  #end(): void {
    this.#set(OUT);
  }

  #set(next: Presence, token?: Token): void {
    this.#token = token;
    if (next.state === "in") localStorage.setItem(CHANNEL, "in");
    if (next.state === "out") localStorage.removeItem(CHANNEL);
    const present = this.presence.get();
    if (present?.state !== next.state || present.who !== next.who) this.presence.set(next);
  }

  #tell(): void {
    this.#tabs.postMessage(this.presence.get()?.who ?? "");
  }
}

/** From the claims of the token (RFC 9068). */
function whoOf({ accessToken }: Token): string {
  const claims = accessToken.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
  const { sub, org } = JSON.parse(atob(claims)) as { sub: string; org: string };
  return `${sub} ${org}`;
}

/** Browsers have locks on https and loopback alone; elsewhere the server takes a cookie twice within seconds. */
const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> =>
  "locks" in navigator ? navigator.locks.request(LOCK, work) : work();

async function send({ method, path, body, authorization }: Request): Promise<Token> {
  const response = await fetch(urlOf(path), {
    method,
    headers: { "Content-Type": "application/json", ...(authorization && { Authorization: authorization }) },
    body: body ? JSON.stringify(body) : null,
  }).catch(() => {
    throw unreachable();
  });
  const answer = (await response.json().catch(() => {
    throw new Refusal(`The server answered with status ${response.status} and no JSON.`);
  })) as Token & { errors?: GivenError[] };
  const [error] = answer.errors ?? [];
  if (error) throw refusalOf(error);
  return answer;
}
