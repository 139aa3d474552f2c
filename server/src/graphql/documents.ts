/**
 * From a query's text to a document that may be executed: limits first (what follows is costly on hostile texts), then
 * the specification's validation, then the cost. Documents that passed are kept, so a client's usual query pays once.
 */
import {
  GraphQLError,
  Kind,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type OperationTypeNode,
} from "graphql";
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";
import { costOf } from "./cost.ts";
import { GraphqlRefusal } from "./errors.ts";
import { checkSize, fragmentsOf, nestingOf } from "./size.ts";

export type Operation = {
  document: DocumentNode;
  name: string | undefined;
  type: OperationTypeNode;
  /** Only `login`, `refreshToken` and `setup`: an Authorization header is not looked at. */
  ignoresCredential: boolean;
  /** Asks for `__schema` or `__type`. */
  introspects: boolean;
  cost: (variables: Record<string, unknown>) => number;
};

export type Documents = {
  /** Throws GRAPHQL_PARSE_FAILED, GRAPHQL_VALIDATION_FAILED or QUERY_TOO_COMPLEX. */
  operation(text: string, name: string | undefined, variables: Record<string, unknown>): Operation;
};

/** Characters of query text kept in all, and of one at most: an AST is about 50 times its text. */
const KEPT_CHARACTERS = 1_000_000;
const KEPT_CHARACTERS_EACH = 20_000;
const ERRORS_REPORTED = 20;
const WITHOUT_CREDENTIAL = new Set(["login", "refreshToken", "setup"]);

export function createDocuments(schema: GraphQLSchema): Documents {
  const kept = new Map<string, Map<string, Operation>>();
  let keptCharacters = 0;

  const keep = (text: string, operations: Map<string, Operation>): void => {
    if (text.length > KEPT_CHARACTERS_EACH) return;
    kept.set(text, operations);
    keptCharacters += text.length;
    for (const oldest of kept.keys()) {
      if (keptCharacters <= KEPT_CHARACTERS) break;
      kept.delete(oldest);
      keptCharacters -= oldest.length;
    }
  };

  const operationsOf = (text: string): Map<string, Operation> => {
    const known = kept.get(text);
    if (known) {
      // Put at the end: the first of a Map is then the one longest unused.
      kept.delete(text);
      kept.set(text, known);
      return known;
    }
    const operations = prepare(schema, text);
    keep(text, operations);
    return operations;
  };

  return {
    operation: (text, name, variables) => {
      const operation = choose(operationsOf(text), name);
      const cost = operation.cost(variables);
      if (cost <= LIMITS.queryComplexity) return operation;
      throw new Refusal(
        "QUERY_TOO_COMPLEX",
        `this operation may read ${cost} objects, and ${LIMITS.queryComplexity} is the most: ask for fewer with first`,
      );
    },
  };
}

function prepare(schema: GraphQLSchema, text: string): Map<string, Operation> {
  const document = parseText(text);
  checkSize(document);
  const errors = validate(schema, document, specifiedRules, { maxErrors: ERRORS_REPORTED, hideSuggestions: true });
  if (errors.length > 0) throw new GraphqlRefusal("GRAPHQL_VALIDATION_FAILED", errors);
  const operations = document.definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION);
  return new Map(operations.map((node) => [node.name?.value ?? "", operationOf(schema, document, node)]));
}

/** graphql-js has no other sign for it. */
const TOO_MANY_TOKENS = /Document contains more tha[nt] \d+ tokens/;

function parseText(text: string): DocumentNode {
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

function operationOf(schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode): Operation {
  const names = rootFields(document, node);
  if (names.filter((name) => name === "login").length > 1) {
    throw new Refusal("GRAPHQL_VALIDATION_FAILED", "an operation may have one login");
  }
  return {
    document,
    name: node.name?.value,
    type: node.operation,
    ignoresCredential: node.operation === "mutation" && names.every((name) => WITHOUT_CREDENTIAL.has(name)),
    introspects: names.some((name) => name === "__schema" || name === "__type"),
    cost: costOf(schema, document, node),
  };
}

/** Names of the operation's own fields, those of its fragments among them; the document is valid, so spreads have no cycle. */
function rootFields(document: DocumentNode, operation: OperationDefinitionNode): string[] {
  const fragments = fragmentsOf(document);
  const visit = (selections: OperationDefinitionNode["selectionSet"]): string[] =>
    selections.selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection.name.value];
      if (selection.kind === Kind.INLINE_FRAGMENT) return visit(selection.selectionSet);
      return visit(fragments.get(selection.name.value)!.selectionSet);
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
      ? "operationName must say which of the operations is meant"
      : `there is no operation named ${name}`,
  );
}
