import { useCallback, useState } from "react";
import { useClient } from "urql";
import { CheckDefinitionDocument } from "../../api/documents.ts";
import classes from "./definition-tab.module.css";
import type { Check, Found } from "./editor.tsx";

/** What the server finds wrong with a text. */
export function useCheck(): { problems: readonly Found[]; check: Check } {
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
  return { problems, check };
}

/** More are below those that are mended first. */
const SHOWN_PROBLEMS = 5;

/** What the margin marks, in words. */
export function Problems({ problems }: { problems: readonly Found[] }) {
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
