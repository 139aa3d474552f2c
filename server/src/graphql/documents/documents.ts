/**
 * From a query's text to a document that may be executed. First the limits (what follows is costly on hostile texts), then
 * the specification's validation, then needs and cost. Documents that passed are kept, so a client's usual query pays once.
 */
import {
  GraphQLError,
  Kind,
  NoFragmentCyclesRule,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type OperationTypeNode,
  type SelectionSetNode,
  type ValidationRule,
} from "graphql";
import { LRUCache } from "lru-cache";
import type { Needs } from "../../auth/needs.ts";
import { Refusal, shortened } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { readFieldAccess, type Access, type FieldAccess } from "../builder/access.ts";
import { costOf, type Cost } from "./cost.ts";
import { GraphqlRefusal } from "./errors.ts";
import { needsOf } from "./needs.ts";
import { checkSize, fragmentsOf, nestingOf, repeatsOf } from "./size.ts";
import { createVariableChecks, type VariableCheck, type VariableChecks } from "./variables.ts";

export type Operation = {
  prepared: Prepared;
  document: DocumentNode;
  name: string | undefined;
  type: OperationTypeNode;
  /** Only `login`, `refreshToken` and `setup`: an Authorization header is not looked at. */
  ignoresCredential: boolean;
  /** Counts against the limits of requests: all but a query that asks for nothing else than `rateLimit`. */
  counts: boolean;
  /** Begins also when the server is overloaded: it ends work or lets it go on, or asks for `rateLimit` alone. */
  isUrgent: boolean;
  /** Asks for `__schema` or `__type`. */
  introspects: boolean;
  /** Asked of the caller before anything is executed. */
  needs: Needs;
  cost: (variables: Record<string, unknown>) => Cost;
  checkVariables: VariableCheck;
};

/** `bytes`: about what it holds. */
type Prepared = { text: string; operations: Map<string, Operation>; bytes: number; isKept: boolean };

export type Documents = {
  /** Throws GRAPHQL_PARSE_FAILED, GRAPHQL_VALIDATION_FAILED or QUERY_TOO_COMPLEX. */
  operation(text: string, name: string | undefined, variables: Record<string, unknown>): Operation;
  /** For the next request with this text. Strangers' documents have little room, and never push out those of callers. */
  keep(prepared: Prepared, isCaller: boolean): void;
  /** Whether this text is kept. */
  has(text: string): boolean;
};

/** The most that is kept of callers, of strangers, and of one document. */
const KEPT_BYTES = 32 * 1024 * 1024;
const STRANGERS_KEPT_BYTES = 1024 * 1024;
const KEPT_CHARACTERS_EACH = 20_000;
/**
 * Measured on Node 26: 180 to 340 bytes for a token with its node, 1,000 to 1,500 for each document, and 85 for a comment,
 * which is a token that the parser does not count. All of it together is 1.01 to 2 times what is really held.
 */
const bytesOf = (text: string, { tokenCount }: DocumentNode): number =>
  1_500 + 300 * (tokenCount ?? text.length) + 90 * text.split("#").length + 20 * text.length;

const ERRORS_REPORTED = 20;

const asksForRateLimitAlone = (names: string[]): boolean =>
  names.includes("rateLimit") && names.every((name) => name === "rateLimit" || name === "__typename");

export function createDocuments(schema: GraphQLSchema): Documents {
  const preparing: Preparing = { schema, access: readFieldAccess(schema), checksOf: createVariableChecks(schema) };
  const callers = createKept(KEPT_BYTES);
  const strangers = createKept(STRANGERS_KEPT_BYTES);

  const operationsOf = (text: string): Map<string, Operation> =>
    (callers.get(text) ?? strangers.get(text))?.operations ?? prepare(preparing, text);

  return {
    keep: (prepared, isCaller) => {
      if (prepared.text.length > KEPT_CHARACTERS_EACH) return;
      (isCaller ? callers : strangers).set(prepared.text, prepared);
      prepared.isKept = true;
    },
    has: (text) => callers.has(text) || strangers.has(text),
    operation: (text, name, variables) => {
      const operation = choose(operationsOf(text), name);
      const { objects, values } = operation.cost(variables);
      hold(objects, LIMITS.queryComplexity, "read", "objects");
      hold(values, LIMITS.queryValues, "answer", "values");
      return operation;
    },
  };
}

function hold(found: number, most: number, does: string, what: string): void {
  if (found <= most) return;
  const message = `this operation may ${does} ${found} ${what}, and the maximum is ${most}: ask for fewer with first`;
  throw new Refusal("QUERY_TOO_COMPLEX", message);
}

const createKept = (most: number): LRUCache<string, Prepared> =>
  new LRUCache({ maxSize: most, sizeCalculation: ({ bytes }) => bytes });

