/** The kinds of step that the page of a run treats specially. It shows any other by its name alone: the API may add kinds. */
import { SHAPES } from "../../components/icon.tsx";

type StepKind = {
  /** A drawing on a field of 16 × 16. */
  shape?: string;
  /** It waits for somebody or something: nothing is being done while it lasts. */
  isWait?: true;
  /** It waits for a person's decision. */
  isQuestion?: true;
  /** It waits for events, which its input names. */
  isForEvents?: true;
  /** Its error has the endpoint's response, if there was one. */
  hasResponse?: true;
};

const LOOP = "M3.5 6.5A4.8 4.8 0 0 1 12.5 6.5M12.5 3.5V6.5H9.5M12.5 9.5A4.8 4.8 0 0 1 3.5 9.5M3.5 12.5V9.5H6.5";
const SPARK = "M8 2 9.5 6.5 14 8 9.5 9.5 8 14 6.5 9.5 2 8 6.5 6.5Z";
const SENT = "M3 13 13 3M6 3H13V10";

const KINDS: ReadonlyMap<string, StepKind> = new Map<string, StepKind>([
  ["approval", { shape: SHAPES.approvals, isWait: true, isQuestion: true }],
  ["assistant", { shape: SPARK }],
  ["do", { shape: "M6 4H13M6 8H13M6 12H13M3 4H3.01M3 8H3.01M3 12H3.01" }],
  ["each", { shape: LOOP }],
  ["email", { shape: "M2.5 4H13.5V12H2.5ZM2.5 4.5 8 9 13.5 4.5" }],
  ["emit", { shape: SHAPES.events }],
  ["for", { shape: LOOP }],
  ["fork", { shape: "M3 8H6L9 4H13M6 8 9 12H13" }],
  ["function", { shape: "M10.5 3C8.5 2.5 8 3.5 7.8 5L6.8 11C6.6 12.5 6 13.5 4.5 13M5 7H10" }],
  ["http", { shape: SENT, hasResponse: true }],
  [
    "listen",
    {
      shape: "M8 7.5V8.5M5 11A4.2 4.2 0 0 1 5 5M11 5A4.2 4.2 0 0 1 11 11M3 13A7 7 0 0 1 3 3M13 3A7 7 0 0 1 13 13",
      isWait: true,
      isForEvents: true,
    },
  ],
  ["llm", { shape: SPARK }],
  ["mcp", { shape: "M5.5 2.5V6M10.5 2.5V6M3.5 6H12.5V8A4.5 4.5 0 0 1 3.5 8ZM8 12.5V14.5", hasResponse: true }],
  ["model", { shape: SPARK }],
  [
    "openapi",
    { shape: "M6 2.5C4 2.5 5 7 3 8C5 9 4 13.5 6 13.5M10 2.5C12 2.5 11 7 13 8C11 9 12 13.5 10 13.5", hasResponse: true },
  ],
  ["raise", { shape: "M8 3V9M8 12.5V12.51" }],
  ["run", { shape: SHAPES.play }],
  ["script", { shape: "M5.5 4.5 2 8 5.5 11.5M10.5 4.5 14 8 10.5 11.5" }],
  ["set", { shape: "M3.5 6H12.5M3.5 10H12.5" }],
  ["switch", { shape: "M3 8H7L10 4.5H13M10 2 13 4.5 10 7" }],
  [
    "tool",
    {
      shape: "M13 3.5A3.2 3.2 0 0 1 9 7.8L4.5 12.3A1 1 0 0 1 3 10.9L7.6 6.4A3.2 3.2 0 0 1 12 2.6L10 4.6 11 5.6Z",
      hasResponse: true,
    },
  ],
  ["try", { shape: SHAPES.retry }],
  ["wait", { shape: SHAPES.cron, isWait: true }],
]);
const OTHER: StepKind = {};

export const kindOf = ({ kind }: { kind: string }): StepKind => KINDS.get(kind) ?? OTHER;
