import { Link } from "@tanstack/react-router";
import { PageHead } from "./page-head.tsx";

/** In place of a page that there is not; the frame stays, so that one can go on. */
export const Nowhere = () => (
  <div className="stack">
    <PageHead title="There is nothing at this address" />
    <p>
      Check the address for typos, or start from{" "}
      <Link to="/agents" search={{}} className="link">
        all agents
      </Link>
      .
    </p>
  </div>
);
