/** A run of whichever agent a sentence is about. */
import { useNavigate } from "@tanstack/react-router";
import { useQuery } from "urql";
import { FrameDocument } from "../../api/documents.ts";
import { Loading } from "../../components/loading.tsx";
import { NoPermission } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Describe } from "../../forms/run/describe.tsx";

export type DescribeSearch = { text?: string };

export function DescribePage({ search: { text } }: { search: DescribeSearch }) {
  const [{ data }] = useQuery({ query: FrameDocument });
  const navigate = useNavigate();
  const { scopes, role } = data?.caller ?? {};
  return (
    <div className="stack">
      <PageHead path={[{ word: "Agents", to: "/agents" }]} title="Describe a run" />
      {!scopes && <Loading label="Loading the form" lines={3} />}
      {scopes?.includes("runs:start") && (
        <Describe
          said={text}
          onRead={(read) => void navigate({ to: "/describe", search: { text: read }, replace: true })}
        />
      )}
      {scopes && !scopes.includes("runs:start") && (
        <NoPermission what="run agents" who="Owners, admins, editors and runners" role={role ?? null} />
      )}
    </div>
  );
}
