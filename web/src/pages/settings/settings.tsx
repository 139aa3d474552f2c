/** What an organization and an account are set to: a part each, with an address of its own. */
import type { ComponentType } from "react";
import { Navigate } from "@tanstack/react-router";
import { Loading } from "../../components/loading.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { Keys } from "./keys.tsx";
import { Llm } from "./llm.tsx";
import { Members } from "./members.tsx";
import { Secrets } from "./secrets.tsx";
import { Sessions } from "./sessions.tsx";
import { Usage } from "./usage.tsx";
import { PARTS, type Part, type PartProps, type SettingsSearch } from "./part.ts";
import { useCaller } from "./use-caller.ts";

const CONTENTS: Record<Part, ComponentType<PartProps>> = {
  keys: Keys,
  members: Members,
  usage: Usage,
  secrets: Secrets,
  llm: Llm,
  sessions: Sessions,
};
const NAMES = Object.keys(PARTS) as Part[];

/** Without a part: the first that the caller may see. */
export function Settings({ part, search }: { part?: Part; search: SettingsSearch }) {
  const caller = useCaller();
  if (!part && caller)
    return <Navigate to="/settings/$part" params={{ part: caller.may("admin") ? "keys" : "members" }} replace />;
  const Content = part && CONTENTS[part];
  return (
    <div className="stack">
      <PageHead title="Settings" tabTitle={part ? `${PARTS[part]} · Settings` : "Settings"} />
      <Tabs
        label="Settings"
        chosen={part ?? ""}
        tabs={NAMES.map((one) => ({
          name: one,
          word: PARTS[one],
          link: { to: "/settings/$part", params: { part: one }, search: {} },
        }))}
      >
        {Content && caller ? (
          <Content caller={caller} search={search} />
        ) : (
          <Loading label="Loading settings" lines={5} />
        )}
      </Tabs>
    </div>
  );
}
