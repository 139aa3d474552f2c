/** All pages for those who are signed in: with the frame around them, and the API client of the signed-in user. */
import { Suspense, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { createRoute, Outlet, redirect, retainSearchParams, useLocation, useNavigate } from "@tanstack/react-router";
import { Provider } from "urql";
import { createApi } from "../api/client.ts";
import { ApiContext, useSession } from "../api/hooks.ts";
import { Frame } from "../components/frame/frame.tsx";
import { Nowhere } from "../components/nowhere.tsx";
import { later } from "../lib/later.ts";
import { EntranceError, root } from "./root.tsx";
import { someText } from "./search.ts";

const SignInAgain = later(async () => (await import("../pages/sign-in/sign-in-again.tsx")).SignInAgain);

export const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  validateSearch: ({ project }): { project?: string | undefined } => someText("project", project),
  // Who has chosen a project stays in it wherever they go.
  search: { middlewares: [retainSearchParams<{ project?: string | undefined }>(["project"])] },
  beforeLoad: async ({ context: { session }, location }) => {
    if (!(await session.start())) throw redirect({ to: "/sign-in", search: { to: location.href }, replace: true });
  },
  component: Inside,
  notFoundComponent: Nowhere,
  errorComponent: EntranceError,
});

function Inside() {
  const session = useSession();
  const navigate = useNavigate();
  const { state, who } = useSyncExternalStore(session.presence.watch, session.presence.get)!;
  // oxlint-disable-next-line react/exhaustive-deps -- another one for each
  const api = useMemo(() => createApi(session), [session, who]);
  useEffect(() => () => api.close(), [api]);
  useEffect(() => {
    if (state === "out") void navigate({ to: "/sign-in", search: {} });
  }, [state, navigate]);
  useFocusOnPage(useLocation({ select: ({ pathname }) => pathname }));
  if (state === "out") return null;
  return (
    <ApiContext key={who} value={api}>
      <Provider value={api.client}>
        <Frame>
          <Suspense>
            <Outlet />
          </Suspense>
        </Frame>
        {state === "lapsed" && (
          <Suspense>
            <SignInAgain />
          </Suspense>
        )}
      </Provider>
    </ApiContext>
  );
}

/** Moves the focus to the new page, so that a screen reader goes on there. */
function useFocusOnPage(pathname: string): void {
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current === pathname) return;
    before.current = pathname;
    const page = document.getElementById("page");
    if (!page?.contains(document.activeElement)) page?.focus({ preventScroll: true });
  }, [pathname]);
}
