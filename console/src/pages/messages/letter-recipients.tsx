import type { Schemas } from '../../api/client.ts';
import { StatusBadge } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { kindText } from './recipient-kinds.ts';

type Recipient = NonNullable<Schemas['MessageDetail']['recipients']>[number];

const columnsOf = (shownId: number): readonly TableColumn<Recipient>[] => [
  {
    key: 'address',
    header: 'Recipient',
    cell: ({ message_id: id, address }) => {
      const text = address ?? 'a contact that was removed';
      return id === shownId ? (
        <>
          <strong>{text}</strong> <span className="muted">(this page)</span>
        </>
      ) : (
        <BrandLink to={`/messages/${id}`}>{text}</BrandLink>
      );
    },
  },
  { key: 'kind', header: 'As', width: '11rem', cell: ({ kind }) => kindText[kind] },
  { key: 'status', header: 'Status', width: '9rem', cell: ({ status }) => <StatusBadge status={status} /> },
];

/** Everyone who gets a copy of the letter, and what became of each copy. */
export const LetterRecipients = ({
  recipients,
  shownId,
}: {
  recipients: readonly Recipient[];
  /** The message that the page shows. */
  shownId: number;
}) => (
  <DataTable
    label="Recipients"
    rows={recipients}
    columns={columnsOf(shownId)}
    rowKey={({ message_id: id }) => id}
  />
);
