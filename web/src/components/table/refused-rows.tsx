import { Link } from "@tanstack/react-router";
import type { Refusal } from "../../api/refusal.ts";
import { Problem, TryAgain } from "../notice.tsx";

type Props = { index: number; columns: number; refusal: Refusal; onAgain: () => void };

/** In the place of a page's rows that did not come. */
export const RefusedRows = ({ index, columns, refusal, onAgain }: Props) => (
  <tbody data-page={index} data-still="refused">
    <tr>
      <td colSpan={columns}>
        <Problem
          refusal={refusal}
          action={
            // The filter names what does not exist or is not visible to the user: asking again does not help.
            refusal.code === "NOT_FOUND" ? (
              <Link to="." search={{ project: undefined }} className="link">
                Show all
              </Link>
            ) : (
              <TryAgain onClick={onAgain} />
            )
          }
        />
      </td>
    </tr>
  </tbody>
);
