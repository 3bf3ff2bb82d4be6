/** What is noticeable about a letter, though it is sent. */
import { namedContentIds } from '../../delivery/content/mime/content-ids.ts';
import type { CheckProblem } from '../../errors.ts';
import type { CopyRow, LetterFileRow } from './letter-model.ts';

const warning = (field: string, code: string, message: string): CheckProblem => ({
  field,
  code,
  message,
  severity: 'warning',
});

/** Names images of the HTML that no file is, and files for the HTML that it does not show. */
function contentWarnings(html: string | null, files: readonly LetterFileRow[]): CheckProblem[] {
  const cids = namedContentIds(html);
  const ids = files.map(({ content_id: id }) => id);
  return [
    ...[...cids]
      .filter((cid) => !ids.includes(cid))
      .map((cid) =>
        warning('html', 'unknown_cid', `shows cid:${cid}, which is the \`content_id\` of no file`),
      ),
    ...ids.flatMap((id, index) =>
      id === null || cids.has(id)
        ? []
        : [
            warning(
              `attachments.${index}.content_id`,
              'unused_content_id',
              `is not shown by the html as cid:${id}`,
            ),
          ],
    ),
  ];
}

/** @returns the warnings of a letter that has just been accepted, or was accepted by an earlier request */
export function warningsOf(
  html: string | null,
  files: readonly LetterFileRow[],
  copies: readonly CopyRow[],
): CheckProblem[] {
  const suppressed = copies.filter((copy) => copy.suppressed);
  return [
    ...contentWarnings(html, files),
    ...suppressed.map(({ recipient_kind: kind, to_address: address }) =>
      warning(kind, 'suppressed', `has ${address}, which is suppressed: nothing is sent to it`),
    ),
  ];
}
