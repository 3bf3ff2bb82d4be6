import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { addressOf, contactName } from '../../ui/contact-text.ts';

type Contact = Schemas['Contact'];

/** The channels in which a contact gets campaigns, in words. */
function subscriptionText({ channels }: Contact): string {
  const subscribed = channels.filter((channel) => channel.subscribed).map(({ kind }) => kind);
  return subscribed.length > 0 ? subscribed.join(', ') : 'none';
}

const columns: readonly TableColumn<Contact>[] = [
  {
    key: 'name',
    header: 'Contact',
    cell: (contact) => <BrandLink to={`/contacts/${contact.id}`}>{contactName(contact)}</BrandLink>,
  },
  { key: 'email', header: 'Email', cell: (contact) => addressOf(contact, 'email') ?? '–' },
  { key: 'phone', header: 'Phone', cell: (contact) => addressOf(contact, 'phone') ?? '–', wideOnly: true },
  { key: 'subscribed', header: 'Subscribed', cell: subscriptionText, wideOnly: true },
  {
    key: 'verification',
    header: 'Verification',
    cell: ({ verification_status: status }) => <StatusBadge status={status} />,
    wideOnly: true,
  },
  { key: 'source', header: 'Source', cell: ({ source }) => source ?? '–', wideOnly: true },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
];

export function ContactTable({
  label,
  rows,
  empty,
  selection,
}: {
  /** What the table lists, for screen readers. */
  label: string;
  rows: readonly Contact[];
  empty: ReactNode;
  selection?: Parameters<typeof DataTable<Contact>>[0]['selection'];
}) {
  const open = useOpen();
  return (
    <DataTable
      label={label}
      rows={rows}
      columns={columns}
      rowKey={({ id }) => id}
      onOpen={({ id }) => open(`/contacts/${id}`)}
      empty={empty}
      {...(selection ? { selection } : {})}
    />
  );
}
