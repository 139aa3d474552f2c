/** The settings of an organization and an account: a part each, with an address of its own. */
import type { ComponentType } from "react";
import { Navigate } from "@tanstack/react-router";
import { Loading } from "../../components/loading.tsx";
import { NoPermission } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { Keys } from "./keys.tsx";
import { Members } from "./members.tsx";
import { Models } from "./models.tsx";
import { Secrets } from "./secrets.tsx";
import { Sessions } from "./sessions.tsx";
import { Usage } from "./usage.tsx";
import { PARTS, type Part, type PartProps, type SettingsSearch } from "./part.ts";
import { useCaller } from "./use-caller.ts";

type Page = {
  Content: ComponentType<PartProps>;
  /** The scope that a caller needs to see any of it, with what the page says to those who lack it. */
  needs?: { scope: string; what: string; who: string };
};

const ADMIN = { scope: "admin", who: "Owners and admins" };
const PAGES: Record<Part, Page> = {
  keys: { Content: Keys, needs: { ...ADMIN, what: "see API keys" } },
  members: { Content: Members },
  usage: { Content: Usage },
  secrets: {
    Content: Secrets,
    needs: { scope: "secrets:write", what: "see secrets", who: "Owners, admins and editors" },
  },
  models: { Content: Models },
  sessions: { Content: Sessions },
};
const NAMES = Object.keys(PARTS) as Part[];

/** Without a part: the first that the caller may see. */
export function Settings({ part, search }: { part?: Part; search: SettingsSearch }) {
  const caller = useCaller();
  if (!part && caller)
    return <Navigate to="/settings/$part" params={{ part: caller.may("admin") ? "keys" : "members" }} replace />;
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
        {part && caller ? (
          <PartPage part={part} caller={caller} search={search} />
        ) : (
          <Loading label="Loading settings" lines={5} />
        )}
      </Tabs>
    </div>
  );
}

function PartPage({ part, caller, search }: PartProps & { part: Part }) {
  const { Content, needs } = PAGES[part];
  return needs && !caller.may(needs.scope) ? (
    <NoPermission what={needs.what} who={needs.who} role={caller.role} />
  ) : (
    <Content caller={caller} search={search} />
  );
}
