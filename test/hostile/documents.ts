/** Random GraphQL documents over the real schema: most of them valid, all of them nothing that a client would write. */
import {
  buildSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
} from "graphql";
import fs from "node:fs";
import path from "node:path";
import type { Random } from "../faults/random.ts";
import { isRequired, unknownNames, valueOf, type Ids } from "./values.ts";

export type RandomDocument = { query: string; variables?: Record<string, unknown>; operationName?: string };

export const readSchema = (): GraphQLSchema =>
  buildSchema(fs.readFileSync(path.join(import.meta.dirname, "../../schema.graphql"), "utf8"), {
    // graphql-js does not print that it checked what it printed.
    assumeValid: true,
  });

/** How a document is written: drawn once for each, so that some are all fragments and some all variables. */
type Style = {
  fields: number;
  room: number;
  fragments: number;
  variables: number;
  aliases: number;
  /** Characters that an alias has besides. */
  long: number;
  depth: number;
  wild: number;
};
type Fragment = { name: string; on: string; text: string };
type Variable = { type: string; default: string | undefined; given: unknown };

const INTROSPECTION = `{ __schema { types { ...T fields(includeDeprecated: true) { name args { name type { ...R } } type { ...R } }
  possibleTypes { ...T } } directives { name args { name } } } }
  fragment T on __Type { kind name description } fragment R on __Type { ...T ofType { ...T ofType { ...T ofType { ...T } } } }`;

export function randomDocument(random: Random, schema: GraphQLSchema, ids: Ids): RandomDocument {
  const dice = random.next();
  if (dice < 0.05) return chain(random);
  if (dice < 0.09) return repeated(random);
  if (dice < 0.12) return flawed(random, schema, ids);
  if (dice < 0.14)
    return { query: INTROSPECTION.replaceAll("ofType { ", () => "ofType { ".repeat(random.between(0, 1) || 1)) };
  const made = composed(random, schema, ids);
  return random.next() < 0.12 ? { ...made, query: mangled(random, made.query) } : made;
}

function composed(random: Random, schema: GraphQLSchema, ids: Ids): RandomDocument {
  const style: Style = {
    fields: random.pick([2, 4, 8, 20]),
    room: random.pick([10, 40, 120, 300]),
    fragments: random.pick([0, 0.1, 0.4]),
    variables: random.pick([0, 0.3, 0.9]),
    aliases: random.pick([0, 0, 0.05, 0.3]),
    long: random.pick([0, 0, 0, 90, 5_000]),
    depth: random.pick([4, 7, 11, 14]),
    wild: random.pick([0, 0, 0.01, 0.1]),
  };
  const writing = write(random, schema, ids, style);
  const kind = random.pick(["query", "query", "query", "query", "mutation", "subscription"] as const);
  const count = random.next() < 0.1 ? random.pick([2, 5, 50]) : 1;
  const names = Array.from({ length: count }, (_, n) => `Operation${n}`);
  const operations = names.map((name) => writing.operation(kind, name));
  const query = [...operations, ...writing.fragments()].join("\n");
  const chosen = random.next() < 0.95 ? { operationName: random.pick(names) } : {};
  return { query, variables: writing.given(), ...(count > 1 ? chosen : {}) };
}

