/** Calls of language models by agents. */
import { BY_NAME, type Limit } from "./limit.ts";

const LLM_TASK = "test/language-llm.test.ts";
const FILES = "test/language-llm-files.test.ts";
const ASSISTANT = "test/language-assistant.test.ts";
const WAITING = "test/language-llm-waiting.test.ts";
const STREAMS = "server/src/llm/streams.test.ts";
const DOOR = "server/src/llm/run-calls.test.ts";
const BUDGETS = "test/model-budgets.test.ts";
const PAUSE = "server/src/llm/pause.test.ts";

export const MODELS = {
  modelMessages: { value: 1_000, bounds: "messages that a task gives to a model", test: BY_NAME },
  modelFiles: {
    value: 20,
    bounds: "files that a task shows the model",
    test: BY_NAME,
  },
  modelFileBytes: {
    value: 4 * 1024 * 1024,
    bounds: "a file that a task shows the model",
    beyond: "the task fails with `communication`",
    test: [FILES, "larger than one may be"],
  },
  modelFilesBytes: {
    value: 8 * 1024 * 1024,
    bounds: "the files of a call of a model together",
    beyond: "the task fails with `validation`",
    test: [FILES, "together larger than they may be"],
  },
  modelFilesHeldBytes: {
    value: 64 * 1024 * 1024,
    bounds:
      "memory of files while models are asked about them: four times their size. An organization may hold at most as much as stays free; where that is too little for a call, one call at a time has memory of its own, of an organization that holds little else",
    beyond: "further calls wait, and then their runs leave memory and ask again later",
    test: [FILES, "hold no more memory than they may"],
  },
  modelFilesWaitSeconds: {
    value: 10,
    bounds: "how long a call waits for the memory of its files",
    beyond: "its run leaves memory and asks again after 2 s, 10 ms after the one before it",
    test: [FILES, "hold no more memory than they may"],
  },
  modelFilesSeconds: {
    value: 60,
    bounds: "the reading of all files of a call of a model",
    beyond: "the task fails with `timeout`",
    test: ["server/src/execution/calls/model/files.test.ts", "have a minute in all"],
  },
  modelAnswerTokens: { value: 1_000_000, bounds: "`maxTokens` of a `call: llm` or `call: assistant`", test: BY_NAME },
  modelAnswerValues: {
    value: 10_000,
    bounds: "JSON values around the text of a model's answer",
    beyond: "the answer counts as none",
    test: [LLM_TASK, "of more values around its text than may be"],
  },
  modelStreamBytes: {
    value: 32 * 1024 * 1024,
    bounds: "a model's answer as it comes in a stream, with all that is around its text",
    beyond: "the task fails with `communication`",
    test: [STREAMS, "more bytes than a stream may have"],
  },
  modelToolCalls: {
    value: 128,
    bounds: "calls of functions that one answer of a model asks for",
    beyond: "the answer counts as none",
    test: [STREAMS, "more calls of functions than an answer may have"],
  },
  modelCallSeconds: {
    value: 300,
    bounds: "a model's answer to a task without a `timeout`; with one it has an hour at most",
    beyond: "the task fails with `timeout`",
    test: [WAITING, "has five minutes to answer"],
  },
  modelCallsAtOnce: {
    value: 1_024,
    bounds: "calls of models by agents at a time, in each process: about one for each run in memory",
    beyond: "further ones wait; organizations take turns",
    test: [DOOR, "of all organizations"],
  },
  modelCallsAtOnceOwn: {
    value: 128,
    bounds: "calls of models by agents of one organization at a time, in each process",
    beyond: "further ones wait",
    test: [WAITING, "no more calls at a time than an organization may have"],
  },
  modelCallsWaitingOwn: {
    value: 100,
    bounds: "calls of one organization that wait in memory for their turn, in each process",
    beyond:
      "the run of a further one leaves memory and asks again after 2 s, 10 ms after the one before it, or up to ten minutes",
    test: [DOOR, "as many wait as may"],
  },
  usageAgents: {
    value: 20,
    bounds: "agents of a day whose use of models `usage` lists",
    beyond: "those that used fewer tokens are not listed",
    test: ["server/src/rates/rates.db.test.ts", "no more agents of a day than may be listed"],
  },
  usageConnections: {
    value: 20,
    bounds: "model connections of a day whose use `usage` lists",
    beyond: "those that were used less are not listed",
    test: ["server/src/rates/rates.db.test.ts", "no more connections of a day than may be listed"],
  },
  modelTokensPerRun: {
    value: 10_000_000,
    bounds: "tokens of language models that a run and the runs below it use",
    beyond: "the task that would use more fails with `limit`",
    test: ["server/src/rates/budgets.db.test.ts", "a run and the runs below it"],
  },
  modelBudgetAnswerTokens: {
    value: 8_192,
    bounds:
      "tokens of the answer to a call without `maxTokens`, over a connection with a limit a day and where a budget has no room for `modelLongAnswerTokens`",
    beyond: "the answer is cut there: they are sent as its maximum",
    test: [BUDGETS, "without maxTokens"],
  },
  modelLongAnswerTokens: {
    value: 131_072,
    bounds:
      "tokens that a call without `maxTokens` reserves for its answer if budgets have room for them: the longest answer that models write",
    beyond: "a longer answer exceeds the budget",
    test: [BUDGETS, "a long answer has room"],
  },
  runUsageRuns: {
    value: 1_000,
    bounds:
      "runs that `Run.usage` sums up, the run and those below it, and `Step.totalUsage`, those below the steps of a run that are read together",
    beyond: "further ones are not counted",
    test: [LLM_TASK, "sums up no more runs than it may"],
  },
  modelToolNameCharacters: { value: 64, bounds: "the name of a tool of a `call: assistant`", test: BY_NAME },
  mcpServerToolNameCharacters: {
    value: 128,
    bounds: "the name of an MCP server's tool that a `call: assistant` allows",
    test: BY_NAME,
  },
  assistantTools: { value: 100, bounds: "tools of a `call: assistant`", test: BY_NAME },
  assistantIterations: { value: 1_000, bounds: "`limits.iterations` of a `call: assistant`", test: BY_NAME },
  assistantToolCalls: { value: 2_000, bounds: "`limits.toolCalls` of a `call: assistant`", test: BY_NAME },
  assistantTokens: { value: 10_000_000, bounds: "`limits.tokens` of a `call: assistant`", test: BY_NAME },
  assistantSeconds: { value: 86_400, bounds: "`limits.seconds` of a `call: assistant`", test: BY_NAME },
  assistantToolsAtOnce: {
    value: 16,
    bounds: "tool calls of one answer of a model at a time",
    beyond: "further ones wait",
    test: [ASSISTANT, "no more tool calls at a time than may be"],
  },
  assistantAnswerBytes: {
    value: 65_536,
    bounds: "the answer of a tool as the model reads it",
    beyond: "it is cut, with a note that says so",
    test: [ASSISTANT, "a tool's long answer is cut"],
  },
  assistantListBytes: {
    value: 262_144,
    bounds:
      "descriptions, schemas and hints of an MCP server's tools that a `call: assistant` allows, as listed and as pinned",
    beyond: "the task fails with `configuration`",
    test: [ASSISTANT, "a server's tools are too large"],
  },
  pinnedToolsPerVersion: {
    value: 1_000,
    bounds: "pinned tools of MCP servers that a version of an agent has, at all addresses that its runs ask",
    beyond: "the task fails with `configuration`",
    test: ["server/src/agents/tools/pinned-tools.db.test.ts", "a version has its 1,000 pinned tools"],
  },
  modelHoldSeconds: {
    value: 60,
    bounds:
      "how long calls leave a connection alone after a 429 that says no time: a second, and twice as long with each further 429",
    beyond: "it grows no longer",
    test: [PAUSE, "twice as long each time, a minute at most"],
  },
} satisfies Record<string, Limit>;
