/** Time of calls of MCP servers, for `/metrics`. */
import { METHODS } from "../../../definition/tasks/mcp.ts";
import { ERROR_KINDS, lastSegment, WorkflowError, type ErrorKind } from "../../../definition/workflow-error.ts";
import { eachOf, Histogram } from "../../../lib/figures.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { MCP_SECONDS, MCP_TOOL_ERROR, TRANSPORTS } from "../../../lib/telemetry/gen-ai.ts";

/** `""` for an answer: the conventions leave `error.type` out then, and an empty label is none. */
type Outcome = Exclude<ErrorKind, "tool"> | typeof MCP_TOOL_ERROR | "";

/** Is told how a call ended, once. */
type CallFigure = { answered(result: JsonObject): void; failed(error: unknown): void };

const KINDS = Object.keys(ERROR_KINDS) as ErrorKind[];

export class McpFigures {
  /** By method, transport and outcome. */
  readonly seconds: Record<string, Record<string, Partial<Record<Outcome, Histogram>>>> = eachOf(METHODS, () =>
    eachOf(Object.values(TRANSPORTS), () => ({})),
  );

  begin(method: string, transport: keyof typeof TRANSPORTS): CallFigure {
    const begunAt = performance.now();
    let isOver = false;
    const end = (outcome: Outcome): void => {
      if (isOver) return;
      isOver = true;
      const seconds = this.seconds[method]![TRANSPORTS[transport]]!;
      (seconds[outcome] ??= new Histogram(MCP_SECONDS.bounds)).since(begunAt);
    };
    return {
      answered: (result) => end(result["isError"] === true ? MCP_TOOL_ERROR : ""),
      failed(error) {
        // Else the run gave the call up.
        if (error instanceof WorkflowError) end(outcomeOf(error));
      },
    };
  }
}

function outcomeOf({ fields: { type } }: WorkflowError): Outcome {
  const kind = KINDS.find((one) => one === lastSegment(type)) ?? "internal";
  return kind === "tool" ? MCP_TOOL_ERROR : kind;
}
