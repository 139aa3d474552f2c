/** The functions that run each kind of task: one file per kind and one line here. definition/tasks/kinds.ts lists the kinds. */
import type { TaskTable } from "../frame.ts";
import { runApproval } from "./approval.ts";
import { runDo } from "./do.ts";
import { runEach } from "./each.ts";
import { runFor } from "./for.ts";
import { runFork } from "./fork.ts";
import { createRunHttp, type HttpCall } from "./http.ts";
import { createRunLlm, type AskModels } from "./llm.ts";
import { runRaise } from "./raise.ts";
import { runChild } from "./run.ts";
import { runSet } from "./set.ts";
import { runSwitch } from "./switch.ts";
import { runTry } from "./try.ts";
import { runWait } from "./wait.ts";

export const createTasks = ({ http, models }: { http: HttpCall; models: AskModels }): TaskTable => ({
  set: runSet,
  do: runDo,
  switch: runSwitch,
  for: runFor,
  try: runTry,
  raise: runRaise,
  wait: runWait,
  fork: runFork,
  run: runChild,
  http: createRunHttp(http),
  approval: runApproval,
  llm: createRunLlm(models),
  each: runEach,
});
