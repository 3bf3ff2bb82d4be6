import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, countText, StatusBadge, Time } from '../../ui/details.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';

type Contact = Schemas['Contact'];
type Channel = Schemas['Channel'];

const columns: readonly TableColumn<Channel>[] = [
  { key: 'kind', header: 'Channel', cell: ({ kind }) => kind },
  { key: 'value', header: 'Address', cell: ({ value }) => value },
  {
    key: 'subscribed',
    header: 'Subscription',
    cell: ({ subscribed, opt_in_at: optIn, opt_out_at: optOut }) => (
      <>
        <StatusBadge
          status={subscribed ? 'subscribed' : 'unsubscribed'}
          tone={subscribed ? 'good' : 'warn'}
        />{' '}
        {(subscribed ? optIn : optOut) !== null && <Time at={subscribed ? optIn : optOut} />}
      </>
    ),
  },
  { key: 'verified', header: 'Verified', cell: ({ verified }) => (verified ? 'yes' : 'no') },
  { key: 'sent', header: 'Sent', align: 'right', cell: ({ sent_count: count }) => countText(count) },
  { key: 'failed', header: 'Failed', align: 'right', cell: ({ fail_count: count }) => countText(count) },
];

/** The addresses of a contact, and whether it gets campaigns there. */
export function ContactChannels({ contact }: { contact: Contact }) {
  const isOnly = contact.channels.length === 1;
  const withActions: readonly TableColumn<Channel>[] = [
    ...columns,
    {
      key: 'actions',
      header: 'Actions',
      cell: (channel) => <ChannelActions channel={channel} isOnly={isOnly} />,
    },
  ];
  return (
    <Card title="Channels">
      <DataTable label="Channels" rows={contact.channels} columns={withActions} rowKey={({ id }) => id} />
    </Card>
  );
}

type Change = { subscribed: boolean } | { _destroy: true };

function ChannelActions({ channel, isOnly }: { channel: Channel; isOnly: boolean }) {
  const { id, contact_id: contactId, subscribed, value } = channel;
  const change = useAction({
    work: (wish: Change) =>
      call(() =>
        api.PATCH('/v1/my/contacts/{id}', {
          params: { path: { id: contactId } },
          body: { channels_attributes: [{ id, ...wish }] },
        }),
      ),
    done: 'Contact saved.',
    refresh: ['contacts'],
  });
  return (
    <div className="actions">
      {subscribed ? (
        <ConfirmButton
          label="Unsubscribe"
          title={`Unsubscribe ${value}?`}
          kind="secondary"
          busy={change.busy}
          onConfirm={() => change.run({ subscribed: false })}
        >
          <p>Campaigns and flows no longer reach this address. Transactional messages still do.</p>
        </ConfirmButton>
      ) : (
        <ConfirmButton
          label="Subscribe"
          title={`Subscribe ${value} again?`}
          kind="secondary"
          busy={change.busy}
          onConfirm={() => change.run({ subscribed: true })}
        >
          <p>Only do this if the contact has asked for it. Campaigns and flows reach this address again.</p>
        </ConfirmButton>
      )}
      {!isOnly && (
        <ConfirmButton
          label="Remove"
          title={`Remove ${value}?`}
          busy={change.busy}
          onConfirm={() => change.run({ _destroy: true })}
        >
          <p>The contact stays, without this address.</p>
        </ConfirmButton>
      )}
    </div>
  );
}
