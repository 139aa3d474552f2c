import { createRoute, useLocation } from "@tanstack/react-router";
import { ForgottenPassword, NewPassword } from "../pages/reset-password/reset-password.tsx";
import { root } from "./root.tsx";

export const resetPassword = createRoute({
  getParentRoute: () => root,
  path: "/reset-password",
  component: function ResetPasswordRoute() {
    const { hash } = useLocation();
    const token = new URLSearchParams(hash).get("password-reset");
    return token === null ? <ForgottenPassword /> : <NewPassword key={token} token={token} />;
  },
});
