import type { Schemas } from '../../api/client.ts';
import { StatusBadge } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { kindText } from './recipient-kinds.ts';

type Recipient = NonNullable<Schemas['MessageDetail']['recipients']>[number];

/** Everyone who gets a copy of the letter, and what became of each copy. */
export const LetterRecipients = ({
  recipients,
  shownId,
}: {
  recipients: readonly Recipient[];
  /** The message that the page shows. */
  shownId: number;
}) => (
  <ul className="files long" aria-label="Recipients">
    {recipients.map((recipient) => (
      <li key={recipient.message_id}>
        <div>
          <Address recipient={recipient} isShown={recipient.message_id === shownId} />{' '}
          <span className="muted">{kindText[recipient.kind]}</span>
        </div>
        <StatusBadge status={recipient.status} />
      </li>
    ))}
  </ul>
);

function Address({
  recipient: { message_id: id, address },
  isShown,
}: {
  recipient: Recipient;
  isShown: boolean;
}) {
  const text = address ?? 'a contact that was removed';
  return isShown ? (
    <strong className="name">{text}</strong>
  ) : (
    <BrandLink to={`/messages/${id}`} className="name">
      {text}
    </BrandLink>
  );
}
