import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../../api/client.ts';
import { deliveryStatusQuery, stoppedText } from '../../api/delivery-status.ts';
import { useBrand } from '../../shell/brand.ts';
import { pageOfSuppression } from '../../shell/resource-pages.ts';
import { clockText } from '../../ui/clock-text.ts';
import { Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { answerOf, codeOf, reasonOf, toneOf, type Reason } from './reasons.ts';

/** Why a message waits or did not arrive, what to do, and the answer of the mail server in its own words. */
export function ReasonNotice({ message }: { message: Schemas['Message'] }) {
  const { manages } = useBrand();
  const reason = reasonOf(message);
  if (!reason) return null;
  const code = codeOf(message);
  const answer = answerOf(message);
  const until = message.hold?.until;
  const page =
    reason.page && (manages || reason.page.managersOnly !== true) ? pageOf(reason.page, message) : null;
  return (
    <Notice tone={toneOf(message)} title={reason.title}>
      <p>{reason.text}</p>
      {reason.advice !== null && (
        <p>
          <strong>What to do:</strong> {reason.advice}
        </p>
      )}
      {until && (
        <p>
          It is expected to leave <Time at={until} />.
        </p>
      )}
      {answer !== null && (
        <p>
          Response: <code>{answer}</code>
        </p>
      )}
      {code !== null && (
        <p className="muted">
          Code: <code>{code}</code>
        </p>
      )}
      {page && (
        <BrandLink to={page.to} search={page.search ?? {}} className="button">
          {page.text}
        </BrandLink>
      )}
    </Notice>
  );
}

/** The provider of messages that are not sent: those of test keys and of test runs of flows. */
const NO_PROVIDER = 'test';

/** For a message that no limit holds: when it leaves, that no message leaves at all, or that it is a test. */
export function StateNotice({
  message: { status, test, provider, channel, scheduled_at: scheduledAt },
}: {
  message: Schemas['Message'];
}) {
  const { data } = useQuery({ ...deliveryStatusQuery, enabled: status === 'queued' });
  const stopped = status === 'queued' && data ? stoppedText[data.senders] : null;
  return (
    <>
      {status === 'scheduled' && scheduledAt !== null && (
        <Notice tone="busy" title={`Scheduled for ${clockText(scheduledAt)}`}>
          <p>It leaves by itself then. Until that time, you can change the time or cancel it.</p>
        </Notice>
      )}
      {test && (
        <Notice title="A test message">
          {provider === NO_PROVIDER ? (
            <p>It has passed all checks, but nobody gets it. A message made with a live key is sent.</p>
          ) : (
            <p>
              It is sent to its recipient to show the content. No statistics count it, and no webhook reports
              it.{channel === 'sms' && ' An SMS is charged as usual.'}
            </p>
          )}
        </Notice>
      )}
      {stopped && (
        <Notice tone="warn" title="No message leaves now">
          <p>{stopped.text}</p>
          <p>
            <strong>What to do:</strong> {stopped.advice}
          </p>
        </Notice>
      )}
    </>
  );
}

/** Opens the list of suppressions at that of the recipient. */
const pageOf = (page: NonNullable<Reason['page']>, { to: address }: Schemas['Message']) => ({
  text: page.text,
  ...(page.to === '/suppressions' && address !== null
    ? pageOfSuppression(address)
    : { to: page.to, search: {} }),
});
