/**
 * Runs in a worker thread (find-operation.ts): reads one operation of an OpenAPI document, which may be anything. YAML takes up to a
 * second per megabyte; `yaml`, which reads definitions with their places, takes half a minute.
 */
import { load } from "js-yaml";
import { DocumentProblem, type ApiOperation } from "../../../definition/openapi/operation.ts";
import { readOperation } from "../../../definition/openapi/read-operation.ts";
import { parseStored, type Json } from "../../../lib/json/json.ts";
import { serveJobs } from "../../../threads/serve-jobs.ts";

/** `url`: where the document was found. */
export type DocumentJob = { bytes: Uint8Array; operationId: string; url: string };
export type DocumentReply = { operation: ApiOperation } | { problem: string };

/** A larger document has used memory that the thread would keep. */
const SMALL_BYTES = 256 * 1024;

serveJobs<DocumentReply>((job: DocumentJob) => {
  const reply = replyTo(job);
  return job.bytes.length > SMALL_BYTES ? { reply, isSpent: true } : { reply };
});

function replyTo({ bytes, operationId, url }: DocumentJob): DocumentReply {
  try {
    return { operation: readOperation(documentIn(bytes), operationId, url) };
  } catch (error) {
    if (error instanceof DocumentProblem) return { problem: error.message };
    if (error instanceof RangeError) return { problem: "is nested too deeply" };
    throw error;
  }
}

/** As JSON if it begins like an object of it, so that no media type has to be right. */
function documentIn(bytes: Uint8Array): Json {
  const text = new TextDecoder().decode(bytes);
  const isJson = /^\s*\{/.test(text.slice(0, 1_000));
  try {
    // In this thread it may take its time and memory; only own properties are ever read.
    return isJson ? parseStored(text) : (load(text) as Json);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new DocumentProblem(`can't be read as ${isJson ? "JSON" : "YAML"}: ${messageIn(error)}`);
  }
}

const messageIn = (error: unknown): string => (error as Error).message.split("\n", 1)[0]!.slice(0, 200);
