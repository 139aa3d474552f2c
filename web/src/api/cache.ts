/** One entity for each id, so that a change that arrives on one page shows on all. */
import { cacheExchange, type Cache, type Entity } from "@urql/exchange-graphcache";
import type { Exchange } from "@urql/core";

export const createCache = (): Exchange =>
  cacheExchange({
    updates: {
      Mutation: {
        runAgent: ({ runAgent }, _args, cache) => addRun(cache, runAgent as Run),
        fireTrigger: ({ fireTrigger }, _args, cache) => addFiring(cache, fireTrigger as Firing),
        replayFiring: ({ replayFiring }, _args, cache) => addFiring(cache, replayFiring as Firing),
      },
      Subscription: {
        runsChanged: ({ runsChanged }, _args, cache) => addRun(cache, runsChanged as Run),
        firingsChanged: ({ firingsChanged }, _args, cache) => addFiring(cache, firingsChanged as Firing),
      },
    },
  });

type Node<Name extends string> = { __typename: Name; id: string };
type Run = (Node<"Run"> & { agent?: Node<"Agent"> }) | null;
type Firing = (Node<"Firing"> & { trigger?: Node<"Trigger"> | null }) | null;

const addRun = (cache: Cache, run: Run): void => {
  if (run?.agent) addFirst(cache, run.agent, "runs", run);
};
const addFiring = (cache: Cache, firing: Firing): void => {
  if (firing?.trigger) addFirst(cache, firing.trigger, "firings", firing);
};

/** One that an owner's newest ones lack is put before them. */
function addFirst(cache: Cache, owner: Node<string>, field: string, node: Node<string>): void {
  const key = cache.keyOfEntity(node)!;
  for (const { fieldName, fieldKey, arguments: given } of cache.inspectFields(owner)) {
    if (fieldName !== field || given?.["after"] || given?.["filter"]) continue;
    const connection = cache.resolve(owner, fieldKey) as Entity;
    const nodes = connection && (cache.resolve(connection, "nodes") as string[] | undefined);
    if (!nodes || nodes.includes(key)) continue;
    const most = given?.["first"] as number | undefined;
    cache.link(connection, "nodes", [key, ...nodes].slice(0, most));
  }
}
