/** Any address that is none of the UI's. */
import { createRoute } from "@tanstack/react-router";
import { Nowhere } from "../components/nowhere.tsx";
import { inside } from "./inside.tsx";

export const nowhere = createRoute({ getParentRoute: () => inside, path: "$", component: Nowhere });
