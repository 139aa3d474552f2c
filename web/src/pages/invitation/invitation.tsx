/** The way into an organization by a link: with one's account, or with a new one. */
import { useEffect, useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import { InvitationDocument, type InvitationQuery } from "../../api/documents.ts";
import { isPassing, useSession } from "../../api/hooks.ts";
import { askAsStranger } from "../../api/stranger.ts";
import { Refusal } from "../../api/refusal.ts";
import { Entrance } from "../../components/entrance.tsx";
import { Loading } from "../../components/loading.tsx";
import { Problem, TryAgain, withArticle } from "../../components/notice.tsx";
import { CredentialsForm, type TextField } from "../../forms/credentials-form.tsx";

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
  const session = useSession();
  const navigate = useNavigate();
  const [preview, setPreview] = useState<Preview>();
  const [isSignedIn, setIsSignedIn] = useState(false);
  const [hasAccount, setHasAccount] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();

  useEffect(() => {
    const read = async (): Promise<void> => {
      try {
        const [{ invitation }, isIn] = await Promise.all([
          askAsStranger(InvitationDocument, { token }),
          session.start(),
        ]);
        setPreview(invitation!);
        setIsSignedIn(isIn);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        setRefusal(error);
      }
    };
    void read();
  }, [session, token]);

  const enter = async (values: { name?: string; email?: string; password?: string }): Promise<void> => {
    await session.signIn({ invitationToken: token, ...values });
    await navigate({ to: "/agents", replace: true });
  };
  const join = (): void =>
    void enter({}).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    });

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
  const initial = email ? { email } : {};
  return (
    <Entrance title={`Join ${organizationName}`} lead={`You are invited as ${withArticle(role)}.`}>
      {isSignedIn ? (
        <Button onClick={join}>Join {organizationName}</Button>
      ) : (
        <>
          {hasAccount ? (
            <CredentialsForm
              key="in"
              fields={[EMAIL, PASSWORD]}
              initial={initial}
              verb={`Sign in and join`}
              send={enter}
            />
          ) : (
            <CredentialsForm
              key="new"
              fields={[NAME, EMAIL, NEW_PASSWORD]}
              initial={initial}
              verb={`Join`}
              send={enter}
            />
          )}
          <button type="button" className="link" onClick={() => setHasAccount(!hasAccount)}>
            {hasAccount ? "I have no account yet" : "I have an account"}
          </button>
        </>
      )}
    </Entrance>
  );
}
