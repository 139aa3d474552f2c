/** The hooks with which pages ask the API. */
import { createContext, use, useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from "react";
import type { AnyVariables, TypedDocumentNode } from "@urql/core";
import { useClient, useQuery, type UseQueryArgs, type UseQueryState } from "urql";
import { parseJson } from "../lib/json.ts";
import type { Api } from "./client.ts";
import { refusalIn, type Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";

export const SessionContext = createContext<Session | undefined>(undefined);
export const ApiContext = createContext<Api | undefined>(undefined);

const given = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error("outside of its provider");
  return value;
};

export const useSession = (): Session => given(use(SessionContext));
export const useApi = (): Api => given(use(ApiContext));

export function useConnection() {
  const { connection } = useApi();
  return useSyncExternalStore(connection.watch, connection.get);
}

const NETWORK_ONLY = { requestPolicy: "network-only" } as const;

/**
 * A query, and what asks it again. An answer that is on its way then may be older than the reason, and urql asks nothing beside it:
 * the query is asked once more when that answer is there.
 */
export function useRead<Data, Variables extends AnyVariables>(
  args: UseQueryArgs<Variables, Data>,
): [UseQueryState<Data, Variables>, () => void] {
  const [state, read] = useQuery(args);
  const isReading = useRef(false);
  const isDue = useRef(false);
  const readAgain = (): void => {
    isDue.current = isReading.current;
    if (isReading.current) return;
    isReading.current = true;
    read(NETWORK_ONLY);
  };
  const readDue = useEffectEvent(readAgain);
  useEffect(() => {
    isReading.current = state.fetching || state.stale;
    if (isDue.current && !isReading.current) readDue();
  }, [state]);
  return [state, readAgain];
}

/**
 * The answer to a query that is asked only when something happened. An answer that is on its way then may be of before that: it is
 * given up, where urql would give it again.
 */
export function useAsked<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
): [Data | undefined, (variables: Variables) => void] {
  const client = useClient();
  const [data, setData] = useState<Data>();
  const asked = useRef<{ unsubscribe(): void }>(undefined);
  useEffect(() => () => asked.current?.unsubscribe(), []);
  const ask = (variables: Variables): void => {
    asked.current?.unsubscribe();
    asked.current = client.query(document, variables, NETWORK_ONLY).subscribe((answer) => {
      asked.current?.unsubscribe();
      if (answer.data) setData(answer.data);
    });
  };
  return [data, ask];
}

/**
 * Reads again what a query shows, and resolves once that is shown. While an answer is on its way urql gives that one, which may be of
 * before: the one after it is not. Throws Refusal.
 */
export function useReadAnew() {
  const client = useClient();
  return async <Data, Variables extends AnyVariables>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
  ): Promise<void> => {
    const read = async () => client.query(document, variables, NETWORK_ONLY).toPromise();
    await read();
    const { error } = await read();
    if (error) throw refusalIn(error);
  };
}

/** Throws Refusal. */
export function useMutate() {
  const client = useClient();
  return async <Data, Variables extends AnyVariables>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
  ): Promise<Data> => {
    const { data, error } = await client.mutation(document, variables).toPromise();
    if (error) throw refusalIn(error);
    return data!;
  };
}

/** A subscription that was ended for being slow or for a lost notice is opened again after this. */
const AGAIN_MS = 1_000;

type Live<Data> = {
  onData?: (data: Data) => void;
  /**
   * Something may have been missed: the page was read before it was connected, the connection was lost, or the server
   * ended the subscription. Read again.
   */
  onMissed?: () => void;
  pause?: boolean;
};

/** Holds a subscription open while the component is there. */
export function useLive<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { onData, onMissed, pause = false }: Live<Data> = {},
): void {
  const client = useClient();
  const { count } = useConnection();
  const taken = useEffectEvent((data: Data) => onData?.(data));
  const missed = useEffectEvent(() => onMissed?.());
  const asked = JSON.stringify(variables);

  const [countAtFirst] = useState(count);
  useEffect(() => {
    if (count > countAtFirst) missed();
  }, [count, countAtFirst]);

  useEffect(() => {
    if (pause) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let held: { unsubscribe(): void } | undefined;
    const again = (): void => {
      timer = undefined;
      held?.unsubscribe();
      open();
      missed();
    };
    const open = (): void => {
      held = client.subscription(document, parseJson(asked) as Variables).subscribe(({ data, error }) => {
        if (data) taken(data);
        if (error && isPassing(refusalIn(error))) timer ??= setTimeout(again, AGAIN_MS);
      });
    };
    open();
    return () => {
      clearTimeout(timer);
      held?.unsubscribe();
    };
  }, [client, document, asked, pause]);
}

const PASSING: ReadonlySet<string> = new Set(["UNAVAILABLE", "UNREACHABLE", "UNAUTHENTICATED"]);
/** A query that may be repeated by itself. */
export const isPassing = ({ code }: Refusal): boolean => PASSING.has(code);
