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

/** Maximum number of unknown images that are named: an HTML of 2 MB may show 200,000. */
const MAX_UNKNOWN = 20;

function unknownImages(unknown: readonly string[]): CheckProblem[] {
  const warn = (message: string) => warning('html', 'unknown_cid', message);
  const further = unknown.length - MAX_UNKNOWN;
  return [
    ...unknown
      .slice(0, MAX_UNKNOWN)
      .map((cid) => warn(`shows cid:${cid}, which is the \`content_id\` of no file`)),
    ...(further > 0 ? [warn(`shows ${further} further images that are no files`)] : []),
  ];
}

/** Names images of the HTML that no file is, and files for the HTML that it does not show. */
function contentWarnings(html: string | null, files: readonly LetterFileRow[]): CheckProblem[] {
  const cids = namedContentIds(html);
  const ids = files.map(({ content_id: id }) => id);
  return [
    ...unknownImages([...cids].filter((cid) => !ids.includes(cid))),
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
