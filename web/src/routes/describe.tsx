import { lazy } from "react";
import { createRoute } from "@tanstack/react-router";
import type { DescribeSearch } from "../pages/describe/describe.tsx";
import { inside } from "./inside.tsx";
import { someText } from "./search.ts";

const DescribePage = lazy(async () => ({ default: (await import("../pages/describe/describe.tsx")).DescribePage }));

export const describe = createRoute({
  getParentRoute: () => inside,
  path: "/describe",
  validateSearch: ({ text }): DescribeSearch => someText("text", text),
  component: function DescribeRoute() {
    return <DescribePage search={describe.useSearch()} />;
  },
});
