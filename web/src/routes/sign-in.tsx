import { createRoute } from "@tanstack/react-router";
import { SignIn } from "../pages/sign-in/sign-in.tsx";
import { root } from "./root.tsx";

export const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  // Only to a page of this UI.
  validateSearch: ({ to }): { to?: string } => (typeof to === "string" && /^\/(?![/\\])/.test(to) ? { to } : {}),
  component: function SignInRoute() {
    return <SignIn to={signIn.useSearch().to} />;
  },
});
