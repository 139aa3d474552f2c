/** One operation of an OpenAPI document, with all that a request of it needs and nothing else. It is kept as JSON. */
export type ApiOperation = {
  /** In capitals. */
  method: string;
  /** With a `{name}` for each of its parameters in the path. */
  path: string;
  server: ApiServer;
  parameters: readonly ApiParameter[];
  /** Null: the operation has no body. */
  body: ApiBody | null;
  /** Media types of its answers, for `Accept`. */
  accepts: readonly string[];
};

/** `url`: absolute, with a `{name}` for each variable. */
export type ApiServer = { url: string; variables: readonly ApiVariable[] };

export type ApiVariable = { name: string; default: string | null; enum: readonly string[] | null };

export const PLACES = ["path", "query", "header", "cookie"] as const;
export type ApiPlace = (typeof PLACES)[number];

export const STYLES = [
  "simple",
  "label",
  "matrix",
  "form",
  "spaceDelimited",
  "pipeDelimited",
  "deepObject",
  "json",
] as const;
/** `json`: the value is written as JSON. */
export type ApiStyle = (typeof STYLES)[number];

/** How a value is written. `isReserved`: most signs of URLs stay as they are. */
export type ApiForm = { style: ApiStyle; explode: boolean; isReserved: boolean };

export type ApiParameter = ApiForm & { name: string; in: ApiPlace; required: boolean };

export type ApiBody = {
  required: boolean;
  /** Besides `body`, the name under which it may be given as a whole. */
  name: string | null;
  /** In the order in which they are preferred. */
  contents: readonly ApiContent[];
};

export type ApiContent = {
  type: string;
  /** The fields of its object; null if it may have others, or is no object. */
  properties: readonly string[] | null;
  /** In a form: how its fields are written, if not as usual. */
  encoding: readonly (ApiForm & { name: string })[];
};

/** The document's fault, or that of who asked for something that it does not have. Its message is the rest of a sentence about it. */
export class DocumentProblem extends Error {}

/** An operation of a document by its address, as the author wrote it with its values. */
export type ApiOperationName = { document: string; operationId: string };

/** `operation`: as JSON. `documentHash`: of the document that it was read from. */
export type ReadApiOperation = { operation: string; documentHash: string };
