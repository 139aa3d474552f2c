/** The API as this page uses it: queries and mutations over HTTP, subscriptions over one WebSocket, one cache for both. */
import {
  Client,
  fetchExchange,
  mapExchange,
  subscriptionExchange,
  type AnyVariables,
  type TypedDocumentNode,
} from "@urql/core";
import type { Client as SocketClient } from "graphql-ws";
import { marked, restored, unmarked } from "../lib/json.ts";
import { Store } from "../lib/store.ts";
import { urlOf } from "./base.ts";
import { createCache } from "./cache.ts";
import { Decisions } from "./decisions.ts";
import { DecideDocument, type DecideApprovalInput } from "./documents.ts";
import { createKeepShown } from "./keep-shown.ts";
import { refusalIn, refusalOf, unreachable, type GivenError, type Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";
import { createSocket, Opening, type Connection } from "./socket.ts";

export type Api = {
  client: Client;
  connection: Store<Connection>;
  decisions: Decisions;
  /** Text typed into forms, until the session ends. */
  typed: Map<string, unknown>;
  /** Answers of a subscription that pass by the cache: it would read a page again for each of hundreds. Ends once the returned function is called. */
  stream<Data, Variables extends AnyVariables>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
    sink: StreamSink<Data>,
  ): () => void;
  close(): void;
};

export type StreamSink<Data> = { onData(data: Data): void; onEnd(refusal: Refusal | undefined): void };

export function createApi(session: Session): Api {
  const connection = new Store<Connection>({ lostAt: undefined, count: 0 });
  const opening = new Opening();
  const webSocket = createSocket(session, connection, opening);
  const client = new Client({
    url: urlOf("graphql"),
    preferGetMethod: false,
    fetch: authorized(session, opening),
    exchanges: [
      createKeepShown(),
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
    // It rejects if the connection was being opened again.
    void Promise.resolve(webSocket.dispose()).catch(() => undefined);
  };
  return { client, connection, decisions, typed: new Map(), stream: streamOver(webSocket), close };
}

/** Answers of a subscription as they come, and then why it ended. */
const streamOver =
  (webSocket: SocketClient): Api["stream"] =>
  (document, variables, { onData, onEnd }) => {
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

/** Sends the access token, and exchanges it once if the server no longer accepts it. urql parses the answer. */
const authorized = (session: Session, opening: Opening): typeof fetch => {
  const send = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<[Response, string]> => {
    const token = await session.accessToken();
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` };
    const body = typeof init.body === "string" ? unmarked(init.body) : (init.body ?? null);
    return [await fetch(input, { ...init, headers, body }), token];
  };
  return async (input, init) => {
    await opening.over();
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
