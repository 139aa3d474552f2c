/** A definition as it is written, with what is wrong with it in its margin and in words above it. */
import { lazy, Suspense, useCallback, useState } from "react";
import { Skeleton } from "@mantine/core";
import { useClient } from "urql";
import { CheckDefinitionDocument } from "../../api/documents.ts";
import classes from "./definition-tab.module.css";
import type { Check, Found } from "./editor.tsx";

// 130 kB, for those who look at a definition.
const Editor = lazy(async () => ({ default: (await import("./editor.tsx")).Editor }));

/** `text`: what it begins with. */
type Props = { text: string; isReadOnly?: boolean; onChange: (text: string) => void };

export function DefinitionText({ text, isReadOnly = false, onChange }: Props) {
  const client = useClient();
  const [problems, setProblems] = useState<readonly Found[]>([]);
  const check: Check = useCallback(
    async (given) => {
      const { data } = await client.query(CheckDefinitionDocument, { definition: given }).toPromise();
      const found = data?.validateDefinition?.problems ?? [];
      setProblems(found);
      return found;
    },
    [client],
  );
  return (
    <>
      <Problems problems={problems} />
      <Suspense fallback={<Skeleton height={400} />}>
        <Editor text={text} isReadOnly={isReadOnly} check={check} onChange={onChange} />
      </Suspense>
    </>
  );
}

/** More are below those that are mended first. */
const SHOWN_PROBLEMS = 5;

/** The marks of the margin, in words. */
function Problems({ problems }: { problems: readonly Found[] }) {
  return (
    <section aria-label="Problems" aria-live="polite" className={classes["problems"]}>
      {problems.slice(0, SHOWN_PROBLEMS).map(({ line, column, message, severity }) => (
        <p key={`${line} ${column} ${message}`} data-severity={severity}>
          <strong>Line {line}</strong> {message}
        </p>
      ))}
      {problems.length > SHOWN_PROBLEMS && <p className="dim">and {problems.length - SHOWN_PROBLEMS} more</p>}
    </section>
  );
}