function write(random: Random, schema: GraphQLSchema, ids: Ids, style: Style) {
  const fragments = new Map<string, Fragment>();
  const open = new Set<string>();
  const written = new Map<string, string[]>();
  const variables = new Map<string, Variable>();
  let room = style.room;
  let names = 0;

  const argument = (one: GraphQLArgument): string => {
    const value = valueOf(random, one.type, { name: one.name, ids }, style.wild);
    if (random.next() >= style.variables) return `${one.name}: ${value.literal}`;
    const name = `v${++names}`;
    const isBare = isNonNullType(one.type) && random.next() < 0.3;
    // A nullable variable may stand where null is refused only with a default, or where the argument has one.
    const type = isBare ? String(one.type).slice(0, -1) : String(one.type);
    const fallback = isBare || (!type.endsWith("!") && random.next() < 0.5);
    const standard = fallback ? valueOf(random, one.type, { name: one.name, ids }, 0).literal : undefined;
    const given = random.next() < 0.3 && fallback ? (random.next() < 0.7 ? null : undefined) : value.json;
    variables.set(name, { type, default: standard, given });
    return `${one.name}: $${name}`;
  };

  const directives = (): string => {
    if (random.next() > 0.02) return "";
    const condition = random.pick(["true", "false", "$condition"]);
    if (condition === "$condition") variables.set("condition", { type: "Boolean!", default: undefined, given: true });
    return ` @${random.pick(["include", "skip"])}(if: ${condition})`;
  };

  const field = (parent: string, one: GraphQLField<unknown, unknown>, depth: number): string => {
    const alias = random.next() < style.aliases ? `a${++names}${"x".repeat(style.long)}: ` : "";
    const place = `${alias}${parent}.${one.name}`;
    // Fields of one name must have the same arguments; now and then they have not.
    if (!written.has(place) || random.next() < style.wild) {
      const given = one.args.filter((arg) => isRequired(arg) || random.next() < 0.5);
      written.set(place, given.filter(() => random.next() >= style.wild / 2).map(argument));
    }
    const args = written.get(place)!;
    const type = getNamedType(one.type);
    const inner = isCompositeType(type) ? ` ${set(type, depth + 1)}` : "";
    return `${alias}${one.name}${args.length > 0 ? `(${args.join(", ")})` : ""}${directives()}${inner}`;
  };

  const spread = (type: GraphQLCompositeType, depth: number): string => {
    const known = [...fragments.values()].filter(({ on }) => on === type.name);
    if (known.length > 0 && random.next() < 0.6) return `...${random.pick(known).name}`;
    // One that is being written may spread itself: that is invalid, and must be told.
    if (open.size > 0 && random.next() < style.wild) return `...${random.pick([...open])}`;
    const name = `F${++names}`;
    open.add(name);
    const text = `fragment ${name} on ${type.name} ${set(type, depth + 1)}`;
    open.delete(name);
    fragments.set(name, { name, on: type.name, text });
    return `...${name}`;
  };

  const set = (type: GraphQLCompositeType, depth: number): string => {
    if (isAbstractType(type)) {
      const some = schema.getPossibleTypes(type).filter(() => random.next() < 0.4);
      return `{ __typename ${some.map((one) => `... on ${one.name} ${set(one, depth + 1)}`).join(" ")} }`;
    }
    const all = isObjectType(type) ? Object.values(type.getFields()) : [];
    const isOver = depth >= style.depth || room <= 0;
    const allowed = isOver ? all.filter((one) => !isCompositeType(getNamedType(one.type))) : all;
    if (allowed.length === 0) return "{ __typename }";
    const chosen = new Map<string, string>();
    for (let count = random.between(1, style.fields); count > 0; count--) {
      const dice = random.next();
      // Sets within sets of one depth, too, come to an end.
      if (room < 0) break;
      room--;
      if (!isOver && dice < style.fragments) chosen.set(`${count}`, spread(type, depth));
      else if (!isOver && dice < style.fragments * 1.2)
        chosen.set(`${count}`, `... on ${type.name} ${set(type, depth)}`);
      else if (dice > 0.98) chosen.set("__typename", "__typename");
      else {
        const one = random.pick(allowed);
        if (!chosen.has(one.name) || random.next() < style.wild) chosen.set(one.name, field(type.name, one, depth));
      }
    }
    return chosen.size === 0 ? "{ __typename }" : `{ ${[...chosen.values()].join(" ")} }`;
  };

  /** A text and those of all fragments that it spreads, directly or not. */
  const reach = (text: string): string => {
    const names = new Set<string>();
    const visit = (part: string): void => {
      for (const [, name] of part.matchAll(/\.\.\.(F\d+)/g)) {
        if (names.has(name!)) continue;
        names.add(name!);
        visit(fragments.get(name!)?.text ?? "");
      }
    };
    visit(text);
    return [text, ...[...names].map((name) => fragments.get(name)?.text ?? "")].join(" ");
  };

  return {
    operation(kind: "query" | "mutation" | "subscription", name: string): string {
      const root = {
        query: schema.getQueryType(),
        mutation: schema.getMutationType(),
        subscription: schema.getSubscriptionType(),
      }[kind]!;
      const one = random.pick(Object.values(root.getFields()));
      const body = kind === "subscription" ? `{ ${field(root.name, one, 1)} }` : set(root, 1);
      const reached = reach(body);
      const defined = [...variables].filter(([variable]) => new RegExp(`\\$${variable}\\b`).test(reached));
      const list = defined.map(
        ([variable, { type, default: fallback }]) =>
          `$${variable}: ${type}${fallback === undefined ? "" : ` = ${fallback}`}`,
      );
      return `${kind} ${name}${list.length > 0 ? `(${list.join(", ")})` : ""} ${body}`;
    },
    fragments: () => [...fragments.values()].map(({ text }) => text),
    given: () =>
      Object.fromEntries([...variables].flatMap(([name, { given }]) => (given === undefined ? [] : [[name, given]]))),
  };
}

