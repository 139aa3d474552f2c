/** The room that rows take which are not in the document. One column more than there are would take room from all. */
export const Spacer = ({ px, columns }: { px: number; columns: number }) =>
  px > 0 && (
    <tbody data-still="spacer" aria-hidden="true">
      <tr>
        <td colSpan={columns} style={{ height: px, lineHeight: 0 }}>
          &nbsp;
        </td>
      </tr>
    </tbody>
  );
