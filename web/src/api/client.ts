/** The API as this page uses it: queries and mutations over HTTP, subscriptions over one WebSocket, one cache for both. */
import {
  Client,
  fetchExchange,
  mapExchange,
  subscriptionExchange,
  type AnyVariables,
  type TypedDocumentNode,
} from "@urql/core";
import { createClient } from "graphql-ws";
import { marked, restored, unmarked, withDigits } from "../lib/json.ts";
import { Store } from "../lib/store.ts";
import { urlOf } from "./base.ts";
import { createCache } from "./cache.ts";
import { Decisions } from "./decisions.ts";
import { DecideDocument, type DecideApprovalInput } from "./documents.ts";
import { refusalIn, refusalOf, unreachable, type GivenError, type Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";

/** `lostAt`: ms since 1970; since then what is shown may be old. `count`: how often it was opened after something had been read. */
export type Connection = { lostAt: number | undefined; count: number };

export type Api = {
  client: Client;
  connection: Store<Connection>;
  decisions: Decisions;
  /** Text typed into forms, until the session ends. */
  typed: Map<string, unknown>;
  /** Answers of a subscription that pass by the cache: it would read a page again for each of hundreds. Ends by `stop`. */
  stream<Data, Variables extends AnyVariables>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
    sink: StreamSink<Data>,
  ): () => void;
  close(): void;
};

export type StreamSink<Data> = { onData(data: Data): void; onEnd(refusal: Refusal | undefined): void };

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

export function createApi(session: Session): Api {
  const connection = new Store<Connection>({ lostAt: undefined, count: 0 });
  /** That the connection was opened with. */
  let token: string | undefined;
  let unanswered: ReturnType<typeof setTimeout> | undefined;
  const turn = new FirstTurn();
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
        else connection.set({ lostAt: undefined, count: connection.get().count + (turn.isOver ? 1 : 0) });
        turn.end();
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
  const client = new Client({
    url: urlOf("graphql"),
    preferGetMethod: false,
    fetch: authorized(session, turn),
    exchanges: [
      createCache(),
      mapExchange({ onResult: ({ data }) => void restored(data) }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: webSocket.subscribe({ query: query!, variables: variables ?? null }, sink as never),
          }),
        }),
      }),
    ],
  });
  const stream: Api["stream"] = (document, variables, { onData, onEnd }) => {
    let refusal: Refusal | undefined;
    const query = document as unknown as string;
    return webSocket.subscribe(
      { query, variables: variables as Record<string, unknown> },
      {
        next: ({ data, errors }) => {
          const [error] = errors ?? [];
          if (error) refusal = refusalOf(error);
          else onData(data as never);
        },
        error: (errors) => onEnd(Array.isArray(errors) ? refusalOf(errors[0] as GivenError) : unreachable()),
        complete: () => onEnd(refusal),
      },
    );
  };
  const decide = async (input: DecideApprovalInput, isShort: boolean): Promise<void> => {
    const context = { fetchOptions: { keepalive: isShort } };
    const { error } = await client.mutation(DecideDocument, { input }, context).toPromise();
    if (error) throw refusalIn(error);
  };
  // A token lasts longer than a decision waits: one that has to be exchanged first would not be sent from a page that is left.
  const decisions = new Decisions(decide, () => void session.accessToken().catch(() => undefined));
  const leave = (): Promise<void> => decisions.sendAll();
  session.leaving.add(leave);
  const wentOffline = (): void => webSocket.terminate();
  window.addEventListener("offline", wentOffline);
  const close = (): void => {
    session.leaving.delete(leave);
    decisions[Symbol.dispose]();
    window.removeEventListener("offline", wentOffline);
    void webSocket.dispose();
  };
  return { client, connection, decisions, typed: new Map(), stream, close };
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

/** The connection's: what would be asked before waits for it, but not long. */
class FirstTurn {
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

/** Sends the access token, and exchanges it once if the server no longer accepts it. urql parses the answer. */
const authorized = (session: Session, turn: FirstTurn): typeof fetch => {
  const send = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<[Response, string]> => {
    const token = await session.accessToken();
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
    const body = typeof init.body === "string" ? unmarked(init.body) : (init.body ?? null);
    return [await fetch(input, { ...init, headers, body }), token];
  };
  return async (input, init) => {
    await turn.over();
    const [response, token] = await send(input, init);
    if (response.status !== 401) return withMarks(response);
    session.forget(token);
    return withMarks((await send(input, init))[0]);
  };
};

const withMarks = async (response: Response): Promise<Response> => {
  const { status, statusText, headers } = response;
  return new Response(marked(await response.text()), { status, statusText, headers });
};