/** A usual operation whose variable is anything but its declared input: what refuses it must not print it for each mistake. */
function flawed(random: Random, schema: GraphQLSchema, ids: Ids): RandomDocument {
  const roots = { query: schema.getQueryType()!, mutation: schema.getMutationType()! };
  const places = Object.entries(roots).flatMap(([kind, root]) =>
    Object.values(root.getFields()).flatMap((field) =>
      field.args.filter(({ type }) => isInputObjectType(getNamedType(type))).map((arg) => ({ kind, field, arg })),
    ),
  );
  const { kind, field, arg } = random.pick(places);
  const { json } = valueOf(random, arg.type, { name: arg.name, ids }, 0.3);
  const names = unknownNames(random).map((name) => [name, random.pick([0, null, "x", [], {}])]);
  const right = typeof json === "object" && !Array.isArray(json) ? Object.entries(json ?? {}).slice(0, 8) : [];
  const few = names.slice(0, 3).filter(([name]) => String(name).length < 100);
  const objects = () => Array.from({ length: random.pick([1, 100, 5_000]) }, () => Object.fromEntries(few));
  const given = random.pick<() => unknown>([
    () => Object.fromEntries([...right, ...names]),
    () => Object.fromEntries(right.map(([name]) => [name, Object.fromEntries(names)])),
    () => Object.fromEntries(right.map(([name]) => [name, objects()])),
    objects,
  ])();
  const query = `${kind}($v: ${String(arg.type)}) { ${field.name}(${arg.name}: $v) { __typename } }`;
  return { query, variables: { v: given } };
}

/** Fragments of which each spreads the next a few times: what is walked once for each spread is walked for ever. */
function chain(random: Random): RandomDocument {
  const length = random.pick([3, 12, 40, 200]);
  const spreads = random.between(1, 3);
  const [on, root, field] = random.pick([
    ["Query", "query", "{ ...F0 }"],
    ["Query", "query", "{ ... { ...F0 ...F0 } }"],
    ["Mutation", "mutation", "{ ...F0 }"],
    ["User", "query", "{ me { ...F0 } }"],
    ["Run", "query", "{ runs(first: 1) { nodes { ...F0 } } }"],
    ["__Type", "query", "{ __schema { types { ...F0 } } }"],
  ]);
  const leaf = random.pick(["__typename", "missing", "...F0"]);
  const deeper =
    on === "Run"
      ? random.pick(["", "parent { ...NEXT }"])
      : on === "__Type"
        ? random.pick(["", "ofType { ...NEXT }"])
        : "";
  const fragments = Array.from({ length }, (_, n) => {
    if (n === length - 1) return `fragment F${n} on ${on} { ${leaf} }`;
    const next = `F${n + 1}`;
    return `fragment F${n} on ${on} { ${`...${next} `.repeat(spreads)}${deeper.replace("NEXT", next)} }`;
  });
  return { query: `${root} ${field}\n${fragments.join("\n")}` };
}

/** One name again and again, with the same or other arguments: rules that compare each with each are quadratic. */
function repeated(random: Random): RandomDocument {
  const count = random.pick([20, 100, 300, 700]);
  const one = random.pick([
    "me { id }",
    "__typename",
    "runs(first: 1) { nodes { id } }",
    "x: run(id: 1) { id } x: me { id }",
    "... { me { id } }",
  ]);
  const body = one.repeat(1).concat(" ").repeat(count);
  const inner = random.pick([body, `...A ...B`, `... on Query { ${body} }`]);
  const fragments = inner.startsWith("...A") ? `fragment A on Query { ${body} } fragment B on Query { ${body} }` : "";
  return { query: `{ ${inner} } ${fragments}` };
}

/** A piece of the text lost, doubled, or put where it has no business. */
function mangled(random: Random, query: string): string {
  const from = random.between(0, query.length);
  const to = Math.min(query.length, from + random.pick([1, 2, 10, 100]));
  const piece = query.slice(from, to);
  return random.pick([
    () => query.slice(0, from) + query.slice(to),
    () => query.slice(0, to) + piece.repeat(random.pick([1, 2, 50])) + query.slice(to),
    () =>
      query.slice(0, from) +
      random.pick(["\0", "\ud800", '"', '"""', "#", "{", "}", "$", "@include", "\ufeff", "…"]) +
      query.slice(from),
    () => "{".repeat(random.pick([63, 64, 65, 10_000])) + query,
    () => query + " ".repeat(random.pick([1_000, 500_000])),
    () => query.slice(0, from),
  ])();
}
