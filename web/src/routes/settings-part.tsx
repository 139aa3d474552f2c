import { lazy } from "react";
import { createRoute, notFound } from "@tanstack/react-router";
import { COUNTED, isPart, type SettingsSearch } from "../pages/settings/part.ts";
import { inside } from "./inside.tsx";
import { oneOf, onlyTrue, someText } from "./search.ts";

const Settings = lazy(async () => ({ default: (await import("../pages/settings/settings.tsx")).Settings }));

export const settingsPart = createRoute({
  getParentRoute: () => inside,
  path: "/settings/$part",
  validateSearch: ({ after, make, secret, show, project }): SettingsSearch => ({
    ...someText("after", after),
    ...onlyTrue("make", make),
    ...someText("secret", secret),
    ...oneOf("show", COUNTED, show),
    ...someText("project", project),
  }),
  beforeLoad: ({ params: { part } }) => {
    if (!isPart(part)) throw notFound();
  },
  component: function SettingsPartRoute() {
    const { part } = settingsPart.useParams();
    return isPart(part) ? <Settings key={part} part={part} search={settingsPart.useSearch()} /> : null;
  },
});
