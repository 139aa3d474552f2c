/** The page's one WebSocket: opened with the session's token, and again when it was lost. */
import { createClient, type Client } from "graphql-ws";
import { withDigits } from "../lib/json.ts";
import type { Store } from "../lib/store.ts";
import { urlOf } from "./base.ts";
import type { Session } from "./session.ts";

/** `lostAt`: ms since 1970; since then what is shown may be old. `count`: how often it was opened after something had been read. */
export type Connection = { lostAt: number | undefined; count: number };

/** Close codes that say that the token is good no longer (docs/api.md). */
const FORBIDDEN = 4403;
/** graphql-ws connects again after it. */
const RESTART = 4205;
const REFUSED: ReadonlySet<number> = new Set([4401, FORBIDDEN]);
const PING_MS = 10_000;
/** A network that went away says nothing; without an answer to a ping by then it is taken for gone. */
const PONG_MS = 5_000;
const LONGEST_PAUSE_MS = 10_000;
/** A query sent once the subscriptions are open is sent once. A connection that takes longer is not waited for. */
const READ_AFTER_MS = 250;

export function createSocket(session: Session, connection: Store<Connection>, opening: Opening): Client {
  /** The connection was opened with it. */
  let token: string | undefined;
  let unanswered: ReturnType<typeof setTimeout> | undefined;
  const webSocket = createClient({
    url: urlOf("graphql", "ws"),
    connectionParams: async () => {
      // A rejection here is one that graphql-ws leaves unhandled; without a token the connection is closed again.
      token = await session.accessToken().catch(() => undefined);
      return token === undefined ? {} : { Authorization: `Bearer ${token}` };
    },
    jsonMessageReviver: withDigits,
    keepAlive: PING_MS,
    lazyCloseTimeout: 2_000,
    retryAttempts: Number.POSITIVE_INFINITY,
    // Also a token that has ended: the next one is sent then.
    shouldRetry: () => session.presence.get()?.state !== "out",
    retryWait: async (retries) => {
      await session.settled();
      await online(Math.min(250 * 2 ** retries, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2));
    },
    on: {
      ping: (isReceived) => {
        if (!isReceived) unanswered = setTimeout(() => webSocket.terminate(), PONG_MS);
      },
      pong: (isReceived) => {
        if (isReceived) clearTimeout(unanswered);
      },
      connected: (socket) => {
        // Whatever is asked over it would be refused: the next one may have a token.
        if (token === undefined) (socket as WebSocket).close(RESTART, "no token");
        else connection.set({ lostAt: undefined, count: connection.get().count + (opening.isOver ? 1 : 0) });
        opening.end();
      },
      closed: (event) => {
        clearTimeout(unanswered);
        const { code } = event as CloseEvent;
        if (REFUSED.has(code) && token !== undefined) session.forget(token);
        const { lostAt, count } = connection.get();
        const isMeant = code === 1000 || code === FORBIDDEN;
        if (lostAt === undefined && !isMeant) connection.set({ lostAt: Date.now(), count });
      },
    },
  });
  return webSocket;
}

/** Waits so long, or until the browser has a network again. */
const online = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done);
  });

/** The first opening of the connection: queries wait until it is over, but not long. */
export class Opening {
  isOver = false;
  readonly #ended = Promise.withResolvers<void>();

  end(): void {
    this.isOver = true;
    this.#ended.resolve();
  }

  async over(): Promise<void> {
    if (this.isOver) return;
    const timer = setTimeout(() => this.end(), READ_AFTER_MS);
    await this.#ended.promise;
    clearTimeout(timer);
  }
}
