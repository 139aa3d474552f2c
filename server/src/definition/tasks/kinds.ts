/**
 * Every kind of task, by the name shown for its steps. The profile (profile.ts), the program (program.ts) and the table of what
 * runs each kind (execution/tasks/kinds.ts) follow from this table.
 */
import { isObject } from "../../lib/json/json.ts";
import { approvalTask } from "./approval.ts";
import { assistantTask } from "./assistant.ts";
import { emailTask } from "./email.ts";
import { doTask } from "./do.ts";
import { eachTask } from "./each.ts";
import { emitTask } from "./emit.ts";
import { forTask } from "./for.ts";
import { forkTask } from "./fork.ts";
import { FUNCTION_NAME, functionTask } from "./function.ts";
import { httpTask } from "./http.ts";
import type { Kind } from "./kind.ts";
import { listenTask } from "./listen.ts";
import { llmTask } from "./llm.ts";
import { mcpTask } from "./mcp.ts";
import { openapiTask } from "./openapi.ts";
import { raiseTask } from "./raise.ts";
import { runTask } from "./run.ts";
import { scriptTask } from "./script.ts";
import { setTask } from "./set.ts";
import { switchTask } from "./switch.ts";
import { tryTask } from "./try.ts";
import { waitTask } from "./wait.ts";

/** A task belongs to the first kind whose keyword it has: a `for` also has a `do`. */
const TABLE = {
  set: setTask,
  switch: switchTask,
  for: forTask,
  fork: forkTask,
  try: tryTask,
  raise: raiseTask,
  wait: waitTask,
  listen: listenTask,
  emit: emitTask,
  http: httpTask,
  openapi: openapiTask,
  mcp: mcpTask,
  approval: approvalTask,
  llm: llmTask,
  assistant: assistantTask,
  email: emailTask,
  each: eachTask,
  function: functionTask,
  run: runTask,
  script: scriptTask,
  do: doTask,
};

type Table = typeof TABLE;
export type KindName = keyof Table;

/** A task as written, without the keys that every task may have. */
export type WrittenTask = { [Name in KindName]: Parameters<Table[Name]["compile"]>[0] }[KindName];

/** A compiled task with the lists inside it. `List` is `Block` of program.ts, whose tasks have such bodies in turn. */
export type CompiledBody<List> = {
  [Name in KindName]: ReturnType<Table[Name]["compile"]> & { is: Name; blocks: Lists<Table[Name]["blocks"], List> };
}[KindName];

type Lists<Blocks, List> = {
  [Name in keyof Blocks as Blocks[Name] extends { isOptional: true } ? never : Name]: List;
} & { [Name in keyof Blocks as Blocks[Name] extends { isOptional: true } ? Name : never]?: List };

export const KINDS: { readonly [Name in KindName]: Kind } = TABLE;

const IS_FUNCTION = new RegExp(FUNCTION_NAME);

const NAMES = Object.keys(KINDS) as KindName[];

export const kindsThatWaitFor = (what: Kind["waitsFor"]): readonly KindName[] =>
  NAMES.filter((name) => KINDS[name].waitsFor === what);

/** By what is written after `call:`. */
const CALLS = new Map(NAMES.flatMap((name) => (KINDS[name].call === undefined ? [] : [[KINDS[name].call, name]])));

const isCall = ({ call, callsFunction }: Kind): boolean => call !== undefined || callsFunction === true;
const keywordOf = (name: KindName): string => KINDS[name].below?.keyword ?? (isCall(KINDS[name]) ? "call" : name);

/** The kinds that share a keyword that is no call. */
const BELOW = NAMES.flatMap((name) => (KINDS[name].below ? [{ name, ...KINDS[name].below }] : []));

/** The keys by which tasks are recognized, in the order in which they are checked. */
export const KEYWORDS: readonly string[] = [...new Set(NAMES.map(keywordOf))];

export const CALL_NAMES: readonly string[] = [...CALLS.keys()];

/** Undefined if there is no such kind: the document has been refused, or is about to be. */
export function kindOf(task: unknown): KindName | undefined {
  if (!isObject(task)) return undefined;
  const keyword = KEYWORDS.find((one) => Object.hasOwn(task, one));
  if (keyword !== "call") {
    const inner = keyword === undefined ? undefined : task[keyword];
    const below = BELOW.find((one) => one.keyword === keyword && isObject(inner) && Object.hasOwn(inner, one.key));
    return below?.name ?? (keyword as KindName | undefined);
  }
  const called = task["call"];
  return typeof called !== "string"
    ? undefined
    : (CALLS.get(called) ?? (IS_FUNCTION.test(called) ? "function" : undefined));
}
