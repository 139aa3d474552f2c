import { Link } from "@tanstack/react-router";

/** What a shell needs before a command: `with … in AUTOGRAPH_API_KEY`. */
export const WithKey = () => (
  <>
    <Link to="/settings/$part" params={{ part: "keys" }} search={{}} className="link">
      an API key
    </Link>{" "}
    of this organization in <code>AUTOGRAPH_API_KEY</code>
  </>
);
