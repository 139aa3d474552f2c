/** The kinds of step that the page of a run treats specially. It shows any other by its name alone: the API may add kinds. */
type StepKind = {
  /** It waits for somebody or something: nothing is being done while it lasts. */
  isWait?: true;
  /** It waits for a person's decision. */
  isQuestion?: true;
  /** Its error has the endpoint's response, if there was one. */
  hasResponse?: true;
};

const KINDS: ReadonlyMap<string, StepKind> = new Map([
  ["approval", { isWait: true, isQuestion: true }],
  ["http", { hasResponse: true }],
  ["listen", { isWait: true }],
  ["mcp", { hasResponse: true }],
  ["tool", { hasResponse: true }],
  ["wait", { isWait: true }],
]);
const OTHER: StepKind = {};

export const kindOf = ({ kind }: { kind: string }): StepKind => KINDS.get(kind) ?? OTHER;
