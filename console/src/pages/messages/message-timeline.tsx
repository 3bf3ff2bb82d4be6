import type { Schemas } from '../../api/client.ts';
import { clockText } from '../../ui/clock-text.ts';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { holdTitle } from './reasons.ts';

type Message = Schemas['MessageDetail'];
type Event = Message['events'][number];

/** The providers that send nothing, and what happens to messages there. */
const CAPTURED: Record<string, string> = {
  test: 'A test key made the message: it was checked and composed, but not sent.',
  capture: 'The message was stored in the mailbox of this machine instead of being sent.',
};

const MEANINGS: Record<Event['type'], string> = {
  held: 'A limit of the service held the message.',
  released: 'The message was released, to be sent.',
  sent: 'The provider accepted the message.',
  delivered: 'The recipient’s mail server or phone network accepted the message.',
  bounced: 'The message was refused because of the recipient.',
  complained: 'The recipient reported the message as spam.',
  deferred: 'It was put off for now. Carillon tries again by itself.',
  failed: 'The message will not be sent.',
  unknown: 'The message was handed over, but the response was lost.',
  opened: 'Someone opened the message.',
  clicked: 'Someone followed a link.',
};

/** Their meaning already says what they contain. */
const HOLDS: ReadonlySet<Event['type']> = new Set(['held', 'released']);

/** Values in values, such as those of a bounce, follow one another. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.values(value).map(textOf).join(' · ');
}

/** What the event contains, such as the answer of the mail server or the link that was followed. */
function EventData({ data }: { data: Event['data'] }) {
  const items = Object.entries(data).filter(([, value]) => value !== null && value !== '');
  if (items.length === 0) return null;
  return (
    <ul className="event-data">
      {items.map(([name, value]) => (
        <li key={name}>
          <span className="muted">{name.replaceAll('_', ' ')}:</span> <code>{textOf(value)}</code>
        </li>
      ))}
    </ul>
  );
}

/** Everything that happened to the message, oldest first. */
export function MessageTimeline({ message }: { message: Message }) {
  const { events, status } = message;
  const isHoldListed = events.at(-1)?.type === 'held';
  const attempts = new Set(events.map(({ attempt }) => attempt)).size;
  return (
    <ol className="timeline">
      <li>
        <StatusBadge status="accepted" /> <Time at={message.created_at} full />
        <p>The message was stored, to be sent.</p>
      </li>
      {events.map((event, index) => (
        <li key={`${index} ${event.type}`}>
          <StatusBadge status={event.type} /> <Time at={event.occurred_at} full />
          {attempts > 1 && <span className="muted"> attempt {event.attempt}</span>}
          <p>{meaningOf(message, event)}</p>
          {!HOLDS.has(event.type) && <EventData data={event.data} />}
        </li>
      ))}
      {isNext(status) && !(status === 'held' && isHoldListed) && (
        <li>
          <StatusBadge status={status} />
          <p>{waitingText(message, status)}</p>
        </li>
      )}
    </ol>
  );
}

function meaningOf({ provider }: Message, { type, data }: Event): string {
  if (type === 'held') {
    const title = holdTitle(data.reason);
    return title === null ? MEANINGS.held : `Held: ${title}.`;
  }
  const captured = CAPTURED[provider ?? ''];
  if (captured === undefined) return MEANINGS[type];
  if (type === 'sent') return captured;
  return type === 'delivered'
    ? 'Nothing was delivered: this is what a real message would show.'
    : MEANINGS[type];
}

const NEXT = ['scheduled', 'queued', 'held', 'sending'] as const;
type Next = (typeof NEXT)[number];

/** Whether the message is still to be handed over. */
const isNext = (status: Message['status']): status is Next => NEXT.some((next) => next === status);

function waitingText({ hold, scheduled_at: scheduledAt }: Message, status: Next): string {
  switch (status) {
    case 'scheduled':
      return `The message leaves at ${scheduledAt === null ? 'its time' : clockText(scheduledAt)}.`;
    case 'queued':
      return 'The message waits for its turn.';
    case 'held':
      return `The message is held${hold ? `: ${hold.reason.replaceAll('_', ' ')}` : ''}.`;
    case 'sending':
      return 'The message is being handed to the provider.';
  }
}
