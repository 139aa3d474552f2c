/** One run, live: the error first, then what waits for a person, then the steps. */
import { useState } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import { RunPageDocument, type RunPageQuery } from "../../api/documents.ts";
import { useRead } from "../../api/hooks.ts";
import { refusalIn, type Refusal } from "../../api/refusal.ts";
import { Loading } from "../../components/loading.tsx";
import { Empty, Problem } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { IN_RUNS, LoadedRun } from "./loaded-run.tsx";
import type { RunSearch } from "./search.ts";

export function Run({ id, search }: { id: string; search: RunSearch }) {
  const [{ data, error, stale }, readAgain] = useRead({
    query: RunPageDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  // A former answer is shown until the next one is there.
  const [shown, setShown] = useState<RunPageQuery>();
  if (data?.run && !stale && data !== shown) setShown(data);
  if (shown?.run?.id === id) return <LoadedRun key={id} data={shown} search={search} />;
  if (error) return <Unread refusal={refusalIn(error)} onAgain={readAgain} />;
  return (
    <div className="stack">
      <PageHead path={IN_RUNS} title="Run" />
      <Loading label="Loading the run" />
    </div>
  );
}

function Unread({ refusal, onAgain }: { refusal: Refusal; onAgain: () => void }) {
  return (
    <div className="stack">
      <PageHead path={IN_RUNS} title="Run" />
      {refusal.code === "NOT_FOUND" ? (
        <Empty title="There is no such run">
          <p>It may belong to another organization or have been deleted.</p>
          <Link to="/runs" className="link">
            All runs
          </Link>
        </Empty>
      ) : (
        <Problem
          refusal={refusal}
          action={
            <Button variant="default" size="compact-md" onClick={onAgain}>
              Try again
            </Button>
          }
        />
      )}
    </div>
  );
}