type Preparing = { schema: GraphQLSchema; access: FieldAccess; checksOf: VariableChecks };

function prepare(preparing: Preparing, text: string): Map<string, Operation> {
  const { schema } = preparing;
  const document = parseText(text);
  check(schema, document, [NoFragmentCyclesRule]);
  const { aliases } = checkSize(document);
  check(schema, document, specifiedRules);
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION);
  const prepared: Prepared = { text, operations: new Map(), bytes: bytesOf(text, document), isKept: false };
  const whole = { ...preparing, prepared, document, repeats: repeatsOf(document) };
  for (const node of operations) prepared.operations.set(node.name?.value ?? "", operationOf(whole, node));
  if (aliases > 0 && prepared.operations.values().some(({ introspects }) => introspects)) {
    throw new Refusal("QUERY_TOO_COMPLEX", "a query that asks for __schema or __type may have no aliases");
  }
  return prepared.operations;
}

function check(schema: GraphQLSchema, document: DocumentNode, rules: readonly ValidationRule[]): void {
  const errors = validate(schema, document, rules, { maxErrors: ERRORS_REPORTED, hideSuggestions: true });
  if (errors.length > 0) throw new GraphqlRefusal("GRAPHQL_VALIDATION_FAILED", errors);
}

/** graphql-js tells it in no other way. */
const TOO_MANY_TOKENS = /Document contains more tha[nt] \d+ tokens/;

function parseText(text: string): DocumentNode {
  if (text.length > LIMITS.queryCharacters) {
    throw new Refusal(
      "QUERY_TOO_COMPLEX",
      `the query has more than ${LIMITS.queryCharacters} characters: large values belong in its variables`,
    );
  }
  if (nestingOf(text) > LIMITS.jsonNesting) {
    throw new Refusal("QUERY_TOO_COMPLEX", `the query is nested deeper than ${LIMITS.jsonNesting} levels`);
  }
  try {
    return parse(text, { maxTokens: LIMITS.queryTokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    if (TOO_MANY_TOKENS.test(error.message)) {
      throw new Refusal("QUERY_TOO_COMPLEX", `the query has more than ${LIMITS.queryTokens} tokens`);
    }
    throw new GraphqlRefusal("GRAPHQL_PARSE_FAILED", [error]);
  }
}

type Whole = Preparing & { prepared: Prepared; document: DocumentNode; repeats: ReadonlyMap<string, number> };

function operationOf(
  { schema, access, checksOf, prepared, document, repeats }: Whole,
  node: OperationDefinitionNode,
): Operation {
  const names = rootFields(document, node);
  const mutation = (name: string): Access | undefined => access.get(`Mutation.${name}`);
  if (names.filter((name) => mutation(name)?.triesPassword).length > 1) {
    throw new Refusal(
      "GRAPHQL_VALIDATION_FAILED",
      "an operation may have one mutation that asks for, tries or sets a password, such as login",
    );
  }
  const counts = node.operation !== "query" || !asksForRateLimitAlone(names);
  return {
    prepared,
    document,
    name: node.name?.value,
    type: node.operation,
    // With `__typename` alone, an operation still hears that its credential is bad.
    ignoresCredential: node.operation === "mutation" && names.every((name) => mutation(name)?.hasOwnCredential),
    counts,
    isUrgent:
      !counts ||
      (node.operation === "mutation" && names.every((name) => name === "__typename" || mutation(name)?.isUrgent)),
    introspects: names.some((name) => name === "__schema" || name === "__type"),
    needs: needsOf(schema, access, document, node),
    cost: costOf(schema, document, node),
    checkVariables: checksOf(node.variableDefinitions, repeats),
  };
}

/** The names of the operation's root fields, including those in fragments. Each fragment counts once, as in the executor. */
function rootFields(document: DocumentNode, operation: OperationDefinitionNode): string[] {
  const fragments = fragmentsOf(document);
  const visit = ({ selections }: SelectionSetNode): string[] =>
    selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection.name.value];
      if (selection.kind === Kind.INLINE_FRAGMENT) return visit(selection.selectionSet);
      const { value: name } = selection.name;
      const fragment = fragments.get(name);
      fragments.delete(name);
      return fragment ? visit(fragment.selectionSet) : [];
    });
  return visit(operation.selectionSet);
}

function choose(operations: Map<string, Operation>, name: string | undefined): Operation {
  const operation =
    name === undefined ? (operations.size === 1 ? [...operations.values()][0] : undefined) : operations.get(name);
  if (operation) return operation;
  throw new Refusal(
    "GRAPHQL_VALIDATION_FAILED",
    name === undefined
      ? "operationName must say which operation to execute"
      : `there is no operation named ${shortened(name)}`,
  );
}
