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
import type { PartProps, SettingsSearch } from "./part.ts";
import { useCaller } from "./use-caller.ts";

export const PARTS = ["keys", "members", "usage", "secrets", "llm", "sessions"] as const;
export type Part = (typeof PARTS)[number];

const LOOKS: Record<Part, { word: string; Content: ComponentType<PartProps> }> = {
  keys: { word: "API keys", Content: Keys },
  members: { word: "Members", Content: Members },
  usage: { word: "Usage", Content: Usage },
  secrets: { word: "Secrets", Content: Secrets },
  llm: { word: "LLM connection", Content: Llm },
  sessions: { word: "Sessions", Content: Sessions },
};

/** Without a part: the first that the caller may see. */
export function Settings({ part, search }: { part?: Part; search: SettingsSearch }) {
  const caller = useCaller();
  if (!part && caller)
    return <Navigate to="/settings/$part" params={{ part: caller.may("admin") ? "keys" : "members" }} replace />;
  const Content = part && LOOKS[part].Content;
  return (
    <div className="stack">
      <PageHead title="Settings" tabTitle={part ? `${LOOKS[part].word} · Settings` : "Settings"} />
      <Tabs
        label="Settings"
        chosen={part ?? ""}
        tabs={PARTS.map((one) => ({
          name: one,
          word: LOOKS[one].word,
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
