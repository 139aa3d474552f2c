/** Relay connections, forward only. An item's cursor is its id, which clients take as it is. */
import { badInput } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { checkPage, type Page, type PageRequest } from "../lib/page.ts";
import type { Builder } from "./builder.ts";
import type { Connection, Edge, Objects } from "./objects.ts";

const PAGE_SIZE = 50;
/** For `extensions.cost` of a field that answers a connection. */
export const PAGED = { cost: { most: PAGE_SIZE, argument: "first" } };

/** `decode` answers undefined for what is no cursor of the list. */
export function pageRequest(
  { first, after }: { first?: number | null | undefined; after?: string | null | undefined },
  decode: (cursor: string) => string | undefined,
): PageRequest {
  const size = first ?? PAGE_SIZE;
  if (after == null) return checkPage({ first: size });
  const key = decode(after);
  if (key !== undefined) return checkPage({ first: size, after: key });
  throw badInput("after is not a cursor of this list", [
    { path: "after", code: "invalid", message: "is not a cursor" },
  ]);
}

export function connectionOf<Node>(
  { items, hasNextPage }: Page<Node>,
  cursorOf: (node: Node) => string,
): Connection<Node> {
  const edges = items.map((node) => ({ cursor: cursorOf(node), node }));
  return { edges, nodes: items, pageInfo: { hasNextPage, endCursor: edges.at(-1)?.cursor ?? null } };
}

type Listed = { [Name in keyof Objects]: `${Name}Connection` extends keyof Objects ? Name : never }[keyof Objects];

/** The types `<Name>Connection` and `<Name>Edge`. */
export function addConnection(builder: Builder, name: Listed): void {
  // One of the names stands for all: the types differ in the node alone.
  const type = name as "Run";
  const edge = builder.objectRef<Edge<Objects["Run"]>>(`${name}Edge`).implement({
    description: "An item of a page.",
    extensions: { isPart: true },
    fields: (t) => ({
      cursor: t.exposeString("cursor", { description: "Give it as `after` to go on behind this item." }),
      node: t.expose("node", { type, description: "The item." }),
    }),
  });
  builder.objectType(`${type}Connection`, {
    description: "A page of a list.",
    extensions: { isPart: true },
    fields: (t) => ({
      edges: t.expose("edges", { type: [edge], description: "The items with their cursors." }),
      nodes: t.expose("nodes", { type: [type], description: "The items alone." }),
      pageInfo: t.expose("pageInfo", { type: "PageInfo", description: "Whether and where the list goes on." }),
    }),
  });
}

export function addPageInfo(builder: Builder): void {
  builder.objectType("PageInfo", {
    extensions: { isPart: true },
    description: "Where a page ends (Relay cursor connections; lists are read forward only).",
    fields: (t) => ({
      hasNextPage: t.exposeBoolean("hasNextPage", { description: "Whether there is more behind this page." }),
      hasPreviousPage: t.boolean({ resolve: () => false, description: "Always false: lists are read forward only." }),
      startCursor: t.string({
        nullable: true,
        resolve: () => null,
        description: "Always null: lists are read forward only.",
      }),
      endCursor: t.exposeString("endCursor", {
        nullable: true,
        description: "Give it as `after` for the next page; null on an empty page.",
      }),
    }),
  });
}

/** `first` and `after` of a field that answers a connection. */
export const pageArguments = (builder: Builder) =>
  builder.args((t) => ({
    first: t.int({
      required: false,
      defaultValue: PAGE_SIZE,
      description: `How many at most, 1 to ${LIMITS.pageSize}.`,
    }),
    after: t.string({ required: false, description: "The cursor of the item to go on behind." }),
  }));
