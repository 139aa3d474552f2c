/** The first owner, by the link that the server prints: its token is in the fragment, which browsers do not send. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useSession } from "../../api/hooks.ts";
import { Entrance } from "../../components/entrance.tsx";
import { CredentialsForm, type TextField } from "../../forms/credentials-form.tsx";

const FIELDS: readonly TextField<"organization" | "name" | "email" | "password">[] = [
  { name: "organization", label: "Organization", autoComplete: "organization", hint: "Your team or company." },
  { name: "name", label: "Your name", autoComplete: "name" },
  { name: "email", label: "E-mail", autoComplete: "username" },
  { name: "password", label: "Password", autoComplete: "new-password", hint: "At least 10 characters.", minLength: 10 },
];

export function Setup({ token }: { token: string }) {
  const session = useSession();
  const navigate = useNavigate();
  if (token === "")
    return (
      <Entrance
        title="Set up Autograph"
        lead="This address needs the token of the setup link. Open the link that the server prints when it starts, or sign in."
      >
        <Link to="/sign-in" className="link">
          Sign in
        </Link>
      </Entrance>
    );
  return (
    <Entrance
      title="Set up Autograph"
      lead="You become the owner of a new organization. The link works once, within 30 minutes."
    >
      <CredentialsForm
        fields={FIELDS}
        verb="Set up"
        send={async (values) => {
          await session.signIn({ setupToken: token, ...values });
          await navigate({ to: "/agents", replace: true });
        }}
      />
    </Entrance>
  );
}
