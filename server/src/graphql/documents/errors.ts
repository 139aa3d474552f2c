/** Errors as a caller sees them. Refusals are shown; anything else is a bug: logged with the request's id and masked. */
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { Refusal, type Code, type Reason } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { shortenedTo } from "../../lib/text.ts";

/** Errors that graphql-js itself found in the query's text or its variables. */
export class GraphqlRefusal extends Error {
  readonly code: Code;
  readonly errors: readonly GraphQLError[];

  constructor(code: Code, errors: readonly GraphQLError[]) {
    super(errors[0]?.message ?? code);
    this.name = "GraphqlRefusal";
    this.code = code;
    this.errors = errors;
  }
}

export type ShownError = Omit<GraphQLFormattedError, "extensions"> & {
  extensions: { code: Code } & Record<string, unknown>;
};

/** `isUnavailable` tells a database that can't serve for now from a bug. */
export type ErrorMask = {
  /** Shows what an operation's resolvers threw, or what refused it as a whole. */
  show(error: unknown, requestId: string): ShownError[];
};

const RETRY_AFTER_SECONDS = 1;

export function createErrorMask(log: Log, isUnavailable: (error: unknown) => boolean): ErrorMask {
  const shownOf = (
    cause: unknown,
    requestId: string,
    path: GraphQLError["path"],
  ): Pick<ShownError, "message" | "extensions"> => {
    if (cause instanceof Refusal) {
      return { message: cut(cause.message), extensions: { code: cause.code, ...detailsOf(cause) } };
    }
    if (isOfArguments(cause)) return { message: cut(cause.message), extensions: OF_ARGUMENTS };
    if (isUnavailable(cause)) {
      log.warn({ requestId, path, err: cause }, "the database could not serve a request");
      const message = "the service cannot reach its database at present: try again";
      return { message, extensions: { code: "UNAVAILABLE", retryAfter: RETRY_AFTER_SECONDS } };
    }
    log.error({ requestId, path, err: cause }, "a request failed");
    return {
      message: `internal error; the server's log has it under the request id ${requestId}`,
      extensions: { code: "INTERNAL_SERVER_ERROR", requestId },
    };
  };

  const show = (error: unknown, requestId: string): ShownError[] => {
    if (error instanceof GraphqlRefusal) {
      return error.errors.map((one) => ({
        ...placeOf(one),
        message: cut(one.message),
        extensions: extensionsOf(error.code, one),
      }));
    }
    if (error instanceof GraphQLError) {
      return [{ ...placeOf(error), ...shownOf(error.originalError ?? error, requestId, error.path) }];
    }
    return [shownOf(error, requestId, undefined)];
  };
  return { show };
}

/**
 * A variable with a default may be null where an argument may not (`query($id: ID = "x") { run(id: $id) { id } }`): that
 * is found only when the field is reached, and graphql then names the place in the document. What it finds of our own
 * answers has no such place.
 */
const isOfArguments = (cause: unknown): cause is GraphQLError =>
  cause instanceof GraphQLError && cause.originalError === undefined && cause.nodes !== undefined;

const OF_ARGUMENTS = { code: "BAD_USER_INPUT", reason: "invalid_variables", fields: [] } as const satisfies {
  code: Code;
  reason: Reason;
  fields: [];
};

const placeOf = ({ locations, path }: GraphQLError): Pick<ShownError, "locations" | "path"> => ({
  ...(locations && { locations }),
  ...(path && { path }),
});

/** A message may repeat what was sent, and those of graphql-js repeat all of it. */
const cut = (text: string): string => shortenedTo(text, LIMITS.messageCharacters);

const detailsOf = ({ details }: Refusal): Refusal["details"] =>
  details.fields
    ? {
        ...details,
        fields: details.fields.map((field) => ({ ...field, path: cut(field.path), message: cut(field.message) })),
      }
    : details;

/** A scalar that refused a literal may name the fields. */
const extensionsOf = (code: Code, { originalError }: GraphQLError): ShownError["extensions"] => ({
  code,
  ...(originalError instanceof Refusal && originalError.details.fields?.length
    ? { fields: detailsOf(originalError).fields }
    : {}),
});
