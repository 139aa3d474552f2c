import { Link } from "@tanstack/react-router";

/** Says what a command needs in the shell: `with … in AUTOGRAPH_API_KEY`. */
export const WithKey = () => (
  <>
    <Link to="/settings/$part" params={{ part: "keys" }} search={{}} className="link">
      an API key
    </Link>{" "}
    of this organization in <code>AUTOGRAPH_API_KEY</code>
  </>
);
