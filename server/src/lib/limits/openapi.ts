/** OpenAPI documents. */
import type { Limit } from "./limit.ts";

const OPENAPI = "test/language-openapi.test.ts";
const READING = "server/src/definition/openapi/read-operation.test.ts";
const FINDING = "server/src/execution/calls/openapi/find-operation.test.ts";
const KEPT = "server/src/agents/pinned-operations.db.test.ts";

export const OPENAPI_LIMITS = {
  openapiDocumentBytes: {
    value: 8 * 1024 * 1024,
    bounds: "an OpenAPI document that a `call: openapi` reads",
    beyond: "the task fails with `communication`",
    test: [OPENAPI, "as large as one may be is read"],
  },
  openapiReadSeconds: {
    value: 15,
    bounds: "processor time that a thread takes to read one operation of a document",
    beyond: "the task fails with `configuration`",
    test: [FINDING, "that takes too long to read"],
  },
  openapiFetchSeconds: {
    value: 30,
    bounds: "how long the server of a document may take to send it",
    beyond: "the task fails with `timeout`",
    test: [OPENAPI, "that never comes"],
  },
  openapiParameters: {
    value: 200,
    bounds: "parameters of an operation, and fields of its body that are known by name",
    beyond: "it is refused; a body with more fields takes any",
    test: [READING, "as many parameters as one may have"],
  },
  openapiNameCharacters: {
    value: 200,
    bounds: "the name of a parameter of an operation",
    test: [READING, "a name as long as one may be"],
  },
  openapiOperationCharacters: {
    value: 64 * 1024,
    bounds: "all that is kept of an operation, as JSON",
    test: [READING, "as much as is kept of an operation"],
  },
  openapiOperationsPerVersion: {
    value: 500,
    bounds: "operations that are pinned for a version of an agent",
    beyond: "the task fails with `configuration`",
    test: [KEPT, "as many operations as a version may pin"],
  },
  openapiKeptCharacters: {
    value: 8 * 1024 * 1024,
    bounds: "pinned operations that a process keeps in memory, of all organizations",
    beyond: "they are read from the database again; the organization that holds most loses its oldest first",
    test: [FINDING, "is read again from the database"],
  },
} satisfies Record<string, Limit>;
