import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, call, callPage } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { Filters, PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { idOf, useInboxes } from './choices.ts';
import { InboxTabs } from './inbox-tabs.tsx';
import { type Mail, MailView } from './mail-view.tsx';

const REASONS = ['spam', 'blocked', 'virus', 'unreadable', 'storage'] as const;

const columnsOf = (read: (mail: Mail) => void): readonly TableColumn<Mail>[] => [
  {
    key: 'subject',
    header: 'Subject',
    cell: (mail) => (
      <Button kind="quiet" onClick={() => read(mail)}>
        {mail.subject || '(no subject)'}
      </Button>
    ),
  },
  { key: 'from', header: 'From', cell: ({ from }) => from },
  {
    key: 'reason',
    header: 'Reason',
    cell: ({ quarantine }) => (
      <>
        <StatusBadge status={quarantine?.reason ?? 'unknown'} tone="warn" /> {quarantine?.detail}
      </>
    ),
  },
  { key: 'received', header: 'Received', cell: ({ received_at: at }) => <Time at={at} /> },
];

/** Mail in quarantine, with the reason. */
export function QuarantinePage() {
  const [reading, setReading] = useState<Mail | null>(null);
  const list = useListSearch(['inbox_id', 'reason']);
  const inboxes = useInboxes();
  const asked = {
    page: list.page,
    limit: Number(list.query.limit),
    inbox_id: idOf(list.search.inbox_id),
    reason: REASONS.find((reason) => reason === list.search.reason),
  };
  const query = useQuery({
    queryKey: ['inbox_quarantine', asked],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/inbox_quarantine', { params: { query: asked }, signal })),
  });
  const columns = useMemo(() => columnsOf(setReading), []);
  return (
    <>
      <PageHeader title="Quarantine" />
      <InboxTabs />
      <Filters
        list={list}
        filters={[
          { name: 'reason', label: 'Reason', options: REASONS },
          { name: 'inbox_id', label: 'Inbox', options: inboxes },
        ]}
      />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Mail in quarantine"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={setReading}
            empty={
              <EmptyState title="Nothing is in quarantine">
                <p>
                  Spam, mail of blocked senders, mail with viruses and mail from strangers that would take too
                  much space is kept here for 90 days, or until other mail needs the space.
                </p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
      {reading && <ReadMail mail={reading} onClose={() => setReading(null)} />}
    </>
  );
}

function ReadMail({ mail, onClose }: { mail: Mail; onClose: () => void }) {
  const path = { conversation_message_id: mail.id };
  const release = useAction({
    work: () =>
      call(() =>
        api.POST('/v1/my/inbox_quarantine/{conversation_message_id}/release', { params: { path }, body: {} }),
      ),
    done: 'The mail is released. It arrives in the inbox within seconds, or once it is scanned.',
    refresh: ['inbox_quarantine', 'conversations'],
    onDone: onClose,
  });
  const remove = useAction({
    work: () =>
      call(() => api.DELETE('/v1/my/inbox_quarantine/{conversation_message_id}', { params: { path } })),
    done: 'The mail is deleted.',
    refresh: ['inbox_quarantine'],
    onDone: onClose,
  });
  return (
    <Dialog open onClose={onClose} title={mail.subject || '(no subject)'} wide>
      <MailView mail={mail} />
      <div className="actions">
        {mail.quarantine?.reason !== 'virus' && (
          <Button kind="primary" busy={release.busy} onClick={() => release.run()}>
            Release
          </Button>
        )}
        <ConfirmButton
          label="Delete"
          title="Delete this mail?"
          confirm="Delete mail"
          busy={remove.busy}
          onConfirm={() => remove.run()}
        >
          <p>The mail and its files are deleted. This cannot be undone.</p>
        </ConfirmButton>
      </div>
    </Dialog>
  );
}
