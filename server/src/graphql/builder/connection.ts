/** Relay connections, forward only. A cursor names its list and an item of it; to clients it is opaque. */
import { badInput, type Refusal } from "../../lib/errors.ts";
import { decodeId, encodeId, type Id, type Kind } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { checkPage, type Page, type PageRequest } from "../../lib/page.ts";
import type { Builder } from "./builder.ts";
import type { Connection, Edge, List, Objects } from "./objects.ts";

const PAGE_SIZE = 50;
/** For `extensions.cost` of a field that answers a connection. */
export const PAGED = { cost: { most: PAGE_SIZE, argument: "first" } };

type PageArguments = { first?: number | null | undefined; after?: string | null | undefined };

/** A list in the order of ids. `of`: the object that the list belongs to. */
export const listById = <K extends Kind>(name: string, kind: K, of?: string): List<{ id: Id<K> }> => ({
  name: of === undefined ? name : `${name} ${of}`,
  write: ({ id }) => encodeId(kind, id),
  read: (key) => decodeId(kind, key),
});

export async function connect<Node>(
  list: List<Node>,
  { first, after }: PageArguments,
  read: (request: PageRequest) => Promise<Page<Node>>,
): Promise<Connection<Node>> {
  const request = { first: first ?? PAGE_SIZE, ...(after != null && { after: keyOf(list, after) }) };
  const { items, hasNextPage } = await read(checkPage(request));
  return { list, items, hasNextPage };
}

const cursorOf = <Node>({ name, write }: List<Node>, node: Node): string =>
  Buffer.from(`${name} ${write(node)}`).toString("base64url");

function keyOf({ name, read }: Pick<List<never>, "name" | "read">, cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString();
  const key = text.startsWith(`${name} `) ? read(text.slice(name.length + 1)) : undefined;
  if (key === undefined || Buffer.from(text).toString("base64url") !== cursor) throw notACursor();
  return key;
}

const notACursor = (): Refusal =>
  badInput(
    "invalid_cursor",
    "after is not a cursor of this list: pass the `endCursor` of one of its pages, or begin without `after`",
    [{ path: "after", code: "invalid", message: "is not a cursor" }],
  );

type Listed = { [Name in keyof Objects]: `${Name}Connection` extends keyof Objects ? Name : never }[keyof Objects];

/** The types `<Name>Connection` and `<Name>Edge`. */
export function addConnection(builder: Builder, name: Listed): void {
  // One name stands for all: the types differ only in the node.
  const type = name as "Run";
  const edge = builder.objectRef<Edge<Objects["Run"]>>(`${name}Edge`).implement({
    description: "An item of a list, with its cursor.",
    extensions: { isPart: true },
    fields: (t) => ({
      cursor: t.string({
        scope: "inherited",
        description: "Pass this cursor as `after` to get the items after this one.",
        resolve: ({ list, node }) => cursorOf(list, node),
      }),
      node: t.expose("node", { scope: "inherited", type, description: "The item at the end of the edge." }),
    }),
  });
  builder.objectType(`${type}Connection`, {
    description: "One page of a list.",
    extensions: { isPart: true },
    fields: (t) => ({
      edges: t.field({
        scope: "inherited",
        type: [edge],
        description: "The items of the page, each with its cursor.",
        resolve: ({ list, items }) => items.map((node) => ({ list, node })),
      }),
      nodes: t.expose("items", { scope: "inherited", type: [type], description: "The items of the page." }),
      pageInfo: t.field({
        scope: "inherited",
        type: "PageInfo",
        description: "Information about the page.",
        resolve: ({ list, items, hasNextPage }) => ({
          hasNextPage,
          startCursor: items.length === 0 ? null : cursorOf(list, items[0]!),
          endCursor: items.length === 0 ? null : cursorOf(list, items.at(-1)!),
        }),
      }),
    }),
  });
}

export function addPageInfo(builder: Builder): void {
  builder.objectType("PageInfo", {
    extensions: { isPart: true },
    description: "Information about a page of a list. Lists are read forward only.",
    fields: (t) => ({
      hasNextPage: t.exposeBoolean("hasNextPage", {
        scope: "inherited",
        description: "Whether there are items after this page.",
      }),
      hasPreviousPage: t.boolean({
        scope: "inherited",
        resolve: () => false,
        description: "Always false, because lists are read forward only.",
      }),
      startCursor: t.exposeString("startCursor", {
        scope: "inherited",
        nullable: true,
        description: "The cursor of the first item. Null for an empty page.",
      }),
      endCursor: t.exposeString("endCursor", {
        scope: "inherited",
        nullable: true,
        description: "The cursor of the last item. Pass it as `after` to get the next page. Null for an empty page.",
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
      description: `Return at most this many items, from 1 to ${LIMITS.pageSize}.`,
    }),
    after: t.string({ required: false, description: "Return items after this cursor." }),
  }));
