/** The way back in for those who have forgotten their password: a link by mail, and a new password by the link. */
import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { RequestPasswordResetDocument, ResetPasswordDocument } from "../../api/documents.ts";
import { Refusal } from "../../api/refusal.ts";
import { askAsStranger } from "../../api/stranger.ts";
import { Entrance } from "../../components/entrance.tsx";
import { ToCopy } from "../../components/to-copy.tsx";
import { CredentialsForm, type TextField } from "../../forms/credentials-form.tsx";

const EMAIL: TextField<"email"> = { name: "email", label: "E-mail", autoComplete: "username" };
const PASSWORD: TextField<"password"> = {
  name: "password",
  label: "New password",
  autoComplete: "new-password",
  hint: "At least 10 characters.",
  minLength: 10,
};

/** Asks for a link. */
export function ForgottenPassword() {
  const [mailed, setMailed] = useState<string>();
  const [unmailed, setUnmailed] = useState<string>();
  const send = async ({ email }: { email: string }): Promise<void> => {
    try {
      await askAsStranger(RequestPasswordResetDocument, { input: { email } });
      setMailed(email.trim());
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== "mail_not_configured") throw error;
      setUnmailed(email.trim());
    }
  };
  if (unmailed !== undefined) return <NoMail email={unmailed} />;
  if (mailed !== undefined)
    return (
      <Done title="Check your mail">
        If {mailed} has an account here, a link to set a new password is on its way. It works once, within an hour.
      </Done>
    );
  return (
    <Entrance title="Forgotten password" lead="The server mails you a link to set a new one.">
      <CredentialsForm fields={[EMAIL]} verb="Send link" send={send} />
      <BackToSignIn />
    </Entrance>
  );
}

const NoMail = ({ email }: { email: string }) => (
  <Entrance title="This server sends no mail">
    <p role="status">Ask its operator for a new password. This command, beside the server, makes one:</p>
    <ToCopy text={`npx autograph user reset-password ${email}`} label="Copy the command" />
    <BackToSignIn />
  </Entrance>
);

/** Sets the password by a link. */
export function NewPassword({ token }: { token: string }) {
  const [isSet, setIsSet] = useState(false);
  const [isVoid, setIsVoid] = useState(false);
  const send = async ({ password }: { password: string }): Promise<void> => {
    try {
      await askAsStranger(ResetPasswordDocument, { input: { token, password } });
      setIsSet(true);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "NOT_FOUND") throw error;
      setIsVoid(true);
    }
  };
  if (isSet)
    return <Done title="Your password is set">All your sessions have ended. Sign in with the new password.</Done>;
  if (isVoid)
    return (
      <Entrance title="This link cannot be used">
        <p role="alert">It has been used, is older than an hour, or is incomplete.</p>
        <Link to="/reset-password" className="link">
          Ask for another link
        </Link>
      </Entrance>
    );
  return (
    <Entrance title="New password" lead="It ends all your sessions.">
      <CredentialsForm fields={[PASSWORD]} verb="Set password" send={send} />
    </Entrance>
  );
}

const Done = ({ title, children }: { title: string; children: ReactNode }) => (
  <Entrance title={title}>
    <p role="status">{children}</p>
    <BackToSignIn />
  </Entrance>
);

const BackToSignIn = () => (
  <Link to="/sign-in" search={{}} className="link">
    Sign in
  </Link>
);
