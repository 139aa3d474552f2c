import { lazy } from "react";
import { createRoute, notFound, redirect } from "@tanstack/react-router";
import { COUNTED, FORMER, isPart, type SettingsSearch } from "../pages/settings/part.ts";
import { inside } from "./inside.tsx";
import { oneOf, onlyTrue, someText } from "./search.ts";

const Settings = lazy(async () => ({ default: (await import("../pages/settings/settings.tsx")).Settings }));

export const settingsPart = createRoute({
  getParentRoute: () => inside,
  path: "/settings/$part",
  validateSearch: ({ after, make, secret, model, into, show, project }): SettingsSearch => ({
    ...someText("after", after),
    ...onlyTrue("make", make),
    ...someText("secret", secret),
    ...someText("model", model),
    ...someText("into", into),
    ...oneOf("show", COUNTED, show),
    ...someText("project", project),
  }),
  beforeLoad: ({ params: { part } }) => {
    const now = FORMER[part];
    if (now) throw redirect({ to: "/settings/$part", params: { part: now }, replace: true });
    if (!isPart(part)) throw notFound();
  },
  component: function SettingsPartRoute() {
    const { part } = settingsPart.useParams();
    return isPart(part) ? <Settings key={part} part={part} search={settingsPart.useSearch()} /> : null;
  },
});
