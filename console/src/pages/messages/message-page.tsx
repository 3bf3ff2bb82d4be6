import { useQuery, type Query } from '@tanstack/react-query';
import { Fragment } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { Card, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { MessageContent } from './message-content.tsx';
import { MessageTimeline } from './message-timeline.tsx';
import { OriginLink } from './origin-link.tsx';
import { ReasonNotice, StateNotice } from './reason-notice.tsx';
import { ResendButton } from './resend-button.tsx';

type Message = Schemas['MessageDetail'];

/** A message that leaves within seconds is loaded often; one that waits, or may still be reported on, less often. */
const PAUSE_MS: Partial<Record<Message['status'], number>> = {
  queued: POLL_MS,
  sending: POLL_MS,
  sent: 5 * POLL_MS,
  held: 5 * POLL_MS,
  unknown: 5 * POLL_MS,
};

const pauseOf = ({ state }: Query<Message>): number | false =>
  (state.data && PAUSE_MS[state.data.status]) ?? false;

/** One message: what became of it and why, its content and its recipient. */
export function MessagePage() {
  const id = useId('messageId');
  const query = useQuery({
    queryKey: ['messages', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/messages/{id}', { params: { path: { id } }, signal })),
    refetchInterval: pauseOf,
  });
  return (
    <QueryView query={query}>
      {(message) => (
        <Fragment key={message.id}>
          <PageHeader
            title={message.subject ?? (message.channel === 'sms' ? 'SMS' : `Message ${id}`)}
            actions={<ResendButton message={message} />}
          >
            <p>
              <StatusBadge status={message.status} />{' '}
              {message.test && <StatusBadge status="test" tone="quiet" />} to{' '}
              {message.to ?? 'a contact that was removed'}
            </p>
          </PageHeader>
          <ReasonNotice message={message} />
          <StateNotice message={message} />
          <Card title="What happened">
            <MessageTimeline message={message} />
          </Card>
          <Card title="Content">
            <MessageContent message={message} />
          </Card>
          <Card title="Details">
            <DetailList items={factsOf(message)} />
          </Card>
        </Fragment>
      )}
    </QueryView>
  );
}

function factsOf(message: Message) {
  const { contact_id: contact, template_id: template } = message;
  return [
    ['To', message.to],
    ['From', message.from],
    ['Reply to', message.reply_to],
    [
      'Contact',
      contact === null ? null : <BrandLink to={`/contacts/${contact}`}>Contact {contact}</BrandLink>,
    ],
    ['Sent by', <OriginLink key="origin" message={message} />],
    [
      'Template',
      template === null ? null : <BrandLink to={`/templates/${template}`}>Template {template}</BrandLink>,
    ],
    ['Accepted', <Time key="accepted" at={message.created_at} full />],
    ['Sent', <Time key="sent" at={message.sent_at} full />],
    ['Delivered', <Time key="delivered" at={message.delivered_at} full />],
    ['Provider', message.provider],
    ['Id at the provider', message.provider_message_id],
    ['Segments', message.segments],
    ['Tracking', trackingText(message)],
    ['Idempotency key', message.idempotency_key],
    ['Message', message.id],
  ] as const;
}

function trackingText({ tracking: { opens, clicks } }: Message): string | null {
  if (opens === null && clicks === null) return null;
  const on = [...(opens === true ? ['opens'] : []), ...(clicks === true ? ['clicks'] : [])];
  return on.length === 0 ? 'off' : on.join(' and ');
}
