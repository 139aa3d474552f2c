/** The functions that run each kind of task: one file per kind and one line here. definition/tasks/kinds.ts lists the kinds. */
import type { Scripts } from "../../scripts/scripts.ts";
import type { SendNow } from "../../mail/send-now.ts";
import type { Calling } from "../calls/calling.ts";
import type { HttpCall } from "../calls/http-call.ts";
import type { McpCall } from "../calls/mcp/mcp-call.ts";
import type { AskModels } from "../calls/model/models.ts";
import type { FindOperation } from "../calls/openapi/find-operation.ts";
import type { EventDoor } from "../events/event-door.ts";
import type { TaskTable } from "../frame.ts";
import { runApproval } from "./approval.ts";
import { createRunAssistant } from "./assistant.ts";
import { runDo } from "./do.ts";
import { createRunEmail } from "./email.ts";
import { runEach } from "./each.ts";
import { runFor } from "./for.ts";
import { runFork } from "./fork.ts";
import { createRunEmit } from "./emit.ts";
import { runFunction } from "./function.ts";
import { createRunHttp } from "./http.ts";
import { createRunListen } from "./listen.ts";
import { createRunLlm } from "./llm.ts";
import { createRunMcp } from "./mcp.ts";
import { createRunOpenapi } from "./openapi.ts";
import { runRaise } from "./raise.ts";
import { runChild } from "./run.ts";
import { createRunScript } from "./script.ts";
import { runSet } from "./set.ts";
import { runSwitch } from "./switch.ts";
import { runTry } from "./try.ts";
import { runWait } from "./wait.ts";

type Needs = {
  http: HttpCall;
  operations: FindOperation;
  mcp: McpCall;
  models: AskModels;
  scripts: Pick<Scripts, "run">;
  calling: Pick<Calling, "readSecrets" | "concealing">;
  email: SendNow;
  events: EventDoor;
};

export const createTasks = ({ http, operations, mcp, models, scripts, calling, email, events }: Needs): TaskTable => ({
  set: runSet,
  do: runDo,
  switch: runSwitch,
  for: runFor,
  try: runTry,
  raise: runRaise,
  wait: runWait,
  listen: createRunListen(events),
  emit: createRunEmit(events),
  fork: runFork,
  run: runChild,
  script: createRunScript(scripts, calling),
  http: createRunHttp(http),
  openapi: createRunOpenapi(http, operations),
  mcp: createRunMcp(mcp),
  approval: runApproval,
  llm: createRunLlm(models),
  assistant: createRunAssistant({ http, mcp, models }),
  email: createRunEmail(email),
  each: runEach,
  function: runFunction,
});
