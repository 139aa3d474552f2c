import { createRoute } from "@tanstack/react-router";
import { SignIn } from "../pages/sign-in/sign-in.tsx";
import { somePath } from "./search.ts";
import { root } from "./root.tsx";

export const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: ({ to }): { to?: string } => somePath("to", to),
  component: function SignInRoute() {
    return <SignIn to={signIn.useSearch().to} />;
  },
});
