import { useQuery, type Query } from '@tanstack/react-query';
import { Fragment } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { Card, countText, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { SentFiles } from '../../ui/sent-files.tsx';
import { MessageActions } from './message-actions.tsx';
import { MessageContent } from './message-content.tsx';
import { MessageTimeline } from './message-timeline.tsx';
import { LetterRecipients } from './letter-recipients.tsx';
import { OriginLink } from './origin-link.tsx';
import { ReasonNotice, StateNotice } from './reason-notice.tsx';

type Message = Schemas['MessageDetail'];

/** A message that leaves within seconds is loaded often; one that waits, or may still be reported on, less often. */
const PAUSE_MS: Partial<Record<Message['status'], number>> = {
  scheduled: 5 * POLL_MS,
  queued: POLL_MS,
  sending: POLL_MS,
  sent: 5 * POLL_MS,
  held: 5 * POLL_MS,
  unknown: 5 * POLL_MS,
};

/** The page shows the states of the other copies of a letter, too. */
function pauseOf({ state: { data } }: Query<Message>): number | false {
  if (!data) return false;
  const statuses = [data, ...(data.recipients ?? [])].map(({ status }) => status);
  const pauses = statuses.flatMap((status) => PAUSE_MS[status] ?? []);
  return pauses.length > 0 && Math.min(...pauses);
}

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
            actions={<MessageActions message={message} />}
          >
            <p>
              <StatusBadge status={message.status} />{' '}
              {message.test && <StatusBadge status="test" tone="quiet" />} to{' '}
              {message.to ?? 'a contact that was removed'}
              {othersText(message)}
            </p>
          </PageHeader>
          <ReasonNotice message={message} />
          <StateNotice message={message} />
          <Card title="What happened">
            <MessageTimeline message={message} />
          </Card>
          {message.recipients && (
            <Card title="Recipients">
              <LetterRecipients recipients={message.recipients} shownId={id} />
            </Card>
          )}
          {message.attachments && (
            <Card title="Files">
              <SentFiles messageId={id} files={message.attachments} kept={!message.test} />
            </Card>
          )}
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

/** Each recipient of a letter has a copy, which is a message with a page of its own. */
function othersText({ recipients = [] }: Message): string {
  const others = recipients.length - 1;
  if (others < 1) return '';
  return others === 1 ? ', and a copy to another recipient' : `, and copies to ${countText(others)} others`;
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
    ...(message.scheduled_at === null
      ? []
      : [['Scheduled for', <Time key="scheduled" at={message.scheduled_at} full />] as const]),
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
