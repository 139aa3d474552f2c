/** Tools of MCP servers that are described otherwise than when the agent's version first listed them: what changed, and accepting it. */
import { lazy, Suspense, useState } from "react";
import { Button, Skeleton } from "@mantine/core";
import { ToolChangeDocument, TrustToolsDocument, type ChangedToolsFragment } from "../../api/documents.ts";
import { useMutate, useRead } from "../../api/hooks.ts";
import { refusalIn } from "../../api/refusal.ts";
import { useAct } from "../../api/use-act.ts";
import { Problem, TryAgain } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { showInvisible } from "../../lib/invisible.ts";
import { isObject, type Json } from "../../lib/json.ts";
import classes from "./changed-tools.module.css";

// Nearly all of it is the editor.
const Difference = lazy(async () => ({ default: (await import("./difference.tsx")).Difference }));

type Tools = ChangedToolsFragment["changedTools"];
type Tool = Tools["edges"][number]["node"];
type Props = { agentId: string; tools: Tools; mayWrite: boolean };

export function ChangedTools({ agentId, tools: { edges, pageInfo }, mayWrite }: Props) {
  if (edges.length === 0) return null;
  const { hasNextPage } = pageInfo;
  const many = `${hasNextPage ? "More than " : ""}${edges.length} tools have changed`;
  const [what, it] = edges.length === 1 ? ["A tool has changed", "it"] : [many, "them"];
  return (
    <section className={classes["changed"]} aria-label="Changed tools">
      <h2>{what}</h2>
      <p>
        A server describes {it} otherwise than when this version first listed {it}. Calls fail until somebody accepts
        the change, or publishes a new version.
      </p>
      <ul>
        {edges.map(({ node: tool }, index) => (
          <ChangedTool
            key={tool.change!.hash}
            {...{ agentId, tool, mayWrite }}
            after={edges[index - 1]?.cursor ?? null}
          />
        ))}
      </ul>
      {hasNextPage && <p>These are the first {edges.length}. The others follow once these are accepted.</p>}
    </section>
  );
}

/** `after`: the cursor of the tool before it. */
type ToolProps = Pick<Props, "agentId" | "mayWrite"> & { tool: Tool; after: string | null };

function ChangedTool({ agentId, tool: { name, server, change }, after, mayWrite }: ToolProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <div className={classes["tool"]}>
        <strong>{name}</strong>
        <span className="dim">
          {server}, <Time at={change!.seenAt} />
        </span>
        <Button variant="default" size="compact-xs" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? "Hide the change" : `Show what changed in ${name}`}
        </Button>
      </div>
      {isOpen && <Change {...{ agentId, name, after, mayWrite }} hash={change!.hash} />}
    </li>
  );
}

/** A change is accepted only by who has it before them. */
function Change({ agentId, name, hash, after, mayWrite }: Omit<ToolProps, "tool"> & { name: string; hash: string }) {
  const [{ data, error }, readAgain] = useRead({
    query: ToolChangeDocument,
    variables: { id: agentId, after },
    // An answer from before another change was accepted has another tool in this one's place.
    requestPolicy: "network-only",
  });
  const mutate = useMutate();
  const { act, isBusy, refusal } = useAct();
  if (error) return <Problem refusal={refusalIn(error)} action={<TryAgain onClick={readAgain} />} />;
  if (!data) return <Skeleton height={160} />;
  const tool = data.agent?.toolChange.nodes.find(({ change }) => change!.hash === hash);
  if (!tool) return <p>The tool has changed again. Load the page again to see it.</p>;
  const accept = (): Promise<boolean> => act(() => mutate(TrustToolsDocument, { input: { agentId, changes: [hash] } }));
  return (
    <div className={classes["change"]}>
      <Suspense fallback={<Skeleton height={160} />}>
        <Difference
          version={tool.pinned ? "As it was" : "It was not there"}
          current="As it is now"
          before={tool.pinned ? textOf(tool.pinned) : ""}
          after={textOf(tool.change!.described)}
        />
      </Suspense>
      {refusal && <Problem refusal={refusal} />}
      {mayWrite && (
        <Button size="compact-md" loading={isBusy} onClick={() => void accept()}>
          Accept the change of {name}
        </Button>
      )}
    </div>
  );
}

type Described = { description: string; inputSchema: unknown; hints: unknown };

/** Sentence by sentence, then the rest as JSON: the order of its keys says nothing. */
const textOf = ({ description, inputSchema, hints }: Described): string =>
  showInvisible(
    `${description.replaceAll(/(?<=[.!?]) /g, "\n")}\n${JSON.stringify(inOrder({ inputSchema, hints } as Json), undefined, 2)}\n`,
  );

function inOrder(value: Json): Json {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name]!)]));
}
