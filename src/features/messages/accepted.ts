/** Shows messages that were just accepted as GET shows them, from what was written. */
import type { NewAttachment } from '../../delivery/ledger/accept/new-letter.ts';
import type { WrittenMessage } from '../../delivery/ledger/accept/new-message.ts';
import { writtenTestOutcome } from '../../delivery/ledger/accept/test-messages.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';
import { type CopyRow, findSuppressed, type LetterFileRow } from './letter-model.ts';
import { presentAcceptedLetter, type Reader, withoutHiddenLetter } from './letter-presenter.ts';
import type { LetterDraft, OpaqueDraft } from './letter.ts';
import { type AcceptedMessage, type MessageRow, presentMessage } from './presenter.ts';

/** The letter of a message that was accepted. */
export interface AcceptedLetter {
  draft: LetterDraft;
  files: readonly NewAttachment[];
  /** Of its copies, in their order. */
  ids: readonly number[];
}

/** A message, or the lead of a letter, that this request has written. */
export interface JustAccepted {
  /** Of a letter: with the content. */
  draft: MessageDraft;
  idempotencyKey: string | null;
  written: WrittenMessage;
  /** Null: an ordinary message. */
  letter: AcceptedLetter | null;
}

/** @returns what the client gets, in the order of the messages, which are of one account */
export type PresentAccepted = (
  scope: AccountScope,
  reader: Reader,
  accepted: readonly JustAccepted[],
) => Promise<AcceptedMessage[]>;

/** The row as it was written. That of a test key has its outcome already. */
function rowOf({
  draft,
  idempotencyKey,
  written,
  letter,
}: JustAccepted): MessageRow & { html: string | null } {
  const { created_at: createdAt } = written;
  const { html = null, ...row } = draft.test ? { ...draft, ...writtenTestOutcome(draft) } : draft;
  const timeOf = (time: 'now' | null | undefined) => (time === 'now' ? createdAt : null);
  return {
    ...row,
    ...written,
    html,
    idempotency_key: idempotencyKey,
    updated_at: createdAt,
    sent_at: timeOf(row.sent_at),
    delivered_at: timeOf(row.delivered_at),
    ...(letter && {
      letter_id: written.id,
      recipient_kind: letter.draft.copies[0]?.kind ?? null,
      several_reply_to: letter.draft.letter.replyTo,
    }),
  };
}

/** The body of an opaque letter is its file 0. */
const bodyRow = ({ body: file }: OpaqueDraft): LetterFileRow => ({
  ...{ n: 0, filename: file.filename, content_type: file.contentType, content_id: null },
  ...{ disposition: file.disposition, size: file.size, sha256: file.sha256, stored: true },
});

const fileRow = ({ contentType, contentId, ...file }: NewAttachment, index: number): LetterFileRow => ({
  ...file,
  n: index + 1,
  content_type: contentType,
  content_id: contentId,
});

const copyRows = ({ draft, ids }: AcceptedLetter, suppressed: ReadonlySet<string>): CopyRow[] =>
  draft.copies.map(({ kind, draft: copy }, index) => ({
    id: ids[index] ?? 0,
    recipient_kind: kind,
    to_address: copy.to_address,
    status: copy.test ? writtenTestOutcome(copy).status : copy.status,
    scheduled_at: copy.scheduled_at ?? null,
    sending: false,
    suppressed: suppressed.has(copy.to_key),
  }));

/**
 * Creates the function that shows messages that were just accepted, or letters. It reads only which recipients of letters
 * are suppressed.
 * @param plusAddresses the setting SUPPRESS_PLUS_ADDRESSES
 */
export function createAcceptedPresenter(db: Queryable, plusAddresses: boolean): PresentAccepted {
  return async (scope, reader, accepted) => {
    const copies = accepted.flatMap(({ letter }) => letter?.draft.copies ?? []);
    const keys = [...new Set(copies.map(({ draft }) => draft.to_key))];
    const suppressed =
      keys.length === 0 ? new Set<string>() : await findSuppressed(db, scope, keys, plusAddresses);
    return accepted.map((each) => {
      const row = rowOf(each);
      const shown = presentMessage(withoutHiddenLetter(reader, row));
      const { letter } = each;
      if (!letter) return shown;
      const body = letter.draft.opaque ? [bodyRow(letter.draft.opaque)] : [];
      const files = [...body, ...letter.files.map(fileRow)];
      return {
        ...shown,
        ...presentAcceptedLetter({ files, copies: copyRows(letter, suppressed) }, reader, row),
      };
    });
  };
}
