/** The Model Context Protocol. */
import { type Limit } from "./limit.ts";

const MCP = "test/mcp.test.ts";
const TASKS = "test/mcp-tasks.test.ts";
const TOOL_NAME = "server/src/mcp/tool-name.test.ts";

export const MCP_LIMITS = {
  mcpToolNameCharacters: {
    value: 64,
    bounds: "the name of a tool at `/mcp`, which is that of a project and an agent",
    beyond: "the name is cut and ends with a hash of the whole",
    test: [TOOL_NAME, "64 characters stay, one more is cut"],
  },
  mcpToolsListed: {
    value: 100,
    bounds: "agents that one page of `tools/list` reads",
    beyond: "the rest is on further pages",
    test: [MCP, "a page of tools has a hundred agents"],
  },
  mcpToolsBytes: {
    value: 1024 * 1024,
    bounds:
      "a page of `tools/list`, with the definitions that its tools are read from; one larger tool is a page of its own",
    beyond: "the rest is on further pages",
    test: ["server/src/mcp/list-tools.test.ts", "a page ends before the tool that would make it too large"],
  },
  mcpQuestions: {
    value: 20,
    bounds: "open approvals of a run that a task or a call asks its client for",
    beyond: "the others are asked for when these are decided",
    test: [TASKS, "asks for twenty approvals at a time"],
  },
  mcpApprovalsListed: {
    value: 50,
    bounds: "`list_approvals`",
    beyond: "the rest is left out, and `hasMore` is true",
    test: [TASKS, "lists fifty approvals"],
  },
  mcpQuestionCharacters: {
    value: 4_000,
    bounds: "the text that puts an approval to a person, with its context",
    beyond: "it is cut",
    test: ["server/src/mcp/questions.test.ts", "4,000 characters of a question stay, one more is cut"],
  },
  mcpPollMs: {
    value: 2_000,
    bounds: "how long a client is asked to wait between two looks at a task",
    beyond: "a look counts as a request, as any other",
    test: [TASKS, "a client that declares tasks"],
  },
  mcpMessageIdCharacters: {
    value: 200,
    bounds: "the `id` of a message and its `progressToken`",
    test: ["test/mcp-messages.test.ts", "200 characters of an id are taken, one more is refused"],
  },
  mcpCommands: {
    value: 16,
    bounds: "commands that run as MCP servers at a time, in each process; one organization may have half of them",
    beyond: "further calls wait; organizations take turns",
    test: ["test/language-mcp-stdio.test.ts", "no more commands at a time than it may"],
  },
  mcpPagesOfTools: {
    value: 20,
    bounds:
      "pages of `tools/list` that a `call: mcp` reads for the headers that a tool wants, and a `call: assistant` for its tools",
    beyond: "the call goes out without the headers; the assistant fails with `configuration`",
    test: ["test/language-mcp.test.ts", "is looked through twenty pages of tools"],
  },
  mcpCursorCharacters: {
    value: 4_096,
    bounds: "the `nextCursor` by which a `call: mcp` asks for a further page of those tools",
    beyond: "no further page is read",
    test: ["test/language-mcp.test.ts", "is looked through no further if its cursor is too long"],
  },
} satisfies Record<string, Limit>;
