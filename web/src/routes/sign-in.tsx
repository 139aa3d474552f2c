import { createRoute } from "@tanstack/react-router";
import { SignIn } from "../pages/sign-in/sign-in.tsx";
import { somePath } from "./search.ts";
import { root } from "./root.tsx";

export const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: ({ to }): { to?: string } => somePath("to", to),
  // Who is signed in goes on to where they wanted: the page does so when it is known.
  beforeLoad: ({ context: { session } }) => void session.start().catch(() => undefined),
  component: function SignInRoute() {
    return <SignIn to={signIn.useSearch().to} />;
  },
});
