/** The way into an organization by a link: with one's account, or with a new one. */
import { useEffect, useEffectEvent, useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import { InvitationDocument, type InvitationQuery } from "../../api/documents.ts";
import { isPassing, useSession } from "../../api/hooks.ts";
import { askAsStranger } from "../../api/stranger.ts";
import { useAct } from "../../api/use-act.ts";
import { Entrance } from "../../components/entrance.tsx";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain, withArticle } from "../../components/notice.tsx";
import { CredentialsForm, type TextField } from "../../forms/credentials-form.tsx";

type Credentials = { name?: string; email?: string; password?: string };
type Preview = NonNullable<InvitationQuery["invitation"]>;

const NAME: TextField<"name"> = { name: "name", label: "Your name", autoComplete: "name" };
const EMAIL: TextField<"email"> = { name: "email", label: "E-mail", autoComplete: "username" };
const NEW_PASSWORD: TextField<"password"> = {
  name: "password",
  label: "Password",
  autoComplete: "new-password",
  hint: "At least 10 characters.",
  minLength: 10,
};
const PASSWORD: TextField<"password"> = { name: "password", label: "Password", autoComplete: "current-password" };

export function Invitation({ token }: { token: string }) {
  const { preview, isSignedIn, refusal: unread } = useInvitation(token);
  const session = useSession();
  const navigate = useNavigate();
  const { act, refusal: unjoined } = useAct();
  const enter = async (values: Credentials): Promise<void> => {
    await session.signIn({ invitationToken: token, ...values });
    await navigate({ to: "/agents", replace: true });
  };
  const refusal = unread ?? unjoined;
  if (refusal)
    return (
      <Entrance title={isPassing(refusal) ? "Invitation" : "This invitation cannot be used"}>
        <Problem refusal={refusal} action={isPassing(refusal) && <TryAgain onClick={() => location.reload()} />} />
      </Entrance>
    );
  if (!preview)
    return (
      <Entrance title="Invitation">
        <Loading label="Loading the invitation" lines={4} />
      </Entrance>
    );
  const { organizationName, role, email } = preview;
  return (
    <Entrance title={`Join ${organizationName}`} lead={`You are invited as ${withArticle(role)}.`}>
      {isSignedIn ? (
        <Button onClick={() => void act(() => enter({}))}>Join {organizationName}</Button>
      ) : (
        <Account initial={email ? { email } : {}} send={enter} />
      )}
    </Entrance>
  );
}

/** The invitation behind a link, and whether the one who opened it is signed in. */
function useInvitation(token: string) {
  const session = useSession();
  const [preview, setPreview] = useState<Preview>();
  const [isSignedIn, setIsSignedIn] = useState(false);
  const { act, refusal } = useAct();
  const read = useEffectEvent((link: string) =>
    act(async () => {
      const [{ invitation }, isIn] = await Promise.all([
        askAsStranger(InvitationDocument, { token: link }),
        session.start(),
      ]);
      setPreview(invitation!);
      setIsSignedIn(isIn);
    }),
  );
  useEffect(() => void read(token), [token]);
  return { preview, isSignedIn, refusal };
}

type AccountProps = { initial: Credentials; send: (values: Credentials) => Promise<void> };

/** A new account, or one that is there already. */
function Account({ initial, send }: AccountProps) {
  const [hasAccount, setHasAccount] = useState(false);
  return (
    <>
      {hasAccount ? (
        <CredentialsForm key="in" fields={[EMAIL, PASSWORD]} initial={initial} verb="Sign in and join" send={send} />
      ) : (
        <CredentialsForm key="new" fields={[NAME, EMAIL, NEW_PASSWORD]} initial={initial} verb="Join" send={send} />
      )}
      <button type="button" className="link" onClick={() => setHasAccount(!hasAccount)}>
        {hasAccount ? "I have no account yet" : "I have an account"}
      </button>
    </>
  );
}
