import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import { Link, useRouter } from "@tanstack/react-router";
import { useSession } from "../../api/hooks.ts";
import { Entrance } from "../../components/entrance.tsx";
import { CredentialsForm } from "../../forms/credentials-form.tsx";
import { FIELDS } from "./fields.ts";

/** `to`: the address, within this page, that was asked for. */
export function SignIn({ to }: { to: string | undefined }) {
  const session = useSession();
  const router = useRouter();
  const presence = useSyncExternalStore(session.presence.watch, session.presence.get);
  const goOn = useEffectEvent(() => {
    const { pathname, search } = new URL(to ?? "/agents", location.origin);
    void router.navigate({ to: pathname, search: router.options.parseSearch(search), replace: true });
  });
  // Also when it was in another tab.
  useEffect(() => {
    if (presence?.state === "in") goOn();
  }, [presence]);
  return (
    <Entrance title="Sign in">
      <CredentialsForm fields={FIELDS} verb="Sign in" send={(values) => session.signIn(values)} />
      <Link to="/reset-password" className="link">
        Forgotten password
      </Link>
      <p className="dim">
        No account yet? Ask an owner of your organization for an invitation. On an empty server, use the link that it
        prints, or <code>npx autograph setup</code>.
      </p>
    </Entrance>
  );
}
