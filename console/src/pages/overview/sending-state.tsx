import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { deliveryStatusQuery, stoppedText, type DeliveryStatus } from '../../api/delivery-status.ts';
import { useBrand } from '../../shell/brand.ts';
import { clockText } from '../../ui/clock-text.ts';
import { Card, centsText, countText, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Notice, type Tone } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';

type Limit = NonNullable<DeliveryStatus['reason']>;
type Projection = DeliveryStatus['next']['transactional'];

/** A message that could have left so long ago is late. */
const LATE_MS = 30_000;

interface Title {
  title: string;
  tone: Tone;
}

const NOTHING_LEAVES: Title = { title: 'No message leaves', tone: 'bad' };
const STATES: Record<DeliveryStatus['state'], Title> = {
  open: { title: 'Messages leave as usual', tone: 'good' },
  limited: { title: 'Some messages wait or are refused', tone: 'warn' },
  blocked: NOTHING_LEAVES,
};

function titleOf({ state, senders, next, pacing }: DeliveryStatus): Title {
  if (senders !== 'running') return NOTHING_LEAVES;
  if (next.transactional.outcome === 'refuse' && next.marketing.outcome === 'refuse')
    return { title: 'Further messages are refused', tone: 'bad' };
  const since = pacing.due_since;
  if (state === 'open' && since !== null && Date.now() - Date.parse(since) > LATE_MS)
    return { title: 'Messages leave late', tone: 'warn' };
  return STATES[state];
}

const LIMITS: Record<Limit, string> = {
  account_paused: 'Sending is paused for the account.',
  domain_unverified: 'A sending domain is not verified.',
  warm_up: 'A sending domain is warming up.',
  pacing: 'A sending domain has reached its pace.',
  allowance_used: 'The messages of 24 hours are used up.',
  sandbox_limit_reached: 'The messages of the sandbox are used up for this month.',
  spend_cap_reached: 'The spend cap of this month is reached.',
  insufficient_funds: 'The wallet does not cover further messages.',
};

const PAGES: Partial<Record<Limit, { to: string; text: string; managersOnly?: boolean }>> = {
  domain_unverified: { to: '/domains', text: 'Open domains' },
  warm_up: { to: '/domains', text: 'Open domains' },
  sandbox_limit_reached: { to: '/domains', text: 'Add a domain' },
  spend_cap_reached: { to: '/account', text: 'Open the account' },
  insufficient_funds: { to: '/wallet', text: 'Open the wallet', managersOnly: true },
};

const BRAKES: Record<string, string> = {
  bounce_rate: 'Too many messages bounced.',
  complaint_rate: 'Too many recipients reported spam.',
};

/** Whether messages leave now, what waits and why, and what the reader can do about it. */
export function SendingState() {
  const query = useQuery(deliveryStatusQuery);
  return (
    <Card title="What waits, and why">
      <QueryView query={query}>
        {(status) => (
          <>
            <Verdict status={status} />
            <DetailList items={factsOf(status)} />
          </>
        )}
      </QueryView>
    </Card>
  );
}

function Verdict({ status }: { status: DeliveryStatus }) {
  const { manages } = useBrand();
  const { reason, remediation, pause, pacing } = status;
  const page = reason === null ? undefined : PAGES[reason];
  const stopped = stoppedText[status.senders];
  return (
    <Notice {...titleOf(status)}>
      {stopped && (
        <p>
          {stopped.text} <strong>What to do:</strong> {stopped.advice}
        </p>
      )}
      {reason !== null && <p>{LIMITS[reason]}</p>}
      {pause && (
        <p>
          Paused since <Time at={pause.since} full />: {BRAKES[pause.reason] ?? pause.reason}
        </p>
      )}
      {remediation !== null && (
        <p>
          <strong>What to do:</strong> {remediation}
        </p>
      )}
      <p>
        {waitingText(pacing.queued)}
        {pacing.held > 0 && (
          <>
            {' '}
            <BrandLink to="/messages" search={{ status: 'held' }}>
              {countText(pacing.held)} held
            </BrandLink>
            .
          </>
        )}
        {pacing.scheduled > 0 && (
          <>
            {' '}
            <BrandLink to="/messages" search={{ status: 'scheduled' }}>
              {countText(pacing.scheduled)}
              {pacing.scheduled >= MAX_COUNTED && ' or more'} scheduled
            </BrandLink>
            {pacing.next_scheduled_at !== null && `, next ${clockText(pacing.next_scheduled_at)}`}.
          </>
        )}
        {pacing.due_since !== null && (
          <>
            {' '}
            The oldest could have left <Time at={pacing.due_since} />.
          </>
        )}
      </p>
      {page && (manages || page.managersOnly !== true) && (
        <BrandLink to={page.to} className="button">
          {page.text}
        </BrandLink>
      )}
    </Notice>
  );
}

/** The API counts at most so many. */
const MAX_COUNTED = 10_000;

function waitingText(queued: number): string {
  if (queued === 0) return 'No message waits.';
  if (queued === 1) return 'One message waits to be sent.';
  return `${countText(queued)}${queued >= MAX_COUNTED ? ' or more' : ''} messages wait to be sent.`;
}

const OUTCOMES: Record<Projection['outcome'], { word: string; tone: Tone }> = {
  send: { word: 'leaves at once', tone: 'good' },
  hold: { word: 'is held', tone: 'warn' },
  refuse: { word: 'is refused', tone: 'bad' },
};

function Next({ outcome, reason, until }: Projection) {
  const { word, tone } = OUTCOMES[outcome];
  return (
    <>
      <StatusBadge status={word} tone={tone} />
      {reason !== null && ` ${LIMITS[reason]}`}
      {until !== null && (
        <>
          {' '}
          Until <Time at={until} />.
        </>
      )}
    </>
  );
}

const used = (part: number | null, of: number) => `${countText(part ?? 0)} of ${countText(of)}`;

/** Only the limits that there are. */
function factsOf({
  next,
  exact_sender: sender,
  commercial,
  brand_subdomain: domain,
  pacing,
}: DeliveryStatus) {
  const { sandbox_monthly_cap: sandboxCap, spend_cap_monthly_cents: spendCap } = commercial;
  const facts: [string, ReactNode][] = [
    ['The next message by the API', <Next key="api" {...next.transactional} />],
    ['The next one of a campaign or flow', <Next key="flow" {...next.marketing} />],
    ['Sent from, unless a message says otherwise', sender.email],
    ['Messages in 24 hours', used(commercial.used, commercial.allowance)],
  ];
  if (sandboxCap !== null)
    facts.push([
      'Sandbox, this month',
      `${countText(commercial.sandbox_sends_remaining ?? 0)} of ${countText(sandboxCap)} left`,
    ]);
  if (spendCap !== null)
    facts.push([
      'Spent this month',
      `${centsText(commercial.spent_this_month_cents)} of ${centsText(spendCap)}`,
    ]);
  if (domain.limited && domain.limit !== null)
    facts.push([`Warm-up of ${domain.name ?? 'the domain'}, today`, used(domain.used, domain.limit)]);
  if (pacing.per_minute !== null) facts.push(['Pace', `${countText(pacing.per_minute)} a minute`]);
  if (pacing.next_due_at !== null)
    facts.push(['Next check of what waits', <Time key="due" at={pacing.next_due_at} />]);
  return facts;
}
